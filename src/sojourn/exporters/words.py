"""What the exports share: who is heard, and how parts read as text."""

import re
from collections.abc import Callable, Iterable, Iterator

from sojourn.record import File, Image, Message, ResultPart, Text, ToolCall

BlobReader = Callable[[str], bytes | None]
"""A blob's bytes by its content address; None = not there."""

UNKNOWN_OUTCOME = "Interrupted: outcome unknown, check before repeating."
"""Stands where a call has no result (R-12)."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with half surrogate pairs, which UTF-8 cannot hold, as U+FFFD."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def is_speech(message: Message) -> bool:
    """Whether a person or the model speaks: text of an engine or of another program is no speech (R-2)."""
    return message.origin == ("user" if message.role == "user" else "model")


def is_system(message: Message) -> bool:
    """Imported system text."""
    return message.origin == "import" and message.source in ("system", "developer")


def texts(parts: Iterable[object]) -> str:
    """The Text parts, with line ends between."""
    return clean("\n".join(part.text for part in parts if isinstance(part, Text)))


def label(part: Image | File) -> str:
    """One line about a picture or file."""
    size = f", {part.pixels[0]}x{part.pixels[1]}" if isinstance(part, Image) and part.pixels else ""
    kind = "picture" if isinstance(part, Image) else "file"
    name = f" {clean(part.name)}" if part.name else ""
    return f"[{kind}{name}: {part.media_type}{size}, {part.size:,} bytes, {part.blob[:12]}]"


def part_text(part: ResultPart) -> str:
    """A result part as text: a File is its excerpt, a picture its label."""
    if isinstance(part, Text):
        return clean(part.text)
    if isinstance(part, File) and part.excerpt:
        return clean(part.excerpt)
    return label(part)


def outcome(call: ToolCall) -> str:
    """What a call brought, as text; that it is unknown where it never ended."""
    said = "\n".join(part_text(part) for part in call.result)
    if call.state in ("completed", "error"):
        return said
    return f"{said}\n{UNKNOWN_OUTCOME}" if said else UNKNOWN_OUTCOME


class CallIds:
    """Ids that the large APIs accept, each given once: another file's may hold other characters, or repeat."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def fresh(self, call_id: str) -> str:
        base = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)[:50] or "call"
        name, number = base, 1
        while name in self._given:
            number += 1
            name = f"{base}_{number}"
        self._given.add(name)
        return name


def tool_name(name: str) -> str:
    """The name as the large APIs accept one."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unknown"


def in_document(messages: Iterable[str], tail: Callable[[], str]) -> Iterator[str]:
    """The chunks of ``{"messages": [...]}`` with what ``tail`` gives after the list."""
    yield '{"messages":['
    first = True
    for message in messages:
        yield ("\n" if first else ",\n") + message
        first = False
    yield "\n]" + tail() + "}\n"
