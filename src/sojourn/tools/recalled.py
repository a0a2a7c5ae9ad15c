"""Messages of the record as text for a model that looks something up (R-13)."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from sojourn.record import File, Hit, Image, Message, Part, Reminder, Text, ToolCall

_WRAP = 2_000
"""Characters of a line: a longer one counts as several, so that any place can be reached by a line number."""


def hit_lines(hits: Iterable[Hit]) -> Iterator[str]:
    """``m12 user: snippet``, in the order given."""
    for hit in hits:
        yield f"m{hit.seq} {hit.role}: {hit.snippet}"


def message_text(message: Message) -> str:
    """The whole message under ``m12 user``: text, calls with their results, files and pictures by name. Thinking and
    notices for people are left out."""
    who = message.role if message.origin in ("user", "model") else f"{message.origin} {message.source}".strip()
    return "\n".join([f"m{message.seq} {who}:", *(line for part in message.parts for line in _part(part))])


def _part(part: Part) -> Iterator[str]:
    match part:
        case Text():
            yield part.text.rstrip("\n")
        case ToolCall():
            arguments = part.raw_arguments or json.dumps(part.arguments, ensure_ascii=False)
            yield f"[call {part.name} {arguments}: {part.state}]"
            for result in part.result:
                yield from _part(result)
        case File():
            if part.excerpt:
                yield part.excerpt.rstrip("\n")
            yield f"[file {part.name or part.media_type}, {part.size:,} bytes: blob:{part.blob[:12]}]"
        case Image():
            pixels = f", {part.pixels[0]}x{part.pixels[1]}" if part.pixels else ""
            yield f"[picture {part.name or part.media_type}{pixels}]"
        case Reminder():
            yield f"[reminder {part.source}] {part.body}"


def numbered_lines(text: str) -> Sequence[str]:
    """The lines that ``from`` counts: at line ends, and inside a line after every 2,000 characters."""
    lines = text.removesuffix("\n").split("\n")
    if all(len(line) <= _WRAP for line in lines):
        return lines
    return [piece for line in lines for piece in (re.findall(f"(?s).{{1,{_WRAP}}}", line) or [""])]


def page(lines: Sequence[str], first: int, count: int | None, characters: int) -> Sequence[str]:
    """Lines from ``first`` (from 1): at most ``count``, and as many as fit in ``characters``, one at least."""
    kept: list[str] = []
    for line in lines[first - 1 : None if count is None else first - 1 + count]:
        characters -= len(line) + 1
        if characters < 0 and kept:
            break
        kept.append(line)
    return kept
