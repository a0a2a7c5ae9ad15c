"""The question to a person before a call runs (Y-6)."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from sojourn.tools.types import Effect


class Asked(msgspec.Struct, frozen=True):
    """A call that waits for a person's word."""

    tool: str
    effect: Effect
    subject: str
    """The path or command, as a rule would see it."""
    arguments: dict[str, Any]
    reason: str
    """Why it is asked: the rule, or the mode."""


Answer = Literal["once", "always", "no"]
"""``always``: for this session, calls that the same rule would cover."""
Asker = Callable[[Asked], Awaitable[Answer]]
