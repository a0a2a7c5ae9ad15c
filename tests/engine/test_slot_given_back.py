"""A run that is cancelled while it takes its slot gives back the slot, and its tier (K-8, C-7)."""

import asyncio
from typing import Any

import pytest

from engine.sessions import engine_for
from engine.telling import Scripted, item, talked
from sojourn.checkpoint import Written
from sojourn.config import CheckpointSettings, Settings
from sojourn.engine import firing


@pytest.mark.design("K-8", "K-9", "C-7", "C-17")
def test_a_cancel_while_the_slot_is_taken_gives_it_back_and_the_tier_fires_again(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, go = asyncio.Event(), asyncio.Event()
    take = firing.take_slot

    async def slow(*ports: Any, **more: Any) -> Any:
        slot = await take(*ports, **more)
        taken.set()
        await go.wait()
        return slot

    async def main() -> None:
        monkeypatch.setattr(firing, "take_slot", slow)
        writer = Scripted(Written((item(1),)))
        settings = Settings(checkpoint=CheckpointSettings(thresholds=("20%",)))
        async with await engine_for(64_000, writer=writer, settings=settings) as engine:
            await talked(engine, 14)
            step = asyncio.ensure_future(engine.project())
            await taken.wait()
            step.cancel()
            go.set()
            with pytest.raises(asyncio.CancelledError):
                await step
            assert not (await engine.store.slot(engine.session_id)).running
            window = await engine.store.newest_window(engine.session_id)
            assert window is not None
            assert window.tiers == (11_520,)
            assert window.gate is not None
            assert writer.runs == []
            projected = await engine.project()
            assert window.gate == projected.level.tokens
            assert engine._state.writing is not None
            await asyncio.wait({engine._state.writing})
            assert len(writer.runs) == 1
            assert len(await engine.store.checkpoints(engine.session_id)) == 1

    asyncio.run(main())
