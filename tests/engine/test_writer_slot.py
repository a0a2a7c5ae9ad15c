"""Runs of writers: slot, tiers, gate, deadline, stretches, commit (C-7, K-5 to K-9)."""

import asyncio

import pytest

from engine.sessions import engine_for, prose, says, user
from engine.telling import NOW, Scripted, item, kinds, notices, talked
from sojourn.base import Finish, ManualClock, Usage
from sojourn.checkpoint import WriterFailed, Written
from sojourn.config import CheckpointSettings, Settings
from sojourn.engine import Engine, EngineEvent, switching, writing
from sojourn.record import (
    Checkpoint,
    Message,
    Text,
)


@pytest.mark.design("K-7", "R-6")
def test_a_checkpoints_row_says_what_it_read_and_what_it_rests_on() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        clock = ManualClock()
        usage = Usage(fresh=70)
        writer = Scripted(Written((item(1), item(2, "done")), ("refused a",), usage), Written((item(3),)))
        async with await engine_for(64_000, writer=writer, events=events, clock=clock) as engine:
            await talked(engine)
            first = await engine.write_checkpoint()
            assert isinstance(first, Checkpoint)
            mark = first.covered_seq
            assert 0 < mark < engine.head
            assert (first.range, first.previous_id, first.writer, first.created) == ((0, mark), None, "model", NOW)
            assert (first.items, first.refused, first.usage) == ((item(1), item(2, "done")), ("refused a",), usage)
            assert writer.runs[0].range == (0, mark)
            assert [message.seq for message in writer.runs[0].messages] == list(range(1, mark + 1))
            assert (writer.runs[0].items, writer.runs[0].trigger) == ((), 57_600)
            assert await engine.write_checkpoint() is None  # nothing new
            assert len(writer.runs) == 1
            await talked(engine)
            second = await engine.write_checkpoint()
            assert isinstance(second, Checkpoint)
            assert (second.range, second.previous_id) == ((mark, second.covered_seq), first.id)
            assert writer.runs[1].items == (item(1),)
            assert writer.runs[1].messages[0].seq == mark + 1
            started, written = kinds(events, "checkpoint_started"), kinds(events, "checkpoint_written")
            assert started == [{"mark": one.covered_seq, "writer": "model", "reason": "asked for"} for one in (first, second)]
            assert [one["checkpoint"] for one in written] == [first, second]
            slot = await engine.store.slot(engine.session_id)
            assert (slot.running, slot.generation, slot.started, slot.mark) == (
                False,
                2,
                NOW,
                second.covered_seq,
            )
            assert (await engine.context()).watermark == second.covered_seq

    asyncio.run(main())


@pytest.mark.design("K-8", "K-7")
@pytest.mark.report(71)
@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (WriterFailed("retryable", "overloaded"), "retryable", "overloaded"),
        (Written(items=()), "retryable", "empty answer"),
        (ValueError("boom"), "deterministic", "ValueError: boom"),
        (5.0, "retryable", "no answer within 0.02 s"),
    ],
)
def test_a_run_that_fails_leaves_no_row_and_a_free_slot(
    monkeypatch: pytest.MonkeyPatch, answer: object, kind: str, reason: str
) -> None:
    assert writing.DEADLINE_SECONDS == 300
    monkeypatch.setattr(writing, "DEADLINE_SECONDS", 0.02)

    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, writer=Scripted(answer), events=events) as engine:
            await talked(engine)
            failed = await engine.write_checkpoint()
            assert failed == WriterFailed(kind, reason)  # type: ignore[arg-type]
            assert kinds(events, "checkpoint_failed") == [{"reason": reason, "failure": kind}]
            assert await engine.store.newest_checkpoint(engine.session_id) is None
            slot = await engine.store.slot(engine.session_id)
            assert (slot.running, slot.generation) == (False, 1)
            assert (await engine.context()).watermark == 0

    asyncio.run(main())


@pytest.mark.design("K-7")
def test_a_run_whose_stretch_was_undone_meanwhile_is_cancelled() -> None:
    async def main() -> None:
        writer = Scripted(0.05)
        async with await engine_for(64_000, writer=writer) as engine:
            await talked(engine)
            run = asyncio.create_task(engine.write_checkpoint())
            await asyncio.sleep(0.01)
            for _ in range(12):  # every turn
                await engine.undo()
            failed = await run
            assert isinstance(failed, WriterFailed)
            assert (failed.kind, failed.reason) == ("cancelled", "the session moved on meanwhile (undo)")
            assert not (await engine.store.slot(engine.session_id)).running

    asyncio.run(main())


@pytest.mark.design("K-4", "N3")
def test_a_long_first_stretch_is_read_in_pieces_of_200_000_tokens() -> None:
    def large(role: str, tokens: int) -> Message:
        origin = "user" if role == "user" else "model"
        finish = Finish.STOP if role == "assistant" else None
        return Message(id="", role=role, origin=origin, parts=(Text("W.", {"prose": tokens - 4}),), finish=finish)  # type: ignore[arg-type]

    async def main() -> None:
        answers = [
            Written((item(1), item(2, "done")), ("a",)),
            Written((item(1), item(3)), ("b",)),
            Written((item(4),), ("c",)),
        ]
        writer = Scripted(*answers)
        async with await engine_for(1_000_000, writer=writer) as engine:
            await engine.observe(large("user", 100_000), large("assistant", 100_000))
            await engine.observe(large("user", 199_999), large("assistant", 1), large("user", 50), large("assistant", 30_000))
            await engine.observe(large("user", 10), large("assistant", 30_000))
            done = await engine.write_checkpoint()
            assert isinstance(done, Checkpoint)
            assert [run.range for run in writer.runs] == [(0, 2), (2, 4), (4, done.covered_seq)]
            assert [len(run.messages) for run in writer.runs] == [2, 2, done.covered_seq - 4]
            assert [run.items for run in writer.runs] == [(), (item(1),), (item(1), item(3))]
            rows = list(await engine.store.checkpoints(engine.session_id))
            assert [row.range for row in rows] == [run.range for run in writer.runs]
            assert [row.refused for row in rows] == [("a",), ("b",), ("c",)]
            assert [row.previous_id for row in rows] == [None, rows[0].id, rows[1].id]
            assert [row.items for row in rows] == [(item(1), item(2, "done")), (item(1), item(3)), (item(4),)]
            assert done == rows[-1]
            assert not (await engine.store.slot(engine.session_id)).running
        failing = Scripted(Written((item(1),), ("a",)), WriterFailed("retryable", "overloaded"))
        async with await engine_for(1_000_000, writer=failing) as engine:
            await engine.observe(large("user", 100_000), large("assistant", 100_000))
            await engine.observe(large("user", 199_999), large("assistant", 1), large("user", 50), large("assistant", 30_000))
            await engine.observe(large("user", 10), large("assistant", 30_000))
            assert await engine.write_checkpoint() == WriterFailed("retryable", "overloaded")
            assert len(failing.runs) == 2
            (kept,) = await engine.store.checkpoints(engine.session_id)
            assert (kept.range, kept.items) == ((0, 2), (item(1),)), "what was read before the failure is not read again"
            assert (await engine.context()).watermark == 2
            assert not (await engine.store.slot(engine.session_id)).running

    asyncio.run(main())


@pytest.mark.design("C-7")
@pytest.mark.parametrize(
    ("last", "kind", "armed"), [(True, "retryable", True), (True, "deterministic", False), (False, "retryable", False)]
)
def test_the_gate_is_armed_by_a_retryable_failure_of_the_last_tier_only(last: bool, kind: str, armed: bool) -> None:
    async def main() -> None:
        settings = Settings(checkpoint=CheckpointSettings(thresholds=("20%",) if last else ("20%", "80%")))
        writer = Scripted(WriterFailed(kind, "no"))  # type: ignore[arg-type]
        async with await engine_for(64_000, writer=writer, settings=settings) as engine:
            await talked(engine, 14)
            projected = await engine.project()
            assert engine._state.writing is not None
            await asyncio.wait({engine._state.writing})
            window = await engine.store.newest_window(engine.session_id)
            assert window is not None
            assert window.tiers == (11_520,)
            assert window.gate == (projected.level.tokens + 11_520 if armed else None)
            assert engine._state.view.window.gate == window.gate

    asyncio.run(main())


def consumed(engine: Engine) -> tuple[int, ...]:
    return engine._state.view.window.tiers


@pytest.mark.design("C-7")
def test_several_tiers_crossed_at_once_start_one_writer_and_need_enough_new_text() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        settings = Settings(checkpoint=CheckpointSettings(thresholds=("3K", "6K", "9K", "40K")))
        async with await engine_for(64_000, events=events, settings=settings) as engine:
            await engine.observe(user("Go."), says(prose(4_400)))
            level = (await engine.project()).level.tokens
            assert 3_000 < level < 5_760  # the first tier is crossed, a tenth of the trigger is not there yet
            assert kinds(events, "checkpoint_started") == []
            assert (await engine.context()).window.number == 1
            assert consumed(engine) == ()
            await engine.observe(user("More."), *(says(prose(1_200, n)) for n in range(6)))
            await engine.project()
            assert len(kinds(events, "checkpoint_started")) == 1
            assert consumed(engine) == (3_000, 6_000, 9_000)
            await engine.project()
            assert len(kinds(events, "checkpoint_started")) == 1

    asyncio.run(main())


@pytest.mark.design("C-7")
@pytest.mark.parametrize(("tokens", "started"), [(499, 0), (500, 1)])
def test_a_tier_is_crossed_at_its_very_level(tokens: int, started: int) -> None:
    def sized(role: str, tokens: int) -> Message:
        origin, finish = ("user", None) if role == "user" else ("model", Finish.STOP)
        return Message(id="", role=role, origin=origin, parts=(Text("W.", {"prose": tokens - 4}),), finish=finish)  # type: ignore[arg-type]

    async def main() -> None:
        events: list[EngineEvent] = []
        settings = Settings(checkpoint=CheckpointSettings(thresholds=(10_000,)))
        async with await engine_for(64_000, events=events, settings=settings) as engine:
            pairs = [("user", 5_000), ("assistant", 4_000), ("user", 500), ("assistant", tokens)]
            await engine.observe(*(sized(role, size) for role, size in pairs))
            assert (await engine.project()).level.tokens == 9_500 + tokens
            assert len(kinds(events, "checkpoint_started")) == started

    asyncio.run(main())


@pytest.mark.design("K-9", "C-7")
def test_while_a_writer_runs_the_slot_is_held_and_no_second_one_starts() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        writer = Scripted(0.05)
        async with await engine_for(64_000, writer=writer, events=events) as engine:
            await engine.project()
            await talked(engine)
            run = asyncio.create_task(engine.write_checkpoint())
            await asyncio.sleep(0.01)
            slot = await engine.store.slot(engine.session_id)
            assert (slot.running, slot.generation, slot.started) == (True, 1, NOW)
            await engine.project()
            assert await engine.write_checkpoint() is None
            assert len(kinds(events, "checkpoint_started")) == 1
            assert isinstance(await run, Checkpoint)
            assert len(writer.runs) == 1
            await talked(engine, 6)
            assert isinstance(await engine.write_checkpoint(), Checkpoint)
            slot = await engine.store.slot(engine.session_id)
            assert (slot.running, slot.generation) == (False, 2)

    asyncio.run(main())


@pytest.mark.design("C-9", "C-13")
@pytest.mark.parametrize(("reason", "wait"), [("usage", 180_000), ("overflow", 180_000), ("manual", 300_000)])
def test_without_a_checkpoint_the_writer_is_run_on_the_spot_visibly(reason: str, wait: int) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        writer = Scripted(Written((item(1),)))
        async with await engine_for(64_000, writer=writer, events=events) as engine:
            await engine.project()
            await talked(engine)
            done = await switching.switch(engine._state, reason)
            assert kinds(events, "notice") == [{"key": "waiting_for_writer", "milliseconds": wait}]
            assert (done.outcome, len(writer.runs)) == ("rebuilt", 1)
            assert done.window is not None
            checkpoint = await engine.store.newest_checkpoint(engine.session_id)
            assert checkpoint is not None
            assert done.window.checkpoint_id == checkpoint.id
            assert done.window.covered_seq == checkpoint.covered_seq

    asyncio.run(main())


@pytest.mark.design("C-9")
def test_with_nothing_new_to_write_the_ladder_goes_on_to_extraction_with_a_notice() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        writer = Scripted(Written((item(1),)))
        async with await engine_for(64_000, writer=writer, events=events) as engine:
            await engine.observe(says(prose(3_000)))  # one answer: there is no message before it that a mark could stand at
            await engine.observe(user("Go on."))
            done = await engine.rebuild()
            assert (done.outcome, writer.runs, notices(events)) == ("extracted", [], ["write_failed"])
            assert done.window is not None
            assert (done.window.digest_seq, done.window.covered_seq, done.window.checkpoint_id) == (1, 0, None)

    asyncio.run(main())
