"""The engine's numbers, orders and rows, exactly: what a one-line fault would change (C-6 to C-18, K-7 to K-9, R-4 to R-15)."""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from engine.sessions import engine_for, prose, reads, says, user, work
from sojourn.base import CountingIds, ErrorKind, Finish, Item, ManualClock, Section, SystemClock, Usage, UserMistake, WorkFailed
from sojourn.checkpoint import WriterFailed, WriterInput, Written
from sojourn.config import CheckpointSettings, Compaction, Memory, Settings
from sojourn.cycle import Economics, too_full
from sojourn.cycle.economy import economic_trigger
from sojourn.engine import Engine, EngineEvent, recovery, session, switching, writing
from sojourn.engine.ingest import ingest
from sojourn.engine.intake import result_cap, take_in
from sojourn.engine.joining import _ago
from sojourn.engine.opening import Composed, Frame, compose_rebuild, compose_start
from sojourn.importers import Counts, Done, Imported, ImportRecord, Progress, SessionStart, Skipped, SkippedLine
from sojourn.lab import replay as replaying
from sojourn.lab.replay import replay
from sojourn.meter import estimate_text, message_tokens, total
from sojourn.models import anthropic
from sojourn.record import (
    Change,
    Checkpoint,
    Fence,
    Fenced,
    File,
    Image,
    Lease,
    Message,
    Session,
    SetSlot,
    Slot,
    Store,
    Text,
    ToolCall,
)
from sojourn.record.sqlite import SqliteStore
from sojourn.request import units
from sojourn.wire import ModelError, Traits

TRAITS = Traits(name="test-model", limit=64_000)
NOW = 1_700_000_000_000
"""Where a ManualClock stands."""


def kinds(events: Sequence[EngineEvent], kind: str) -> list[dict[str, Any]]:
    return [event.detail for event in events if event.kind == kind]


def notices(events: Sequence[EngineEvent]) -> list[str]:
    return [detail["key"] for detail in kinds(events, "notice")]


async def memory(clock: object = None) -> Store:
    return await SqliteStore.open(None, clock=clock or ManualClock())  # type: ignore[arg-type]


# --- taking in (R-8, Y-5) -----------------------------------------------------------------------------------------


@pytest.mark.design("Y-5")
def test_the_cap_of_a_result_is_a_part_of_the_trigger_up_to_sixteen_thousand() -> None:
    assert [result_cap(trigger) for trigger in (7_200, 57_600, 106_666, 106_667, 900_000)] == [
        1_080,
        8_640,
        15_999,
        16_000,
        16_000,
    ]


def result(text: str, tokens: int) -> Message:
    call = ToolCall("c", "bash", {}, state="completed", result=(Text(text, {"prose": tokens}),))
    return Message(id="m", role="assistant", origin="model", parts=(call,))


@pytest.mark.design("R-8", "Y-5")
@pytest.mark.parametrize(
    ("text", "tokens", "stored"),
    [
        ("x" * 32_768, 1_000, "row"),
        ("x" * 32_769, 1_000, "blob"),
        ("x" * 8_193, 1_000, "row"),
        ("\U00028001" * 8_192, 1_000, "row"),
        ("\U00028001" * 8_193, 1_000, "blob"),
        ("\ud800" * 10_922, 1_000, "row"),
        ("\ud800" * 10_923, 1_000, "blob"),
    ],
)
def test_a_result_over_32_kib_lies_in_a_blob_and_stands_whole_in_view(text: str, tokens: int, stored: str) -> None:
    async def main() -> None:
        store = await memory()
        taken = (await take_in(result(text, tokens), store, 1_000)).parts[0].result[0]  # type: ignore[union-attr]
        if stored == "row":
            assert taken == Text(text, {"prose": tokens})
            assert (await store.space()).blobs == 0
        else:
            data = text.encode("utf-8", "surrogatepass")
            assert isinstance(taken, File)
            assert (taken.blob, taken.size) == (hashlib.sha256(data).hexdigest(), len(data))
            assert (taken.excerpt, taken.tokens) == (text, {"prose": tokens})
            assert taken.media_type == "text/plain; charset=utf-8"
            assert await store.blob(taken.blob) == data
        await store.close()

    asyncio.run(main())


@pytest.mark.design("Y-5", "R-8")
def test_a_result_over_the_cap_keeps_head_and_tail_and_names_its_blob() -> None:
    async def main() -> None:
        store = await memory()
        text = prose(1_000)
        size = total(estimate_text(text))
        whole = Message(id="m", role="assistant", origin="model", parts=(ToolCall("c", "bash", result=(Text(text),)),))
        kept = await take_in(whole, store, size)
        assert kept.parts[0].result == (Text(text, estimate_text(text)),)  # type: ignore[union-attr]
        cut = (await take_in(whole, store, size - 1)).parts[0].result[0]  # type: ignore[union-attr]
        assert isinstance(cut, File)
        assert total(cut.tokens) == total(estimate_text(cut.excerpt)) <= size - 1
        first, line, last = cut.excerpt.partition("[... about ")[0], cut.excerpt, cut.excerpt.rpartition("...]")[2]
        assert text.startswith(first.rstrip("\n"))
        assert text.endswith(last.lstrip("\n"))
        assert len(first) > len(last) > 0
        assert f'history {{"read": "blob:{cut.blob[:12]}", "from": ' in line
        # What people and models say, and pictures, stay as they are.
        picture = Image("b", "image/png", 5)
        parts = (Text(prose(9_000)), ToolCall("c", "look", result=(picture,)))
        said = await take_in(Message(id="m", role="user", origin="user", parts=parts), store, 10)
        assert said.parts[0].text == prose(9_000)  # type: ignore[union-attr]
        assert said.parts[0].tokens == estimate_text(prose(9_000))  # type: ignore[union-attr]
        assert said.parts[1].result[0].blob == "b"  # type: ignore[union-attr]
        await store.close()

    asyncio.run(main())


# --- observing ----------------------------------------------------------------------------------------------------


@pytest.mark.design("R-2", "R-1")
def test_what_is_observed_gets_id_time_and_seq_and_the_session_its_title() -> None:
    async def main() -> None:
        clock = ManualClock()
        async with await engine_for(64_000, clock=clock) as engine:
            assert await engine.observe() == ()
            assert engine.head == 0
            engines = Message(id="own", role="user", origin="engine", source="todo", parts=(Text("Not a title."),), created=5)
            clock.advance(7)
            stored = await engine.observe(engines, says("Hello."), user("  \n"))
            assert [(m.seq, m.session_id) for m in stored] == [(n, engine.session_id) for n in (1, 2, 3)]
            assert (stored[0].id, stored[0].created, stored[1].created) == ("own", 5, NOW + 7)
            assert stored[1].id.startswith("msg_")
            assert (await engine.context()).title == ""
            await engine.observe(user("Rename  the\n drain task " + "x" * 100), user("Later words."))
            title = ("Rename the drain task " + "x" * 100)[:80]
            assert (await engine.context()).title == title
            await engine.observe(user("Other words."))
            row = await engine.store.session(engine.session_id)
            assert row is not None
            assert row.title == title
        async with await engine_for(64_000, session=Session(id="", title="Given")) as engine:
            await engine.observe(user("Not this."))
            assert (await engine.context()).title == "Given"

    asyncio.run(main())


@pytest.mark.design("R-4", "R-3", "M-2", "Y-5")
def test_a_result_that_comes_later_is_counted_capped_and_final() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            await engine.project()
            call = ToolCall(call_id="c1", name="bash", arguments={"command": "make"}, state="running")
            message = Message(id="", role="assistant", origin="model", parts=(call,), finish=Finish.TOOL_CALLS)
            stored = (await engine.observe(message))[0]
            before = engine.level().tokens
            text = prose(20_000)
            await engine.settle(stored.id, 0, msgspec.structs.replace(call, state="completed", result=(Text(text),)))
            settled = engine.in_view[-1].parts[0]
            assert isinstance(settled, ToolCall)
            excerpt = settled.result[0]
            assert isinstance(excerpt, File)
            assert 7_500 < total(excerpt.tokens) <= 8_640
            assert engine.level().tokens == before + total(excerpt.tokens)
            with pytest.raises(WorkFailed):
                await engine.settle(stored.id, 0, msgspec.structs.replace(call, state="completed", result=(Text("Other."),)))
            assert engine.in_view[-1].parts[0] == settled
            request = (await engine.project()).request
            assert text[:200] in str(request).replace("\\n", "\n")

    asyncio.run(main())


@pytest.mark.design("R-15", "M-2", "M-5")
def test_a_calls_row_says_what_was_asked_answered_and_paid() -> None:
    async def main() -> None:
        clock = ManualClock()
        async with await engine_for(64_000, clock=clock) as engine:
            await engine.observe(user("Go."))
            projected = await engine.project()
            estimate = engine._state.view.estimate()
            answer = (await engine.observe(says("Done."), user("More."), says("Again.")))[0]
            clock.advance(900)
            await engine.observe_usage(Usage(fresh=4_000, output=9), finish=Finish.STOP, price=0.25)
            call = (await engine.store.calls(engine.session_id))[0]
            assert (call.purpose, call.upto_seq, call.window_id, call.message_id) == ("main", 1, projected.window.id, answer.id)
            assert (call.model, call.estimate, call.price, call.finish) == ("test-model", estimate, 0.25, Finish.STOP)
            assert (call.started, call.ended, call.usage) == (NOW + 900, NOW + 900, Usage(fresh=4_000, output=9))
            assert call.prefix_id is None
            # One report has taught the ratio: what came after the answer counts more than the estimate says.
            after = sum(total(message_tokens(m)) for m in engine.in_view[2:])
            assert engine.level().tokens > 4_009 + after

    asyncio.run(main())


# --- the row of a window ------------------------------------------------------------------------------------------


@pytest.mark.design("R-5", "C-12", "M-3", "W-4")
def test_a_windows_row_says_what_it_covers_holds_and_is_measured_against() -> None:
    async def main() -> None:
        clock, events = ManualClock(), []  # type: ignore[var-annotated]
        settings = Settings(checkpoint=CheckpointSettings(thresholds=("1K", "2K", "50%")))
        async with await engine_for(64_000, fixed=900, events=events, clock=clock, settings=settings) as engine:
            await engine.observe(user("Go."))
            await engine.project()
            start = kinds(events, "window_opened")[0]["window"]
            assert (start.kind, start.reason, start.outcome, start.number) == ("start", "start", "started", 1)
            assert (start.covered_seq, start.digest_seq, start.opened_at_seq, start.checkpoint_id) == (0, 0, 1, None)
            assert (start.meter_after, start.tiers) == (900, ())
            await work(engine, 30, start=1)
            await engine.observe(says("Done."), user("Next."))
            before = engine.level().tokens
            clock.advance(60_000)
            done = await engine.rebuild()
            window = done.window
            checkpoint = await engine.store.newest_checkpoint(engine.session_id)
            assert window is not None
            assert checkpoint is not None
            assert (window.number, window.reason, window.outcome, window.created) == (2, "manual", "rebuilt", NOW + 60_000)
            assert (window.covered_seq, window.checkpoint_id) == (checkpoint.covered_seq, checkpoint.id)
            assert (window.digest_seq, window.opened_at_seq) == (32, 33)
            assert (done.level_before, window.meter_before) == (before, before)
            opening = sum(block.tokens for block in window.opening)
            tail = total(message_tokens(engine.in_view[-1]))
            assert window.meter_after == 900 + opening + tail
            # Counted block by block before, as one message after: the same but for the rounding of each block.
            assert abs(done.level_after - window.meter_after) <= 10 + len(window.opening)
            assert done.level_after == engine.level().tokens
            assert (window.trigger, window.hard, window.policy, window.gate) == (57_600, 60_800, "full", None)
            assert 2_000 < window.meter_after < 28_800
            assert window.tiers == (1_000, 2_000)
            detail = kinds(events, "window_opened")[1]
            assert detail["window"] == window
            assert opening <= detail["budget"] == min(57_600 * 40 // 100, 57_600 * 60 // 100 - 900 - tail)
            assert detail["left_out"] == ()
            assert (await engine.store.windows(engine.session_id))[-1] == window
            assert engine._state.window_steps == [31]

    asyncio.run(main())


@pytest.mark.design("C-18", "C-2")
def test_a_stored_trigger_stays_for_its_window_and_hard_follows_the_model() -> None:
    async def main() -> None:
        store = await memory()
        lines = []
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
            await engine.observe(user("Go."))
            lines.append((await engine.project()).lines)
        for limit in (128_000, 32_000):
            traits = msgspec.structs.replace(TRAITS, limit=limit)
            async with await Engine.open(store=store, session_id=engine.session_id, traits=traits) as again:
                lines.append((await again.project()).lines)
        assert [(one.trigger, one.full_trigger, one.hard) for one in lines] == [
            (57_600, 57_600, 60_800),
            (57_600, 115_200, 121_600),
            (28_800, 28_800, 30_400),
        ]
        assert [one.tiers[0] for one in lines] == [11_520, 11_520, 5_760]
        await store.close()

    asyncio.run(main())


@pytest.mark.design("C-1")
def test_the_source_of_the_limit_is_told() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            context = await engine.context()
            assert (context.limit_source, context.lines.effective, context.model) == ("test", 64_000, "test-model")
        async with await engine_for(64_000, settings=Settings(compaction=Compaction(max_context="50%"))) as engine:
            context = await engine.context()
            assert (context.limit_source, context.lines.effective, context.watermark) == ("config", 32_000, 0)

    asyncio.run(main())


class Composing:
    """Watches each try at an opening."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bases: list[int] = []
        self.covered: list[int] = []
        monkeypatch.setattr(switching, "compose_rebuild", self)

    async def __call__(self, frame: Frame, checkpoint: Checkpoint | None, covered: int) -> Composed:
        self.bases.append(frame.share_base)
        self.covered.append(covered)
        return await compose_rebuild(frame, checkpoint, covered)


@pytest.mark.design("C-11")
@pytest.mark.parametrize(
    ("full", "bases", "told"),
    [((), [57_600], []), ((1,), [57_600, 34_560], []), ((1, 2, 3), [57_600, 34_560, 20_160], ["window_opens_full"])],
)
def test_smaller_budgets_come_first_while_a_window_would_open_too_full(
    monkeypatch: pytest.MonkeyPatch, full: tuple[int, ...], bases: list[int], told: list[str]
) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, events=events) as engine:
            await engine.observe(user("Go."))
            await work(engine, 30)
            composing = Composing(monkeypatch)
            monkeypatch.setattr(
                switching, "too_full", lambda after, trigger: trigger == 57_600 and len(composing.bases) in full
            )
            done = await engine.rebuild()
            assert done.outcome == "rebuilt"
            assert composing.bases == bases
            assert notices(events) == told
            monkeypatch.setattr(switching, "too_full", too_full)

    asyncio.run(main())


@pytest.mark.design("C-18", "W-4")
@pytest.mark.parametrize("policy", ["balanced", "economy"])
def test_the_trigger_of_a_window_follows_growth_and_its_opening_and_shares_follow_it(
    monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    async def main() -> None:
        composing = Composing(monkeypatch)
        settings = Settings(compaction=Compaction(policy=policy))  # type: ignore[arg-type]
        async with await engine_for(200_000, fixed=500, settings=settings) as engine:
            await engine.observe(user("Go."))
            await work(engine, 45)
            growth = list(engine._state.view.growth)
            window = (await engine.rebuild()).window
            assert window is not None
            measured = window.measured
            assert (measured["growth"], measured["steps"]) == (pytest.approx(sum(growth) / len(growth), rel=0.01), 45)
            known = Economics(
                growth=measured["growth"],
                steps=45,
                opening_level=window.meter_after,
                opening_written=int(measured["opening"]),
                writer_cost=measured["writer"],
                reread_cost=measured["reread"],
            )
            assert 0 < measured["opening"] < window.meter_after
            expected = economic_trigger(180_000, policy, known)  # type: ignore[arg-type]
            assert window.trigger == pytest.approx(expected, abs=2)
            assert window.trigger < 180_000
            assert window.policy == policy
            lines = (await engine.project()).lines
            assert (lines.trigger, lines.full_trigger) == (window.trigger, 180_000)
            assert lines.tiers == (window.trigger * 85 // 100,)
            await work(engine, 20, start=50)
            await engine.rebuild()
            # W-4's shares are of the last window's trigger, at least of half of T.
            assert composing.bases[-1] == max(window.trigger, 90_000)

    asyncio.run(main())


@pytest.mark.design("W-4", "W-3", "C-18")
def test_the_first_windows_shares_are_of_the_whole_trigger(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[Frame] = []

    async def watched(frame: Frame) -> Composed:
        frames.append(frame)
        return await compose_start(frame)

    monkeypatch.setattr(switching, "compose_start", watched)

    async def main() -> None:
        async with await engine_for(64_000, fixed=700, documents=Path("/memory")) as engine:
            await engine.observe(user("Go."))
            await engine.project()
            await engine.project()
            frame = frames[0]
            assert (len(frames), frame.share_base, frame.fixed, frame.head, frame.now) == (1, 57_600, 700, 1, NOW)
            assert frame.session_id in frame.checkpoint_path

    asyncio.run(main())


@pytest.mark.design("W-14", "C-13")
def test_a_compaction_by_hand_tells_levels_and_builds_on_the_one_before() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            nothing = await engine.compact()
            assert (nothing.outcome, nothing.window, nothing.level_before, nothing.level_after) == ("insert_failed", None, 0, 0)
            await engine.observe(user("Never change the tide offset."))
            await work(engine, 30)
            before = engine.level().tokens
            first = await engine.compact()
            assert first.window is not None
            assert (first.outcome, first.window.reason, first.window.kind) == ("compacted", "manual", "compaction")
            assert (first.level_before, first.level_after) == (before, engine.level().tokens)
            assert first.level_after < before
            assert first.window.items
            await work(engine, 30, start=40)
            second = (await engine.compact()).window
            assert second is not None
            assert second.covered_seq > first.window.covered_seq
            # The rule was said before the first one: it stands in the second as an item still.
            assert any("Never change the tide offset" in one.text for one in second.items)

    asyncio.run(main())


@pytest.mark.design("C-14", "C-13")
@pytest.mark.parametrize("written", [False, True])
def test_by_hand_with_writing_off_only_an_existing_checkpoint_is_rebuilt_from(written: bool) -> None:
    async def main() -> None:
        store = await memory(SystemClock())
        events: list[EngineEvent] = []
        off = Settings(memory=Memory(disable_write=True))
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
            await engine.observe(user("Go."))
            await work(engine, 9)
            if written:
                assert isinstance(await engine.write_checkpoint(), Checkpoint)
        async with await Engine.open(
            store=store, session_id=engine.session_id, traits=TRAITS, settings=off, on_event=events.append
        ) as again:
            await work(again, 12, start=20)
            window = (await again.rebuild()).window
            assert window is not None
            assert (window.kind, window.outcome) == (("rebuild", "rebuilt") if written else ("compaction", "writing_off"))
            assert notices(events) == ["checkpoint_stale" if written else "writing_off"]
            assert len(await store.checkpoints(engine.session_id)) == int(written)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("M-2", "R-15")
def test_usage_may_be_reported_before_the_answer_is_observed() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            await engine.project()
            await engine.observe_usage(Usage(fresh=100, output=9), finish=Finish.STOP)
            call = (await engine.store.calls(engine.session_id))[0]
            assert (call.message_id, call.finish) == (None, Finish.STOP)
            assert engine.level().tokens == 109

    asyncio.run(main())


@pytest.mark.design("C-11", "C-10")
def test_a_stop_names_what_fills_the_window_the_largest_first() -> None:
    async def main() -> None:
        async with await engine_for(64_000, fixed=3_000) as engine:
            await engine.observe(user(prose(5_000)))
            await engine.project()
            await engine.observe(says(prose(2_000)), user(prose(4_000)), says("Short."))
            sizes = [f"{total(message_tokens(m)):,}" for m in engine.in_view]
            text = switching.largest_parts(engine._state)
            assert text == (
                f"It holds {engine.level().tokens:,} of 64,000 tokens; the largest parts: message 1 (user) with {sizes[0]}"
                f" tokens, message 3 (user) with {sizes[2]} tokens, the fixed part (system, tools, rules) with 3,000 tokens."
            )

    asyncio.run(main())


@pytest.mark.design("C-11", "C-13")
def test_a_window_that_would_gain_nothing_is_not_opened() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            assert (await engine.rebuild()).window is not None
            with pytest.raises(WorkFailed, match="nothing in the window can be left out") as stop:
                await switching.switch(engine._state, "usage")
            assert "larger window" in stop.value.next_step
            level = engine.level().tokens
            again = await engine.rebuild()
            assert (again.outcome, again.window, again.level_before, again.level_after) == ("insert_failed", None, level, level)
            assert [window.number for window in await engine.store.windows(engine.session_id)] == [1, 2]

    asyncio.run(main())


@pytest.mark.design("C-11")
def test_two_short_windows_do_not_stop_and_a_stop_is_for_automatic_ones_only() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            await work(engine, 10)
            for steps, stops in (([3], False), ([3, 3], True), ([4, 3], False), ([3, 4, 3], False), ([3, 3, 9, 3, 3], True)):
                engine._state.window_steps = list(steps)
                engine._state.view.steps = 3
                if not stops:
                    switching._stop_if_looping(engine._state)
                    continue
                with pytest.raises(WorkFailed, match="three windows in a row") as stop:
                    await switching.switch(engine._state, "usage")
                assert "larger window" in stop.value.next_step
            assert (await switching.switch(engine._state, "overflow")).window is not None
            engine._state.window_steps = [3, 3, 3]
            engine.go_on()
            assert engine._state.window_steps == []

    asyncio.run(main())


# --- recovering from a refusal (C-10) -----------------------------------------------------------------------------


class Switching:
    """Stands in for the ladder: notes what it was asked and changes nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, bool, tuple[float, ...], bool]] = []
        monkeypatch.setattr(recovery, "switch", self)

    async def __call__(self, state: object, reason: str, *, shares: tuple[float, ...], extract_first: bool) -> None:
        self.asked.append((reason, shares, extract_first))


LADDER, SMALLER, EXTRACT = ((1.0, 0.6, 0.35), False), ((0.35,), False), ((0.2,), True)


@pytest.mark.design("C-10")
@pytest.mark.report(15, 23)
@pytest.mark.parametrize(
    ("kind", "reason"), [(ErrorKind.CONTEXT_OVERFLOW, "overflow"), (ErrorKind.MALFORMED_REQUEST, "malformed")]
)
def test_a_refusal_is_answered_by_each_way_in_order_then_by_a_stop(
    monkeypatch: pytest.MonkeyPatch, kind: ErrorKind, reason: str
) -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."), says("Yes."), user("On."))
            await engine.project()
            asked = Switching(monkeypatch).asked
            with pytest.raises(WorkFailed, match="refused 1 request, the last with: no, truly no") as stop:
                await engine.recover(ModelError(kind, "no, truly no"))
            assert [one[1:] for one in asked] == [LADDER, LADDER, SMALLER, EXTRACT]
            assert {one[0] for one in asked} == {reason}
            assert "max_context" in stop.value.next_step
            with pytest.raises(WorkFailed, match="refused 1 request"):
                await engine.recover(ModelError(kind, "no"))
            # A step that ended starts anew; one that is still running does not.
            await engine.observe(Message(id="", role="assistant", origin="model"))
            assert engine._state.recoveries == 6
            await engine.observe(says("Worked."))
            assert (engine._state.recoveries, engine._state.refused) == (0, set())

    asyncio.run(main())


@pytest.mark.design("C-10", "M-2", "C-1")
@pytest.mark.report(121)
def test_the_numbers_of_a_refusal_are_taken_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, events=events) as engine:
            await engine.observe(user("Go."), says(prose(1_000)), user("On."))
            estimated = (await engine.project()).level.tokens
            Switching(monkeypatch)
            with pytest.raises(WorkFailed):
                await engine.recover(ModelError(ErrorKind.CONTEXT_OVERFLOW, "no", limit=64_000, used=2 * estimated))
            assert (engine.level().tokens, engine.level().source) == (2 * estimated, "error")
            assert engine._state.count(prose(1_000)) > 1.3 * total(estimate_text(prose(1_000)))
            assert kinds(events, "limit_learned") == []
            with pytest.raises(WorkFailed):
                await engine.recover(ModelError(ErrorKind.CONTEXT_OVERFLOW, "no", limit=63_999))
            assert kinds(events, "limit_learned") == [{"limit": 63_999}]
            context = await engine.context()
            assert (context.limit_source, context.lines.effective) == ("learned", 63_999)

    asyncio.run(main())


@pytest.mark.design("C-6", "C-10")
@pytest.mark.report(22)
def test_room_is_made_by_cutting_then_smaller_then_extraction_then_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            await work(engine, 10)
            await engine.rebuild()
            asked = Switching(monkeypatch).asked
            lines: list[int] = []

            def cutting(works_at: int) -> object:
                async def cut(state: object, line: int) -> bool:
                    lines.append(line)
                    return len(lines) == works_at

                return cut

            await engine.observe(user("x " * 70_000))
            for works_at, ways in ((1, []), (2, [SMALLER]), (3, [SMALLER, EXTRACT])):
                monkeypatch.setattr(recovery, "cut_incoming", cutting(works_at))
                await engine.project()
                assert [one[1:] for one in asked] == ways
                assert {one[0] for one in asked} <= {"overflow"}
                assert lines == [60_800] * works_at
                asked.clear()
                lines.clear()
            monkeypatch.setattr(recovery, "cut_incoming", cutting(0))
            with pytest.raises(WorkFailed, match="newest messages alone do not fit") as stop:
                await engine.project()
            assert "path" in stop.value.next_step

    asyncio.run(main())


@pytest.mark.design("C-6", "R-5", "W-2", "Q-2")
def test_only_what_was_not_sent_is_cut_and_it_stays_so_after_reopening() -> None:
    async def main() -> None:
        store = await memory()
        events: list[EngineEvent] = []
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS, on_event=events.append) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            await engine.rebuild()
            await engine.observe(user(prose(9_000)))
            sent = units((await engine.project()).request, anthropic.encode)
            assert kinds(events, "incoming_cut") == []
            await engine.observe(user(prose(25_000)), user(prose(14_500, 5)))
            assert 57_600 < engine.level().tokens <= 60_800
            cut = await engine.project()
            # A cut is a little more than needed, never less.
            assert 54_000 < cut.level.tokens <= 57_600
            named = kinds(events, "incoming_cut")
            assert len(named) == 1
            assert set(named[0]["messages"]) <= {engine.head - 1, engine.head}
            assert {trim.seq for trim in cut.window.trims} == set(named[0]["messages"])
            cut_units = units(cut.request, anthropic.encode)
            assert cut_units[: len(sent)] == sent
            assert units((await engine.project()).request, anthropic.encode) == cut_units
            assert (await store.messages(engine.session_id))[-2].parts[0].text == prose(25_000)  # type: ignore[union-attr]
        async with await Engine.open(store=store, session_id=engine.session_id, traits=TRAITS) as again:
            assert again.level().tokens == cut.level.tokens
            assert units((await again.project()).request, anthropic.encode) == cut_units
        await store.close()

    asyncio.run(main())


# --- writers (C-7, K-5 to K-9) ------------------------------------------------------------------------------------


class Scripted:
    """A model writer that answers as it is told, in turn; the last answer stands."""

    name: Literal["model", "extractive"] = "model"
    forks = False

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.runs: list[WriterInput] = []

    async def write(self, run: WriterInput) -> Written | WriterFailed:
        self.runs.append(run)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            return Written(items=(item(0),))
        return answer  # type: ignore[return-value]


def item(number: int, status: str = "open") -> Item:
    return Item(f"i{number}", Section("decisions"), f"Decision {number}.", (1,), status)  # type: ignore[arg-type]


async def talked(engine: Engine, rounds: int = 12) -> None:
    for number in range(rounds):
        await engine.observe(user(f"Question {number}?"), says(prose(900, number)))


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


# --- reading a session again (R-10) -------------------------------------------------------------------------------


@pytest.mark.design("R-10")
@pytest.mark.parametrize("number", [199, 200, 201, 400, 450])
def test_a_view_of_any_length_is_read_again_whole(number: int) -> None:
    async def main() -> None:
        store = await memory(SystemClock())
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
            await engine.observe(*(user(f"Message {n}.") for n in range(number)))
            level = engine.level().tokens
        async with await Engine.open(store=store, session_id=engine.session_id, traits=TRAITS) as again:
            assert [message.seq for message in again.in_view] == list(range(1, number + 1))
            assert again.level().tokens == level
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-10")
@pytest.mark.report(27, 68)
def test_of_a_view_far_over_the_limit_only_enough_is_read() -> None:
    async def main() -> None:
        store = await memory(SystemClock())
        async with await Engine.open(
            store=store, session=Session(id=""), traits=msgspec.structs.replace(TRAITS, limit=1_000_000)
        ) as engine:
            for _ in range(3):
                sized = [Message(id="", role="user", origin="user", parts=(Text("x", {"prose": 46}),)) for _ in range(200)]
                await engine.observe(*sized)  # 10,000 tokens
        for limit, read in ((8_000, 400), (10_000, 600), (9_999, 400)):
            traits = msgspec.structs.replace(TRAITS, limit=limit)
            async with await Engine.open(store=store, session_id=engine.session_id, traits=traits) as again:
                assert [message.seq for message in again.in_view] == list(range(601 - read, 601))
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-2")
def test_only_another_programs_summaries_stay_out_of_view_now_and_after_reopening() -> None:
    async def main() -> None:
        store = await memory(SystemClock())

        def message(origin: str, source: str) -> Message:
            return Message(id="", role="user", origin=origin, source=source, parts=(Text("Words."),))  # type: ignore[arg-type]

        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
            await engine.observe(
                message("import", "summary"),
                message("import", "meta"),
                message("engine", "summary"),
                message("import", "summary"),
            )
            assert [one.seq for one in engine.in_view] == [2, 3]
        async with await Engine.open(store=store, session_id=engine.session_id, traits=TRAITS) as again:
            assert [one.seq for one in again.in_view] == [2, 3]
        await store.close()

    asyncio.run(main())


# --- who runs it, looking only, ends -----------------------------------------------------------------------


@pytest.mark.design("R-11")
def test_a_session_open_for_reading_writes_nothing() -> None:
    async def main() -> None:
        store = await memory(SystemClock())
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            session_id = engine.session_id
        revision = await store.revision(session_id)
        async with await Engine.open(store=store, session_id=session_id, traits=TRAITS, read_only=True) as looking:
            context = await looking.context()
            assert (context.head, context.level, len(looking.in_view)) == (21, looking.level().tokens, 21)
            assert context.watermark == (await store.newest_checkpoint(session_id)).covered_seq  # type: ignore[union-attr]
            assert [message.seq for message in await looking.read(3, 5)] == [4, 5]
            assert await looking.search("part_7")
            assert len(await looking.search("read_file", limit=2)) <= 2
            assert await looking.write_checkpoint() is None
            assert (await looking.project()).level.tokens == context.level
            for act in (looking.observe(says("No.")), looking.rebuild(), looking.undo(), looking.pin("No.")):
                with pytest.raises(WorkFailed, match="open for reading only") as refused:
                    await act
                assert "fork" in refused.value.next_step
            assert await store.holder(session_id) is None
        assert await store.revision(session_id) == revision
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-11")
def test_the_lease_is_renewed_every_quarter_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assert session._RENEW_SECONDS == 5
    monkeypatch.setattr(session, "_RENEW_SECONDS", 0.005)

    async def main() -> None:
        clock = ManualClock()
        store = await memory(clock)
        engine = await Engine.open(store=store, session=Session(id=""), traits=TRAITS, clock=clock)
        lease = engine._state.lease
        assert isinstance(lease, Lease)
        assert lease.expires == NOW + 20_000
        clock.advance(15_000)
        await asyncio.sleep(0.05)
        held = await store.holder(engine.session_id)
        assert held is not None
        assert held.expires == NOW + 35_000
        assert engine._state.lease.epoch == lease.epoch  # type: ignore[union-attr]
        await engine.observe(user("Go."))
        assert await engine.close() is True
        assert await store.holder(engine.session_id) is None
        assert (await store.session(engine.session_id)) is not None  # a host's store stays open
        await store.close()

    asyncio.run(main())


@pytest.mark.design("C-17", "K-9")
def test_an_end_without_waiting_leaves_the_work_to_the_next_process() -> None:
    async def main() -> None:
        store = await memory(SystemClock())
        events: list[EngineEvent] = []
        settings = Settings(checkpoint=CheckpointSettings(thresholds=("20%",)))
        options: dict[str, Any] = {"store": store, "traits": TRAITS, "settings": settings, "on_event": events.append}
        engine = await Engine.open(session=Session(id=""), writer=Scripted(5.0), **options)
        await talked(engine, 14)
        await engine.project()
        await asyncio.sleep(0.01)
        assert await engine.close(wait=0) is False
        assert notices(events) == []
        assert not (await store.slot(engine.session_id)).running
        engine = await Engine.open(session_id=engine.session_id, writer=Scripted(0.01), **options)
        await talked(engine, 1)
        run = asyncio.create_task(engine.write_checkpoint())
        await asyncio.sleep(0)
        assert isinstance(await run, Checkpoint)
        assert await engine.close() is True
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-11")
@pytest.mark.parametrize(
    ("age", "words"), [(0, "0 s ago"), (119_999, "119 s ago"), (120_000, "2 min ago"), (3_600_000, "60 min ago")]
)
def test_since_when_a_session_is_held_in_words(age: int, words: str) -> None:
    assert _ago(NOW - age, ManualClock()) == words
    assert _ago(NOW + 5_000, ManualClock()) == "0 s ago"


@pytest.mark.design("R-4", "R-1")
def test_a_fork_has_its_parents_place_and_a_new_session_its_time() -> None:
    async def main() -> None:
        store, clock = await memory(SystemClock()), ManualClock()
        given = Session(id="", project_id="p", title="T", model="m", agent="a", mode="plan", cwd="/c")
        async with await Engine.open(store=store, session=given, traits=TRAITS, clock=clock, ids=CountingIds()) as engine:
            row = await store.session(engine.session_id)
            assert row is not None
            assert (row.created, row.updated) == (NOW, NOW)
            await engine.observe(user("Go."))
            window = (await engine.project()).window
            clock.advance(10)
            forked = await engine.fork()
            assert forked.id != engine.session_id
            fields = ("project_id", "title", "model", "agent", "mode", "cwd")
            assert [getattr(forked, field) for field in fields] == ["p", "T", "m", "a", "plan", "/c"]
            assert forked.fork_of is not None
            assert (forked.fork_of.session_id, forked.fork_of.window_id, forked.fork_of.seq) == (
                engine.session_id,
                window.id,
                1,
            )
            assert forked.created == NOW + 10
            early = await Engine.open(store=store, session=Session(id="ses_mine", created=7), traits=TRAITS, clock=clock)
            assert early.session_id == "ses_mine"
            assert (await store.session("ses_mine")).created == 7  # type: ignore[union-attr]
            await early.close()
        with pytest.raises(UserMistake, match="no session ses_none"):
            await Engine.open(store=store, session_id="ses_none", traits=TRAITS)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("W-3", "R-15")
def test_pins_share_two_thousand_tokens_to_the_last_one_and_outlive_the_process() -> None:
    async def main() -> None:
        store, clock = await memory(SystemClock()), ManualClock()
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS, clock=clock) as engine:
            count = engine._state.count
            first = await engine.pin(prose(1_200))
            rest = 2_000 - count(prose(1_200))
            words = prose(2_000, 3).split()
            tries = (" ".join(words[:n]) + " a" * more for n in range(rest // 2, 2_000) for more in range(4))
            fits = next(text for text in tries if count(text) == rest)
            over = next(text for n in range(1, 9) if count(text := fits + " tide" * n) > rest)
            with pytest.raises(UserMistake, match=f"takes {count(over):,} tokens; {rest:,} of 2,000 are free") as refused:
                await engine.pin(over)
            assert "take another pin away" in refused.value.next_step
            second = await engine.pin(fits)
            assert (second.text, second.created, second.id[:4]) == (fits, NOW, "pin_")
            with pytest.raises(UserMistake, match="0 of 2,000 are free"):
                await engine.pin("x")
            await engine.unpin(first.id)
            third = await engine.pin("x")
        async with await Engine.open(store=store, session_id=engine.session_id, traits=TRAITS) as again:
            assert [pin.id for pin in again._state.pins] == [second.id, third.id]
            await again.observe(user("Go."))
            opening = (await again.project()).window.opening
            pins = next(block.text for block in opening if block.section == "pins")
            assert f"- {fits}\n- x" in pins
            with pytest.raises(UserMistake, match=f"no pin {first.id}"):
                await again.unpin(first.id)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-4", "W-12")
def test_the_rows_of_undo_and_redo_name_exactly_what_they_take_back() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        clock = ManualClock()
        async with await engine_for(64_000, events=events, clock=clock) as engine:
            await engine.observe(user("One."), says("Yes."))
            await engine.project()
            await engine.observe(user("Two."))
            await work(engine, 12)
            await engine.rebuild()
            clock.advance(9)
            window = await engine.undo()
            assert (window.undo.kind, window.undo.after_seq, window.undo.upto_seq, window.undo.created) == (
                "window",
                0,
                15,
                NOW + 9,
            )
            assert window.undo.window_id is not None
            back = await engine.redo()
            assert back.what == f"the undo of {window.undo.window_id}"
            assert (back.undo.closes, back.undo.window_id, back.undo.kind) == (window.undo.id, window.undo.window_id, "window")
            assert engine._state.view.window.number == 2
            with pytest.raises(UserMistake, match="no undo"):
                await engine.redo()
            await engine.undo()
            turn = await engine.undo()
            assert (turn.what, turn.undo.kind, turn.undo.after_seq, turn.undo.upto_seq) == (
                "the turn at message 3",
                "turn",
                2,
                15,
            )
            assert turn.level == engine.level().tokens
            back = await engine.redo()
            assert back.what == "the undo of messages 3 to 15"
            assert (back.undo.after_seq, back.undo.upto_seq, back.undo.created) == (2, 15, NOW + 9)
            # The window's undo is the newest one that still stands.
            assert (await engine.redo()).undo.window_id == window.undo.window_id
            assert [detail["what"] for detail in kinds(events, "undone")][:2] == ["window 2", back_of(window.undo.window_id)]
            assert {detail["over_hard"] for detail in kinds(events, "undone")} == {False}

    asyncio.run(main())


def back_of(window_id: str | None) -> str:
    return f"the undo of {window_id}"


# --- transcripts into the record (R-14) ---------------------------------------------------------------------------


class Committing:
    """A store that notes the size of each commit."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.sizes: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, session_id: str, fence: Fence, changes: Sequence[Change]) -> object:
        self.sizes.append(len(changes))
        return await self._store.commit(session_id, fence, changes)


def import_of(path: Path, *records: ImportRecord, store: Store) -> Any:
    return ingest(store, path, "pi", records, clock=ManualClock(), ids=CountingIds())


@pytest.mark.design("R-14", "R-1")
def test_an_import_goes_in_by_batches_of_four_hundred_with_its_source_in_the_last(tmp_path: Path) -> None:
    async def main() -> None:
        store = await memory()
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"0123456789")
        start = SessionStart("f1", title="Title", cwd="/c", model="m", created=77, agent="helper")
        messages = [Imported("f1", user(f"Message {n}.")) for n in range(900)]
        counts = Counts(messages=900)
        end = Done(counts=counts, lines=12, bytes=7)
        told: list[int] = []
        watched = Committing(store)
        skipped = Skipped(3, "not JSON")
        records: list[ImportRecord] = [start, Progress(4), *messages, SkippedLine(skipped), Progress(9), end]
        done = await ingest(
            watched,  # type: ignore[arg-type]
            path,
            "pi",
            records,
            clock=ManualClock(),
            ids=CountingIds(),
            on_progress=told.append,
        )
        assert watched.sizes == [400, 400, 101]
        assert (told, done.skipped, done.counts, done.format) == ([4, 9], (skipped,), counts, "pi")
        assert [(one.foreign_id, one.title, one.added, one.total, one.parent_id) for one in done.sessions] == [
            ("f1", "Title", 900, 900, None)
        ]
        row = await store.session(done.sessions[0].session_id)
        assert row is not None
        assert row.source is not None
        assert (row.title, row.cwd, row.project_id, row.model, row.created, row.agent) == (
            "Title",
            "/c",
            "/c",
            "m",
            77,
            "helper",
        )
        assert (row.source.format, row.source.foreign_id, row.source.lines, row.source.bytes) == ("pi", "f1", 12, 7)
        assert row.source.sha == hashlib.sha256(b"0123456").hexdigest()
        assert row.id.startswith("ses_")
        assert await store.holder(row.id) is None
        stored = await store.messages(row.id)
        assert len({message.id for message in stored}) == 900
        assert all(message.id.startswith("msg_") and len(message.id) == 30 for message in stored)
        watched.sizes.clear()
        again = await import_of(path, start, *messages, Imported("f1", user("New.")), end, store=watched)  # type: ignore[arg-type]
        assert (watched.sizes, again.sessions[0].added, again.sessions[0].total) == ([2], 1, 901)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14")
def test_a_file_that_was_not_read_to_its_end_keeps_no_mark_of_its_length(tmp_path: Path) -> None:
    async def main() -> None:
        store = await memory()
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"0123456789")
        done = await import_of(path, SessionStart("f1"), Imported("f1", user("One.")), store=store)
        row = await store.session(done.sessions[0].session_id)
        assert row is not None
        assert row.source is not None
        assert (row.source.lines, row.source.bytes, row.source.sha, row.created) == (0, 0, "", NOW)
        assert await store.holder(row.id) is None
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14", "R-8", "Y-5")
def test_an_import_keeps_pictures_caps_results_and_settles_late_ones_where_they_are(tmp_path: Path) -> None:
    async def main() -> None:
        store = await memory()
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"0123456789")
        sha = hashlib.sha256(b"png").hexdigest()
        pictured = Message(id="", role="user", origin="user", parts=(Text("See."), Image(sha, "image/png", 3)))

        def called(*states: str) -> Message:
            calls = tuple(
                ToolCall(f"c{n}", "bash", state=state, result=(Text(f"R{n}"),) if state in ("completed", "error") else ())  # type: ignore[arg-type]
                for n, state in enumerate(states)
            )
            return Message(id="", role="assistant", origin="model", parts=(Text("Calls."), *calls), finish=Finish.TOOL_CALLS)

        large = reads("p.log", prose(20_000))
        first: list[ImportRecord] = [SessionStart("f1"), Imported("f1", pictured, {sha: b"png"}), Imported("f1", large)]
        open_calls = Imported("f1", called("completed", "interrupted", "interrupted"))
        done = await import_of(path, *first, open_calls, Done(counts=Counts(), lines=1, bytes=1), store=store)
        session_id = done.sessions[0].session_id
        stored = await store.messages(session_id)
        assert await store.blob(sha) == b"png"
        assert 14_000 < total(stored[1].parts[0].result[0].tokens) <= 16_000  # type: ignore[union-attr]
        assert [part.state for part in stored[2].parts[1:]] == ["completed", "pending", "pending"]  # type: ignore[union-attr]
        late = Imported("f1", called("completed", "interrupted", "error"))
        again = await import_of(path, *first, late, Done(counts=Counts(), lines=2, bytes=2), store=store)
        assert (again.sessions[0].added, again.sessions[0].total) == (0, 3)
        parts = (await store.messages(session_id))[2].parts[1:]
        assert [part.state for part in parts] == ["completed", "pending", "error"]  # type: ignore[union-attr]
        assert parts[2].result[0].text == "R2"  # type: ignore[union-attr]
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14", "R-1")
def test_a_helpers_session_is_its_parents_child_and_is_not_checked_against_the_file(tmp_path: Path) -> None:
    async def main() -> None:
        store = await memory()
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"0123456789")
        records: list[ImportRecord] = [
            SessionStart("p"),
            Imported("p", user("One.")),
            SessionStart("p"),
            SessionStart("c", parent_foreign_id="p"),
            Imported("c", user("Find it.")),
            Imported("p", user("Two.")),
            Done(counts=Counts(), lines=1, bytes=5),
        ]
        done = await import_of(path, *records, store=store)
        parent, child = done.sessions
        assert (child.parent_id, parent.parent_id) == (parent.session_id, None)
        assert (parent.added, child.added) == (2, 1)
        path.write_bytes(b"01234xxxxxxxx")
        again = await import_of(path, *records, store=store)
        assert [one.added for one in again.sessions] == [0, 0]
        path.write_bytes(b"x1234xxxxxxxx")
        with pytest.raises(UserMistake, match="imported before"):
            await import_of(path, *records, store=store)
        # The lease went back all the same.
        assert await store.holder(parent.session_id) is None
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14", "R-9")
def test_an_import_that_is_overtaken_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        store = await memory()
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"0123456789")
        done = await import_of(path, SessionStart("f1"), Imported("f1", user("One.")), store=store)
        session_id = done.sessions[0].session_id
        overtaken = Committing(store)

        async def refuse(*_: object) -> Fenced:
            return Fenced("epoch")

        overtaken.commit = refuse  # type: ignore[method-assign,assignment]
        records = [SessionStart("f1"), Imported("f1", user("One.")), Imported("f1", user("Two."))]
        with pytest.raises(WorkFailed, match=rf"import into {session_id} was overtaken \(epoch\)") as stop:
            await import_of(path, *records, store=overtaken)  # type: ignore[arg-type]
        assert stop.value.next_step == "Import again."
        assert len(await store.messages(session_id)) == 1
        await store.close()

    asyncio.run(main())


# --- replay (N8, T-3, T-6) ----------------------------------------------------------------------------------------


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
