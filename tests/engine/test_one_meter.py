"""One meter, one budget, one trigger, one table of errors, for every part that asks."""

import asyncio

import pytest

from engine.holding import sent
from engine.sessions import engine_for, prose, reads, says, user, work
from sojourn.base import ErrorKind, SystemClock, Usage, WorkFailed
from sojourn.config import Compaction, Settings
from sojourn.cycle import Economics, economic_trigger
from sojourn.engine import Engine, EngineEvent
from sojourn.record.sqlite import SqliteStore
from sojourn.window import budgets
from sojourn.wire import ModelError, Traits


def opened(events: list[EngineEvent]) -> list[EngineEvent]:
    return [event for event in events if event.kind == "window_opened" and event.detail["window"].kind != "start"]


@pytest.mark.design("N5", "M-2", "M-4", "C-8")
@pytest.mark.report(36)
def test_display_parts_and_trigger_are_one_number_at_every_step() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, events=events, fixed=900) as engine:
            await engine.observe(user("Go."))
            for step in range(75):
                level, boundaries = engine.level().tokens, len(opened(events))
                context = await engine.context()
                assert level == context.level == sum(context.categories.values())
                projected = await engine.project()
                assert (len(opened(events)) > boundaries) is (level >= context.lines.trigger)
                assert projected.level == engine.level()
                await engine.observe(reads(f"p{step}.py", prose(1_000, step)))
                if step % 3 == 0:
                    await engine.observe_usage(Usage(fresh=projected.level.tokens * 11 // 10, output=40))
            assert len(opened(events)) >= 2

    asyncio.run(main())


@pytest.mark.design("N4", "W-4", "K-2")
@pytest.mark.parametrize("limit", [16_000, 32_000, 64_000, 200_000, 1_000_000])
def test_one_rule_makes_the_opening_from_16k_to_1m(limit: int) -> None:
    async def main() -> None:
        async with await engine_for(limit) as engine:
            for turn in range(60):
                await engine.observe(user(f"Request {turn}: keep kv-{1000 + turn} as it is. {prose(120, turn)}"))
                await engine.observe(reads(f"src/part_{turn}.py", prose(limit // 100, turn)), says(f"Seen {turn}."))
            await engine.observe(user("The newest request."))
            done = await engine.rebuild()
            assert done.window is not None
            trigger = limit * 9 // 10
            tail = 20  # the newest request and its frame, at most
            tokens = sum(block.tokens for block in done.window.opening)
            assert 0 < tokens <= trigger * 40 // 100
            assert done.level_after <= trigger * 60 // 100 + tail
            assert sum(budgets(trigger).values()) <= trigger
            assert "The newest request." in str((await engine.project()).request.messages[-1])

    asyncio.run(main())


@pytest.mark.design("N11", "C-18")
def test_the_trigger_of_a_window_follows_the_measured_growth_and_the_policy() -> None:
    async def opens(policy: str) -> tuple[int, int, int]:
        config = Settings(compaction=Compaction(policy=policy))  # type: ignore[arg-type]
        async with await engine_for(200_000, settings=config) as engine:
            await engine.observe(*(user(f"Request {n}: keep part {n} as it is. {prose(350, n)}") for n in range(40)))
            await engine.project()
            first = (await engine.context()).lines.trigger
            await work(engine, 11, tokens=3_000)
            done = await engine.rebuild()
            assert done.window is not None
            measured = done.window.measured
            assert measured["steps"] == 11
            assert 2_000 < measured["growth"] < 6_000
            steps = Economics(
                growth=measured["growth"],
                steps=11,
                opening_level=done.level_after,
                opening_written=done.level_after,  # the fixed part is empty: the opening and the live tail
                writer_cost=measured["writer"],
                reread_cost=measured["reread"],
                written_price=engine._state.prices.written,
            )
            expected = economic_trigger(180_000, policy, steps)  # type: ignore[arg-type]
            assert done.window.trigger == pytest.approx(expected, rel=0.02)
            assert (await engine.context()).lines.trigger == done.window.trigger
            return first, done.window.trigger, (await engine.context()).lines.full_trigger

    async def main() -> None:
        full, balanced, economy = [await opens(policy) for policy in ("full", "balanced", "economy")]
        assert full == (180_000, 180_000, 180_000)
        assert (balanced[0], economy[0]) == (180_000, 180_000), "before five measured steps it is T"
        assert 45_000 <= economy[1] < balanced[1] < 180_000

    asyncio.run(main())


@pytest.mark.design("A-2", "C-10")
@pytest.mark.report(32)
@pytest.mark.parametrize("kind", list(ErrorKind))
def test_each_kind_of_refusal_is_recovered_from_or_passed_on(kind: ErrorKind) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, events=events) as engine:
            await engine.observe(user("Go."))
            await work(engine, 30)
            before = await engine.project()
            error = ModelError(kind, "the provider's own words", limit=60_000, used=61_000)
            assert (error.kind, error.limit, error.used, str(error)) == (kind, 60_000, 61_000, "the provider's own words")
            if kind in (ErrorKind.CONTEXT_OVERFLOW, ErrorKind.MALFORMED_REQUEST):
                again = await engine.recover(error)
                assert sent(again) != sent(before)
                reason = "overflow" if kind is ErrorKind.CONTEXT_OVERFLOW else "malformed"
                assert [event.detail["window"].reason for event in opened(events)] == [reason]
                return
            with pytest.raises(WorkFailed, match=f"the provider's own words.*{kind}"):
                await engine.recover(error)
            assert not opened(events)
            assert sent(await engine.project()) == sent(before)

    asyncio.run(main())


@pytest.mark.design("M-2")
def test_the_ratio_is_learned_again_from_the_newest_calls_when_a_session_is_opened() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        engine = await engine_for(64_000, store=store)
        await engine.observe(user("Go."))
        for step in range(8):
            projected = await engine.project()
            await engine.observe(reads(f"p{step}.py", prose(1_000, step)))
            await engine.observe_usage(Usage(fresh=max(1, projected.level.tokens) * 3 // 2, output=30))
        await engine.observe(user(prose(2_000)))
        level = engine.level()
        await engine.close()
        plain = await Engine.open(traits=Traits("test-model", limit=64_000))
        await plain.observe(user(prose(2_000)))
        async with await Engine.open(
            store=store, session_id=engine.session_id, traits=Traits("test-model", limit=64_000)
        ) as again:
            assert again.level().source == level.source == "usage"
            assert again.level().tokens == pytest.approx(level.tokens, rel=0.05)
            after = again.level().tokens
            await again.observe(user(prose(2_000)))
            assert again.level().tokens - after > 1.2 * plain.level().tokens
        await plain.close()
        await store.close()

    asyncio.run(main())
