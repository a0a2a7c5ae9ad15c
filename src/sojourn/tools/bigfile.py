"""A part of a text file that is too large for memory: passed over in chunks, only what is shown is kept."""

from pathlib import Path
from typing import BinaryIO

import msgspec

from sojourn.base import UserMistake
from sojourn.tools.textfile import readable

_CHUNK = 1 << 20
_SNIFF = 64 * 1024


class BigPart(msgspec.Struct, frozen=True):
    text: str
    count: int
    """Lines in ``text``; 0 = the file ends before."""
    passed: int
    """Lines passed over to get there: all of the file where it ends before."""
    more: bool
    """The file goes on."""
    cut: bool = False
    """The last line is longer than what is shown of it."""
    note: str = ""


def part_of_big_file(path: Path, first: int, limit: int | None, most: int) -> BigPart | None:
    """Lines from ``first``, at most ``limit`` of them and ``most`` bytes; None = not text.

    Raises OSError; UserMistake for UTF-16, whose line ends are not single bytes.
    """
    with path.open("rb") as file:
        start = file.read(_SNIFF)
        sniffed = readable(start, cut=True)
        if sniffed is None:
            return None
        if sniffed[1].startswith("utf-16"):
            raise UserMistake(
                f"{path.name} is a large UTF-16 file.", next_step="Convert it first: iconv -f UTF-16 -t UTF-8 IN > OUT"
            )
        file.seek(0)
        passed = _pass_lines(file, first - 1)
        if passed < first - 1:
            return BigPart("", 0, passed, False)
        return _taken(file, limit, most, passed)


def _pass_lines(file: BinaryIO, lines: int) -> int:
    """Leaves the file at the start of the line behind so many; answers how many there were."""
    passed = 0
    ends_open = False
    while passed < lines:
        chunk = file.read(_CHUNK)
        if not chunk:
            return passed + ends_open
        found = chunk.count(b"\n")
        if passed + found < lines:
            passed += found
            ends_open = not chunk.endswith(b"\n")
            continue
        at = -1
        for _ in range(lines - passed):
            at = chunk.index(b"\n", at + 1)
        file.seek(at + 1 - len(chunk), 1)
        return lines
    return passed


def _taken(file: BinaryIO, limit: int | None, most: int, passed: int) -> BigPart | None:
    data = file.read(most)
    if not data:
        return BigPart("", 0, passed, False)
    more = len(data) == most and file.read(1) != b""
    cut = False
    if limit is not None and data.count(b"\n") >= limit:
        end = -1
        for _ in range(limit):
            end = data.index(b"\n", end + 1)
        more = more or end + 1 < len(data)
        data = data[: end + 1]
    elif more:
        end = data.rfind(b"\n")
        cut = end < 0
        data = data if cut else data[: end + 1]
    found = readable(data, cut=cut)
    if found is None:
        return None
    text = found[0].removesuffix("\n")
    return BigPart(text, data.count(b"\n") + (not data.endswith(b"\n")), passed, more, cut, found[1])
