"""A run that is stopped on its way: after a stretch, twice at once, in a window that it did not begin in (K-8, K-9, C-17)."""

import asyncio
from typing import Any

import pytest

from engine.scribe import PAID, Scribe, scribe_engine, settled, steps
from engine.sessions import engine_for, prose, reads, user
from engine.telling import Scripted, item
from sojourn.base import ManualClock, SystemClock, SystemIds, Usage
from sojourn.checkpoint import ModelWriter, WriterFailed, WriterInput, Written
from sojourn.config import CheckpointSettings, Settings
from sojourn.engine import Engine, writing
from sojourn.record import Checkpoint, Store
from sojourn.record.sqlite import SqliteStore

TIER = Settings(checkpoint=CheckpointSettings(thresholds=("20%",), budget_share=1.0))


class Hangs(Scripted):
    """Hangs at its answer number ``at``, from 0."""

    def __init__(self, at: int, *answers: object) -> None:
        super().__init__(*answers)
        self._at = at
        self.hung = asyncio.Event()

    async def write(self, run: WriterInput) -> Written | WriterFailed:
        if len(self.runs) == self._at:
            self.hung.set()
            await asyncio.Event().wait()
        return await super().write(run)


async def opened(store: Store, writer: object, session_id: str | None = None) -> Engine:
    given: dict[str, Any] = {"session_id": session_id} if session_id else {}
    return await engine_for(64_000, writer=writer, settings=TIER, store=store, ids=SystemIds(SystemClock()), **given)


async def started(engine: Engine) -> None:
    """At the tier, with a writer that has begun."""
    await engine.observe(user("Go."))
    await engine.project()
    await engine.observe(*(reads(f"p{at}", prose(1_000, at)) for at in range(13)))
    await engine.project()


@pytest.mark.design("C-17", "C-7", "K-8")
@pytest.mark.parametrize("done", [0, 1, 2])
def test_a_writer_stopped_after_some_stretches_fires_again_and_keeps_them(done: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_STRETCH_TOKENS", 3_000)

    async def main() -> None:
        store = await SqliteStore.open(None, clock=ManualClock())
        answers = [Written(tuple(item(n) for n in range(1, count + 2))) for count in range(9)]
        writer = Hangs(done, *answers)
        engine = await opened(store, writer)
        await started(engine)
        await writer.hung.wait()
        level = engine.level().tokens
        await engine.close(wait=0)
        rows = list(await store.checkpoints(engine.session_id))
        assert len(rows) == done
        window = await store.newest_window(engine.session_id)
        assert window is not None
        assert window.gate == level
        again = Scripted(*answers[done:])
        async with await opened(store, again, engine.session_id) as engine:
            await engine.observe(*(reads(f"q{at}", prose(1_000, at)) for at in range(6)))
            await engine.project()
            await settled(engine)
            assert again.runs
            assert again.runs[0].range[0] == (rows[-1].covered_seq if rows else 0)
            newest = await store.newest_checkpoint(engine.session_id)
            assert newest is not None
            assert newest.covered_seq == again.runs[-1].range[1]
        await store.close()

    asyncio.run(main())


@pytest.mark.design("K-9", "K-8", "C-17")
def test_a_slot_is_given_back_however_often_the_run_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    free, freeing = writing.free_run, asyncio.Event()

    async def slow(run: writing.Run) -> None:
        freeing.set()
        await asyncio.sleep(0.05)
        await free(run)

    monkeypatch.setattr(writing, "free_run", slow)

    async def main() -> None:
        store = await SqliteStore.open(None, clock=ManualClock())
        writer = Hangs(0, Written((item(1),)))
        async with await opened(store, writer) as engine:
            await started(engine)
            await writer.hung.wait()
            running = engine._state.writing
            assert running is not None
            running.cancel()
            await freeing.wait()
            running.cancel()
            await asyncio.wait({running})
            assert not (await store.slot(engine.session_id)).running
        await store.close()

    asyncio.run(main())


@pytest.mark.design("C-7", "C-17")
def test_a_writer_stopped_in_another_window_than_it_began_in_arms_no_gate_there() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=ManualClock())
        writer = Hangs(1, Written((item(1),)))
        engine = await opened(store, writer)
        await engine.observe(user("Go."))
        await engine.observe(*(reads(f"p{at}", prose(1_000, at)) for at in range(9)))
        await engine.project()
        assert isinstance(await engine.write_checkpoint(), Checkpoint)
        await engine.observe(*(reads(f"q{at}", prose(1_000, at)) for at in range(6)))
        await engine.project()
        await writer.hung.wait()
        first = engine.window
        await engine.rebuild()
        assert engine.window.number == first.number + 1
        await engine.close(wait=0)
        for window in await store.windows(engine.session_id):
            assert window.gate is None
        await store.close()

    asyncio.run(main())


@pytest.mark.design("K-11", "C-18", "R-15")
def test_what_writers_spent_is_the_same_after_a_resume() -> None:
    async def price(usage: Usage) -> float:
        return 0.001

    async def main() -> None:
        store = await SqliteStore.open(None, clock=ManualClock())
        given: dict[str, Any] = {"store": store, "settings": TIER, "ids": None}
        async with await scribe_engine(Scribe(), writer=ModelWriter(Scribe(), price=price, forks=False), **given) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 6)
            await engine.project()
            await engine.observe_usage(Usage(fresh=9_000), price=0.09)
            await steps(engine, 4, start=6)
            await engine.rebuild()
            assert engine.window.measured["unit_price"] == pytest.approx(0.09 / 9_000)
            await engine.observe(*(reads(f"q{at}", prose(1_000, at)) for at in range(9)))
            assert isinstance(await engine.write_checkpoint(), Checkpoint)
            spent = engine._state.spent
            calls = await store.calls(engine.session_id, window_id=engine.window.id)
            assert [call.purpose for call in calls] == ["writer"], "the window's first call is a writer's"
        async with await scribe_engine(Scribe(), session_id=engine.session_id, **given) as again:
            assert again._state.spent.writer == pytest.approx(spent.writer, abs=0.2)
            assert again._state.spent.window_writer == pytest.approx(spent.window_writer)
            assert spent.window_writer == pytest.approx(0.001 / (0.09 / 9_000))
            assert spent.window_writer < PAID.fresh
        await store.close()

    asyncio.run(main())
