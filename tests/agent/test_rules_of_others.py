"""A rule becomes the project's by what the user said, not by what stands in the user's place (K-12)."""

import asyncio
from pathlib import Path
from typing import Literal

import pytest

from agent.minding import Both, document, fill, minded
from agent.talking import room, say
from sojourn.record import Checkpoint, Message, Text

RULE = "always run the station linter before the tables are set up"


@pytest.mark.design("K-12", "K-6")
@pytest.mark.report(90)
@pytest.mark.parametrize(("origin", "kept"), [("user", True), ("engine", False), ("import", False)])
def test_a_rule_is_promoted_only_where_the_message_that_it_rests_on_is_the_users_own(
    tmp_path: Path, origin: Literal["user", "engine", "import"], kept: bool
) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        model = Both(say("Ready."))
        agent = await minded(where, model)
        await agent.turn("Go on.")
        (told,) = await agent.engine.observe(Message(id="", role="user", origin=origin, parts=(Text(f"Please {RULE}."),)))
        await fill(agent)
        model.writes = [f"^ directives [m{told.seq}]: {RULE}\n"]
        row = await agent.engine.write_checkpoint()
        assert isinstance(row, Checkpoint)
        ((rule, sources),) = [(item.id, item.sources) for item in row.items if item.text == RULE]
        assert (row.promoted, sources) == ((rule,), (told.seq,))
        memory = document(where, "project", agent.engine.session.project_id, "MEMORY")
        assert (memory.exists() and RULE in memory.read_text()) is kept
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())
