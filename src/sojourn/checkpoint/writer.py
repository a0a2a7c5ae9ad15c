"""The contract of a checkpoint writer (K-3 to K-10): what it is handed, what it gives back."""

from typing import Literal, Protocol

import msgspec

from sojourn.base import Item, Usage
from sojourn.record import Message


class WriterInput(msgspec.Struct, frozen=True, kw_only=True):
    """One run: bring the items up to the mark."""

    items: tuple[Item, ...]
    """The present open items, unchanged ones stay byte for byte."""
    messages: tuple[Message, ...]
    """(last mark, new mark], in order."""
    range: tuple[int, int]
    """(after, upto]."""
    trigger: int
    """Section budgets scale with it (K-2)."""


class Written(msgspec.Struct, frozen=True):
    """What a run came to: the whole new list, open items first in schema order, left ones with their status."""

    items: tuple[Item, ...]
    refused: tuple[str, ...] = ()
    usage: Usage | None = None


class WriterFailed(msgspec.Struct, frozen=True):
    """K-8. Everything stays as it was."""

    kind: Literal["retryable", "deterministic", "cancelled"]
    reason: str


class Writer(Protocol):
    """A writer, with a model or without. Never raises for a bad answer: it answers WriterFailed."""

    name: Literal["model", "extractive"]

    async def write(self, run: WriterInput) -> Written | WriterFailed: ...
