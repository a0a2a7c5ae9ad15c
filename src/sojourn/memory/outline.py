"""A memory document as lines under headings: where a line of a section belongs."""

import re
from collections.abc import Iterator, Sequence

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_BULLET = re.compile(r"[-*+][ \t]+(\S.*?)[ \t]*$")


def bullets(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """(number of the line from 0, heading above it, text) of each bullet that begins a line, outside code fences."""
    heading = ""
    for number, line in _plain_lines(lines):
        if found := _HEADING.match(line):
            heading = found[2]
        elif found := _BULLET.match(line):
            yield number, heading, found[1]


def put_under(lines: Sequence[str], heading: str, line: str) -> list[str]:
    """The lines with one more at the end of the section; a section that is not there is made at the end (``## ``)."""
    begin = level = None
    end = len(lines)
    for number, one in _plain_lines(lines):
        found = _HEADING.match(one)
        if found is None:
            continue
        if begin is None and found[2].casefold() == heading.casefold():
            begin, level = number, len(found[1])
        elif level is not None and len(found[1]) <= level:
            end = number
            break
    if begin is None:
        return [*_stripped(lines), *([""] if any(map(str.strip, lines)) else []), f"## {heading}", "", line]
    above = _stripped(lines[:end])
    first = [""] if len(above) == begin + 1 else []
    rest = ["", *lines[end:]] if end < len(lines) else []
    return [*above, *first, line, *rest]


def _plain_lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Lines outside code fences. A fence that nobody closed is none: it would hide the rest of the document."""
    never_closed: dict[str, int] = {}
    number = 0
    while number < len(lines):
        if found := _FENCE.match(lines[number]):
            sign, length = found[1][0], len(found[1])
            end = None if length >= never_closed.get(sign, length + 1) else _closing(lines, number + 1, found[1])
            if end is not None:
                number = end + 1
                continue
            never_closed[sign] = min(length, never_closed.get(sign, length))
        yield number, lines[number]
        number += 1


def _closing(lines: Sequence[str], start: int, fence: str) -> int | None:
    for number in range(start, len(lines)):
        found = _FENCE.match(lines[number])
        if found and found[1].startswith(fence) and not lines[number].strip(" `~\t"):
            return number
    return None


def _stripped(lines: Sequence[str]) -> list[str]:
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept
