"""The row of a window, exactly: budgets, marks, trims, levels, what stops one (R-5, C-9, C-11, W-2)."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from engine.sessions import engine_for, prose, says, user, work
from engine.telling import NOW, TRAITS, kinds, memory, notices
from sojourn.base import Finish, ManualClock, SystemClock, Usage, WorkFailed
from sojourn.config import CheckpointSettings, Compaction, Memory, Settings
from sojourn.cycle import Economics, too_full
from sojourn.cycle.economy import economic_trigger
from sojourn.engine import Engine, EngineEvent, switching
from sojourn.engine.opening import Composed, Frame, compose_rebuild, compose_start
from sojourn.meter import message_tokens, total
from sojourn.record import (
    Checkpoint,
    Session,
)


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
