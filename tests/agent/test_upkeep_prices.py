"""Between turns a session is opened with the prices of its own model, not of another that writes for it (C-18, K-11)."""

import asyncio
from pathlib import Path

import pytest

from agent.talking import Told, agent_in, room, say
from sojourn.agent import upkeep
from sojourn.config import CheckpointSettings, Settings
from sojourn.meter import Prices, usual_prices
from sojourn.models.types import Choice
from sojourn.wire import Traits


@pytest.mark.design("C-18", "K-11")
@pytest.mark.parametrize("own", [True, False])
def test_a_writing_models_prices_are_not_the_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bool) -> None:
    asked: list[str] = []
    known = Prices(cached=0.25, written=1.5, output=7.0)

    async def connect(choice: Choice, *ports: object) -> Told:
        return Told(name="own" if own else str(choice.model))

    async def prices(traits: Traits, settings: Settings) -> Prices:
        asked.append(traits.name)
        return known

    monkeypatch.setattr(upkeep, "connected", connect)
    monkeypatch.setattr(upkeep, "prices_for", prices)
    settings = Settings(checkpoint=CheckpointSettings(model=None if own else "other"))

    async def main() -> None:
        where = await room(tmp_path)
        agent = await agent_in(where, Told(say("well"), name="own"))
        await agent.turn("go")
        session_id = agent.session_id
        await agent.close()
        async with upkeep.open_for_upkeep(where.store, session_id, settings) as opened:
            assert opened.why_no_model == ""
            writer = opened.engine._state.ports.writer
            assert (writer.name, writer.forks) == ("model", own)
            assert (opened.engine._state.prices == known) is own
        await where.store.close()

    asyncio.run(main())
    assert asked == (["own"] if own else [])
    assert known != usual_prices("marked")
