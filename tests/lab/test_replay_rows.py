"""A replay's rows: what is told of each window of a transcript (N8, T-3, T-6)."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from engine.sessions import prose, reads, says, user
from engine.telling import NOW, TRAITS, memory
from sojourn.base import Finish, SystemClock
from sojourn.engine import Engine
from sojourn.lab import replay as replaying
from sojourn.lab.replay import replay
from sojourn.meter import message_tokens, total
from sojourn.record import (
    Fence,
    Message,
    Session,
    SetSlot,
    Slot,
)


def dated(messages: Sequence[Message]) -> list[Message]:
    """Repeated ids and times of their own, as files have them."""
    return [msgspec.structs.replace(message, id="same", created=NOW + 1_000 * n) for n, message in enumerate(messages)]


def journey(steps: int) -> list[Message]:
    return dated([user("Go."), *(reads(f"p{n}.py", prose(1_000, n)) for n in range(steps)), says("Done.")])


@pytest.mark.design("N8", "T-3")
def test_a_replays_points_stays_and_marks_are_of_the_steps_that_they_served() -> None:
    messages = journey(40)
    requests: list[Any] = []
    told: list[int] = []
    done = asyncio.run(replay(messages, window=32_000, on_request=requests.append, on_progress=told.append))
    assert told == list(range(1, len(messages) + 1))
    assert [point.step for point in done.points] == list(range(1, 42))
    assert [(point.seq, point.level) for point in done.points] == [(r.upto_seq, r.level.tokens) for r in requests]
    assert [point.seq for point in done.points] == list(range(1, 42))
    assert len(done.windows) > 1
    for stay, window in zip(done.stays, done.windows, strict=True):
        assert (stay.number, stay.kind, stay.reason, stay.trigger, stay.hard) == (
            window.number, window.kind, window.reason, window.trigger, window.hard,
        )  # fmt: skip
        assert (stay.level_before, stay.level_after) == (window.level_before, window.level_after)
        # It serves the first request that was made after it opened.
        assert stay.step == next(number for number, r in enumerate(requests, 1) if r.window.number == window.number)
    assert done.marks
    for mark in done.marks:
        assert 0 < mark.covered_seq < done.points[mark.step - 1].seq
    assert [mark.step for mark in done.marks] == sorted(mark.step for mark in done.marks)
    assert done.tokens == sum(total(message_tokens(message)) for message in messages)
    assert (done.stops, done.over_hard, done.steps) == (0, 0, 41)


@pytest.mark.design("T-6")
def test_each_boundary_is_asked_for_what_lies_before_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges: list[tuple[int, int]] = []
    views: list[str] = []

    class Index:
        def __init__(self, messages: list[Message]) -> None:
            assert [message.seq for message in messages] == list(range(1, len(messages) + 1))

        def needed_after(self, seq: int, upto: int) -> tuple[int, ...]:
            ranges.append((seq, upto))
            return (1, 2, 3)

    def recall(asked: tuple[int, ...], view: str) -> tuple[int, int]:
        views.append(view)
        return (2, len(asked)) if "opens a new context window" in view or "Written by the engine" in view else (1, len(asked))

    monkeypatch.setattr(replaying, "SessionIndex", Index)
    monkeypatch.setattr(replaying, "recall", recall)
    messages = journey(50)
    levels: list[int] = []
    seen: set[int] = set()

    def request(projected: Any) -> None:
        if projected.window.number > 1 and projected.window.number not in seen:
            levels.append(projected.level.tokens)
        seen.add(projected.window.number)

    done = asyncio.run(replay(messages, window=32_000, on_request=request))
    opened = [window.opened_at_seq for window in done.windows[1:]]
    assert len(opened) >= 2
    assert ranges == list(zip(opened, [*opened[1:], len(messages)], strict=True))
    ours = done.continuity["sojourn"]
    boundaries = len(opened)
    assert (ours.visible, ours.asked, ours.recall) == (2 * boundaries, 3 * boundaries, 2 / 3)
    assert ours.opening_tokens == sum(levels)
    for name in ("drop_oldest", "keep_last", "clear_results"):
        kept = done.continuity[name]
        assert (kept.visible, kept.asked, kept.recall) == (boundaries, 3 * boundaries, 1 / 3)
        assert 0 < kept.opening_tokens <= sum(levels)
    assert asyncio.run(replay(messages, window=32_000, continuity=False)).continuity == {}


@pytest.mark.design("C-11", "N8")
def test_a_stop_in_a_replay_is_counted_and_the_replay_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    went_on: list[int] = []

    def go_on(self: Engine) -> None:
        went_on.append(self.head)
        self._state.window_steps.clear()

    monkeypatch.setattr(Engine, "go_on", go_on)

    def heavy(number: int) -> Message:
        calls = tuple(reads(f"a{number}_{i}.py", prose(900, number + i)).parts[0] for i in range(4))
        return Message(id="", role="assistant", origin="model", parts=calls, finish=Finish.TOOL_CALLS)

    done = asyncio.run(replay([user("Go."), *map(heavy, range(20))], window=8_000))
    assert done.stops == len(went_on) >= 1
    assert done.steps == 20


@pytest.mark.design("K-9", "R-11")
def test_a_free_slot_is_left_as_it_is_when_a_session_is_opened() -> None:
    async def main() -> None:
        store = await memory(SystemClock())
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
            epoch = engine._state.lease.epoch  # type: ignore[union-attr]
            slot = Slot(running=False, generation=4, mark=3)
            await store.commit(engine.session_id, Fence(epoch=epoch, slot_generation=0), [SetSlot(slot)])
        async with await Engine.open(store=store, session_id=engine.session_id, traits=TRAITS):
            assert await store.slot(engine.session_id) == slot
        await store.close()

    asyncio.run(main())
