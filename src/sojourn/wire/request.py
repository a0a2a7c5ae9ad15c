"""A request to a model, independent of its protocol (Q-4). Serialisers turn it into a body, nothing else."""

from typing import Any, Literal

import msgspec

Mark = Literal["stable", "opening", "previous", "last"]
"""A cache mark and why it stands there (Q-5)."""


class About(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a unit comes from: an M-4 category and its source. Never serialised."""

    kind: str
    """``system``, ``context``, ``tools``, ``opening``, ``reminder``, ``user``, ``assistant``, ``result``, ``image``."""
    name: str = ""
    """Section of the opening, tool name, reminder source."""
    seq: int | None = None
    tokens: int = 0
    """Uncalibrated estimate."""


class SystemBlock(msgspec.Struct, frozen=True, omit_defaults=True):
    text: str
    about: About
    mark: Mark | None = None


class Tool(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    description: str
    schema: dict[str, Any]
    about: About


class TextPart(msgspec.Struct, frozen=True, omit_defaults=True, tag="text"):
    text: str
    about: About


class ReasoningPart(msgspec.Struct, frozen=True, omit_defaults=True, tag="reasoning"):
    text: str
    signature: str
    redacted: str
    about: About


class ImagePart(msgspec.Struct, frozen=True, omit_defaults=True, tag="image"):
    media_type: str
    blob: str
    """Content address; the client puts the bytes in when it encodes (see ``data``)."""
    about: About
    data: str = ""
    """Base64, filled in just before sending."""


class CallPart(msgspec.Struct, frozen=True, omit_defaults=True, tag="call"):
    call_id: str
    name: str
    arguments: dict[str, Any]
    about: About
    extra: dict[str, Any] = {}


class ResultPart(msgspec.Struct, frozen=True, omit_defaults=True, tag="result"):
    call_id: str
    name: str
    content: tuple[TextPart | ImagePart, ...]
    error: bool
    about: About


WirePart = TextPart | ReasoningPart | ImagePart | CallPart | ResultPart


class WireMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Results stand in a user message of their own, right behind the calls they answer, before any other part."""

    role: Literal["user", "assistant", "system"]
    parts: tuple[WirePart, ...]
    mark: Mark | None = None
    """On the last part of the message."""


class RequestSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is part of the provider's cache key, and the output limit."""

    model: str = ""
    max_output: int | None = None
    thinking: str | None = None
    tool_choice: str | None = None
    cache_key: str = ""
    """Routes the requests of one session to one cache, where the protocol has a field for it; no part of the key itself."""
    keep_thinking: bool = False
    """The model thinks, said or not: its thinking is asked for in the form in which it can go back (Responses)."""


class ModelRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    system: tuple[SystemBlock, ...]
    tools: tuple[Tool, ...]
    messages: tuple[WireMessage, ...]
    settings: RequestSettings
