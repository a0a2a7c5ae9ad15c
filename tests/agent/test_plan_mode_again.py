"""A plan is accepted by leaving plan mode, not by entering it once more (W-9)."""

import asyncio
from pathlib import Path

import pytest

from agent.talking import Told, agent_in, room, say


@pytest.mark.design("W-9", "Y-6")
def test_plan_mode_set_again_accepts_nothing_and_leaving_it_does(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        agent = await agent_in(where, Told(say("1. Read the gauge.\n2. Write the table.")), mode="plan")
        await agent.turn("Make a plan.")
        await agent.set_mode("plan")
        assert (agent.mode, agent.engine.session.plan_seq) == ("plan", 0)
        await agent.set_mode("ask")
        assert agent.mode == "ask"
        assert agent.engine.session.plan_seq == agent.engine.in_view[-1].seq
        await agent.close()
        await where.store.close()

    asyncio.run(main())
