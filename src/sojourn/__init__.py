"""Agent sessions that outlive their context window.

``open_session`` (``Engine.open``) gives the controller of one session: ``observe`` what happens, ``project`` the next
request, ``recover`` from a refusal. Names are loaded on first use, so that importing this package costs little.
"""

from typing import TYPE_CHECKING

from sojourn.__about__ import __version__

if TYPE_CHECKING:
    from sojourn.base import ErrorKind, Finish, SojournError, SystemClock, Usage, UserMistake, WorkFailed
    from sojourn.config import Settings
    from sojourn.engine import Context, Engine, EngineEvent, Projected, Rebuilt, Undone
    from sojourn.record import File, Image, Message, PrefixSnapshot, Reasoning, Session, Store, Text, ToolCall
    from sojourn.record.sqlite import SqliteStore
    from sojourn.window import OpeningSection, OpenTask
    from sojourn.wire import ModelError, ModelRequest, Traits

    open_session = Engine.open

_ROOMS = {
    "sojourn.base": ("ErrorKind", "Finish", "SojournError", "SystemClock", "Usage", "UserMistake", "WorkFailed"),
    "sojourn.config": ("Settings",),
    "sojourn.engine": ("Context", "Engine", "EngineEvent", "Projected", "Rebuilt", "Undone"),
    "sojourn.record": (
        "File",
        "Image",
        "Message",
        "PrefixSnapshot",
        "Reasoning",
        "Session",
        "Store",
        "Text",
        "ToolCall",
    ),
    "sojourn.record.sqlite": ("SqliteStore",),
    "sojourn.window": ("OpeningSection", "OpenTask"),
    "sojourn.wire": ("ModelError", "ModelRequest", "Traits"),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Context", "Engine", "EngineEvent", "ErrorKind", "File", "Finish", "Image", "Message", "ModelError", "ModelRequest",
    "OpenTask", "OpeningSection", "PrefixSnapshot", "Projected", "Reasoning", "Rebuilt", "Session", "Settings",
    "SojournError", "SqliteStore", "Store", "SystemClock", "Text", "ToolCall", "Traits", "Undone", "Usage", "UserMistake",
    "WorkFailed", "__version__", "open_session",
]  # fmt: skip


def __getattr__(name: str) -> object:
    import importlib

    if name == "open_session":
        return importlib.import_module("sojourn.engine").Engine.open
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module 'sojourn' has no attribute {name!r}")
    return getattr(importlib.import_module(room), name)


def __dir__() -> list[str]:
    return __all__
