"""The contract of an importer: a foreign file in, our messages out, nothing lost in silence (R-14)."""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from sojourn.record import Message


class Skipped(msgspec.Struct, frozen=True):
    """A line (or record) that was not imported, and why."""

    line: int
    """From 1; 0 = the file as a whole."""
    reason: str


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """As the file has them, before repair; the counting rules of each format are in its module's docstring."""

    messages: int = 0
    tool_calls: int = 0
    tool_results: int = 0


class SessionStart(msgspec.Struct, frozen=True, omit_defaults=True, tag=True):
    """A session begins (a file may hold several; a sub-agent's has ``parent_foreign_id``)."""

    foreign_id: str
    title: str = ""
    cwd: str = ""
    model: str = ""
    created: int = 0
    parent_foreign_id: str = ""
    agent: str = "main"


class Imported(msgspec.Struct, frozen=True, tag=True):
    """One complete message of the session ``foreign_id``. Images and large payloads are in ``blobs`` by sha256."""

    foreign_id: str
    message: Message
    blobs: dict[str, bytes] = {}


class SkippedLine(msgspec.Struct, frozen=True, tag=True):
    skipped: Skipped


class Progress(msgspec.Struct, frozen=True, tag=True):
    bytes_read: int
    """Of the file, so far."""


class Done(msgspec.Struct, frozen=True, tag=True):
    """The last record of a file."""

    counts: Counts
    lines: int
    bytes: int


ImportRecord = SessionStart | Imported | SkippedLine | Progress | Done


class Importer(Protocol):
    """One foreign format."""

    name: str
    """``claude-code``, ``codex``, ``pi``, ``gemini``, ``openai-messages``, ``anthropic-messages``."""
    looks_for: str
    """What its ``matches`` looks for, in words for the error about an unknown file."""

    def matches(self, sample: bytes) -> bool:
        """Whether the first 64 KiB of a file are of this format."""
        ...

    def read(self, path: str) -> Iterator[ImportRecord]:
        """Streams the file in constant memory. Never raises for bad content: it skips, counts and reports."""
        ...
