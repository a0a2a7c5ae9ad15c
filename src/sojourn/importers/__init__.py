"""Foreign transcripts to our record (R-14).

``read(path)`` streams sessions and their messages from a file of any format in ``IMPORTERS``; ``detect(path)`` tells
the format, and says what it looked for where the file is of none.
"""

from collections.abc import Iterator

from sojourn.base import UserMistake
from sojourn.importers.claude_code import ClaudeCode
from sojourn.importers.codex import Codex
from sojourn.importers.drive import opened
from sojourn.importers.gemini import Gemini
from sojourn.importers.known_formats import known_format
from sojourn.importers.message_lists import AnthropicMessages, OpenAIMessages
from sojourn.importers.pi import Pi
from sojourn.importers.sojourn_jsonl import SojournJsonl, read_rows
from sojourn.importers.types import (
    Counts,
    Done,
    Imported,
    Importer,
    ImportRecord,
    Progress,
    SessionStart,
    Skipped,
    SkippedLine,
)

__all__ = [
    "IMPORTERS", "Counts", "Done", "ImportRecord", "Imported", "Importer", "Progress", "SessionStart", "Skipped",
    "SkippedLine", "detect", "read", "read_rows",
]  # fmt: skip

SAMPLE = 64 * 1024

IMPORTERS: tuple[Importer, ...] = (
    SojournJsonl(),
    ClaudeCode(),
    Codex(),
    Gemini(),
    Pi(),
    AnthropicMessages(),
    OpenAIMessages(),
)
"""In the order in which they are asked."""


def detect(path: str) -> Importer:
    """The importer of the file's format, told by its first 64 KiB.

    Raises UserMistake for a file that cannot be read, is empty, is of a format that is known but not read yet, or of
    an unknown one (the message lists what was looked for).
    """
    with opened(path) as file:
        sample: bytes = file.read(SAMPLE)
    if not sample.strip(b"\0 \t\r\n"):
        raise UserMistake(f"{path} is empty.", next_step="Name a transcript file with something in it.")
    label = known_format(sample)
    if label:
        names = ", ".join(importer.name for importer in IMPORTERS)
        raise UserMistake(
            f"{path} is a transcript of {label}: that format is recognised, but cannot be read yet.",
            next_step=f"Formats that can be read: {names}.",
        )
    for importer in IMPORTERS:
        if importer.matches(sample):
            return importer
    wanted = "\n".join(f"  {importer.name}: {importer.looks_for}" for importer in IMPORTERS)
    raise UserMistake(
        f"{path} is not a transcript of a known format. Looked for:\n{wanted}",
        next_step="Check that the path names a session file, not its index or settings.",
    )


def read(path: str) -> Iterator[ImportRecord]:
    """The records of the file, in order, ``Done`` last. Raises UserMistake as ``detect`` does; bad lines never raise."""
    return detect(path).read(path)
