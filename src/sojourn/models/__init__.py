"""One serialiser per protocol: from a request to the body that leaves (A-1)."""

from collections.abc import Callable
from typing import Any

from sojourn.models import anthropic, chat
from sojourn.models.canonical import canonical, safe_text
from sojourn.models.encoder import Encoder, Protocol
from sojourn.wire import ModelRequest

ENCODERS: dict[Protocol, Callable[[ModelRequest], dict[str, Any]]] = {"anthropic": anthropic.encode, "chat": chat.encode}
"""The pure ``encode`` of each protocol."""

__all__ = ["ENCODERS", "Encoder", "Protocol", "canonical", "safe_text"]
