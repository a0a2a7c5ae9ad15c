"""Our own host of the engine: the turn loop, tools under permissions, reminders."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sojourn.agent.session import Agent

__all__ = ["Agent"]


def __getattr__(name: str) -> object:
    if name == "Agent":
        from sojourn.agent.session import Agent

        return Agent
    raise AttributeError(f"module 'sojourn.agent' has no attribute {name!r}")
