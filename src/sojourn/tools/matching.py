"""Finding the text that an edit replaces: exactly, or (said so) up to white space where only one place can be meant."""

import difflib
from collections import Counter
from itertools import islice

import msgspec

_NEAR_MOST = 5_000
"""Lines that are compared when the nearest one is looked for."""
_PLACES_MOST = 5
_WIDTH = 200


class Match(msgspec.Struct, frozen=True):
    """Places in the text, first to last, that do not overlap."""

    spans: tuple[tuple[int, int], ...]
    new: str
    """What goes there: where the match is tolerant, with the indentation that the place has."""
    tolerant: bool = False


class NoMatch(msgspec.Struct, frozen=True):
    reason: str
    next_step: str


def find(text: str, old: str, new: str, *, everywhere: bool) -> Match | NoMatch:
    """Where ``old`` stands in ``text`` (both with ``\\n`` line ends). Without ``everywhere`` it must stand there once."""
    first = text.find(old)
    if first < 0:
        return NoMatch("old is not in the file.", nearest(text, old)) if everywhere else _tolerant(text, old, new)
    if everywhere:
        spans: list[tuple[int, int]] = []
        while first >= 0:
            spans.append((first, first + len(old)))
            first = text.find(old, first + len(old))
        return Match(tuple(spans), new)
    second = text.find(old, first + 1)
    if second < 0:
        return Match(((first, first + len(old)),), new)
    places: list[int] = []
    while second >= 0 and len(places) < _PLACES_MOST:
        places.append(_line(text, second))
        second = text.find(old, second + 1)
    lines = ", ".join(map(str, dict.fromkeys([_line(text, first), *places])))
    more = " and more" if second >= 0 else ""
    return NoMatch(
        f"old stands in the file more than once (lines {lines}{more}).", "Take more lines around it, or set all to true."
    )


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


# --- white space --------------------------------------------------------------------------------------------------


def _tolerant(text: str, old: str, new: str) -> Match | NoMatch:
    """Whole lines that are equal up to white space, if there is one such place and the new lines' indentation is sure."""
    ends = old.endswith("\n")
    wanted = old.removesuffix("\n").split("\n")
    keys = [" ".join(line.split()) for line in wanted]
    lines = text.split("\n")
    starts = _places([" ".join(line.split()) for line in lines], keys) if any(keys) else []
    if len(starts) > 1:
        at = ", ".join(str(start + 1) for start in starts[:_PLACES_MOST])
        return NoMatch(
            f"old is not in the file; up to white space it is like several places (lines {at}).",
            "Copy the lines from the file with their exact white space.",
        )
    if not starts:
        return NoMatch("old is not in the file.", nearest(text, old))
    start = starts[0]
    found = lines[start : start + len(wanted)]
    fitted = _reindent(list(zip(wanted, found, strict=True)), new)
    from_ = sum(map(len, lines[:start])) + start
    to = from_ + sum(map(len, found)) + len(found) - 1
    if ends and to < len(text):
        to += 1
    elif ends and fitted is not None:
        fitted = fitted.removesuffix("\n")  # the file's last line has no line end
    if fitted is None:
        return NoMatch(
            f"old is not in the file; lines {start + 1}-{start + len(wanted)} are like it, but are indented otherwise.",
            "Copy them from the file with their exact white space.",
        )
    return Match(((from_, to),), fitted, tolerant=True)


def _places(lines: list[str], keys: list[str]) -> list[int]:
    """Where the keys stand one after the other. Looked for from the longest one, which is seldom elsewhere."""
    offset = max(range(len(keys)), key=lambda index: len(keys[index]))
    rarest = keys[offset]
    return [
        start
        for at, line in enumerate(lines)
        if line == rarest and (start := at - offset) >= 0 and lines[start : start + len(keys)] == keys
    ]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _reindent(pairs: list[tuple[str, str]], new: str) -> str | None:
    """The new lines with the indentation of the place: as much more or less as the old ones have there. None = not sure."""
    indents = [(_indent(old), _indent(found)) for old, found in pairs if old.strip()]
    if all(old == found for old, found in indents):
        return new
    old, found = indents[0]
    if found.endswith(old):
        more = found[: len(found) - len(old)]
        if all(there == more + here for here, there in indents):
            return "\n".join(more + line if line.strip() else line for line in new.split("\n"))
    if old.endswith(found):
        less = old[: len(old) - len(found)]
        lines = new.split("\n")
        if all(here == less + there for here, there in indents) and all(
            line.startswith(less) for line in lines if line.strip()
        ):
            return "\n".join(line.removeprefix(less) for line in lines)
    # Tabs here, spaces there: only indents that the old lines have shown what they are.
    known = dict(indents)
    lines = new.split("\n")
    if any(known[here] != there for here, there in indents) or any(_indent(one) not in known for one in lines if one.strip()):
        return None
    return "\n".join(known[_indent(line)] + line.lstrip() if line.strip() else line for line in lines)


# --- what comes near ----------------------------------------------------------------------------------------------


def nearest(text: str, old: str) -> str:
    """One or two lines for a model: where the file is most like ``old``, and what differs there first."""
    lines, wanted = text.split("\n"), old.removesuffix("\n").split("\n")
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if stripped := line.strip():
            places.setdefault(stripped, []).append(number)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(wanted):
        for number in islice(places.get(line.strip(), ()), _PLACES_MOST):
            votes[number - offset] += 1
    if not votes:
        return _alike(lines, max(wanted, key=len).strip())
    start = max(votes, key=lambda one: (votes[one], -one))
    for offset, line in enumerate(wanted):
        here = start + offset
        there = lines[here] if 0 <= here < len(lines) else None
        if there is None:
            return f"Nearest: line {max(1, start + 1)}, but the file ends before old does. Read it again."
        if there != line:
            return f"Nearest: line {here + 1} is\n{there[:_WIDTH]}\nwhere old has\n{line[:_WIDTH]}"
    return f"Nearest: line {start + 1}. Read it again."


def _alike(lines: list[str], line: str) -> str:
    size = len(line)
    candidates = {
        one.strip()[:_WIDTH]: number
        for number, one in enumerate(islice(lines, _NEAR_MOST), 1)
        if one.strip() and size / 2 <= len(one.strip()) <= size * 2
    }
    found = difflib.get_close_matches(line[:_WIDTH], candidates, n=1, cutoff=0.6)
    if not found:
        return "Nothing in it is like old: read the file first."
    return f"Nearest: line {candidates[found[0]]} is\n{found[0]}"
