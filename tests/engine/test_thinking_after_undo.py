"""After an undone window nothing tells which answers came under which prefix: none before now counts as signed (Q-3)."""

import asyncio

import pytest

from engine.sessions import engine_for, user, work


@pytest.mark.design("Q-3", "W-12", "P-7")
@pytest.mark.report(61)
def test_what_an_undone_window_gives_back_was_signed_for_no_prefix_that_is_known() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Rename the drain task."))
            await work(engine, 30)
            assert engine._state.prefix_since == 0
            await engine.rebuild()
            assert engine._state.prefix_since == 0
            await engine.undo()
            assert engine._state.prefix_since == engine.head > 0

    asyncio.run(main())
