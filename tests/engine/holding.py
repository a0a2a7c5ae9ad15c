"""What several promises between the parts are checked with."""

from sojourn.config import CheckpointSettings, Settings
from sojourn.engine import Projected
from sojourn.models import ENCODERS
from sojourn.record import (
    Message,
    Text,
    ToolCall,
)
from sojourn.request import units

encode = ENCODERS["anthropic"]


NO_TIERS = Settings(checkpoint=CheckpointSettings(thresholds=()))


def sent(projected: Projected) -> list[bytes]:
    return units(projected.request, encode)


def text_of(message: Message) -> str:
    """What its first part says: a text, or a call's result."""
    part = message.parts[0]
    if isinstance(part, ToolCall):
        (part,) = part.result
    assert isinstance(part, Text)
    return part.text
