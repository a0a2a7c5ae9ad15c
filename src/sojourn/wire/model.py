"""The port to a model (A-1)."""

from collections.abc import AsyncIterator
from typing import Literal, Protocol

import msgspec

from sojourn.wire.events import Event
from sojourn.wire.request import ModelRequest


class Traits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What projection must know of a model and its protocol (A-4)."""

    name: str = ""
    protocol: Literal["anthropic", "chat", "responses", "gemini"] = "anthropic"
    limit: int = 128_000
    """Input and output together, tokens."""
    limit_source: str = "default"
    """``catalogue``, ``config``, ``learned`` or ``default`` (C-1)."""
    output_cap: int | None = None
    thinking: bool = False
    """Takes thinking blocks back."""
    images: bool = True
    marks: int = 4
    """Cache marks the protocol takes; 0 = automatic prefix."""
    reports_cache: bool = True


class Model(Protocol):
    """One model. Its ``stream`` yields events; it raises ModelError and nothing else."""

    @property
    def traits(self) -> Traits: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Event]:
        """Sends the request. The adapter does not reorder it, add text of its own or drop a mark in silence."""
        ...
