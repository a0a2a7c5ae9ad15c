"""The controller of one session and the public API: observe, project, recover."""

from sojourn.engine.session import Engine
from sojourn.engine.types import (
    Answer,
    Context,
    EngineEvent,
    Projected,
    Rebuilt,
    Undone,
    WindowSummary,
    summarise,
)

__all__ = ["Answer", "Context", "Engine", "EngineEvent", "Projected", "Rebuilt", "Undone", "WindowSummary", "summarise"]
