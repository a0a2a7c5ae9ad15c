"""What belongs together goes in together or not at all (K-7, R-5)."""

import asyncio
from collections.abc import Sequence

import pytest

from engine.holding import NO_TIERS, sent
from engine.sessions import engine_for, user, work
from sojourn.base import SystemClock, WorkFailed
from sojourn.checkpoint import WriterFailed
from sojourn.engine import Engine
from sojourn.record import (
    AddCheckpoint,
    AddWindow,
    Change,
    Checkpoint,
    Fence,
    SetSlot,
)
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import Traits


class BreakingStore:
    """A store whose disk fails at the commit of a checkpoint or window, before or just after it is written."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.breaks: type | None = None
        self.after = False
        self.seen: list[list[Change]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def commit(self, session_id: str, fence: Fence, changes: Sequence[Change]) -> object:
        broken = self.breaks is not None and any(isinstance(change, self.breaks) for change in changes)
        if broken:
            self.seen.append(list(changes))
        done = None if broken and not self.after else await self._store.commit(session_id, fence, changes)
        if broken:
            self.breaks = None
            raise WorkFailed("the disk failed")
        return done


@pytest.mark.design("N2", "K-7", "R-6")
@pytest.mark.report(28)
@pytest.mark.parametrize("after", [False, True])
def test_items_and_mark_of_a_checkpoint_go_in_together_or_not_at_all(after: bool, tmp_path: object) -> None:
    async def main() -> None:
        store = BreakingStore(await SqliteStore.open(None, clock=SystemClock()))
        async with await engine_for(64_000, store=store, settings=NO_TIERS, documents=tmp_path) as engine:
            await engine.observe(user("Store every time in UTC. Never edit anything under db/migrations."))
            await work(engine, 20)
            first = await engine.write_checkpoint()
            assert isinstance(first, Checkpoint)
            await engine.observe(user("Always name the tables in lower case."))
            await work(engine, 15, start=20)
            store.breaks, store.after = AddCheckpoint, after
            failed = await engine.write_checkpoint()  # a failure of that run: the session goes on
            assert isinstance(failed, WriterFailed)
            assert "the disk failed" in failed.reason
            (changes,) = store.seen
            (row,) = [change.checkpoint for change in changes if isinstance(change, AddCheckpoint)]
            assert [change.slot.running for change in changes if isinstance(change, SetSlot)] == [False]
            assert row.covered_seq > first.covered_seq
            assert row.items != first.items
            kept = await store._store.newest_checkpoint(engine.session_id)
            assert kept == (row if after else first)
            assert not (await store._store.slot(engine.session_id)).running
            again = await engine.write_checkpoint()
            if after:
                assert again is None  # the whole run is there: nothing new is left to write
            else:
                assert isinstance(again, Checkpoint)
                assert (again.items, again.range) == (row.items, row.range)

    asyncio.run(main())


@pytest.mark.design("R-5")
@pytest.mark.report(28)
@pytest.mark.parametrize("after", [False, True])
def test_a_window_is_there_whole_or_not_at_all(after: bool) -> None:
    async def main() -> None:
        store = BreakingStore(await SqliteStore.open(None, clock=SystemClock()))
        engine = await engine_for(64_000, store=store, settings=NO_TIERS)
        await engine.observe(user("Go."))
        await work(engine, 30)
        request = sent(await engine.project())
        store.breaks, store.after = AddWindow, after
        with pytest.raises(WorkFailed, match="the disk failed"):
            await engine.rebuild()
        await engine.close()
        async with await Engine.open(
            store=store,  # type: ignore[arg-type]
            session_id=engine.session_id,
            traits=Traits("test-model", limit=64_000),
        ) as again:
            projected = await again.project()
            assert projected.window.number == (2 if after else 1)
            if after:
                assert projected.window.opening
            else:
                assert sent(projected) == request
            assert (await again.rebuild()).window is not None or after

    asyncio.run(main())
