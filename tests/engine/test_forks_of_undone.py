"""What a fork knows of its parent's undone windows, changed prefixes and consumed tiers (R-4, P-7, C-7)."""

import asyncio

import pytest

from engine.sessions import says, user, work
from engine.telling import TRAITS
from sojourn.base import SystemClock, UserMistake
from sojourn.config import CheckpointSettings, Settings
from sojourn.engine import Engine
from sojourn.engine.looking import prefix_in_force
from sojourn.prefix import build, section
from sojourn.record import ConsumeTiers, Fence, Session, Store
from sojourn.record.sqlite import SqliteStore


async def opened(store: Store, session_id: str | None = None, **options: object) -> Engine:
    session = None if session_id else Session(id="")
    return await Engine.open(store=store, session_id=session_id, session=session, traits=TRAITS, **options)  # type: ignore[arg-type]


@pytest.mark.design("R-4", "W-12")
def test_a_fork_of_a_session_whose_window_is_undone_stands_where_its_parent_stands() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        async with await opened(store) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            await engine.project()
            await engine.rebuild()
            second = engine.window
            await engine.undo()
            forked = await engine.fork()
            async with await opened(store, forked.id) as branch:
                assert (branch._state.window_undone, engine._state.window_undone) == (True, True)
                assert branch._state.lines() == engine._state.lines()
                assert (await branch.project()).request.messages == (await engine.project()).request.messages
                assert (await branch.redo()).what == f"the undo of {second.id}"
                assert branch.window.id == second.id
            assert engine.window.number == 1, "the parent's undo stands"
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-4")
def test_a_window_that_a_fork_does_not_begin_with_is_none_that_it_could_redo() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        async with await opened(store) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            await engine.observe(says("Done so far."))
            early = engine.head
            await engine.project()
            await engine.observe(user("On."))
            await work(engine, 10, start=20)
            await engine.rebuild()
            await engine.undo()
            forked = await engine.fork(at=early)
            async with await opened(store, forked.id) as branch:
                with pytest.raises(UserMistake, match="no undo"):
                    await branch.redo()
                await branch.undo()
                await branch.redo()
                with pytest.raises(UserMistake, match="no undo"):
                    await branch.redo()
        await store.close()

    asyncio.run(main())


@pytest.mark.design("P-7", "R-4")
@pytest.mark.report(45)
def test_a_prefix_that_was_changed_is_in_force_in_a_fork_and_after_a_resume() -> None:
    first = build([section("role", "host", "system", "stable", "You work on tables.")], [])
    other = build([section("role", "host", "system", "stable", "You work on stations.")], [])

    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        async with await opened(store, prefix=first) as engine:
            await engine.observe(user("Go."), says("Well."), user("On."))
            await engine.project()
            assert await engine.change_prefix(other, "model")
            forked = await engine.fork()
            assert await prefix_in_force(store, forked.id) == other
            async with await opened(store, forked.id, prefix=other) as branch:
                assert branch.prefix == other
                assert (await branch.project()).request.system == (await engine.project()).request.system
        async with await opened(store, engine.session_id, prefix=first) as again:
            assert again.prefix == other, "nothing was sent since the change, and it holds all the same"
        await store.close()

    asyncio.run(main())


@pytest.mark.design("C-7", "R-4")
def test_a_fork_at_a_message_has_the_tiers_consumed_that_its_windows_opening_had() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        settings = Settings(checkpoint=CheckpointSettings(thresholds=("2%", "90%")))
        async with await opened(store, settings=settings) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            await engine.project()
            await engine.rebuild()
            window, head = engine.window, engine.head
            assert window.tiers == (1_152,), "it opened above it"
            await engine.observe(says("Well."))
            lease = engine._state.lease
            assert lease is not None
            await store.commit(engine.session_id, Fence(epoch=lease.epoch), [ConsumeTiers(window.id, (51_840,), 9)])
            for at, tiers, gate in ((None, (1_152, 51_840), 9), (head, (1_152,), None)):
                forked = await engine.fork(at=at)
                newest = await store.newest_window(forked.id)
                assert newest is not None
                assert (newest.tiers, newest.gate) == (tiers, gate)
        await store.close()

    asyncio.run(main())
