"""The section-aware cut of a Markdown document (W-5)."""

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from sojourn.window.budget import Want, share_out
from sojourn.window.document import Block, blocks, lines_of
from sojourn.window.fit import exceeds, fitting_lines, rough, start_of
from sojourn.window.texts import HEADINGS_CUT
from sojourn.window.types import Count

_INDEX = re.compile(r"[ \t]*- See \S+\.md \(.*\)[ \t]*$")
_ITALIC = re.compile(r"_[^_\s].*_$|\*[^*\s].*[^*\s]\*$")
_ROUNDS = 8


class _Section(msgspec.Struct, frozen=True):
    """Lines [start, end); the first has no heading (the preamble)."""

    start: int
    end: int
    title: str = ""
    heading: tuple[int, ...] = ()
    italic: tuple[int, ...] = ()
    index: tuple[int, ...] = ()


class _Document(msgspec.Struct, frozen=True):
    lines: list[str]
    sections: list[_Section]
    """The preamble first, empty where there is none."""
    solid: list[Block]
    """Fences and HTML, in order: a cut inside them is closed or moved."""


def cut_sections(
    text: str, budget: int, count: Count, *, hint: Callable[[int], str], weights: Mapping[str, float] | None = None
) -> str:
    """The document within ``budget`` tokens; the whole of it where it fits (W-5).

    Its skeleton is reserved first: preamble, second-level headings, the italic line below each, index lines
    (``- See name.md (...)``). The rest is shared out by weight (``weights`` by heading, else 1) and order, what one
    section does not need going on to the next; cuts are at lines, only one of over 1,000 characters is cut
    between characters. ``hint(line)`` stands last, with the number (from 1)
    of the first line left out. A skeleton over the budget gives up the index lines, then the italic lines, then the
    preamble (they then take part in the rest), then the hint, then headings from the end with a count. The output never
    exceeds the budget, and no heading is lost while the headings fit.
    """
    if not exceeds(text, budget, count):
        return text
    document = _parse(text)
    for reserved in (
        ("heading", "italic", "index", "preamble"),
        ("heading", "italic", "preamble"),
        ("heading", "preamble"),
        ("heading",),
    ):
        skeleton = _skeleton(document, reserved)
        frame = _compose(document, skeleton, {}, _hint(document, skeleton, hint))
        if not exceeds(frame, budget, count):
            return _filled(document, skeleton, budget, count, hint, weights or {}) or frame
    return _headings_only(document, budget, count, hint)


def _parse(text: str) -> _Document:
    lines = lines_of(text)
    found = blocks(lines)
    solid = [block for block in found if block.kind != "heading"]
    covered = {line for block in solid for line in range(block.start, block.end)}
    headings = [block for block in found if block.kind == "heading" and block.level == 2]
    starts = [block.start for block in headings] + [len(lines)]
    sections = [_Section(0, starts[0])]
    for block, end in zip(headings, starts[1:], strict=True):
        body = range(block.end, end)
        first = next((line for line in body if lines[line].strip()), None)
        italic = (first,) if first is not None and first not in covered and _ITALIC.match(lines[first].strip()) else ()
        index = tuple(line for line in body if line not in covered and _INDEX.match(lines[line]))
        sections.append(_Section(block.start, end, block.title, tuple(range(block.start, block.end)), italic, index))
    return _Document(lines, sections, solid)


def _skeleton(document: _Document, reserved: Sequence[str]) -> set[int]:
    kept: set[int] = set()
    for section in document.sections:
        if not section.heading and "preamble" in reserved:
            kept.update(range(section.start, section.end))
        kept.update(section.heading)
        kept.update(section.italic if "italic" in reserved else ())
        kept.update(section.index if "index" in reserved else ())
    return kept


def _filled(
    document: _Document, skeleton: set[int], budget: int, count: Count, hint: Callable[[int], str], weights: Mapping[str, float]
) -> str:
    """The skeleton with as much of the bodies as fits; "" where not even it does."""
    bodies = [[line for line in range(one.start, one.end) if line not in skeleton] for one in document.sections]
    room = budget - count(_compose(document, skeleton, {}, hint(len(document.lines))))
    wants = []
    for number, (section, body) in enumerate(zip(document.sections, bodies, strict=True)):
        text = "\n".join(document.lines[line] for line in body)
        wants.append(Want(str(number), rough(text, count) if text.strip() else 0, weight=weights.get(section.title, 1.0)))
    for _ in range(_ROUNDS):
        if room <= 0:
            break
        shares = share_out(wants, room)
        closers: dict[int, str] = {}
        starts: dict[int, str] = {}
        kept = set(skeleton)
        carry = 0
        for want, body in zip(wants, bodies, strict=True):
            carry += shares[want.name]
            taken, used = _take(document, body, carry, want.want, count)
            carry -= used
            kept.update(body[:taken])
            closers.update(_closer(document, body, taken))
            start = start_of(document.lines[body[taken]], carry, count) if taken < len(body) else ""
            if start and _inside(document, body, taken) is None:
                starts[body[taken]] = start
                carry -= count(start)
        result = _compose(document, kept | starts.keys(), closers, _hint(document, kept, hint), starts)
        over = count(result) - budget
        if over <= 0:
            return result
        room -= over + 1
    return ""


def _hint(document: _Document, kept: set[int], hint: Callable[[int], str]) -> str:
    """Names the first line that is left out; "" where only blank ones are."""
    missing = next((line for line, text in enumerate(document.lines) if line not in kept and text.strip()), None)
    return "" if missing is None else hint(missing + 1)


def _take(document: _Document, body: list[int], budget: int, want: int, count: Count) -> tuple[int, int]:
    """How many lines of the body are taken, and their tokens."""
    if want <= budget:
        return len(body), want
    lines = [document.lines[line] for line in body]
    taken = fitting_lines(lines, budget, count)
    while taken:
        inside = _inside(document, body, taken)
        if inside is None:
            break
        if inside.kind == "fence" and taken - body.index(inside.start) > 1:
            break
        taken = body.index(inside.start)  # a comment cut open would swallow the headings below it
    while taken and not lines[taken - 1].strip():
        taken -= 1
    return taken, count("\n".join(lines[:taken])) if taken else 0


def _inside(document: _Document, body: list[int], taken: int) -> Block | None:
    """The fence or HTML that a cut after ``taken`` lines falls into."""
    if taken >= len(body):
        return None
    line = body[taken]
    return next((block for block in document.solid if block.start < line < block.end), None)


def _closer(document: _Document, body: list[int], taken: int) -> dict[int, str]:
    inside = _inside(document, body, taken) if taken else None
    return {body[taken - 1]: inside.closer} if inside is not None and inside.kind == "fence" else {}


_NO_STARTS: Mapping[int, str] = {}


def _compose(
    document: _Document, kept: set[int], closers: Mapping[int, str], hint: str, starts: Mapping[int, str] = _NO_STARTS
) -> str:
    """The kept lines in their order (of those in ``starts`` only that), a blank line before each heading, the hint last."""
    out: list[str] = []
    for section in document.sections:
        if out and out[-1].strip() and section.heading and section.heading[0] in kept:
            out.append("")
        for line in range(section.start, section.end):
            if line in kept:
                out.append(starts.get(line, document.lines[line]))
                if line in closers:
                    out.append(closers[line])
    while out and not out[-1].strip():
        out.pop()
    return "\n".join([*out, hint] if hint else out)


def _headings_only(document: _Document, budget: int, count: Count, hint: Callable[[int], str]) -> str:
    headings = ["\n".join(document.lines[line] for line in one.heading) for one in document.sections if one.heading]
    whole = "\n".join(headings)
    if headings and not exceeds(whole, budget, count):
        return whole

    def cut(number: int, *, hinted: bool) -> str:
        shown = {line for one in document.sections[1 : number + 1] for line in one.heading}
        last = [HEADINGS_CUT.format(count=len(headings) - number)] if headings else []
        return "\n".join([*headings[:number], *last, *([_hint(document, shown, hint)] if hinted else [])])

    for hinted in (True, False):
        low, high = -1, len(headings)
        while high - low > 1:
            middle = (low + high) // 2
            if exceeds(cut(middle, hinted=hinted), budget, count):
                high = middle
            else:
                low = middle
        if low >= 0:
            return cut(low, hinted=hinted)
    return ""
