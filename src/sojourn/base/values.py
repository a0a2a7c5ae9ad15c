"""Values that rooms on every floor pass to each other: usage, finish, error kinds, checkpoint items."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

import msgspec

Tokens = dict[str, int]
"""Estimated tokens of one part by kind of content: ``{"prose": 120, "code": 40}`` (M-1)."""


class Finish(StrEnum):
    """Why an assistant message ended."""

    STOP = "stop"
    """The model had no more to say: it waits for the user."""
    TOOL_CALLS = "tool_calls"
    """It made calls and waits for their results."""
    LENGTH = "length"
    """Cut at the output limit (A-8)."""
    INTERRUPTED = "interrupted"
    """The person or a crash stopped it."""
    ERROR = "error"
    """The provider failed in the middle."""


class ErrorKind(StrEnum):
    """What a provider's refusal means (A-2)."""

    CONTEXT_OVERFLOW = "context_overflow"
    MALFORMED_REQUEST = "malformed_request"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    AUTH_FAILED = "auth_failed"
    REFUSED = "refused"
    OUTPUT_TRUNCATED = "output_truncated"
    UNAVAILABLE = "unavailable"


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens as a provider reported them, in disjoint fields. ``None`` = the provider does not say (M-2)."""

    fresh: int = 0
    """Input that was neither read from nor written to the cache."""
    cached: int | None = None
    """Input read from the cache."""
    written: int | None = None
    """Input written to the cache."""
    output: int = 0
    """Output, reasoning included."""
    reasoning: int | None = None
    """The part of the output that is reasoning and is not sent back."""

    @property
    def input(self) -> int:
        """Everything that was sent: fresh + cached + written."""
        return self.fresh + (self.cached or 0) + (self.written or 0)

    def plus(self, other: "Usage | None") -> "Usage":
        """Tokens of both; what one of them does not say stays unknown only where neither says it."""
        if other is None:
            return self
        return Usage(
            fresh=self.fresh + other.fresh,
            cached=_both(self.cached, other.cached),
            written=_both(self.written, other.written),
            output=self.output + other.output,
            reasoning=_both(self.reasoning, other.reasoning),
        )


def _both(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


class Section(StrEnum):
    """The sections of a checkpoint (K-2). Their purpose, budget and weight: ``window.schema``."""

    INTENT = "intent"
    NEXT = "next"
    FRONTIER = "frontier"
    DIRECTIVES = "directives"
    FILES = "files"
    KNOWLEDGE = "knowledge"
    ERRORS = "errors"
    RESOURCES = "resources"
    DECISIONS = "decisions"


class ItemStatus(StrEnum):
    OPEN = "open"
    DONE = "done"
    SUPERSEDED = "superseded"


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a checkpoint: a fact with where it came from (K-2)."""

    id: str
    section: Section
    text: str
    sources: tuple[int, ...] = ()
    """The seqs of the messages it rests on."""
    status: ItemStatus = ItemStatus.OPEN
    written_seq: int = 0
    """The mark of the run that wrote it."""
    weight: float = 1.0
    """How sure the writer is that it matters: higher stays longer when a section is over its budget."""
    by: Literal["extractive", "model", "user"] = "extractive"
    """Who wrote it. What a person wrote no writer replaces or closes (R-6)."""


def open_items(items: Iterable[Item]) -> tuple[Item, ...]:
    """Those that still hold, in their order."""
    return tuple(item for item in items if item.status == ItemStatus.OPEN)
