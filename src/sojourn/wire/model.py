"""The port to a model (A-1)."""

from collections.abc import AsyncIterator
from typing import Literal, Protocol

import msgspec

from sojourn.wire.events import Event
from sojourn.wire.request import ModelRequest


class Traits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What projection must know of a model and its protocol (A-4)."""

    name: str = ""
    """As the provider calls it; goes into the body."""
    provider: str = ""
    """``anthropic``, ``openai``, ``ollama``, ...; empty = unknown."""
    protocol: Literal["anthropic", "chat", "responses", "gemini"] = "anthropic"
    limit: int = 128_000
    """Input and output together, tokens."""
    limit_source: str = "default"
    """``catalogue``, ``config``, ``learned`` or ``default`` (C-1)."""
    output_cap: int | None = None
    thinking: bool = False
    """Takes thinking blocks back."""
    images: bool = True
    images_most: int = 100
    """Pictures in one request."""
    image_side: int = 8_000
    """Pixels of the longer side that one picture may have."""
    image_bytes: int = 3_900_000
    """Of one picture, before base64: providers count the encoded text, a third longer, against 5 MB."""
    mid_system: bool = False
    """Takes messages of role system in mid-conversation, measured or documented (Q-6)."""
    marks: int = 4
    """Cache marks the protocol takes; 0 = automatic prefix."""
    reports_cache: bool = True
    cache_ttl: int = 300
    """Seconds that the provider keeps a prefix after its last use."""


class Model(Protocol):
    """One model. Its ``stream`` yields events; it raises ModelError and nothing else."""

    @property
    def traits(self) -> Traits: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Event]:
        """Sends the request. The adapter does not reorder it, add text of its own or drop a mark in silence.

        Closing the iterator early cancels the request."""
        ...

    async def close(self) -> None:
        """Gives connections back."""
        ...
