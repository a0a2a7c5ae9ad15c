"""A model that says what a test tells it to, and an agent around it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sojourn.agent import Agent
from sojourn.agent.types import AgentEvent
from sojourn.base import Finish, ManualClock, Usage
from sojourn.checkpoint import ExtractiveWriter
from sojourn.config import Folders
from sojourn.models import ENCODERS, canonical
from sojourn.record import Store
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import CallEvent, FinishEvent, ModelRequest, TextEvent, Traits, UsageEvent
from sojourn.wire.events import Event

Step = Sequence[Event | BaseException | float] | Callable[[ModelRequest], Sequence[Event | BaseException | float]]


def say(text: str, finish: Finish = Finish.STOP) -> list[Event]:
    return [TextEvent(text), FinishEvent(finish)]


def call(name: str, /, call_id: str = "", text: str = "", **arguments: Any) -> list[Event]:
    """One call, with an id of its own."""
    call.number += 1  # type: ignore[attr-defined]
    said: list[Event] = [TextEvent(text)] if text else []
    return [*said, CallEvent(call_id or f"call_{call.number}", name, arguments), FinishEvent(Finish.TOOL_CALLS)]  # type: ignore[attr-defined]


call.number = 0  # type: ignore[attr-defined]


class Told:
    """A wire.Model that plays steps in order. A number in a step is a pause in seconds, an exception is raised."""

    def __init__(self, *steps: Step, **traits: Any) -> None:
        self.steps = list(steps)
        given = {"name": "told", "provider": "test", "protocol": "chat", "limit": 64_000, "output_cap": 4_096} | traits
        self.traits = Traits(**given)
        self.requests: list[ModelRequest] = []
        self.closed = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event]:
        self.requests.append(request)
        step = self.steps.pop(0) if self.steps else say("nothing more to say")
        size = len(self.body(-1)) // 4
        events = step(request) if callable(step) else step
        for event in events:
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, float | int):
                await asyncio.sleep(event)
                continue
            if isinstance(event, FinishEvent):
                yield UsageEvent(Usage(fresh=size, cached=0, output=20))
            yield event

    def body(self, index: int) -> bytes:
        """What would have left."""
        return canonical(ENCODERS[self.traits.protocol](self.requests[index]))

    def text(self, index: int = -1) -> str:
        return self.body(index).decode()

    async def close(self) -> None:
        self.closed = True


async def until(holds: Callable[[], object]) -> None:
    """Waits for it, at most 20 seconds: how fast a machine is must not decide a test."""
    for _ in range(2_000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come about")


class Room(msgspec.Struct):
    """A folder to work in, a store, and what the agent told."""

    folder: Path
    store: Store
    events: list[AgentEvent]
    clock: ManualClock

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


async def room(tmp_path: Path, *, on_disk: bool = False) -> Room:
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    clock = ManualClock(1_764_000_000_000)
    store = await SqliteStore.open(tmp_path / "record.db" if on_disk else None, clock=clock)
    return Room(folder, store, [], clock)


async def agent_in(where: Room, model: Told, **options: Any) -> Agent:
    """An agent in mode ``full``, in a trusted folder, unless ``options`` say otherwise."""
    given: dict[str, Any] = {"mode": "full", "trusted": True, "environ": {}, "clock": where.clock} | options
    # What the model is told to say is meant for the conversation: checkpoints are written without it.
    given.setdefault("writer", ExtractiveWriter())
    base = where.folder.parent / "home"
    return await Agent.open(
        store=where.store,
        cwd=where.folder,
        model=model,
        on_event=where.events.append,
        places=Folders(data=base / "data", config=base / "config", cache=base / "cache"),
        home=base,
        **given,
    )
