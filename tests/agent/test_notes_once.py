"""A note that an undo gives back stands in its file once (K-13, W-12)."""

import asyncio
from pathlib import Path

import pytest

from agent.minding import Both, document, fill, minded
from agent.talking import room, say
from engine.scribe import GOOD
from sojourn.record import Checkpoint

NOTE = "## [turn 1, 2025-11-24T16:00:00Z]\nNOTETOKEN-1\n"
LATER = "\n## [turn 2, 2025-11-24T16:05:00Z]\nNOTETOKEN-2\n"


@pytest.mark.design("K-13", "W-12")
@pytest.mark.parametrize("put_back", [False, True])
def test_a_note_that_stands_in_its_file_already_is_not_put_there_a_second_time(tmp_path: Path, put_back: bool) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        agent = await minded(where, Both(say("Ready."), writes=(GOOD,)))
        await agent.turn("Set up the station tables.")
        await fill(agent)
        notes = document(where, "session", agent.session_id, "notes")
        notes.write_text(NOTE)
        assert isinstance(await agent.engine.write_checkpoint(), Checkpoint)
        assert "NOTETOKEN-1" not in notes.read_text()
        if put_back:
            notes.write_text(NOTE + LATER)
        await agent.engine.undo()
        assert notes.read_text().count("NOTETOKEN-1") == 1
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())
