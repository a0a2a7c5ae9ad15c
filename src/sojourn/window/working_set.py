"""The files in use when a window is left (W-3a): what each says of itself, its lines in use, an outline; whole when tiny."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sojourn.meter import fit_line
from sojourn.record import Message
from sojourn.window.file_text import FileText
from sojourn.window.file_uses import LATELY, MOST_FILES, FileUse, cited, fade, known_text, shown_path, uses
from sojourn.window.fit import fitting_lines
from sojourn.window.texts import WORKING_REST
from sojourn.window.types import Count

_MOST_BELOW = 100
"""Tokens below the line of one file."""
_TINY_LINES, _TINY_CHARACTERS = 12, 600
_LINE_CHARACTERS, _TELLING_CHARACTERS, _PATH_CHARACTERS = 120, 120, 240
_TELLING_WITHIN = 40
"""Lines from the start that are looked through for one that tells something."""
_DEFINITION_WARMTH, _CARRIED_WARMTH, _LEAST_WARMTH = 0.2, 0.8, 0.03
"""What a definition counts beside its own warmth; lines that were shown before; lines that are not worth showing."""
_CHARACTERS_A_TOKEN, _BESIDE = 3.2, 7
_LAST = 1 << 60
_DEFINITION = re.compile(
    r"\s*(?:(?:export\s+|default\s+|pub(?:\([^)]*\))?\s+|async\s+|static\s+|abstract\s+|public\s+|private\s+|protected\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|impl|type|module|namespace|package)\s+[\w$(<])"
)
_HEADING = re.compile(r"#{1,6} +\S")
_PROSE = (".md", ".mdx", ".markdown", ".rst", ".txt")
_TRIFLE = re.compile(
    r"[\s}]*(?:#!|(?:import|from|package|using|use|require|include|#include|extern|module)\b|<\?|#?\s*-\*-|\W*$"
    r"|[\"'][^\"']*[\"'][,;)]*$|\s\w+,?$|\W*(?:copyright|licen[cs]e|spdx|eslint|@flow|coding[:=]))",
    re.IGNORECASE,
)
"""First lines that say nothing of what a file is for."""
_DRESS = re.compile(r"^\s*(?:/\*+|\*+/?|//+!?|#+|--+|<!--+|;+|[rbuRBU]?\"{3}|[rbuRBU]?'{3})?\s*|\s*(?:\*/|-->|\"{3}|'{3})?\s*$")
"""Signs of comments and quotation around a text."""
_HEAD = re.compile(r"- (.+?) \(((?:read|edited|written|changed) m(\d+)(?:; (\d+) lines?)?[^)]*)\)(?:: (.*))?$")
_BELOW = re.compile(r"  (?:(\d+):|\+)(.*)$")
_STALE = "changed since it was read"
_DONE = {"read": "read", "look": "read", "edit": "edited", "write": "written", "change": "changed"}


class _Entry(msgspec.Struct):
    path: str
    weight: float
    done: str
    """What was last done to it: ``edited m12``."""
    text: FileText
    telling: str = ""
    """As a window before this one showed it."""


def working_set(
    messages: Sequence[Message],
    budget: int,
    count: Count,
    *,
    present: Mapping[str, str] | None = None,
    before: str = "",
    root: str = "",
) -> str:
    """Row 2a within ``budget`` tokens: files that were read or changed within the last 60 answers, those used most and last
    first; "" without files or room.

    A line a file: path (relative inside ``root``), what was last done to it, its length, the first line that says what it is
    for. Below it, within 100 tokens, the lines in use with their numbers (changed, pointed at, read for themselves) and
    definitions; all of it when tiny. What does not fit keeps its line, then only its name. ``present`` is the present text of
    files by path, where known; ``before`` the working set of the window that is left: what is still recent is carried over.
    """
    entries = _entries(messages, before, root)
    for path, text in (present or {}).items():
        entry = entries.get(shown_path(path, root))
        if entry is not None:
            entry.text = _as_present(entry.text, text)
    ranked = sorted(entries.values(), key=lambda entry: -entry.weight)[:MOST_FILES]
    heads = [_head(entry) for entry in ranked]
    left = budget - sum(count(head + "\n") for head in heads)
    shown: list[str] = []
    for entry in ranked:
        below = _below(entry, min(left, _MOST_BELOW), count) if left > 0 else ""
        shown.append(below)
        left -= count(below + "\n") if below else 0
    while any(shown):
        text = "\n".join(head + below for head, below in zip(heads, shown, strict=True))
        if count(text) <= budget:
            return text
        shown[max(index for index, below in enumerate(shown) if below)] = ""
    return names_only("\n".join(heads), budget, count)


def names_only(text: str, budget: int, count: Count) -> str:
    """A rendered working set cut to the lines of its files, then to their names; "" where not one name fits."""
    heads = [line for line in text.split("\n") if line.startswith("- ")]
    shown = fitting_lines(heads, budget, count)
    if shown == len(heads):
        return "\n".join(heads)
    names = [head[2:].partition(" (")[0] for head in heads]
    for number in range(len(names) - shown, 0, -1):
        rest = WORKING_REST.format(names=", ".join(names[shown : shown + number]))
        result = "\n".join([*heads[:shown], rest])
        if count(result) <= budget:
            return result
    return "\n".join(heads[:shown])


def _entries(messages: Sequence[Message], before: str, root: str) -> dict[str, _Entry]:
    newest = messages[-1].seq if messages else 0
    carried = {entry.path: entry for entry in _carried(before, newest)}
    found = uses(messages, root)
    for use in found.values():
        carried[use.path] = _entry(use, carried.get(use.path))
    for path, numbers in cited(messages, list(carried), root).items():
        for number, warmth in numbers.items():
            carried[path].text.warm(range(number, number + 1), warmth)
    return carried


def _entry(use: FileUse, old: _Entry | None) -> _Entry:
    """``old``: as carried over. What it shows holds up to the message it names: only what came later is carried out on it, or
    all of it anew where the messages hold an earlier reading too."""
    last = use.acts[-1]
    done = f"{_DONE[last.kind]} m{last.seq}"
    if old is None:
        return _Entry(use.path, use.weight, done, known_text(use.acts, FileText()))
    until = _seq(old.done)
    anew = any(act.seq <= until and act.kind in ("read", "write") for act in use.acts)
    if anew:
        text = known_text(use.acts, FileText())
        text.length = text.length or old.text.length
    else:
        text = known_text([act for act in use.acts if act.seq > until], old.text)
    weight = use.weight + (old.weight if use.acts[0].seq > until else 0.0)
    return _Entry(use.path, weight, done, text, old.telling)


def _seq(done: str) -> int:
    return int(done.rpartition("m")[2])


def _carried(before: str, newest: int) -> Iterator[_Entry]:
    """The files of an earlier working set that are still recent; a message counts as an answer."""
    entry: _Entry | None = None
    for line in before.split("\n"):
        head = _HEAD.match(line)
        if head is not None:
            age = max(0, newest - int(head[3]))
            entry = None
            if age < LATELY:
                done = head[2].partition(";")[0]
                text = FileText(length=int(head[4] or 0), stale=head[2].endswith(_STALE))
                entry = _Entry(head[1], fade(age), done, text, head[5] or "")
                yield entry
        elif entry is not None and (below := _BELOW.match(line)):
            warmth = fade(max(0, newest - _seq(entry.done))) * _CARRIED_WARMTH
            if below[1]:
                entry.text.take((int(below[1]), below[2]))
                entry.text.warmth[int(below[1])] = warmth
            else:
                entry.text.loose[below[2]] = warmth


def _as_present(known: FileText, text: str) -> FileText:
    """The present text with the warmth of the lines that are still there."""
    body = text.removesuffix("\n")
    result = FileText(runs=[(1, body)], length=body.count("\n") + 1) if text else FileText()
    places: dict[str, list[int]] = {}
    for number, line in result.lines().items():
        places.setdefault(line, []).append(number)
    lines = known.lines()
    warm = [(lines[number], number, warmth) for number, warmth in known.warmth.items() if number in lines]
    for line, number, warmth in [*warm, *((line, 0, warmth) for line, warmth in known.loose.items())]:
        if line in places:
            nearest = _nearest(places[line], number)
            result.warm(range(nearest, nearest + 1), warmth)
    return result


def _nearest(places: Sequence[int], number: int) -> int:
    """Of places in rising order; the lower of two that are as near."""
    after = bisect_left(places, number)
    return min(places[max(0, after - 1) : after + 1], key=lambda place: abs(place - number))


def _head(entry: _Entry) -> str:
    facts = [entry.done]
    if entry.text.length:
        facts.append(f"{entry.text.length} line{'s' if entry.text.length > 1 else ''}")
    if entry.text.stale and entry.text.runs:
        facts.append(_STALE)
    telling = _telling(entry.text) or entry.telling
    return f"- {fit_line(entry.path, _PATH_CHARACTERS)} ({'; '.join(facts)})" + (f": {telling}" if telling else "")


def _telling(text: FileText) -> str:
    """The first line that says what the file is for, without the signs around it."""
    if not text.runs or text.runs[0][0] != 1:
        return ""
    for line in text.runs[0][1].split("\n", _TELLING_WITHIN)[:_TELLING_WITHIN]:
        if not _TRIFLE.match(line):
            return fit_line(_DRESS.sub("", fit_line(line, 2 * _TELLING_CHARACTERS)), _TELLING_CHARACTERS)
    return ""


def _below(entry: _Entry, room: int, count: Count) -> str:
    text = entry.text
    if text.whole() and text.length <= _TINY_LINES and len(text.runs[0][1]) <= _TINY_CHARACTERS:
        return _rendered([(number, line) for number, line in text.lines().items() if line.strip()])
    definition = _HEADING if entry.path.endswith(_PROSE) else _DEFINITION
    chosen = _chosen(text, definition, int(room * _CHARACTERS_A_TOKEN))
    while chosen:
        below = _rendered(chosen)
        if count(below) <= room:
            return below
        chosen.pop()
    return ""


def _chosen(text: FileText, definition: re.Pattern[str], characters: int) -> list[tuple[int, str]]:
    """The warmest lines and definitions within about so many characters, the most valuable first; number 0: not known."""
    known = text.lines()
    values = {number: warmth for number, warmth in text.warmth.items() if number in known}
    for number, line in known.items():
        if definition.match(line):
            values[number] = values.get(number, 0.0) + _DEFINITION_WARMTH
    lines = [(value, number, known[number]) for number, value in values.items()]
    lines += [(warmth, 0, line) for line, warmth in text.loose.items()]
    chosen: list[tuple[int, str]] = []
    for value, number, line in sorted(lines, key=lambda one: (-one[0], one[1])):
        if value < _LEAST_WARMTH or not line.strip():
            continue
        characters -= min(len(line), _LINE_CHARACTERS) + _BESIDE
        if characters < 0:
            break
        chosen.append((number, line))
    return chosen


def _rendered(lines: Sequence[tuple[int, str]]) -> str:
    """In order of number, those without one last, in the order given."""
    ordered = sorted((number or _LAST, place, line) for place, (number, line) in enumerate(lines))
    return "".join(
        f"\n  {'+' if number == _LAST else f'{number}:'}{line.rstrip()[:_LINE_CHARACTERS]}" for number, _, line in ordered
    )
