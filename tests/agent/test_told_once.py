"""That a folder's files cannot be kept is told once in a session (W-12)."""

import asyncio
from pathlib import Path

import pytest

from agent.talking import Told, agent_in, call, room, say
from sojourn.agent.turn_snapshots import Files
from sojourn.agent.types import Noticed
from sojourn.base import WorkFailed


@pytest.mark.design("W-12")
def test_files_that_cannot_be_kept_are_told_of_once_whatever_fails_and_however_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*args: object) -> None:
        raise WorkFailed("the disk is full")

    async def main() -> None:
        where = await room(tmp_path)
        model = Told(call("write", path="a.txt", content="text"), say("one"), say("two"), say("three"))
        agent = await agent_in(where, model, keep_files=True)
        monkeypatch.setattr(Files, "after_turn", broken)
        for prompt in ("write it", "once more", "and again"):
            assert (await agent.turn(prompt)).error == ""
        told = [event.detail for event in where.of(Noticed) if event.key == "files_not_kept"]
        assert told == [{"reason": "the disk is full"}]
        monkeypatch.undo()
        await agent.close()
        await where.store.close()

    asyncio.run(main())
