"""A wire.Model that writes checkpoints as a test tells it to, and a session around it that reports usage."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from engine.sessions import prose, reads
from sojourn.base import CountingIds, Finish, ManualClock, Usage
from sojourn.checkpoint import ModelWriter
from sojourn.config import CheckpointSettings, Settings
from sojourn.engine import Engine, EngineEvent
from sojourn.engine.types import Projected
from sojourn.meter import total
from sojourn.models import ENCODERS, canonical
from sojourn.record import Call, Message, Session, Store, Window
from sojourn.wire import CallEvent, Event, FinishEvent, ModelRequest, TextEvent, TextPart, Traits, UsageEvent

PAID = Usage(fresh=900, cached=100, output=60)
"""What each answer of a scribe takes, unless the test says otherwise."""
GOOD = "+ knowledge: the gauge of Dunmore is read at minute 17\n+ next: run the batch for station 4\n"
NO_TIERS = Settings(checkpoint=CheckpointSettings(thresholds=()))
TASK = "checkpoint writer mode"
"""Words of the writer's prompt that no other request has."""

Answer = str | BaseException | Sequence[Event | float] | Callable[[ModelRequest], Any]


def text_of(request: ModelRequest) -> str:
    """The words of the newest message."""
    return "\n".join(part.text for part in request.messages[-1].parts if isinstance(part, TextPart))


def said(text: str, usage: Usage | None = PAID, finish: Finish = Finish.STOP) -> list[Event]:
    told: list[Event] = [TextEvent(text)] if text else []
    return [*told, *([UsageEvent(usage)] if usage else []), FinishEvent(finish)]


class Scribe:
    """Answers one request after the other: a text, events (a number is a pause in seconds), an error, or what a function
    makes of the request. With nothing left it answers ``GOOD``."""

    def __init__(self, *answers: Answer, **traits: Any) -> None:
        given: dict[str, Any] = {"name": "test-model", "limit": 64_000, "protocol": "anthropic"} | traits
        self.traits = Traits(**given)
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.started, self.go = asyncio.Event(), asyncio.Event()
        self.go.set()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event]:
        self.requests.append(request)
        answer: Any = self.answers.pop(0) if self.answers else GOOD
        self.started.set()
        await self.go.wait()
        if callable(answer):
            answer = answer(request)
        if asyncio.iscoroutine(answer):
            answer = await answer
        if isinstance(answer, BaseException):
            raise answer
        for event in said(answer) if isinstance(answer, str) else answer:
            if isinstance(event, float | int):
                await asyncio.sleep(event)
            else:
                yield event

    async def close(self) -> None:
        pass

    def hold(self) -> None:
        """From now on answers wait until ``go`` is set."""
        self.go.clear()
        self.started.clear()


async def scribe_engine(
    scribe: Scribe,
    *,
    limit: int = 64_000,
    events: list[EngineEvent] | None = None,
    forks: bool = True,
    **options: Any,
) -> Engine:
    """An engine whose checkpoints the scribe writes; clock and ids are the test's."""
    given: dict[str, Any] = {
        "traits": Traits(name="test-model", limit=limit, limit_source="test", protocol=scribe.traits.protocol),
        "fixed": 0,
        "clock": ManualClock(),
        "ids": CountingIds(),
        "writer": ModelWriter(scribe, forks=forks),
        "on_event": events.append if events is not None else None,
    } | options
    if "session_id" not in given:
        given.setdefault("session", Session(id=""))
    return await Engine.open(**given)


async def answered(engine: Engine, message: Message, *, used: int | None = None, cached: int | None = 0) -> Projected:
    """A step as a host makes it: a request, its answer, what it took (as much as was estimated, or ``used``)."""
    projected = await engine.project()
    estimated = size(engine)
    await asyncio.sleep(0)  # an answer takes time: a writer in the background gets its turn
    await engine.observe(message)
    whole = estimated if used is None else used
    read = None if cached is None else min(cached, whole)
    await engine.observe_usage(Usage(fresh=whole - (read or 0), cached=read, output=25))
    return projected


async def steps(engine: Engine, count: int, tokens: int = 1_000, *, start: int = 0) -> list[Projected]:
    """Steps of work with a result of so many tokens each, read from the cache as far as the request before went."""
    done: list[Projected] = []
    before = 0
    for step in range(start, start + count):
        one = await answered(engine, reads(f"src/part_{step}.py", prose(tokens, step)), cached=before)
        before = one.level.tokens
        done.append(one)
    return done


async def settled(engine: Engine) -> None:
    """The writer in the background has come to its end."""
    if engine._state.writing is not None:
        await asyncio.wait({engine._state.writing}, timeout=20)


async def life(engine: Engine, *, start: int = 0, most: int = 80) -> Window:
    """Steps of a thousand tokens until a window has opened."""
    for step in range(start, start + most):
        window = (await steps(engine, 1, start=step))[0].window
        await settled(engine)
        if window.kind != "start":
            return window
    raise AssertionError("no window opened")


def of(events: list[EngineEvent], kind: str) -> list[dict[str, Any]]:
    return [event.detail for event in events if event.kind == kind]


def keys(events: list[EngineEvent]) -> list[str]:
    return [detail["key"] for detail in of(events, "notice")]


async def calls_of(store: Store, session_id: str, purpose: str) -> list[Call]:
    return [call for call in await store.calls(session_id) if call.purpose == purpose]


async def pairs_hold(store: Store, session_id: str) -> None:
    """Items and mark are pairs, each run begins where the one before ended, and the file is sound (K-7, R-6)."""
    rows = sorted(await store.checkpoints(session_id), key=lambda row: row.covered_seq)
    head = (await store.session(session_id)).head  # type: ignore[union-attr]
    before = 0
    for row in rows:
        whole = msgspec.json.encode(row.items, order="deterministic")
        assert row.items_sha == sha256(whole).hexdigest()
        assert row.range == (before, row.covered_seq)
        assert 0 < row.covered_seq <= head
        assert all(item.written_seq <= row.covered_seq for item in row.items)
        assert all(0 < seq <= row.covered_seq for item in row.items for seq in item.sources)
        before = row.covered_seq
    assert list(await store.check()) == []


def body(request: ModelRequest, protocol: str) -> str:
    return canonical(ENCODERS[protocol](request)).decode()  # type: ignore[index]


def size(engine: Engine) -> int:
    """Estimated tokens of the next request."""
    return total(engine._state.view.estimate())


CALLS_ONLY: list[Event] = [CallEvent("c1", "read_file", {"path": "a.py"}), UsageEvent(PAID), FinishEvent(Finish.TOOL_CALLS)]
"""A model that goes on working where it is asked to write."""
