"""What goes to a model and comes back: requests, events, errors, the ``Model`` protocol."""

from sojourn.wire.errors import ModelError
from sojourn.wire.events import CallEvent, Event, FinishEvent, ReasoningEvent, RetryEvent, TextEvent, UsageEvent
from sojourn.wire.model import Model, Traits
from sojourn.wire.request import (
    About,
    CallPart,
    ImagePart,
    ModelRequest,
    ReasoningPart,
    RequestSettings,
    ResultPart,
    SystemBlock,
    TextPart,
    Tool,
    WireMessage,
    WirePart,
)

__all__ = [
    "About", "CallEvent", "CallPart", "Event", "FinishEvent", "ImagePart", "Model", "ModelError", "ModelRequest",
    "ReasoningEvent", "ReasoningPart", "RequestSettings", "ResultPart", "RetryEvent", "SystemBlock", "TextEvent", "TextPart",
    "Tool", "Traits", "UsageEvent", "WireMessage", "WirePart",
]  # fmt: skip
