"""What a writer came to concerns the window in which it was started (C-7)."""

import asyncio

import pytest

from engine.sessions import engine_for, prose, reads, user
from engine.telling import Scripted, item, talked
from sojourn.checkpoint import WriterFailed, WriterInput, Written
from sojourn.config import CheckpointSettings, Settings


class Held(Scripted):
    """Its second answer waits until ``go`` is set."""

    def __init__(self, *answers: object) -> None:
        super().__init__(*answers)
        self.go = asyncio.Event()

    async def write(self, run: WriterInput) -> Written | WriterFailed:
        if self.runs:
            await self.go.wait()
        return await super().write(run)


@pytest.mark.design("C-7", "C-17", "W-12")
def test_a_failure_in_a_window_that_was_left_meanwhile_arms_no_gate_in_another() -> None:
    async def main() -> None:
        settings = Settings(checkpoint=CheckpointSettings(thresholds=("20%",)))
        writer = Held(Written((item(1),)), WriterFailed("retryable", "no"))
        async with await engine_for(64_000, writer=writer, settings=settings) as engine:
            await engine.observe(user("Go."))
            await engine.project()
            await talked(engine)
            first = engine.window
            await engine.rebuild()
            second = engine.window
            assert second.number == first.number + 1
            await engine.observe(*(reads(f"src/part_{at}.py", prose(1_000, at)) for at in range(20)))
            await engine.project()
            running = engine._state.writing
            assert running is not None
            assert not running.done()
            assert engine._state.view.window.tiers == (11_520,)
            assert (await engine.undo()).what == f"window {second.number}"
            writer.go.set()
            assert await running == WriterFailed("retryable", "no")
            assert len(writer.runs) == 2
            returned = await engine.store.newest_window(engine.session_id)
            assert returned is not None
            assert (returned.id, returned.gate) == (first.id, None)
            assert engine._state.view.window.gate is None

    asyncio.run(main())
