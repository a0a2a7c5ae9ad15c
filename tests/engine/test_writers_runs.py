"""Runs of a writing model that end somewhere else than they began: after an undo, in another window, in another process."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.scribe import (
    GOOD,
    NO_TIERS,
    PAID,
    Scribe,
    answered,
    calls_of,
    keys,
    life,
    of,
    pairs_hold,
    scribe_engine,
    settled,
    steps,
)
from engine.sessions import prose, reads, says, user
from sojourn.base import Finish, ManualClock, SystemClock, Usage
from sojourn.checkpoint import WriterFailed
from sojourn.config import CheckpointSettings, Settings
from sojourn.cycle import ladder
from sojourn.engine import Engine, EngineEvent, writing
from sojourn.meter import usual_prices
from sojourn.record import Checkpoint, Store, Text
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import FinishEvent, TextEvent, UsageEvent

ANY_SHARE = Settings(checkpoint=CheckpointSettings(budget_share=1.0))
STORY = "I went on with the work and deleted the old files.\n" * 3


async def held_run(engine: Engine, scribe: Scribe) -> "asyncio.Task[Checkpoint | WriterFailed | None]":
    """A run that has asked its model and waits for the answer."""
    scribe.hold()
    run = asyncio.create_task(engine.write_checkpoint())
    await scribe.started.wait()
    return run


@pytest.mark.design("K-7", "R-4", "W-12")
@pytest.mark.parametrize("answer", [GOOD, STORY])
def test_a_run_whose_stretch_is_undone_meanwhile_commits_nothing(answer: str) -> None:
    async def main() -> None:
        scribe = Scribe(GOOD, answer)
        events: list[EngineEvent] = []
        async with await scribe_engine(scribe, settings=NO_TIERS, events=events) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 14)
            first = await engine.write_checkpoint()
            assert isinstance(first, Checkpoint)
            await engine.observe(user("And now the other station."))
            await steps(engine, 14, start=14)
            run = await held_run(engine, scribe)
            undone = await engine.undo()
            assert undone.undo.kind == "turn"
            scribe.go.set()
            done = await run
            assert isinstance(done, WriterFailed)
            if answer is GOOD:
                assert done.kind == "cancelled"
                assert done.reason.startswith("the session moved on meanwhile (")
            assert [row.id for row in await engine.store.checkpoints(engine.session_id, include_undone=True)] == [first.id]
            await pairs_hold(engine.store, engine.session_id)
            assert not (await engine.store.slot(engine.session_id)).running
            (call,) = (await calls_of(engine.store, engine.session_id, "writer"))[1:]
            assert call.usage == PAID
            # And it goes on from the first one.
            await engine.observe(user("Then the third."))
            await steps(engine, 14, start=40)
            after = await engine.write_checkpoint()
            assert isinstance(after, Checkpoint)
            assert after.range == (first.covered_seq, after.covered_seq)
            assert after.previous_id == first.id

    asyncio.run(main())


@pytest.mark.design("K-7", "K-8")
def test_an_undo_behind_the_mark_does_not_touch_a_run() -> None:
    async def main() -> None:
        scribe = Scribe()
        async with await scribe_engine(scribe, settings=NO_TIERS) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 16)
            run = await held_run(engine, scribe)
            mark = (await engine.store.slot(engine.session_id)).mark
            await engine.observe(says("Done."), user("One more thing."), says("Done, too."))
            undone = await engine.undo()
            assert undone.undo.after_seq >= mark
            scribe.go.set()
            row = await run
            assert isinstance(row, Checkpoint)
            assert row.covered_seq == mark

    asyncio.run(main())


@pytest.mark.design("C-9", "K-7", "K-8", "W-1")
@pytest.mark.report(33)
@pytest.mark.parametrize("checkpoint_before", [True, False])
def test_a_run_that_ends_in_another_window_still_commits_its_pair(
    checkpoint_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window was left from the last good checkpoint, or, where there is none, when the wait was over."""
    monkeypatch.setattr(ladder, "AUTOMATIC_WAIT", 30)

    async def main() -> None:
        scribe = Scribe()
        events: list[EngineEvent] = []
        async with await scribe_engine(scribe, settings=NO_TIERS, events=events) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 16)
            first = await engine.write_checkpoint() if checkpoint_before else None
            await steps(engine, 14, start=16)
            run = await held_run(engine, scribe)
            mark = (await engine.store.slot(engine.session_id)).mark
            window = await life(engine, start=30) if checkpoint_before else None
            if window is None:
                # By hand: the ladder waits for it, and no longer than it may.
                engine._state.writing = run  # type: ignore[assignment]
                for step in range(30, 80):
                    projected = await engine.project()
                    if projected.window.number == 2:
                        window = projected.window
                        break
                    await engine.observe(reads(f"p{step}", prose(1_000, step)))
            assert window is not None
            assert window.covered_seq == (first.covered_seq if isinstance(first, Checkpoint) else 0)
            assert ("waiting_for_writer" in keys(events)) is not checkpoint_before
            await engine.observe(says("Going on in the new window."))
            scribe.go.set()
            row = await run
            assert isinstance(row, Checkpoint)
            assert row.covered_seq == mark
            assert row.range[0] == (first.covered_seq if isinstance(first, Checkpoint) else 0)
            await pairs_hold(engine.store, engine.session_id)
            assert (await engine.project()).window.id == window.id, "a checkpoint that comes late opens nothing"
            done = await engine.rebuild()
            assert done.window is not None
            assert (done.outcome, done.window.checkpoint_id) == ("rebuilt", row.id)
            assert done.window.covered_seq == mark
            assert "minute 17" in "".join(block.text for block in done.window.opening)

    asyncio.run(main())


@pytest.mark.design("K-8", "K-9", "C-17", "R-12")
@pytest.mark.parametrize("on_disk", [False, True])
def test_a_run_stopped_at_any_point_leaves_a_pair_and_its_tier_fires_again(on_disk: bool, tmp_path: Path) -> None:
    async def stopped(store: Store, ticks: int) -> bool:
        """Whether the checkpoint came in; the session ends so many turns of the loop after its writer began."""
        clock = ManualClock()
        scribe = Scribe([TextEvent(GOOD[:30]), 0.0, TextEvent(GOOD[30:]), 0.0, UsageEvent(PAID), FinishEvent(Finish.STOP)])
        events: list[EngineEvent] = []
        engine = await scribe_engine(scribe, store=store, clock=clock, events=events, ids=None, settings=ANY_SHARE)
        await engine.observe(user("Go."))
        step = 0
        while engine._state.writing is None:
            await engine.observe(reads(f"p{step}", prose(1_000, step)))
            await engine.prepare()
            step += 1
        for _ in range(ticks):
            await asyncio.sleep(0.0004 if on_disk else 0)
        await engine.close(wait=0)
        rows = list(await store.checkpoints(engine.session_id))
        await pairs_hold(store, engine.session_id)
        assert not ticks or not (await store.slot(engine.session_id)).running, "one that never began has not given it back"
        for call in await calls_of(store, engine.session_id, "writer"):
            assert call.ended is not None
            assert call.error in ("", "interrupted")
        again = Scribe()
        async with await scribe_engine(
            again, store=store, session_id=engine.session_id, clock=clock, events=events, ids=None, settings=ANY_SHARE
        ) as engine:
            assert not (await store.slot(engine.session_id)).running
            await engine.project()
            await settled(engine)
            if not rows:
                assert len(again.requests) == 1, "its tier fires again, at once"
            await pairs_hold(store, engine.session_id)
            assert len(await store.checkpoints(engine.session_id)) == 1
            newest = await store.newest_window(engine.session_id)
            assert newest is not None
            assert newest.tiers[0] == 11_520
            assert rows or newest.gate is None, "what fired it again is used up"
        return bool(rows)

    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "record.db" if on_disk else None, clock=SystemClock())
        came = [await stopped(store, ticks) for ticks in range(0, 40, 2)]
        assert came[0] is False
        if not on_disk:
            assert came[-1] is True, "the last ones were stopped after their end"
        await store.close()

    asyncio.run(main())


@pytest.mark.design("K-8", "K-9", "R-11", "R-12", "R-15")
@pytest.mark.parametrize("at", ["asked", "half", "all"])
def test_a_process_killed_while_its_writer_writes_frees_the_slot_and_the_tier_fires_again(at: str, tmp_path: Path) -> None:
    tests = Path(__file__).resolve().parents[1]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tests.parent / "src"), str(tests)))}
    command = [sys.executable, str(tests / "engine" / "writer_nursery.py"), str(tmp_path / "record.db"), at]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as child:
        assert child.stdout is not None
        session_id, head = child.stdout.readline().split()
        child.send_signal(signal.SIGKILL)

    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "record.db", clock=SystemClock())
        slot = await store.slot(session_id)
        assert (slot.running, slot.generation) == (True, 1)
        assert list(await store.checkpoints(session_id)) == []
        (open_call,) = await calls_of(store, session_id, "writer")
        assert (open_call.ended, open_call.usage) == (None, None), "its row was there before the request left"
        await pairs_hold(store, session_id)
        scribe = Scribe()
        events: list[EngineEvent] = []
        clock = SystemClock()
        async with await scribe_engine(
            scribe, store=store, session_id=session_id, clock=clock, ids=None, events=events
        ) as engine:
            assert engine.head == int(head)
            freed = await store.slot(session_id)
            assert (freed.running, freed.generation) == (False, 2)
            await engine.project()
            await settled(engine)
            assert len(scribe.requests) == 1
            (row,) = await store.checkpoints(session_id)
            assert slot.mark <= row.covered_seq < engine.head, "a step came in after the run had begun"
            assert of(events, "checkpoint_started")[0]["mark"] == row.covered_seq
            await pairs_hold(store, session_id)
            calls = await calls_of(store, session_id, "writer")
            assert [call.usage for call in calls] == [None, PAID]
            assert row.calls == (calls[1].id,)
            assert (await store.slot(session_id)).generation == 3
        await store.close()

    asyncio.run(main())


@pytest.mark.design("K-7", "K-8", "K-11", "R-15")
@pytest.mark.report(29)
def test_a_stretch_that_no_request_holds_is_written_in_several_and_all_are_paid_for() -> None:
    async def main() -> None:
        scribe = Scribe(
            *[f"+ knowledge: station {number} is read at minute {number + 10}\n" for number in range(30)], limit=24_000
        )
        events: list[EngineEvent] = []
        async with await scribe_engine(scribe, limit=200_000, settings=NO_TIERS, forks=False, events=events) as engine:
            await engine.observe(user("Go."))
            for step in range(60):
                await engine.observe(reads(f"p{step}", prose(1_000, step)))
            await engine.project()
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            calls = await calls_of(engine.store, engine.session_id, "writer")
            assert len(calls) == len(scribe.requests) >= 4
            assert row.calls == tuple(call.id for call in calls)
            assert row.usage == Usage(fresh=900 * len(calls), cached=100 * len(calls), output=60 * len(calls))
            assert sum(f"is read at minute {number + 10}" in repr(row.items) for number in range(30)) == len(calls)
            await pairs_hold(engine.store, engine.session_id)

    asyncio.run(main())


@pytest.mark.design("K-8", "R-12")
def test_messages_of_the_loop_go_in_while_a_writer_writes() -> None:
    async def main() -> None:
        scribe = Scribe()
        async with await scribe_engine(scribe, settings=NO_TIERS) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 16)
            run = await held_run(engine, scribe)
            await answered(engine, says("One."))
            await engine.observe(user("Two."))
            await answered(engine, says("Three."))
            scribe.go.set()
            assert isinstance(await run, Checkpoint)
            newest = (await engine.read(engine.head - 3, engine.head))[-3:]
            assert [part.text for m in newest for part in m.parts if isinstance(part, Text)] == ["One.", "Two.", "Three."]

    asyncio.run(main())


# --- what a run takes, and what becomes of its slot ---------------------------------------------------------------------


@pytest.mark.design("K-8", "K-9")
@pytest.mark.report(33)
def test_a_cancel_while_a_writer_starts_gives_the_slot_back() -> None:
    async def main() -> None:
        clean = 0
        for after in range(1, 12):
            scribe = Scribe()
            async with await scribe_engine(scribe, settings=NO_TIERS) as engine:
                await engine.observe(user("Go."))
                await steps(engine, 14)
                writing = asyncio.create_task(engine.write_checkpoint())
                for _ in range(after):  # a cancel at each of the first awaits
                    await asyncio.sleep(0)
                writing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await writing
                assert not (await engine.store.slot(engine.session_id)).running
                if not await engine.store.checkpoints(engine.session_id):
                    clean += 1
                    assert isinstance(await engine.write_checkpoint(), Checkpoint)
        assert clean

    asyncio.run(main())


@pytest.mark.design("K-11", "K-8")
def test_what_a_run_took_counts_whatever_came_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = usual_prices("marked").of(PAID)

    async def undone() -> None:
        scribe = Scribe(GOOD, GOOD)
        async with await scribe_engine(scribe, settings=NO_TIERS) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 14)
            await engine.write_checkpoint()
            assert engine._state.spent.writer == pytest.approx(cost)
            await engine.observe(user("And."))
            await steps(engine, 14, start=14)
            run = await held_run(engine, scribe)
            await engine.undo()
            scribe.go.set()
            assert isinstance(await run, WriterFailed)
            assert engine._state.spent.writer == pytest.approx(2 * cost)

    async def late() -> None:
        scribe = Scribe([TextEvent("+ k"), UsageEvent(PAID), 60.0])
        async with await scribe_engine(scribe, settings=NO_TIERS) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 14)
            assert isinstance(await engine.write_checkpoint(), WriterFailed)
            assert engine._state.spent.writer == pytest.approx(cost)

    asyncio.run(undone())
    monkeypatch.setattr(writing, "DEADLINE_SECONDS", 0.05)
    asyncio.run(late())


@pytest.mark.design("K-11", "K-2")
def test_each_stretch_of_a_long_way_tells_what_it_took() -> None:
    async def main() -> None:
        scribe = Scribe(*[f"+ knowledge: station {n} is read at minute {n + 10}\n" for n in range(30)], limit=1_000_000)
        async with await scribe_engine(scribe, limit=1_000_000, settings=NO_TIERS, forks=False) as engine:
            await engine.observe(user("Go."))
            for step in range(46):
                await engine.observe(reads(f"p{step}", prose(10_000, step)))
            await engine.project()
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            calls = [call for call in await engine.store.calls(engine.session_id) if call.purpose == "writer"]
            rows = list(await engine.store.checkpoints(engine.session_id))
            assert len(rows) >= 2
            assert [call for one in rows for call in one.calls] == [call.id for call in calls]
            assert {one.usage.fresh for one in rows if one.usage} == {PAID.fresh}
            assert engine._state.spent.writer == pytest.approx(usual_prices("marked").of(PAID) * len(calls))

    asyncio.run(main())


@pytest.mark.design("K-4", "K-8")
def test_what_stands_in_view_is_one_cache_read_whatever_its_length() -> None:
    async def main() -> None:
        scribe = Scribe(limit=1_000_000)
        async with await scribe_engine(scribe, limit=1_000_000, settings=NO_TIERS) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 24, 10_000)
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            assert (row.mode, len(row.calls)) == ("fork", 1)
            assert row.covered_seq > 20

    asyncio.run(main())
