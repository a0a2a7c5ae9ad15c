"""Text in terminal columns: wide characters, colour codes, control characters. Pure."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters and those that turn the direction of writing: a transcript must not drive the terminal."""
_PIECE = re.compile("(?:[\u2e80-\uffef]|[^\\s\u2e80-\uffef]+)[，。；：、）！？]*\\s*|\\s+")
"""What a line may not break inside of: a word, or one Chinese character with the punctuation behind it."""


def cells(text: str) -> int:
    """Columns that a terminal takes for the text: 2 for wide characters, 0 for combining ones and colour codes."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    return sum(_cells(character) for character in _COLOUR.sub("", text))


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def harmless(text: str) -> str:
    """The text with control characters made visible; tabs and line ends stay."""
    return _UNSEEN.sub(_picture, text.replace("\r\n", "\n"))


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def one_line(text: str) -> str:
    """The text without line ends, runs of space as one, control characters made visible."""
    return harmless(" ".join(text.split()))


def cut(text: str, columns: int) -> str:
    """The text in at most so many columns, an ellipsis at its end where something is left out."""
    if cells(text) <= columns:
        return text
    kept, room = [], columns - 1
    for character in text:
        room -= _cells(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + "…" if columns > 0 else ""


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """The text with spaces up to so many columns; ``right`` puts them before it."""
    space = " " * (columns - cells(text))
    return space + text if right else text + space


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), limit: int | None = None) -> str:
    """Columns as wide as they need, two spaces apart; the last one is cut so that no line is wider than ``limit``."""
    lines = [head, *rows]
    widths = [max(cells(line[i]) for line in lines) for i in range(len(head))]
    if limit is not None:
        widths[-1] = max(1, min(widths[-1], limit - sum(widths[:-1]) - 2 * (len(head) - 1)))
    last = len(head) - 1
    return "\n".join(
        "  ".join(
            pad(cut(cell, columns) if i == last else cell, columns, right=i in right)
            for i, (cell, columns) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def wrapped(text: str, columns: int, *, indent: str = "") -> str:
    """The text in lines of at most so many columns, each after ``indent``; a longer word stays whole."""
    return "\n".join(indent + line for line in _lines(_PIECE.findall(text), columns - cells(indent)))


def listed(items: Sequence[str], columns: int, *, indent: str = "", between: str = " · ") -> str:
    """The items one after another, in lines of at most so many columns, each after ``indent``."""
    lines: list[str] = []
    for item in items:
        longer = f"{lines[-1]}{between}{item}" if lines else ""
        if longer and cells(indent) + cells(longer) <= columns:
            lines[-1] = longer
        else:
            lines.append(item)
    return "\n".join(indent + line for line in lines)


def _lines(pieces: Sequence[str], columns: int) -> Iterator[str]:
    line, taken = "", 0
    for piece in pieces:
        if line and taken + cells(piece.rstrip()) > columns:
            yield line.rstrip()
            line, taken = "", 0
        line += piece
        taken += cells(piece)
    yield line.rstrip()
