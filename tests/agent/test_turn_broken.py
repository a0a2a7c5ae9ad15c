"""A turn that breaks keeps what was said, and a session opens whoever works on its folder (R-12, W-12)."""

import asyncio
from pathlib import Path

import pytest

from agent.talking import Told, agent_in, call, room, say
from sojourn.agent.snapshots import Snapshots
from sojourn.agent.types import Noticed, Returned
from sojourn.base import Finish, WorkFailed
from sojourn.record import Text, ToolCall
from sojourn.wire import TextEvent


@pytest.mark.design("R-12", "R-15")
@pytest.mark.parametrize("broken", [RuntimeError("the table is gone"), WorkFailed("the disk is full")])
def test_what_was_said_before_it_broke_stands_in_the_record_and_its_call_has_ended(broken: Exception, tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        agent = await agent_in(where, Told([TextEvent("I begin"), broken], say("well")))
        ended = await agent.turn("go")
        assert ended.finish is Finish.ERROR
        assert str(broken) in ended.error
        newest = (await where.store.messages(agent.session_id))[-1]
        assert (newest.finish, [part.text for part in newest.parts if isinstance(part, Text)]) == (Finish.ERROR, ["I begin"])
        (row,) = await where.store.calls(agent.session_id)
        assert row.ended is not None
        assert row.error == f"{type(broken).__name__}: {broken}"
        assert (await agent.turn("go on")).finish is Finish.STOP
        await agent.close()

    asyncio.run(main())


@pytest.mark.design("R-12")
def test_calls_that_a_broken_turn_did_not_come_to_are_told_as_not_run(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        both = [*call("write", path="a.txt", content="a")[:-1], *call("write", path="b.txt", content="b")]
        agent = await agent_in(where, Told(both, say("well")))
        hear, heard = where.events.append, list[str]()

        def once(event: object) -> None:
            hear(event)  # type: ignore[arg-type]
            if isinstance(event, Returned) and not heard:
                heard.append(event.call_id)
                raise RuntimeError("the window was closed")

        agent._on_event = once  # type: ignore[method-assign]
        ended = await agent.turn("write both")
        assert ended.finish is Finish.ERROR
        assert "the window was closed" in ended.error
        calls = [p for m in await where.store.messages(agent.session_id) for p in m.parts if isinstance(p, ToolCall)]
        assert [one.state for one in calls] in (["completed", "interrupted"], ["completed", "completed"])
        assert (await agent.turn("go on")).finish is Finish.STOP
        await agent.close()

    asyncio.run(main())


@pytest.mark.design("W-12", "R-11")
def test_a_session_opens_while_another_process_works_on_the_folders_snapshots(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        data = where.folder.parent / "home" / "data"
        async with Snapshots(data, where.folder.resolve()).hold():
            async with asyncio.timeout(8):
                agent = await agent_in(where, Told(say("well")), keep_files=True)
                assert (await agent.turn("go")).finish is Finish.STOP
            await agent.close()

    asyncio.run(main())


@pytest.mark.design("W-12")
def test_an_undo_that_cannot_be_ended_at_opening_is_told_and_the_session_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        data = where.folder.parent / "home" / "data"
        snapshots = Snapshots(data, where.folder.resolve())
        snapshots.folder.mkdir(parents=True)
        (snapshots.folder / "pending.json").write_text("{broken")
        agent = await agent_in(where, Told(say("well")), keep_files=True)
        (told,) = [event.detail["reason"] for event in where.of(Noticed) if event.key == "files_not_kept"]
        assert "pending.json is damaged" in told
        assert (await agent.turn("go")).finish is Finish.STOP
        await agent.close()

    asyncio.run(main())
