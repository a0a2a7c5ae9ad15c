"""Another model in the middle of a session (C-16), and background writers that keep to their share (K-11)."""

import asyncio

import msgspec
import pytest

from engine.sessions import engine_for, prose, says, user
from sojourn.base import Finish, Usage, UserMistake
from sojourn.checkpoint import WriterInput, Written, extract
from sojourn.config import CheckpointSettings, Settings
from sojourn.engine import EngineEvent
from sojourn.wire import Traits


class Counted:
    """A model's writer that tells what it took."""

    name = "model"
    forks = False

    def __init__(self, usage: Usage) -> None:
        self.runs = 0
        self._usage = usage

    async def write(self, run: WriterInput) -> Written:
        self.runs += 1
        return Written(extract(run), usage=self._usage, mode="delta")


@pytest.mark.design("C-16")
@pytest.mark.report(118)
def test_a_view_too_large_for_the_new_model_opens_a_window_at_once() -> None:
    async def main() -> None:
        async with await engine_for(400_000) as engine:
            for turn in range(30):
                await engine.observe(user(f"Part {turn}."), says(prose(9_000, turn)))
            await engine.project()
            assert engine.level().tokens > 250_000
            windows = len(await engine.store.windows(engine.session_id))
            small = Traits(name="small", limit=100_000, limit_source="catalogue")
            done = await engine.set_model(small, label="other/small")
            assert done is not None
            assert done.window is not None
            assert (done.window.reason, done.window.kind) == ("model_switch", "rebuild")
            assert len(await engine.store.windows(engine.session_id)) == windows + 1
            projected = await engine.project()
            assert projected.level.tokens < projected.lines.trigger == 90_000
            assert (await engine.store.session(engine.session_id)).model == "other/small"  # type: ignore[union-attr]
            # The same model again, and one that the view fits: nothing opens.
            assert await engine.set_model(small) is None
            assert await engine.set_model(Traits(name="large", limit=400_000)) is None
            assert len(await engine.store.windows(engine.session_id)) == windows + 1

    asyncio.run(main())


@pytest.mark.design("C-16", "C-1")
@pytest.mark.report(118)
@pytest.mark.parametrize(("limit", "refused"), [(15_999, True), (16_000, False)])
def test_a_model_that_cannot_hold_the_fixed_part_is_refused_and_nothing_changes(limit: int, refused: bool) -> None:
    async def main() -> None:
        async with await engine_for(100_000, fixed=4_000) as engine:
            await engine.observe(user("Go."), says("Done."))
            before = (engine.traits, engine.session)
            small = Traits(name="tiny", limit=limit)
            if not refused:
                await engine.set_model(small, label="x/tiny")
                assert engine.traits == small
                return
            with pytest.raises(UserMistake, match="too small"):
                await engine.set_model(small, label="x/tiny")
            assert (engine.traits, engine.session) == before

    asyncio.run(main())


@pytest.mark.design("K-11")
@pytest.mark.report(125, 126)
@pytest.mark.parametrize(("share", "by_model"), [(1.0, 3), (0.0, 1)])
def test_writers_over_their_share_give_way_to_extraction_and_nothing_runs_while_idle(share: float, by_model: int) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        writer = Counted(Usage(fresh=5_000, output=300))
        settings = Settings(checkpoint=CheckpointSettings(budget_share=share, thresholds=("10%", "30%", "50%")))
        async with await engine_for(64_000, writer=writer, settings=settings, events=events) as engine:  # type: ignore[arg-type]
            await engine.observe(user("Go."))
            for step in range(32):
                level = (await engine.project()).level.tokens
                await engine.observe_usage(Usage(fresh=level, output=10))
                await engine.observe(msgspec.structs.replace(says(prose(900, step)), finish=Finish.TOOL_CALLS))
                if engine._state.writing is not None:
                    await asyncio.wait({engine._state.writing})
            assert writer.runs == by_model
            rows = await engine.store.checkpoints(engine.session_id)
            assert [row.writer for row in rows] == ["model"] * by_model + ["extractive"] * (3 - by_model)
            notices = [event.detail.get("key") for event in events if event.kind == "notice"]
            assert notices.count("writers_over_budget") == (by_model < 3)
            calls = len(await engine.store.calls(engine.session_id))
            await asyncio.sleep(0.05)
            assert (writer.runs, len(await engine.store.calls(engine.session_id))) == (by_model, calls)

    asyncio.run(main())
