"""What a model streams back, in order; the last one is always a FinishEvent."""

from typing import Any

import msgspec

from sojourn.base import Finish, Usage


class TextEvent(msgspec.Struct, frozen=True, tag="text"):
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


class FinishEvent(msgspec.Struct, frozen=True, tag="finish"):
    finish: Finish


Event = TextEvent | ReasoningEvent | CallEvent | UsageEvent | FinishEvent
