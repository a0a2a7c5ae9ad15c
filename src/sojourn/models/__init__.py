"""The protocols of models: serialisers, clients, errors, the catalogue (A-1 to A-6). Importing this imports no SDK."""

from collections.abc import Callable
from typing import Any

from sojourn.models.canonical import canonical, safe_text
from sojourn.models.encoder import SERIALISERS, Encoder, Protocol
from sojourn.wire import ModelRequest

ENCODERS: dict[Protocol, Callable[[ModelRequest], dict[str, Any]]] = {
    protocol: serialiser.encode for protocol, serialiser in SERIALISERS.items()
}
"""The pure ``encode`` of each protocol."""

__all__ = ["ENCODERS", "Encoder", "Protocol", "canonical", "safe_text"]
