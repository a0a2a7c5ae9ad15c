"""What background writers may cost, and that nothing runs without a turn (K-11)."""

import asyncio
import math
from typing import Any

import msgspec
import pytest

from engine.scribe import GOOD, PAID, Scribe, calls_of, keys, of, scribe_engine, settled, steps
from engine.sessions import prose, reads, user
from sojourn.base import ManualClock, Usage
from sojourn.checkpoint import ExtractiveWriter, ModelWriter
from sojourn.config import CheckpointSettings, Compaction, Settings
from sojourn.engine import Engine, EngineEvent
from sojourn.engine.economy import Spent
from sojourn.meter import Prices
from sojourn.record import Call, Checkpoint
from sojourn.record.sqlite import SqliteStore

LIMIT, T, FIXED = 200_000, 180_000, 6_000
CACHED, WRITTEN, OUTPUT = 0.1, 1.25, 5.0
"""Prices that are usual for marked caches, of a fresh token."""


def policy(name: str, **checkpoint: Any) -> Settings:
    return Settings(compaction=Compaction(policy=name), checkpoint=CheckpointSettings(**checkpoint))  # type: ignore[arg-type]


def cost(call: Call) -> float:
    usage = call.usage
    assert usage is not None
    return usage.fresh + CACHED * (usage.cached or 0) + WRITTEN * (usage.written or 0) + OUTPUT * usage.output


@pytest.mark.design("K-11")
@pytest.mark.report(125, 126)
def test_a_writer_writes_up_to_its_share_and_not_beyond_it() -> None:
    tiers = ("20%", "40%", "60%")

    async def main() -> None:
        clock = ManualClock()
        store = await SqliteStore.open(None, clock=clock)
        engine = await scribe_engine(Scribe(), store=store, clock=clock, settings=policy("full", thresholds=tiers), ids=None)
        await engine.observe(user("Go."))
        await steps(engine, 13)
        await settled(engine)
        assert [row.writer for row in await store.checkpoints(engine.session_id)] == ["model"]
        calls = await store.calls(engine.session_id)
        by_purpose = {purpose: sum(cost(c) for c in calls if c.purpose == purpose) for purpose in ("main", "writer")}
        share = engine._state.spent.writer_share
        assert share == pytest.approx(by_purpose["writer"] / (by_purpose["main"] + by_purpose["writer"]), abs=1e-9)
        await engine.close()

        async def further(allowed: float) -> tuple[list[str], list[str], int]:
            events: list[EngineEvent] = []
            scribe = Scribe()
            settings = policy("full", thresholds=tiers, budget_share=allowed)
            forked = await Engine.open(store=store, session_id=engine.session_id, clock=clock, read_only=True)
            session = await forked.fork()
            await forked.close()
            async with await scribe_engine(
                scribe, store=store, clock=clock, session_id=session.id, settings=settings, events=events, ids=None
            ) as branch:
                branch._state.spent = msgspec.structs.replace(
                    branch._state.spent, main=3 * by_purpose["writer"], writer=by_purpose["writer"]
                )
                for step in range(40, 68):  # over both tiers that are left, not one of the answers reports what it took
                    await branch.project()
                    await settled(branch)
                    await branch.observe(reads(f"p{step}", prose(1_000, step)))
                written = [one["checkpoint"].writer for one in of(events, "checkpoint_written")]
                return written, [key for key in keys(events) if key == "writers_over_budget"], len(scribe.requests)

        exactly = by_purpose["writer"] / (3 * by_purpose["writer"] + by_purpose["writer"])
        assert exactly == 0.25
        written, notices, asked = await further(0.25)
        assert (written[0], asked) == ("model", 1), "as much as it may have is no more than that"
        assert (written[1:], notices) == (["extractive"] * (len(written) - 1), ["writers_over_budget"])
        written, notices, asked = await further(math.nextafter(0.25, 0))
        assert len(written) >= 2
        assert (set(written), asked) == ({"extractive"}, 0)
        assert notices == ["writers_over_budget"], "told once"
        await store.close()

    asyncio.run(main())


@pytest.mark.design("K-11", "R-15")
@pytest.mark.report(125, 126, 129)
def test_nothing_is_asked_without_a_turn() -> None:
    async def main() -> None:
        clock = ManualClock()
        store = await SqliteStore.open(None, clock=clock)
        scribe = Scribe()
        engine = await scribe_engine(scribe, store=store, clock=clock, ids=None)
        await engine.observe(user("Go."))
        await steps(engine, 30)
        await settled(engine)
        scribe.hold()
        while not scribe.started.is_set():  # a tier's writer is stopped in the middle: there is something left to do
            await steps(engine, 1, start=engine.head)
            await asyncio.sleep(0)
        asked = len(scribe.requests)
        assert asked >= 3
        await engine.close(wait=0)
        calls = await store.calls(engine.session_id)
        writers = [call for call in calls if call.purpose == "writer"]
        assert len(writers) == asked
        assert all(call.settings["reason"].startswith("level ") for call in writers), "each says why"
        for _ in range(3):
            clock.advance(3_600_000)
            async with await scribe_engine(scribe, store=store, clock=clock, session_id=engine.session_id, ids=None) as idle:
                await asyncio.sleep(0.02)
                await idle.context()
                idle.level()
        assert len(scribe.requests) == asked
        assert list(await store.calls(engine.session_id)) == list(calls)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("K-11", "C-13")
def test_a_person_who_asks_for_a_checkpoint_gets_the_models_whatever_its_share() -> None:
    async def main() -> None:
        scribe = Scribe(GOOD, GOOD)
        async with await scribe_engine(scribe, settings=policy("full", thresholds=(), budget_share=0.0)) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 14)
            for start in (14, 30):
                row = await engine.write_checkpoint()
                assert isinstance(row, Checkpoint)
                assert (row.writer, row.usage) == ("model", PAID)
                await steps(engine, 14, start=start)
            reasons = [call.settings["reason"] for call in await calls_of(engine.store, engine.session_id, "writer")]
            assert reasons == ["asked for", "asked for"]

    asyncio.run(main())


@pytest.mark.design("K-11", "C-14")
def test_where_extraction_writes_nobody_is_told_of_a_share() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        settings = policy("full", budget_share=0.0)
        async with await scribe_engine(Scribe(), settings=settings, events=events, writer=ExtractiveWriter()) as engine:
            await engine.observe(user("Go."))
            engine._state.spent = msgspec.structs.replace(engine._state.spent, writer=5_000.0)
            await steps(engine, 14)
            assert [one["checkpoint"].writer for one in of(events, "checkpoint_written")] == ["extractive"]
            assert keys(events) == []

    asyncio.run(main())


@pytest.mark.design("K-11", "C-18")
def test_a_writer_on_another_model_costs_what_it_is_paid() -> None:
    usual = Prices()
    main = Usage(fresh=1_000, output=200)
    writer = Usage(fresh=500)
    before = Spent().plus("writer", writer, usual, 0.25)
    assert (before.main, before.writer) == (0.0, usual.of(writer)), (
        "without a price of the session's own, tokens are what there is"
    )
    spent = Spent().plus("main", main, usual, 0.02)
    assert spent.unit_price == pytest.approx(0.02 / usual.of(main))
    dear = spent.plus("writer", writer, usual, 0.04)
    assert dear.writer == dear.window_writer == pytest.approx(0.04 / 0.02 * usual.of(main))
    assert dear.writer_share == pytest.approx(2 / 3), "twice the dollars of the session's own calls"
    assert spent.plus("writer", writer, usual, None).writer == usual.of(writer)
    assert spent.plus("writer", writer, usual, 0.0).writer == 0.0, "a model that asks nothing costs nothing"
    assert dear.plus("main", main, usual, None).unit_price == spent.unit_price
    assert dear.next_window().unit_price == spent.unit_price


@pytest.mark.design("K-11", "R-15")
def test_the_price_of_a_writers_calls_counts_live_and_after_a_resume() -> None:
    async def price(usage: Usage) -> float:
        return 1.0

    async def main() -> None:
        store = await SqliteStore.open(None, clock=ManualClock())
        writer = ModelWriter(Scribe(), price=price, forks=False)
        settings = policy("full", thresholds=("20%", "40%"), budget_share=1.0)
        async with await scribe_engine(Scribe(), store=store, settings=settings, ids=None, writer=writer) as engine:
            await engine.observe(user("Go."))
            await engine.prepare()
            await engine.observe(reads("first.py", prose(1_000, 1)))
            await engine.project()
            await engine.observe_usage(Usage(fresh=10_000), price=0.1)
            await steps(engine, 13)
            await settled(engine)
            (row,) = await store.checkpoints(engine.session_id)
            spent = engine._state.spent
            assert len(row.calls) == 1
            assert spent.unit_price == pytest.approx(0.1 / 10_000)
            assert spent.writer == pytest.approx(1.0 / (0.1 / 10_000))
        async with await scribe_engine(
            Scribe(), store=store, session_id=engine.session_id, settings=settings, ids=None
        ) as again:
            assert again._state.spent.writer == pytest.approx(spent.writer)
            assert again._state.spent.unit_price == pytest.approx(spent.unit_price or 0)

    asyncio.run(main())
