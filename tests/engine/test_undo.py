"""A boundary is an entry that can be taken back: the exact earlier view returns (R-4, W-12)."""

import asyncio

import pytest

from engine.sessions import engine_for, prose, reads, says, user, work
from sojourn.base import CountingIds, UserMistake
from sojourn.engine import Engine, Projected
from sojourn.models import anthropic
from sojourn.request import unit_hashes, units


def hashes(projected: Projected) -> list[str]:
    """The request as the provider caches it."""
    return list(unit_hashes(units(projected.request, anthropic.encode)))


async def _rebuilt() -> tuple[Engine, Projected]:
    engine = await engine_for(64_000, ids=CountingIds())
    await engine.observe(user("Rename the drain task."))
    await work(engine, 30)
    before = await engine.project()
    await engine.rebuild()
    return engine, before


@pytest.mark.design("R-4", "W-12", "R-5", "N1")
@pytest.mark.report(108)
def test_undo_returns_the_exact_earlier_view_followed_by_what_was_written_since() -> None:
    async def main() -> None:
        engine, before = await _rebuilt()
        async with engine:
            rebuilt = await engine.project()
            assert rebuilt.window.number == 2
            assert hashes(rebuilt) != hashes(before)
            undone = await engine.undo()
            assert undone.what == "window 2"
            assert not undone.over_hard
            again = await engine.project()
            assert hashes(again) == hashes(before)
            assert again.window.number == 1
            assert again.lines.trigger == again.lines.hard == 60_800
            await engine.observe(says("Renamed."))
            later = await engine.project()
            assert hashes(later)[: len(hashes(before))] == hashes(before)
            assert len(hashes(later)) == len(hashes(before)) + 1

    asyncio.run(main())


@pytest.mark.design("R-4")
def test_messages_written_in_an_undone_window_stay() -> None:
    async def main() -> None:
        engine, before = await _rebuilt()
        async with engine:
            await engine.observe(reads("docs/since.md", "written since the boundary"))
            await engine.undo()
            again = await engine.project()
            assert hashes(again)[: len(hashes(before))] == hashes(before)
            assert "written since the boundary" in str(again.request.messages[-1])

    asyncio.run(main())


@pytest.mark.design("R-4", "R-5")
def test_a_second_undo_takes_the_turn_numbers_are_not_used_again_and_redo_brings_back() -> None:
    async def main() -> None:
        engine, before = await _rebuilt()
        async with engine:
            await engine.undo()
            second = await engine.undo()
            assert second.what == "the turn at message 1"
            assert engine.in_view == ()
            redone = await engine.redo()
            assert redone.undo.closes == second.undo.id
            assert hashes(await engine.project()) == hashes(before)
            await engine.rebuild()
            windows = await engine.store.windows(engine.session_id, include_undone=True)
            assert [window.number for window in windows] == [1, 2, 3]
            assert (await engine.project()).lines.trigger == 57_600

    asyncio.run(main())


@pytest.mark.design("R-4")
def test_redo_ends_with_the_next_message() -> None:
    async def main() -> None:
        engine, _ = await _rebuilt()
        async with engine:
            with pytest.raises(UserMistake, match="no undo"):
                await engine.redo()
            await engine.undo()
            await engine.observe(says("Something new."))
            with pytest.raises(UserMistake, match="written since"):
                await engine.redo()

    asyncio.run(main())


@pytest.mark.design("R-4", "W-12")
def test_an_undone_turn_takes_its_windows_and_checkpoints_with_it() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("First task."), says("Done with the first."))
            await engine.observe(user("Second task: read everything."))
            await work(engine, 45)
            assert await engine.store.newest_checkpoint(engine.session_id) is not None
            undone = await engine.undo()
            assert undone.what == "the turn at message 3"
            assert await engine.store.newest_checkpoint(engine.session_id) is None
            assert [message.seq for message in engine.in_view] == [1, 2]
            hits = await engine.store.search("part_40", session_id=engine.session_id)
            assert list(hits) == []
            stored = await engine.observe(user("Second task, again."))
            assert stored[0].seq == 49

    asyncio.run(main())


@pytest.mark.design("W-12")
def test_an_undo_that_returns_too_large_a_view_says_so_and_the_next_request_opens_a_window() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            await work(engine, 46)
            await engine.rebuild()
            await engine.observe(*(reads(f"late_{n}.py", prose(3_000, n)) for n in range(4)))
            undone = await engine.undo()
            assert undone.over_hard
            assert undone.level > 60_800
            projected = await engine.project()
            assert projected.window.number == 3
            assert projected.level.tokens < projected.lines.trigger

    asyncio.run(main())


@pytest.mark.design("W-12")
def test_nothing_to_undo_is_a_mistake_with_words() -> None:
    async def main() -> None:
        async with await engine_for() as engine:
            with pytest.raises(UserMistake, match="nothing to undo"):
                await engine.undo()

    asyncio.run(main())
