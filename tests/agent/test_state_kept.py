"""Mode and grants are state, not text: no window and no resume loses them or adds to them (Y-6)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent.talking import Room, Told, agent_in, call, room, say
from sojourn.agent.asking import Answer, Asked
from sojourn.agent.types import Returned, WindowOpened
from sojourn.config import Settings
from sojourn.config.settings import Permissions

pytestmark = [pytest.mark.design("Y-6"), pytest.mark.report(111)]

SMALL = {"limit": 16_000, "output_cap": 1_000}


def reads() -> list[Any]:
    """So much that a window of 16,000 tokens is left on the way."""
    return [call("read", path="big.txt", offset=1 + 90 * n, limit=90) for n in range(16)]


async def full_room(tmp_path: Path) -> Room:
    where = await room(tmp_path)
    (where.folder / "big.txt").write_text("\n".join(f"line {n} of a long file with words" for n in range(1_500)))
    return where


def states(where: Room, name: str) -> list[str]:
    """Of the calls of a tool, with ``window`` where one opened."""
    told = [
        event
        for event in where.events
        if isinstance(event, WindowOpened) or (isinstance(event, Returned) and event.name == name)
    ]
    return ["window" if isinstance(event, WindowOpened) else event.state for event in told]


def test_who_may_only_look_only_looks_after_a_rebuild_and_after_a_resume(tmp_path: Path) -> None:
    async def main() -> None:
        where = await full_room(tmp_path)
        write = {"path": "new.txt", "content": "x"}
        model = Told(
            call("write", **write), *reads(), call("write", **write), call("bash", command="touch y"), say("ok"), **SMALL
        )
        agent = await agent_in(where, model, mode="plan")
        await agent.turn("look around")
        assert states(where, "write") == ["denied", "window", "denied"], "before and after"
        assert states(where, "bash") == ["window", "denied"]
        assert (agent.mode, agent.engine.session.mode) == ("plan", "plan")
        await agent.close()
        where.events.clear()
        again = Told(call("write", **write), say("ok"), **SMALL)
        settings = Settings(permissions=Permissions(mode="full"))
        agent = await agent_in(where, again, mode=None, settings=settings, how="resumed", session_id=agent.session_id)
        await agent.turn("now do it")
        assert states(where, "write") == ["denied"], "the session's mode, not that of new ones"
        assert agent.mode == "plan"
        assert sorted(path.name for path in where.folder.iterdir()) == ["big.txt"]
        await agent.close()

    asyncio.run(main())


def test_grants_hold_through_a_rebuild_and_a_resume_and_cover_no_more_than_before(tmp_path: Path) -> None:
    async def main() -> None:
        where = await full_room(tmp_path)
        asked: list[str] = []
        answers: dict[str, Answer] = {"touch one": "always", "touch two": "no"}

        async def asker(one: Asked) -> Answer:
            asked.append(one.subject)
            return answers[one.subject]

        both = [call("bash", command="touch one"), call("bash", command="touch two")]
        model = Told(call("bash", command="touch one"), *reads(), *both, say("ok"), **SMALL)
        agent = await agent_in(where, model, mode="ask", asker=asker)
        await agent.turn("go")
        assert states(where, "bash") == ["completed", "window", "completed", "denied"]
        assert asked == ["touch one", "touch two"], "what was granted is not asked again, what was not is"
        assert agent.engine.session.grants == ("bash(touch one)",)
        await agent.close()
        where.events.clear()
        asked.clear()
        for how, expected in (("resumed", ["touch two"]), ("forked", ["touch one", "touch two"])):
            again = Told(*both, say("ok"), **SMALL)
            other = await agent_in(where, again, mode=None, asker=asker, how=how, session_id=agent.session_id)
            await other.turn("again")
            assert other.mode == "ask"
            assert asked == expected, how
            asked.clear()
            await other.close()

    asyncio.run(main())
