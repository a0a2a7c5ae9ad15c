"""A model that works and writes checkpoints, an agent around it with memory, and what its windows open with."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agent.talking import Room, Told, agent_in, call
from engine.scribe import GOOD, PAID, TASK, said, text_of
from engine.sessions import prose, reads
from sojourn.agent import Agent
from sojourn.agent.pricing import Pricing
from sojourn.checkpoint import ModelWriter
from sojourn.memory import Locator
from sojourn.memory.layout import path_of
from sojourn.record import Window
from sojourn.wire import CallEvent, ModelRequest
from sojourn.wire.events import Event


class Both(Told):
    """Its steps are for the conversation; what it is asked as a writer it answers from ``writes``, then with ``GOOD``."""

    def __init__(self, *steps: Any, writes: tuple[Any, ...] = (), **traits: Any) -> None:
        super().__init__(*steps, **traits)
        self.writes = list(writes)
        self.asked: list[ModelRequest] = []
        """As a writer."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event]:
        if TASK not in text_of(request):
            async for event in super().stream(request):
                yield event
            return
        self.asked.append(request)
        answer = self.writes.pop(0) if self.writes else GOOD
        if callable(answer):
            answer = await answer(request)
        for event in said(answer, PAID) if isinstance(answer, str) else answer:
            yield event


async def minded(where: Room, model: Told, **options: Any) -> Agent:
    """An agent with memory below the room's folder; a ``Both`` writes its checkpoints."""
    given: dict[str, Any] = {"documents": root_of(where)} | options
    if isinstance(model, Both):
        given.setdefault("writer", ModelWriter(model, price=Pricing(model.traits).loaded))
    return await agent_in(where, model, **given)


def calls(name: str, **arguments: Any) -> list[Event]:
    """One call; ``text`` may be an argument of it."""
    known = call(name)
    return [CallEvent(one.call_id, name, arguments) if isinstance(one, CallEvent) else one for one in known]


def root_of(where: Room) -> Path:
    return where.folder.parent / "memory"


def document(where: Room, scope: Any, scope_id: str, key: str) -> Path:
    path = path_of(root_of(where), Locator(scope, scope_id, key))
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


async def fill(agent: Agent, count: int = 14, *, start: int = 0) -> None:
    """So many steps of work, a thousand tokens each, as if the model had made them."""
    await agent.engine.observe(*(reads(f"src/part_{at}.py", prose(1_000, at)) for at in range(start, start + count)))


def section(window: Window | None, name: str) -> str:
    """What stands in this section; empty = it is not there."""
    assert window is not None
    return "".join(block.text for block in window.opening if block.section == name)


def opening(window: Window | None) -> str:
    assert window is not None
    return "\n".join(block.text for block in window.opening)
