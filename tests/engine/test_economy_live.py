"""Windows that are left where a step is cheapest, writers that keep to their share, nothing that runs while idle (C-18)."""

import asyncio
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from engine.scribe import Scribe, answered, keys, of, scribe_engine, settled, steps
from engine.sessions import prose, reads, says, user
from sojourn.base import ManualClock, Usage
from sojourn.config import CheckpointSettings, Compaction, Memory, Settings
from sojourn.engine import Engine, EngineEvent
from sojourn.meter import message_tokens, total
from sojourn.record import Call, Checkpoint, Store
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import Traits

LIMIT, T, FIXED = 200_000, 180_000, 6_000
CACHED, WRITTEN, OUTPUT = 0.1, 1.25, 5.0
"""Prices that are usual for marked caches, of a fresh token."""


def policy(name: str, **checkpoint: Any) -> Settings:
    return Settings(compaction=Compaction(policy=name), checkpoint=CheckpointSettings(**checkpoint))  # type: ignore[arg-type]


def cheapest(name: str, *, growth: float, opening: float, written: float, more: float = 0.0) -> float:
    """C-18 by hand; ``more``: what writers and reading again cost, in fresh tokens."""
    switching = WRITTEN * written + more
    slope = CACHED * growth / 2
    n = math.sqrt(switching / slope)
    if name == "balanced":
        constant = growth + CACHED * opening
        most = 1.03 * (constant + slope * n + switching / n) - constant
        n = (most + math.sqrt(most * most - 4 * slope * switching)) / (2 * slope)
    return min(max(opening + max(4, n) * growth, 2 * opening, T / 4), T)


def cost(call: Call) -> float:
    usage = call.usage
    assert usage is not None
    return usage.fresh + CACHED * (usage.cached or 0) + WRITTEN * (usage.written or 0) + OUTPUT * usage.output


async def economic(name: str, scribe: Scribe, **options: Any) -> Engine:
    given: dict[str, Any] = {"limit": LIMIT, "fixed": FIXED, "settings": policy(name)} | options
    return await scribe_engine(scribe, **given)


# --- the trigger ------------------------------------------------------------------------------------------------------


@pytest.mark.design("C-18", "C-2", "N11")
@pytest.mark.parametrize("name", ["economy", "balanced", "full"])
def test_the_start_windows_trigger_is_t_until_its_fifth_step_and_then_stays(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        clock = ManualClock()
        store = await SqliteStore.open(tmp_path / "record.db", clock=clock)
        engine = await economic(name, Scribe(), store=store, clock=clock, ids=None)
        await engine.observe(user("Go."))
        triggers = []
        for step in range(7):
            projected = (await steps(engine, 1, 6_000 if step < 5 else 300, start=step))[0]
            triggers.append(projected.lines.trigger)
            assert projected.lines.full_trigger == T
        assert triggers[:5] == [T] * 5
        five = [m for m in await engine.read(0, engine.head) if m.role == "assistant"][:5]
        growth = sum(total(message_tokens(message)) for message in five) / 5
        by_hand = math.floor(cheapest(name, growth=growth, opening=FIXED, written=T * 15 // 100)) if name != "full" else T
        assert triggers[5:] == [by_hand] * 2
        stored = await store.newest_window(engine.session_id)
        assert stored is not None
        assert stored.trigger == projected.window.trigger == by_hand, "drawn once, and kept with the window"
        if name != "full":
            assert T / 4 < by_hand < T
        tiers = (math.floor(by_hand * 0.85),) if name != "full" else tuple(T * part // 100 for part in (20, 40, 60, 80))
        assert projected.lines.tiers == tiers
        # A process that comes later sees the same lines, and the same level.
        lines, level = engine._state.lines(), engine.level()
        session_id = engine.session_id
        await engine.close()
        async with await economic(name, Scribe(), store=store, clock=clock, ids=None, session_id=session_id) as again:
            assert again._state.lines() == lines
            assert again.level() == level
            assert (await again.project()).lines == lines
        await store.close()

    asyncio.run(main())


@pytest.mark.design("C-18", "C-7")
def test_what_is_learned_after_the_fifth_step_moves_neither_line_nor_tier_of_the_first_window() -> None:
    async def main() -> None:
        scribe = Scribe()
        engine = await economic("balanced", scribe)
        await engine.observe(user("Go."))
        await steps(engine, 6, 6_000)
        lines = engine._state.lines()
        consumed: set[tuple[int, ...]] = set()
        for step in range(40):
            engine._state.ratio = lambda step=step: 1.0 + step / 100  # type: ignore[method-assign,misc]
            await steps(engine, 1, 600, start=6 + step)
            if engine.window.number > 1:
                break
            assert (engine._state.lines().trigger, engine._state.lines().tiers) == (lines.trigger, lines.tiers)
            consumed.add(engine.window.tiers)
        assert consumed <= {(), lines.tiers}
        await engine.close()

    asyncio.run(main())


@pytest.mark.design("C-18", "N11", "K-11", "R-5")
@pytest.mark.parametrize("name", ["economy", "balanced"])
@pytest.mark.parametrize("on_disk", [False, True])
def test_each_windows_trigger_is_computed_from_what_was_measured_and_stored_with_it(
    name: str, on_disk: bool, tmp_path: Path
) -> None:
    async def main() -> None:
        clock, events = ManualClock(), list[EngineEvent]()
        store = await SqliteStore.open(tmp_path / "record.db" if on_disk else None, clock=clock)
        engine = await economic(name, Scribe(), store=store, clock=clock, ids=None, events=events)
        await engine.observe(user("Go."))
        try:
            grown: list[int] = []
            for step in range(60):
                if step % 4 == 3 and on_disk:  # another process goes on with it, in the middle of a window
                    await engine.close()
                    session_id = engine.session_id
                    engine = await economic(
                        name, Scribe(), store=store, clock=clock, ids=None, events=events, session_id=session_id
                    )
                await steps(engine, 1, 6_000, start=step)
                await settled(engine)
                newest = (await engine.read(engine.head - 1, engine.head))[0]
                grown.append(total(message_tokens(newest)))
                if len(await store.windows(engine.session_id)) == 4:
                    break
            windows = await store.windows(engine.session_id)
            assert [window.number for window in windows] == [1, 2, 3, 4]
            calls = await store.calls(engine.session_id)
            assert not of(events, "checkpoint_failed")
            for window, before in zip(windows[1:], windows, strict=False):
                assert (window.reason, window.outcome, window.policy) == ("usage", "rebuilt", name)
                measured = window.measured
                steps_so_far = sum(
                    1
                    for call in calls
                    if call.purpose == "main"
                    and call.started
                    and call.window_id in {one.id for one in windows if one.number < window.number}
                )
                assert measured["steps"] == min(50, steps_so_far)
                assert measured["growth"] == pytest.approx(sum(grown[:steps_so_far]) / steps_so_far, abs=0.06)
                assert (measured["cached_price"], measured["written_price"]) == (CACHED, WRITTEN)
                assert measured["opening"] == window.meter_after - FIXED
                own = [cost(call) for call in calls if call.purpose == "writer" and call.window_id == before.id]
                assert own
                assert measured["writer"] == pytest.approx(sum(own), abs=0.06)
                ids = {one.id for one in windows if one.number < window.number}
                for purpose in ("main", "writer"):
                    spent = sum(cost(call) for call in calls if call.purpose == purpose and call.window_id in ids)
                    assert measured[f"spent_{purpose}"] == pytest.approx(spent, abs=0.3)
                by_hand = cheapest(
                    name,
                    growth=measured["growth"],
                    opening=window.meter_after,
                    written=measured["opening"],
                    more=measured["writer"] + measured["reread"],
                )
                assert window.trigger == pytest.approx(by_hand, abs=3)
                assert T / 4 <= window.trigger < T
            # It is left at that line, not before: the level at which the next one opened is the first above it.
            for window, after in pairwise(windows[1:]):
                assert window.trigger <= after.meter_before < window.trigger + 7_000
        finally:
            await engine.close()
        await store.close()

    asyncio.run(main())


@pytest.mark.design("C-18", "W-12")
def test_a_window_of_its_own_policy_keeps_its_trigger_when_the_policy_changes() -> None:
    async def main() -> None:
        clock = ManualClock()
        store = await SqliteStore.open(None, clock=clock)
        engine = await economic("economy", Scribe(), store=store, clock=clock)
        await engine.observe(user("Go."))
        await steps(engine, 8, 6_000)
        window = (await engine.rebuild()).window
        assert window is not None
        await engine.close()
        async with await economic("full", Scribe(), store=store, clock=clock, ids=None, session_id=engine.session_id) as again:
            assert again._state.lines().trigger == window.trigger < T
            await again.observe(says("Going on."))
            newest = (await again.rebuild()).window
            assert newest is not None
            assert (newest.trigger, newest.policy) == (T, "full")
        await store.close()

    asyncio.run(main())


# --- the soft trigger -------------------------------------------------------------------------------------------------


async def over_the_trigger(engine: Engine, scribe: Scribe) -> None:
    """The level is over the window's trigger, and the writer of its tier still writes."""
    await engine.observe(user("Go."))
    step = 0
    scribe.hold()
    while not scribe.started.is_set():
        await steps(engine, 1, 6_000, start=step)
        await asyncio.sleep(0)
        step += 1
    while engine.level().tokens < engine._state.lines().trigger:
        await asyncio.wait_for(steps(engine, 1, 6_000, start=step), 5)
        step += 1


@pytest.mark.design("C-18", "C-8", "C-9")
@pytest.mark.report(33)
@pytest.mark.parametrize("name", ["economy", "balanced"])
def test_over_an_economic_trigger_steps_go_on_while_the_writer_writes_and_wait_only_at_t(name: str) -> None:
    async def main() -> None:
        scribe, events = Scribe(), list[EngineEvent]()
        async with await economic(name, scribe, events=events) as engine:
            await over_the_trigger(engine, scribe)
            level, lines = engine.level().tokens, engine._state.lines()
            assert lines.trigger <= level < T
            for step in range(3):
                projected = await asyncio.wait_for(engine.project(), 5)
                assert projected.window.number == 1
                await engine.observe(reads(f"more_{step}", prose(200, step)))
            # One token under T it goes out as well.
            await answered(engine, says("Under it."), used=T - 26)
            assert engine.level().tokens == T - 1
            assert (await asyncio.wait_for(engine.project(), 5)).window.number == 1
            assert keys(events) == []
            assert len(scribe.requests) == 1
            # At T it waits, visibly, and goes on from what the writer has written.
            await engine.observe(says("At it."))
            await engine.observe_usage(Usage(fresh=T - 25, cached=0, output=25))
            assert engine.level().tokens == T
            waiting = asyncio.create_task(engine.project())
            for _ in range(20):
                await asyncio.sleep(0.001)
            assert not waiting.done()
            assert keys(events) == ["waiting_for_writer"]
            scribe.go.set()
            projected = await asyncio.wait_for(waiting, 5)
            assert projected.window.number == 2
            assert projected.window.checkpoint_id == of(events, "checkpoint_written")[0]["checkpoint"].id
            assert len(scribe.requests) == 1

    asyncio.run(main())


@pytest.mark.design("C-18", "C-9")
def test_over_an_economic_trigger_a_window_opens_as_soon_as_the_writer_has_written() -> None:
    async def main() -> None:
        scribe, events = Scribe(), list[EngineEvent]()
        async with await economic("economy", scribe, events=events) as engine:
            await over_the_trigger(engine, scribe)
            assert (await engine.project()).window.number == 1
            scribe.go.set()
            await settled(engine)
            projected = await engine.project()
            assert (projected.window.number, projected.window.outcome, projected.window.reason) == (2, "rebuilt", "usage")
            assert "waiting_for_writer" not in keys(events)

    asyncio.run(main())


@pytest.mark.design("C-18", "C-9")
def test_over_an_economic_trigger_an_older_checkpoint_is_enough() -> None:
    async def main() -> None:
        scribe, events = Scribe(), list[EngineEvent]()
        async with await economic("economy", scribe, events=events) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 4, 6_000)
            first = await engine.write_checkpoint()
            assert isinstance(first, Checkpoint)
            scribe.hold()
            step = 4
            projected = (await steps(engine, 1, 6_000, start=step))[0]
            while projected.window.number == 1:
                step += 1
                projected = (await asyncio.wait_for(steps(engine, 1, 6_000, start=step), 5))[0]
            assert scribe.started.is_set(), "the tier's writer writes"
            assert projected.window.checkpoint_id == first.id
            assert projected.window.meter_before < T / 2, "at its trigger, long before T"
            assert "waiting_for_writer" not in keys(events)
            scribe.go.set()

    asyncio.run(main())


# --- the cold cache ---------------------------------------------------------------------------------------------------

TTL = 300_000
TRIGGER = 45_000
"""Of the sessions that come back below: 0.9 of a window of 50,000, and no economic trigger here is lower."""


async def left_cold(store: Store, clock: ManualClock, *, checkpoint: bool, over: int) -> str:
    """A session in its second window, its level so many tokens over half of the trigger: its id."""
    engine = await economic("economy", Scribe(), store=store, clock=clock, ids=None)
    await engine.observe(user("Go."))
    await steps(engine, 8, 6_000)
    await engine.rebuild()
    await steps(engine, 4, 6_000, start=20)
    if checkpoint:
        row = await engine.write_checkpoint()
        assert isinstance(row, Checkpoint)
        assert row.covered_seq > engine.window.covered_seq
    await answered(engine, says("Waiting for you."), used=TRIGGER // 2 + over - 25)
    assert engine.level().tokens == TRIGGER // 2 + over
    await engine.close()
    return engine.session_id


COLD: dict[str, tuple[dict[str, Any], bool]] = {
    "as it should be": ({}, True),
    "the cache is warm": ({"waited": TTL - 1}, False),
    "half of the trigger": ({"over": 0}, False),
    "no usable checkpoint": ({"checkpoint": False}, False),
    "policy full": ({"settings": policy("full")}, False),
    "policy balanced": ({"settings": policy("balanced")}, True),
    "no cache": ({"reports": False}, False),
    "not by itself": ({"settings": Settings(compaction=Compaction(policy="economy", auto=False))}, False),
    "nothing is written": (
        {"settings": Settings(compaction=Compaction(policy="economy"), memory=Memory(disable_write=True))},
        False,
    ),
    "checkpoints are off": ({"settings": policy("economy", enabled=False)}, False),
}


@pytest.mark.design("C-15", "N7")
@pytest.mark.parametrize("case", COLD)
def test_a_cold_cache_opens_a_window_only_where_that_is_cheaper(case: str) -> None:
    options, opens = COLD[case]
    given: dict[str, Any] = {"waited": TTL, "over": 1, "checkpoint": True, "settings": policy("economy"), "reports": True}
    given |= options

    async def main() -> None:
        clock, events = ManualClock(), list[EngineEvent]()
        store = await SqliteStore.open(None, clock=clock)
        session_id = await left_cold(store, clock, checkpoint=given["checkpoint"], over=given["over"])
        clock.advance(given["waited"])
        scribe = Scribe()
        traits = Traits(name="test-model", limit=50_000, limit_source="test", reports_cache=given["reports"])
        async with await economic(
            "",
            scribe,
            store=store,
            clock=clock,
            ids=None,
            session_id=session_id,
            events=events,
            settings=given["settings"],
            traits=traits,
        ) as engine:
            before = engine.level().tokens
            assert (before, engine._state.lines().trigger) == (TRIGGER // 2 + given["over"], TRIGGER)
            projected = await engine.project()
            assert projected.window.number == (3 if opens else 2)
            assert scribe.requests == []
            shown = of(events, "window_opened")
            assert len(shown) == opens
            if opens:
                window = shown[0]["window"]
                assert (window.reason, window.outcome, window.kind) == ("cold_cache", "rebuilt", "rebuild")
                assert window.meter_before == before
                assert shown[0]["saved"] == before - window.meter_after > 0
                # Once: the request that follows is what will be cached.
                clock.advance(10 * TTL)
                assert (await engine.project()).window.number == 3
        await store.close()

    asyncio.run(main())


@pytest.mark.design("C-15")
def test_a_window_that_opens_for_another_reason_tells_no_saving() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await economic("economy", Scribe(), events=events) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 8, 6_000)
            await engine.rebuild()
            assert [one["saved"] for one in of(events, "window_opened")] == [0, 0]

    asyncio.run(main())
