"""Which model to talk to, and how it was found (A-4, A-5)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import msgspec

from sojourn.wire import Traits

Api = Literal["anthropic", "chat", "responses", "gemini"]
NOT_NEEDED = "none needed"
"""``Target.key_from`` begins so where no key was given."""
SILENCE = 120.0
"""Seconds without a byte after which a stream is given up, where nothing else is said."""
Blobs = Callable[[str], Awaitable[bytes | None]]
"""Content address to bytes: where pictures come from."""


class Key(str):
    """A key: itself where it is sent, stars where an object is shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class Choice(msgspec.Struct, frozen=True):
    """What a person said: the options of ``sojourn run``. None = not said. Its key is shown as stars."""

    model: str | None = None
    """``provider/name``, a bare ``name``, or ``scripted``."""
    api: Api | None = None
    base_url: str | None = None
    api_key: str | None = None
    limit: int | None = None
    """``--window``: the model's window in tokens."""

    def __post_init__(self) -> None:
        if self.api_key is not None:
            msgspec.structs.force_setattr(self, "api_key", Key(self.api_key))


class Target(msgspec.Struct, frozen=True):
    """One model at one endpoint, ready to be connected to. Its key is shown as stars; ``headers`` are shown as they are."""

    traits: Traits
    base_url: str
    key: str
    key_from: str
    """Where the key was found: ``--api-key``, the variable's name, ``none needed``."""
    headers: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "key", Key(self.key))


def key_variable(server: str) -> str:
    """The variable that holds the key of a server of ``model.servers``: ``LAB_API_KEY`` for ``lab``."""
    return "".join(char if char.isalnum() else "_" for char in server.upper()) + "_API_KEY"


class Usable(msgspec.Struct, frozen=True):
    """One line of ``sojourn models``."""

    model: str
    api: str
    limit: int
    limit_source: str
    usable: bool
    why: str
    """How it is reached (``ANTHROPIC_API_KEY``, ``server on port 11434``), or what is missing."""
