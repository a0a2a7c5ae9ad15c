"""Windows open when they must, once, by the ladder; nothing that is needed goes out of view (C-6 to C-14)."""

import asyncio

import pytest

from engine.sessions import engine_for, prose, reads, says, user, work
from sojourn.base import ErrorKind, Finish, SystemClock, Usage, UserMistake, WorkFailed
from sojourn.checkpoint import WriterFailed, WriterInput, Written
from sojourn.config import CheckpointSettings, Compaction, Memory, Settings
from sojourn.engine import Engine, EngineEvent, Projected
from sojourn.record import Message, Session, Text
from sojourn.record.sqlite import SqliteStore
from sojourn.request import problems
from sojourn.wire import ModelError, TextPart, Traits


def texts(projected: Projected) -> str:
    """Everything that the model reads in the request's messages."""
    found: list[str] = []
    for message in projected.request.messages:
        for part in message.parts:
            found.append(part.text if isinstance(part, TextPart) else "")
            found += [one.text for one in getattr(part, "content", ()) if isinstance(one, TextPart)]
    return "\n".join(found)


def opened(events: list[EngineEvent]) -> list[EngineEvent]:
    return [event for event in events if event.kind == "window_opened" and event.detail["window"].kind != "start"]


@pytest.mark.design("C-8", "C-9", "C-6", "W-1")
def test_a_window_opens_at_the_trigger_and_not_before() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(32_000, events=events) as engine:
            await engine.observe(user("Read every part of the gauge code."))
            step = 0
            while not opened(events):
                before = await engine.project()
                if opened(events):
                    break
                assert before.level.tokens < before.lines.trigger
                await engine.observe(reads(f"src/part_{step}.py", prose(1_000, step)))
                step += 1
                assert step < 60
            window = opened(events)[0].detail["window"]
            assert (window.kind, window.reason, window.outcome) == ("rebuild", "usage", "rebuilt")
            assert window.meter_before >= window.trigger == 28_800
            assert window.meter_after < 0.6 * window.trigger
            assert window.covered_seq < window.digest_seq < window.opened_at_seq == engine.head
            # The newest result has not been read: it stands whole in the request.
            assert prose(1_000, step - 1).split("\n")[-1] in texts(before)

    asyncio.run(main())


@pytest.mark.design("C-6", "M-2")
@pytest.mark.report(19)
def test_one_usage_record_triggers_one_window() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, events=events) as engine:
            await engine.observe(user("Go."))
            await work(engine, 8)
            await engine.project()
            await engine.observe(reads("src/last.py", prose(500)))
            await engine.observe_usage(Usage(fresh=58_000, output=100), finish=Finish.TOOL_CALLS)
            assert engine.level().tokens > 57_600
            for _ in range(3):
                await engine.project()
            assert len(opened(events)) == 1
            assert engine.level().source == "pending"
            assert engine.level().tokens < 30_000

    asyncio.run(main())


@pytest.mark.design("M-2", "M-3", "N5")
@pytest.mark.report(36)
def test_the_level_rests_on_the_usage_reported_and_on_what_came_after() -> None:
    async def main() -> None:
        async with await engine_for(128_000, fixed=10_494) as engine:
            await engine.observe(user("Go."))
            await engine.project()
            await engine.observe(says("Done."))
            await engine.observe_usage(Usage(fresh=1_000, cached=9_000, written=500, output=300, reasoning=200))
            assert engine.level().tokens == 10_600
            assert engine.level().source == "usage"
            await engine.observe(user(prose(1_000)))
            assert 11_300 < engine.level().tokens < 12_600
            context = await engine.context()
            assert sum(context.categories.values()) == context.level == engine.level().tokens

    asyncio.run(main())


@pytest.mark.design("C-7", "K-9", "R-6")
def test_tiers_fire_once_each_and_are_stored_with_the_window() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(128_000, events=events) as engine:
            await engine.observe(user("Go."))
            await work(engine, 85)
            await engine.project()
            written = [event for event in events if event.kind == "checkpoint_written"]
            assert len(written) == 4
            marks = [event.detail["checkpoint"].covered_seq for event in written]
            assert marks == sorted(set(marks))
            window = await engine.store.newest_window(engine.session_id)
            assert window is not None
            assert window.tiers == (23_040, 46_080, 69_120, 92_160)
            assert window.number == 1

    asyncio.run(main())


class FailingWriter:
    """A model writer that fails as it is told to."""

    name = "model"
    forks = False

    def __init__(self, failure: WriterFailed) -> None:
        self.failure = failure
        self.runs = 0

    async def write(self, run: WriterInput) -> Written | WriterFailed:
        self.runs += 1
        return self.failure


@pytest.mark.design("C-9", "K-8", "N3")
@pytest.mark.report(71, 95)
def test_a_failing_writer_leaves_everything_as_it_was_and_the_session_goes_on() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        writer = FailingWriter(WriterFailed("retryable", "empty answer"))
        async with await engine_for(64_000, events=events, writer=writer) as engine:
            await engine.observe(user("Never touch the ledger table."))
            await work(engine, 58)
            projected = await engine.project()
            assert writer.runs >= 4
            assert {event.detail["reason"] for event in events if event.kind == "checkpoint_failed"} == {"empty answer"}
            window = opened(events)[0].detail["window"]
            assert (window.outcome, window.reason) == ("extracted", "usage")
            assert projected.level.tokens < projected.lines.trigger
            checkpoint = await engine.store.newest_checkpoint(engine.session_id)
            assert checkpoint is not None
            assert checkpoint.writer == "extractive"
            slot = await engine.store.slot(engine.session_id)
            assert not slot.running

    asyncio.run(main())


@pytest.mark.design("C-7")
def test_a_retryable_failure_of_the_last_tier_arms_the_gate() -> None:
    async def main() -> None:
        writer = FailingWriter(WriterFailed("retryable", "overloaded"))
        settings = Settings(checkpoint=CheckpointSettings(thresholds=("50%", "70%")))
        async with await engine_for(64_000, writer=writer, settings=settings) as engine:
            await engine.observe(user("Go."))
            await work(engine, 38)
            await engine.project()
            await asyncio.sleep(0)
            window = await engine.store.newest_window(engine.session_id)
            assert window is not None
            assert window.tiers == (28_800, 40_320)
            assert window.gate is not None
            assert 40_320 < window.gate <= 57_600 - 57_600 // 8
            runs = writer.runs
            await work(engine, 14, start=38)
            assert writer.runs > runs

    asyncio.run(main())


@pytest.mark.design("C-10", "C-1", "M-2")
@pytest.mark.report(120, 121, 25)
def test_a_provider_that_is_smaller_than_thought_is_learned_from() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(128_000, events=events) as engine:
            await engine.observe(user("Go."))
            await work(engine, 40)
            first = await engine.project()
            error = ModelError(ErrorKind.CONTEXT_OVERFLOW, "41,000 of 32,000", limit=32_000, used=41_000)
            again = await engine.recover(error)
            assert again.request != first.request
            assert again.lines.effective == 32_000
            assert again.level.tokens < again.lines.hard
            assert [e.detail["limit"] for e in events if e.kind == "limit_learned"] == [32_000]
            context = await engine.context()
            assert context.limit_source == "learned"
            assert opened(events)[0].detail["window"].reason == "overflow"

    asyncio.run(main())


@pytest.mark.design("C-10", "C-11")
@pytest.mark.report(15, 23, 24)
def test_a_provider_that_always_refuses_ends_in_a_clear_stop_with_no_request_sent_twice() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            await work(engine, 30)
            projected = await engine.project()
            sent = [projected.request]
            with pytest.raises(WorkFailed, match="largest parts") as stop:
                while True:
                    projected = await engine.recover(ModelError(ErrorKind.CONTEXT_OVERFLOW, "too long"))
                    assert projected.request not in sent
                    sent.append(projected.request)
            assert len(sent) <= 5
            assert stop.value.next_step

    asyncio.run(main())


@pytest.mark.design("C-10")
@pytest.mark.report(32)
def test_other_refusals_open_no_window() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, events=events) as engine:
            await engine.observe(user("Go."))
            await engine.project()
            for kind in (ErrorKind.RATE_LIMITED, ErrorKind.AUTH_FAILED, ErrorKind.UNAVAILABLE):
                with pytest.raises(WorkFailed, match=str(kind)):
                    await engine.recover(ModelError(kind, "no"))
            assert not opened(events)

    asyncio.run(main())


@pytest.mark.design("C-14")
@pytest.mark.report(20)
def test_auto_off_means_off_and_overflow_still_recovers() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(32_000, events=events, settings=Settings(compaction=Compaction(auto=False))) as engine:
            await engine.observe(user("Go."))
            await work(engine, 40)
            projected = await engine.project()
            assert projected.level.tokens > projected.lines.hard
            assert projected.request.settings.max_output == 1_024
            assert not opened(events)
            assert [event for event in events if event.kind == "checkpoint_written"]
            await engine.recover(ModelError(ErrorKind.CONTEXT_OVERFLOW, "too long", limit=32_000, used=41_000))
            assert len(opened(events)) == 1

    asyncio.run(main())


@pytest.mark.design("C-14", "W-14")
@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        (Settings(checkpoint=CheckpointSettings(enabled=False)), "checkpoint_off"),
        (Settings(memory=Memory(disable_write=True)), "writing_off"),
    ],
)
def test_off_switches_compact_with_one_notice(settings: Settings, outcome: str) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(32_000, events=events, settings=settings) as engine:
            await engine.observe(user("Never call the drain task by hand."))
            await work(engine, 60)
            await engine.project()
            windows = [event.detail["window"] for event in opened(events)]
            assert len(windows) >= 2
            assert {(window.kind, window.outcome) for window in windows} == {("compaction", outcome)}
            assert len([event for event in events if event.kind == "notice" and event.detail["key"] == outcome]) == 1
            assert not [event for event in events if event.kind.startswith("checkpoint")]
            assert await engine.store.newest_checkpoint(engine.session_id) is None

    asyncio.run(main())


@pytest.mark.design("C-8", "W-14", "R-2")
def test_a_child_session_is_compacted() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(32_000, events=events, session=Session(id="", parent_id="ses_parent")) as engine:
            await engine.observe(user("Find where the offset is set."))
            await work(engine, 40)
            await engine.project()
            window = opened(events)[0].detail["window"]
            assert (window.kind, window.outcome) == ("compaction", "compacted")
            assert window.covered_seq == window.digest_seq
            assert window.items

    asyncio.run(main())


@pytest.mark.design("C-11")
@pytest.mark.report(16, 17)
def test_the_third_window_in_a_row_that_fills_at_once_stops_and_a_person_can_go_on() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(8_000, events=events) as engine:
            await engine.observe(user("Go."))
            with pytest.raises(WorkFailed, match="three windows in a row"):
                for step in range(60):
                    await engine.project()
                    calls = [reads(f"a{step}_{i}.py", prose(900, step + i)).parts[0] for i in range(4)]
                    await engine.observe(
                        Message(id="", role="assistant", origin="model", parts=tuple(calls), finish=Finish.TOOL_CALLS)
                    )
            count = len(opened(events))
            await engine.observe(user("Go on."))
            assert (await engine.project()).level.tokens
            assert len(opened(events)) == count + 1

    asyncio.run(main())


@pytest.mark.design("C-6", "W-2", "Y-5")
@pytest.mark.report(22, 41)
def test_what_comes_in_too_large_is_cut_not_summarised_away() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(32_000, events=events) as engine:
            await engine.observe(user("Summarise the log."))
            await engine.project()
            huge = "\n".join(f"line {n} of the log, gauge {n % 7}" for n in range(60_000))
            stored = (await engine.observe(reads("all.log", huge)))[0]
            projected = await engine.project()
            assert projected.level.tokens < projected.lines.trigger
            assert "line 0 of the log" in texts(projected)
            assert "line 59999 of the log" in texts(projected)
            assert "left out" in texts(projected)
            blob = await engine.store.blob(stored.parts[0].result[0].blob)  # type: ignore[union-attr]
            assert blob == huge.encode()
            assert not opened(events)

    asyncio.run(main())


@pytest.mark.design("C-10", "C-6")
@pytest.mark.report(22)
def test_a_first_message_larger_than_the_window_does_not_kill_the_session() -> None:
    async def main() -> None:
        async with await engine_for(32_000) as engine:
            await engine.observe(user(prose(60_000)))
            try:
                projected = await engine.project()
                assert projected.level.tokens <= projected.lines.hard
            except WorkFailed as stop:
                assert "message 1" in str(stop)
                assert stop.next_step
            undone = await engine.undo()
            assert undone.what == "the turn at message 1"
            await engine.observe(user("Only this."))
            assert "Only this." in texts(await engine.project())

    asyncio.run(main())


@pytest.mark.design("C-1")
@pytest.mark.report(43)
def test_a_window_too_small_names_both_numbers() -> None:
    async def main() -> None:
        with pytest.raises(UserMistake, match=r"20,000.*24,000|24,000.*20,000") as mistake:
            await engine_for(20_000, fixed=6_000)
        assert mistake.value.next_step
        with pytest.raises(UserMistake, match="8,000"):
            await engine_for(7_999)
        async with await engine_for(8_000) as engine:
            assert engine.level().tokens == 0

    asyncio.run(main())


@pytest.mark.design("C-13", "W-10")
def test_a_rebuild_by_hand_with_nothing_to_leave_out_changes_nothing() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            before = (await engine.project()).request
            done = await engine.rebuild()
            assert (done.outcome, done.window) == ("insert_failed", None)
            assert (await engine.project()).request == before

    asyncio.run(main())


@pytest.mark.design("C-13", "W-7", "W-2")
@pytest.mark.report(1, 3, 8, 9, 10, 72, 73)
def test_after_a_rebuild_the_newest_request_stands_verbatim_and_the_finished_one_is_marked() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("First: rename the drain task to sluice everywhere."))
            await work(engine, 30)
            await engine.observe(says("Renamed in 14 files; tests pass."))
            await engine.observe(user("Second: document the 0.273 m offset in docs/datum.md, in Chinese: 基准面偏移"))
            done = await engine.rebuild()
            assert done.outcome in ("rebuilt", "extracted")
            projected = await engine.project()
            opening = "".join(block.text for block in projected.window.opening)
            assert "First: rename the drain task to sluice everywhere." in opening
            assert "answered" in opening
            last = projected.request.messages[-1]
            assert last.role == "user"
            assert "Second: document the 0.273 m offset in docs/datum.md, in Chinese: 基准面偏移" in texts(projected)
            assert problems(projected.request, "anthropic") == []
            assert done.level_after < done.level_before

    asyncio.run(main())


@pytest.mark.design("M-2")
@pytest.mark.report(37, 70, 27, 34)
def test_a_session_over_the_limit_opens_shows_its_size_and_is_rebuilt_only_when_it_sends() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        events: list[EngineEvent] = []
        async with await engine_for(512_000, store=store) as engine:
            session_id = engine.session_id
            await engine.observe(user("Go."))
            await work(engine, 90)
        async with await _again(store, session_id, 32_000, events) as engine:
            assert engine.level().tokens > 80_000
            assert engine.level().estimated
            assert not events
            projected = await engine.project()
            assert projected.level.tokens < projected.lines.trigger
            assert len(opened(events)) == 1
        await store.close()

    asyncio.run(main())


async def _again(store: object, session_id: str, limit: int, events: list[EngineEvent]) -> Engine:
    return await Engine.open(
        store=store,  # type: ignore[arg-type]
        session_id=session_id,
        traits=Traits(name="test-model", limit=limit),
        on_event=events.append,
    )


@pytest.mark.design("R-2")
def test_foreign_summaries_are_kept_but_never_sent() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            summary = Message(id="", role="user", origin="import", source="summary", parts=(Text("SUMMARY of everything"),))
            await engine.observe(user("Hello."), summary)
            assert "SUMMARY" not in texts(await engine.project())
            stored = await engine.store.messages(engine.session_id)
            assert [message.source for message in stored] == ["", "summary"]

    asyncio.run(main())


@pytest.mark.design("C-6", "C-8", "S-8")
def test_a_host_that_names_no_finish_gets_its_windows_all_the_same() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(16_000, events=events) as engine:
            for turn in range(30):
                await engine.observe(user(f"Turn {turn}."))
                projected = await engine.project()
                assert projected.level.tokens <= projected.lines.hard
                await engine.observe(Message(id="", role="assistant", origin="model", parts=(Text(prose(900, turn)),)))
            assert len(opened(events)) >= 2

    asyncio.run(main())


@pytest.mark.design("C-6", "R-15")
def test_a_streamed_answer_is_a_step_when_its_usage_ends_it() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            await engine.project()
            (streamed,) = await engine.observe(Message(id="", role="assistant", origin="model"))
            assert streamed.finish is None
            await engine.settle(streamed.id, 0, Text("All of it."))
            await engine.observe_usage(Usage(fresh=10, output=5), finish=Finish.LENGTH)
            (stored,) = await engine.read(1, 2)
            assert stored.finish is Finish.LENGTH
            assert engine.in_view[-1].finish is Finish.LENGTH
            assert "All of it." in texts(await engine.project())

    asyncio.run(main())


@pytest.mark.design("C-13", "C-11")
@pytest.mark.report(44)
def test_a_rebuild_by_hand_never_makes_the_view_larger() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("What is 2 + 2?"), says("4."))
            before = (await engine.project()).level.tokens
            done = await engine.rebuild()
            assert (done.outcome, done.window) == ("insert_failed", None)
            assert done.level_before == done.level_after == before

    asyncio.run(main())
