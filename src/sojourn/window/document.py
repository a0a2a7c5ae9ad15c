"""The block structure of a Markdown text as CommonMark sees it: headings, fences, comments (W-5)."""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sojourn.window.sections import ROWS
from sojourn.window.texts import MARK

_QUICK = (
    MarkdownIt("zero", {"html": True})
    .enable(["heading", "lheading", "fence", "code", "html_block", "hr", "reference"])
    .disable("inline")
)
_WHOLE = MarkdownIt("commonmark").disable("inline")
_BREAK = re.compile(r"\r\n?")
_MARKUP = re.compile(r"[ \t]*$| {0,3}(?:#|```|~~~|[-=*_][-=*_ \t]*$|\[)| {4}| {0,3}\t|.*[<>]")
"""A line that the small grammar may read as more than a line of a paragraph."""
_CONTAINER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)|[ \t]*>")
_TITLE = re.compile(r"(?:[ \t]*\n)* {0,3}#(?=[ \t\n]|$)")
_STRUCTURE = re.compile(r"^ {0,3}(?:(`{3,}|~{3,})([^\n]*)|#(?=[ \t\n]|$)|=+[ \t]*$)", re.MULTILINE)
"""A fence, or a line that may make a level-1 heading."""
_OWN_MARK = re.compile(rf"^(?=[^\w\n]{{0,12}}{re.escape(MARK.strip('[]'))}[ \t]*[\]］】])", re.MULTILINE | re.IGNORECASE)
_HEADINGS = "|".join(re.escape(row.heading) for row in ROWS)
_OWN_HEADING = re.compile(
    rf"^(?=[ \t]*(?:#[ \t]+(?:{_HEADINGS})(?!\w)|(?:{_HEADINGS})[ \t]*\n[ \t]*=))", re.MULTILINE | re.IGNORECASE
)


class Block(msgspec.Struct, frozen=True):
    """A heading, a fence or a piece of HTML at nesting level 0: lines [start, end) from 0."""

    kind: Literal["heading", "fence", "html"]
    start: int
    end: int
    level: int = 0
    """Of a heading, 1 to 6."""
    title: str = ""
    closer: str = ""
    """Of a fence: the line that closes it."""
    closed: bool = True


def lines_of(text: str) -> list[str]:
    """The lines as CommonMark counts them (LF, CRLF, CR), without their ends."""
    return _BREAK.sub("\n", text).split("\n")


def blocks(lines: list[str]) -> list[Block]:
    """Headings, fences and HTML at nesting level 0, in order.

    Most texts are read by a small grammar that knows no lists and no quotations, with the lines of each paragraph taken
    together; where it finds a block that may belong to a list or a quotation, the whole grammar reads the text again.
    """
    markup = [_MARKUP.match(line) is not None for line in lines]
    starts = [number for number, own in enumerate(markup) if own or number == 0 or markup[number - 1]]
    found = _found(_QUICK.parse("\n".join(lines[number] for number in starts)), [*starts, len(lines)], lines)
    if any(_contained(block, lines) for block in found):
        return _found(_WHOLE.parse("\n".join(lines)), range(len(lines) + 1), lines)
    return found


def _found(tokens: Sequence[Token], numbers: Sequence[int], lines: list[str]) -> list[Block]:
    """``numbers``: where each line that the grammar read begins in ``lines``."""
    found = []
    for token in tokens:
        if token.level != 0 or token.map is None:
            continue
        start, end = numbers[token.map[0]], numbers[token.map[1]]
        if token.type == "heading_open":
            text = lines[start].strip().strip("#") if token.markup.startswith("#") else " ".join(lines[start : end - 1])
            found.append(Block("heading", start, end, level=int(token.tag[1]), title=text.strip()))
        elif token.type == "fence":
            last = lines[end - 1].strip() if end - 1 > start else ""
            closed = len(last) >= len(token.markup) and not last.strip(token.markup[0])
            found.append(Block("fence", start, end, closer=token.markup, closed=closed))
        elif token.type == "html_block":
            found.append(Block("html", start, end))
    return found


def _contained(block: Block, lines: list[str]) -> bool:
    """Whether a list or a quotation may hold the block."""
    if lines[block.start].startswith(" "):
        return True
    return block.kind == "heading" and any(_CONTAINER.match(line) for line in lines[block.start : block.end])


def settled(text: str, *, own_title: bool) -> tuple[str, int]:
    """A text that is to stand under a heading of the engine's, and how many lines went from its start.

    Its level-1 headings become level 2 (``own_title``: the first one, if nothing comes before it, is left out), an open
    fence is closed, and lines that look like the engine's own are escaped, so that no document plays the engine.
    """
    text = _OWN_MARK.sub(r"\\", _BREAK.sub("\n", text))
    text = _OWN_HEADING.sub(r"\\", text)
    title = _TITLE.match(text) if own_title else None
    if _plain_level_ones(text) == (1 if title else 0):
        above = title[0].count("\n") + 1 if title else 0
        return _trimmed(text.split("\n")[above:], above)
    lines = text.split("\n")
    dropped = 0
    for block in blocks(lines):
        if block.kind == "fence" and not block.closed:
            lines.append(block.closer)
        elif block.kind == "heading" and block.level == 1:
            if own_title and not any(line.strip() for line in lines[: block.start]):
                dropped = block.end
            elif lines[block.end - 1].lstrip().startswith("="):
                lines[block.end - 1] = lines[block.end - 1].replace("=", "-")
            else:
                lines[block.start] = "#" + lines[block.start].lstrip()
    return _trimmed(lines[dropped:], dropped)


def _plain_level_ones(text: str) -> int:
    """How many lines outside fences may be level-1 headings; -1 where a fence seems to stay open.

    Sees fences that begin a line only: right for most texts, and where it is not, look-alikes are escaped already.
    """
    open_by, number = "", 0
    for match in _STRUCTURE.finditer(text):
        if not match[1]:
            number += not open_by
        elif not open_by:
            open_by = match[1]
        elif match[1].startswith(open_by) and not match[2].strip():
            open_by = ""
    return -1 if open_by else number


def _trimmed(lines: list[str], skipped: int) -> tuple[str, int]:
    start = next((index for index, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[start:]).rstrip(), skipped + start
