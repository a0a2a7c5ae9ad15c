"""``sojourn tell``: text for a session, whether it works or not (S-1, M-R6)."""

import asyncio
import io
import os
from pathlib import Path
from typing import Any

import pytest

from agent.talking import Told, call, say
from sojourn.agent import Agent
from sojourn.base import SystemClock
from sojourn.config import folders
from sojourn.record import Held, InboxRow, Message, Session, Text
from sojourn.record.sqlite import SqliteStore
from sojourn.tools import Outcome, Tool, said
from surfaces.running import Command, Ran, in_own_process

pytestmark = pytest.mark.design("S-1", "M-R6")


async def opened(home: Path) -> SqliteStore:
    (home / "data").mkdir(parents=True, mode=0o700, exist_ok=True)
    return await SqliteStore.open(home / "data" / "sojourn.db", clock=SystemClock())


@pytest.fixture
def stored(home: Path) -> list[str]:
    """Two sessions that nobody runs, the newer one first."""

    async def main() -> None:
        store = await opened(home)
        for number, name in enumerate(("ses_old", "ses_new"), 1):
            await store.create(Session(id=name, title=name, created=number, updated=number))
        await store.close()

    asyncio.run(main())
    return ["ses_new", "ses_old"]


def inbox(home: Path, session: str) -> list[InboxRow]:
    async def main() -> list[InboxRow]:
        store = await opened(home)
        rows = list(await store.inbox(session))
        await store.close()
        return rows

    return asyncio.run(main())


@pytest.mark.design("R-9")
@pytest.mark.report(104)
def test_it_reaches_an_agent_that_works_at_its_next_safe_point(home: Path) -> None:
    async def main() -> None:
        store = await opened(home)
        started, done = asyncio.Event(), asyncio.Event()

        async def wait(arguments: dict[str, Any], desk: Any) -> Outcome:
            started.set()
            await done.wait()
            return said("woke up")

        sleeper = Tool("sleep", "Sleeps.", {"type": "object", "properties": {}}, "read", "", wait)
        model = Told(call("sleep"), say("with tabs, then"))
        agent = await Agent.open(
            store=store, cwd=Path.cwd(), model=model, tools=(sleeper,), places=folders(os.environ), mode="full", trusted=True
        )
        turn = asyncio.create_task(agent.turn("indent it"))
        await started.wait()
        told = await asyncio.to_thread(in_own_process, home, "tell", agent.session_id[:-3], "use", "tabs, please")
        assert (told.code, told.err) == (0, "")
        runs = f"process {os.getpid()} on {os.uname().nodename} runs it"
        assert told.out == f"Kept for {agent.session_id}: {runs}, and the agent reads this before its next request.\n"
        assert not turn.done()
        row = await asyncio.to_thread(piped, home, "and no\nblanks\n", "tell", "last", "--json", "-")
        assert (row.row["running"], row.row["text"]) == (True, "and no\nblanks")
        done.set()
        ended = await turn
        assert ended.text == "with tabs, then"
        assert len(model.requests) == 2
        body = model.text(1)
        marked = body.index("sent the following message while you were working")
        assert body.index("woke up") < marked < body.index("use tabs, please") < body.index(r"and no\nblanks")
        own = [one for one in await store.messages(agent.session_id) if one.origin == "user"]
        assert [words(one) for one in own] == ["indent it", "use tabs, please", "and no\nblanks"]
        assert await store.inbox(agent.session_id) == []
        await agent.close()
        await store.close()

    asyncio.run(main())


def piped(home: Path, text: str, *arguments: str) -> Ran:
    """The command in a process of its own, with the text on standard input."""
    Path("typed").write_text(text)
    with Path("typed").open() as typed:
        return in_own_process(home, *arguments, stdin=typed)


def words(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, Text))


def test_where_nobody_runs_it_the_next_turn_reads_it(sojourn: Command, home: Path, stored: list[str]) -> None:
    done = sojourn("tell", "last", "later,", "please")
    waits = "Kept for ses_new: nobody runs it now; it is read in the next turn: sojourn run --resume ses_new 'go on'\n"
    assert (done.code, done.out, done.err) == (0, waits, "")
    row = sojourn("tell", "ses_n", "again", "--json").row
    assert list(row) == ["session", "id", "text", "origin", "created", "running"]
    assert (row["session"], row["text"], row["origin"], row["running"]) == ("ses_new", "again", "user", False)
    assert row["id"].startswith("inb_")
    assert abs(row["created"] - SystemClock().now()) < 60_000
    first, second = inbox(home, "ses_new")
    assert (first.text, second.text, second.id, second.created) == ("later, please", "again", row["id"], row["created"])
    assert inbox(home, "ses_old") == []


def test_a_holder_that_is_gone_does_not_count(sojourn: Command, home: Path, stored: list[str]) -> None:
    async def held() -> None:
        store = await opened(home)
        assert not isinstance(await store.acquire("ses_old", "elsewhere:7:x"), Held)
        await store.close()

    asyncio.run(held())
    assert "process 7 on elsewhere runs it" in sojourn("tell", "ses_old", "x").out

    async def released() -> None:
        store = await opened(home)
        assert not isinstance(await store.acquire("ses_old", "elsewhere:7:x", 0), Held)
        await store.close()

    asyncio.run(released())
    assert "nobody runs it now" in sojourn("tell", "ses_old", "x").out


def test_standard_input(sojourn: Command, home: Path, stored: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for typed, arguments, text in (
        ("﻿use tabs\r\n\n", ["-"], "use tabs\r"),
        ("diff --git\n+x\n", ["see:", "-"], "see:\n\ndiff --git\n+x"),
        ("never read", ["only this"], "only this"),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
        assert sojourn("tell", "ses_old", *arguments).code == 0
        assert inbox(home, "ses_old")[-1].text == text


@pytest.mark.parametrize("arguments", [[""], ["  ", "\n"], ["-"]])
def test_nothing_to_tell_is_a_mistake(
    sojourn: Command, home: Path, stored: list[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    done = sojourn("tell", "last", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("sojourn: there is nothing to tell\n  Write it behind the id")
    assert inbox(home, "ses_new") == []


def test_mistakes(sojourn: Command, home: Path, stored: list[str]) -> None:
    assert "there is no session 'nope'" in sojourn("tell", "nope", "x").err
    assert "'ses_' names 2 sessions" in sojourn("tell", "ses_", "x").err
    missing = sojourn("tell", "last")
    assert (missing.code, "TEXT" in missing.err) == (2, True)


def test_without_a_record(sojourn: Command) -> None:
    done = sojourn("tell", "last", "x")
    assert (done.code, "there are no sessions yet" in done.err) == (2, True)
