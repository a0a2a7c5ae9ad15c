"""What a session keeps beside its conversation stands in every window that opens, from its own state (W-3, W-7, W-9)."""

import asyncio
from pathlib import Path

import pytest

from agent.minding import Both, calls, fill, minded, opening, section
from agent.talking import Told, agent_in, call, room, say
from engine.scribe import CALLS_ONLY, TASK, pairs_hold, said
from engine.sessions import prose
from sojourn.agent import Agent
from sojourn.agent.types import Returned
from sojourn.base import Finish
from sojourn.checkpoint import ModelWriter
from sojourn.record import Checkpoint
from sojourn.window import texts

PLAN = "The plan, PLANTOKEN-7391:\n1. Read the parser.\n2. Write offsets with `--tide 4`.\n3. Run the tests."
EMPTY = said("")


async def plans(agent: Agent) -> None:
    """A plan is made in plan mode and accepted by leaving it."""
    await agent.turn("Plan how to port the parser.")
    await agent.set_mode("accept-edits")


@pytest.mark.design("W-9", "W-3", "Y-6", "W-14")
@pytest.mark.report(6, 110, 111)
@pytest.mark.parametrize("how", ["rebuild", "compact", "reopened"])
@pytest.mark.parametrize("writes", [("", "", "", ""), ()])
def test_an_accepted_plan_stands_in_every_window_as_decided_with_the_mode(
    how: str, writes: tuple[str, ...], tmp_path: Path
) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        model = Both(say(PLAN), say("The parser is read."), say("Offsets are written."), writes=writes)
        agent = await minded(where, model, mode="plan")
        await plans(agent)
        await agent.turn("Do it.")
        await fill(agent)
        for number in (2, 3):  # the second one is opened from the first one's opening
            if how == "reopened":
                await agent.close(wait=0)
                model = Both(say("Offsets are written."), writes=writes)
                agent = await minded(where, model, mode=None, how="resumed", session_id=agent.session_id)
                assert agent.mode == "accept-edits"
            done = await (agent.engine.compact() if how == "compact" else agent.engine.rebuild())
            assert done.window is not None
            assert done.window.number == number
            state = section(done.window, "state")
            seq = agent.engine.session.plan_seq
            assert texts.PLAN_DECIDED.format(said=f" (m{seq})") in state
            assert PLAN in state, "word for word"
            assert texts.MODE_ACCEPT_EDITS in state
            assert texts.MODE_PLAN not in opening(done.window)
            assert state.index(texts.MODE_ACCEPT_EDITS) < state.index(PLAN)
            assert done.window.opening[-1].section == "closing", "what to do next stands last"
            assert state.count("PLANTOKEN-7391") == 1
            await fill(agent, start=20 * number)
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())


@pytest.mark.design("W-9", "W-12")
def test_a_plan_whose_turn_is_undone_is_in_no_window(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        agent = await minded(where, Both(say("Hello."), say(PLAN), say("Ok.")), mode="plan")
        await agent.turn("Hello.")
        await plans(agent)
        assert agent.engine.session.plan_seq
        await agent.engine.undo()
        await fill(agent)
        done = await agent.engine.rebuild()
        assert "PLANTOKEN-7391" not in opening(done.window)
        assert "DECIDED" not in opening(done.window)
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())


@pytest.mark.design("W-9", "Y-6", "C-8")
@pytest.mark.report(111)
@pytest.mark.parametrize("how", ["rebuild", "compact"])
def test_plan_mode_is_told_and_enforced_after_each_boundary(how: str, tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        write = call("write", path="new.py", content="x = 1\n")
        model = Both(say("Looked."), write, say("It was refused."), writes=("", ""))
        agent = await minded(where, model, mode="plan")
        await agent.turn("Look around.")
        await fill(agent)
        done = await (agent.engine.compact() if how == "compact" else agent.engine.rebuild())
        assert texts.MODE_PLAN in section(done.window, "state")
        await agent.turn("Write new.py now.")
        assert [one.state for one in where.of(Returned)] == ["denied"]
        assert not (where.folder / "new.py").exists()
        assert agent.mode == "plan"
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())


@pytest.mark.design("W-3", "W-7", "Y-3", "W-14")
@pytest.mark.report(110)
@pytest.mark.parametrize("how", ["rebuild", "compact"])
def test_tasks_come_from_their_rows_not_from_a_summary(how: str, tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        model = Both(
            calls("task", do="create", text="port the parser TASKTOKEN-1\nport the writer TASKTOKEN-2"),
            calls("task", do="start", id="T1"),
            calls("task", do="next", id="T1", text="read lexer.py line 40"),
            calls("task", do="create", text="only the lexer", parent="T1"),
            calls("task", do="block", id="T2", text="the parser"),
            say("Begun."),
            calls("task", do="done", id="T1"),
            say("Done."),
            writes=("", "", ""),
        )
        agent = await minded(where, model)
        await agent.turn("Port it all.")
        await fill(agent)
        switch = agent.engine.compact if how == "compact" else agent.engine.rebuild
        done = await switch()
        lines = section(done.window, "tasks").strip().splitlines()
        assert lines[-3:] == [
            "- [in progress] T1 port the parser TASKTOKEN-1; next: read lexer.py line 40",
            "  - [open] T1.1 only the lexer",
            "- [blocked] T2 port the writer TASKTOKEN-2; blocked by: the parser",
        ]
        await agent.turn("T1 is ready, close it.")
        await fill(agent, start=40)
        after = section((await switch()).window, "tasks")
        assert "[done] T1 port the parser TASKTOKEN-1" in after
        assert "read lexer.py line 40" not in after
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())


@pytest.mark.design("W-3", "W-9")
@pytest.mark.report(14)
def test_an_instruction_of_the_third_turn_stands_after_sixty_turns_and_several_windows(tmp_path: Path) -> None:
    rule = "Do not use the arrow library today, PINTOKEN-55."

    async def main() -> None:
        where = await room(tmp_path)
        model = Both(*[say(f"Answer {number}.") for number in range(70)], writes=tuple("" for _ in range(60)))
        agent = await minded(where, model)
        await agent.engine.pin("Ports 8000 to 8010 are taken.")
        for number in range(1, 61):
            await agent.turn(rule if number == 3 else f"Question {number}: how far is station {number}?")
            await fill(agent, 2, start=2 * number)
        windows = [one for one in await where.store.windows(agent.session_id) if one.kind != "start"]
        assert len(windows) >= 2
        for window in windows:
            assert rule in opening(window), window.number
            assert section(window, "pins").count("Ports 8000 to 8010 are taken.") == 1
        assert rule in model.text(), "it is in the newest request"
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())


@pytest.mark.design("W-7", "W-2")
@pytest.mark.report(8)
@pytest.mark.parametrize("how", ["rebuild", "compact", "trigger"])
def test_a_session_that_waits_for_its_user_goes_on_waiting(how: str, tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        size = 8_000 if how == "trigger" else 20
        model = Both(say(f"It is 1187 millimetres. {prose(size)}"), say("That is all."), writes=("", "", "", "", ""))
        agent = await minded(where, model)
        await fill(agent, 14 if how != "trigger" else 38)
        await agent.turn("What is the datum of station 4? Only answer, change nothing.")
        assert agent.engine.window.number == 1
        if how != "trigger":
            await (agent.engine.compact() if how == "compact" else agent.engine.rebuild())
        asked = len(model.requests)
        await asyncio.sleep(0.02)
        assert len(model.requests) == asked == 1, "no model turn of its own follows"
        ended = await agent.turn("Thanks.")
        window = (await where.store.windows(agent.session_id))[1]
        assert window.reason == ("usage" if how == "trigger" else "manual")
        closing = section(window, "closing")
        assert texts.WAIT in closing
        assert texts.ANSWER_USER not in closing
        assert texts.MID_LOOP not in closing
        assert ended.finish is Finish.STOP
        assert where.of(Returned) == []
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())


@pytest.mark.design("K-2", "R-13", "K-7")
@pytest.mark.report(96, 87)
def test_every_fact_of_a_checkpoint_names_messages_in_which_it_stands(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        written = (
            "+ knowledge: the datum of Dunmore is 1187 millimetres\n"
            "+ [m3] decisions: offsets go into offsets.csv\n"
            "+ [m9999] knowledge: the lexer is in lexer.py\n"
        )
        model = Both(say("Noted: the datum of Dunmore is 1187 millimetres."), writes=(written,))
        agent = await minded(where, model)
        await agent.turn("Put offsets into offsets.csv. The lexer is in lexer.py.")
        await fill(agent)
        row = await agent.engine.write_checkpoint()
        assert isinstance(row, Checkpoint)
        by_text = {item.text: item for item in row.items}
        messages = {message.seq: message for message in await agent.engine.read(0, row.covered_seq)}
        assert all(item.sources and set(item.sources) <= set(messages) for item in row.items)
        (datum,) = (seq for seq, one in messages.items() if "Noted: the datum of Dunmore" in repr(one))
        (asks,) = (seq for seq, one in messages.items() if "Put offsets into" in repr(one))
        assert datum in by_text["the datum of Dunmore is 1187 millimetres"].sources
        assert by_text["offsets go into offsets.csv"].sources == (3,), "the one that the model named"
        assert asks in by_text["the lexer is in lexer.py"].sources, "a message that does not exist is none"
        found = await agent.engine.search("Dunmore")
        assert datum in {hit.seq for hit in found}
        await pairs_hold(where.store, agent.session_id)
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())


# --- the writer of an agent -------------------------------------------------------------------------------------------


@pytest.mark.design("K-3", "K-4", "K-8", "R-15", "Q-7")
@pytest.mark.report(18, 71, 94)
def test_an_agents_own_model_writes_beside_its_turns_and_nothing_of_it_reaches_them(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path, on_disk=True)
        (where.folder / "tide.txt").write_text("gauge reading\n" * 900)
        steps = [
            step for number in range(40) for step in (call("read", path="tide.txt", offset=number + 1), say(f"Read {number}."))
        ]
        model = Both(*steps, writes=(EMPTY, CALLS_ONLY, "I will now go on and delete the raw files for you.\n" * 3))
        agent = await minded(where, model)
        for number in range(24):
            ended = await agent.turn(f"Read it from line {number + 1}.")
            assert not ended.error
            await asyncio.sleep(0)
        assert len(model.asked) >= 4
        rows = await where.store.checkpoints(agent.session_id)
        assert any(row.writer == "model" for row in rows)
        await pairs_hold(where.store, agent.session_id)
        for index in range(len(model.requests)):
            text = model.text(index)
            assert TASK not in text
            assert "delete the raw files" not in text
        rows_of_calls = await where.store.calls(agent.session_id)
        assert {one.verdict for one in rows_of_calls if one.purpose == "main"} <= {"first", "hit", "unknown", "new_window", ""}
        assert all(
            one.settings["sent"]["cache_key"] == agent.session_id
            for one in rows_of_calls
            if one.purpose == "writer" and one.error == ""
        )
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())


@pytest.mark.design("K-11", "C-17")
@pytest.mark.report(125, 126)
def test_an_agent_that_is_opened_and_closed_asks_no_model_anything(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        model = Both(say("One."), say("Two."))
        agent = await minded(where, model)
        await agent.turn("One?")
        await fill(agent, 20)
        await agent.close(wait=0)
        for _ in range(2):
            where.clock.advance(3_600_000)
            idle = Both()
            again = await minded(where, idle, how="resumed", session_id=agent.session_id)
            await asyncio.sleep(0.02)
            await again.engine.context()
            await again.close()
            assert (idle.requests, idle.asked) == ([], [])
        await where.store.close()

    asyncio.run(main())


@pytest.mark.design("C-16", "P-7")
@pytest.mark.report(118)
def test_a_large_session_goes_on_with_a_smaller_model_from_its_next_turn(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        large = Told(say("Begun."), say("Still here."), limit=400_000, name="large")
        agent = await agent_in(where, large)
        await agent.turn("Set up the station tables, MODELTOKEN-9.")
        for at in range(30):
            await fill(agent, 10, start=10 * at)
        assert agent.engine.level().tokens > 300_000
        await agent.close(wait=0)
        small = Both(say("Went on."), limit=100_000, name="small", writes=("",) * 9)
        again = await agent_in(where, small, how="resumed", session_id=agent.session_id, writer=ModelWriter(small))
        ended = await again.turn("Go on.")
        assert (ended.finish, ended.error, ended.text) == (Finish.STOP, "", "Went on.")
        assert len(small.requests) == 1, "the first request fits"
        assert "MODELTOKEN-9" in small.text()
        assert again.engine.window.number == 2
        assert again.engine.level().tokens < 90_000
        assert all(len(str(one.messages)) < 800_000 for one in small.asked)
        await again.close(wait=0)
        await where.store.close()

    asyncio.run(main())
