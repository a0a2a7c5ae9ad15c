"""What a model streams back, in order; the last one is always a FinishEvent, with a UsageEvent before it where known."""

from typing import Any

import msgspec

from sojourn.base import ErrorKind, Finish, Usage


class TextEvent(msgspec.Struct, frozen=True, tag="text"):
    """A piece of the answer's text. Pieces that follow each other are one part."""

    text: str


class ReasoningEvent(msgspec.Struct, frozen=True, tag="reasoning"):
    """A whole thinking block, with its signature, once it is complete; deltas come with ``done=False``."""

    text: str
    signature: str = ""
    redacted: str = ""
    done: bool = False


class CallEvent(msgspec.Struct, frozen=True, tag="call"):
    """A complete tool call. ``raw_arguments`` is set where they are not a JSON object."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    raw_arguments: str = ""
    extra: dict[str, Any] = {}


class UsageEvent(msgspec.Struct, frozen=True, tag="usage"):
    usage: Usage


class RetryEvent(msgspec.Struct, frozen=True, tag="retry"):
    """The provider failed and is asked again after ``wait`` seconds: every event of this answer so far is void (A-3)."""

    attempt: int
    """1 = the first repetition."""
    wait: float
    error: ErrorKind
    message: str


class FinishEvent(msgspec.Struct, frozen=True, tag="finish"):
    finish: Finish
    raw: str = ""
    """The provider's own word for it, as it came."""


Event = TextEvent | ReasoningEvent | CallEvent | UsageEvent | RetryEvent | FinishEvent
