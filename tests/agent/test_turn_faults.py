"""What a cancel, a failure or a resume in an awkward moment must not lose (R-12, R-15, M-R8, C-10)."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from agent.talking import Told, agent_in, call, room, say, until
from sojourn.agent.pricing import Pricing
from sojourn.agent.turn_snapshots import Files
from sojourn.agent.types import Metered, Noticed, Reminded, Returned, SessionOpened, WindowOpened
from sojourn.base import ErrorKind, Finish, Usage, UserMistake, WorkFailed
from sojourn.config import CheckpointSettings, Compaction, Permissions, Settings
from sojourn.meter import relative_prices, usual_prices
from sojourn.models.types import Choice
from sojourn.record import Text, ToolCall
from sojourn.wire import CallEvent, FinishEvent, ModelError, RetryEvent, TextEvent, UsageEvent


def reminded(where) -> list[str]:
    return [event.source for event in where.of(Reminded)]


@pytest.mark.design("R-12", "R-15", "M-5")
def test_an_answer_that_has_ended_is_kept_whatever_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def slow(self: Pricing, usage: Usage) -> float:
            asked.set()
            await asyncio.sleep(0.3)
            return 0.25

        monkeypatch.setattr(Pricing, "of", slow)
        where = await room(tmp_path)
        agent = await agent_in(where, Told(say("the whole answer")))
        turn = asyncio.create_task(agent.turn("go"))
        await asked.wait()
        turn.cancel()
        await asyncio.sleep(0.05)
        turn.cancel()
        assert (await turn).finish is Finish.INTERRUPTED
        newest = (await where.store.messages(agent.session_id))[-1]
        assert newest.parts == (Text("the whole answer", newest.parts[0].tokens),)
        assert newest.finish is Finish.STOP
        (row,) = await where.store.calls(agent.session_id)
        assert (row.usage is not None, row.price, row.ended is not None) == (True, 0.25, True)
        assert (await agent.turn("again")).finish is Finish.STOP, "the session goes on in this process"
        await agent.close()

    asyncio.run(main())


@pytest.mark.design("M-R8", "C-10", "C-12")
def test_a_request_after_a_refusal_has_its_reminders_again(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        (where.folder / "big.txt").write_text("\n".join(f"line {n} of a long file with words" for n in range(1_500)))
        steps = [call("read", path="big.txt", offset=1 + 100 * n, limit=100) for n in range(12)]
        overflow = ModelError(ErrorKind.CONTEXT_OVERFLOW, "too long", limit=16_000, used=30_000)
        model = Told(*steps, [overflow], say("done"))
        agent = await agent_in(where, model, mode="plan")
        assert (await agent.turn("look at it all")).finish is Finish.STOP
        assert where.of(WindowOpened)
        told = reminded(where)
        assert told.count("runtime_mode") == 2, "the new window is told that plan mode holds"
        assert "Plan mode" in model.text(-1) or "plan mode" in model.text(-1)
        await agent.close()

    asyncio.run(main())


@pytest.mark.design("R-12", "M-R2")
def test_a_call_that_was_settled_and_never_begun_is_told_as_such(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        model = Told([CallEvent("c1", "bash", {"command": "touch x"}), 0.6, TextEvent("and"), 30.0], say("ok"))
        agent = await agent_in(where, model)
        turn = asyncio.create_task(agent.turn("go"))
        await until(lambda: any(isinstance(part, ToolCall) for m in agent.engine.in_view for part in m.parts))
        turn.cancel()
        assert (await turn).finish is Finish.INTERRUPTED
        await agent.set_mode("plan")
        await agent.turn("and now?")
        assert "runtime_mode" in reminded(where), "an open call would have silenced it"
        assert "not run: the answer was cut off" in model.text(-1)
        assert "outcome unknown" not in model.text(-1)
        assert not (where.folder / "x").exists()
        await agent.close()

    asyncio.run(main())


@pytest.mark.design("R-12", "M-R2")
def test_calls_that_a_killed_process_left_are_closed_when_the_session_is_opened(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        agent = await agent_in(where, Told())
        await agent.turn("hello")
        engine = agent.engine
        await engine.observe(*agent._notes.at_turn_start(_user("go")))
        await engine.prepare()
        engine.prepared()
        answer = await engine.start_answer()
        await engine.settle_parts(answer.message_id, {0: ToolCall("c1", "bash", {"command": "x"})})
        await agent.close()
        again = Told(say("ok"))
        resumed = await agent_in(where, again, how="resumed", session_id=agent.session_id, mode="plan")
        await resumed.turn("go on")
        assert "interrupted: outcome unknown" in again.text(0)
        assert "runtime_mode" in reminded(where)
        assert "mode_change" not in reminded(where), "plan mode has a reminder of its own"
        await resumed.close()

    asyncio.run(main())


def _user(text: str):
    from sojourn.record import Message

    return Message(id="", role="user", origin="user", parts=(Text(text),))


@pytest.mark.design("P-7", "R-1")
@pytest.mark.report(115)
def test_a_session_is_not_resumed_in_another_folder_but_forked_there(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        (where.folder / ".git").mkdir()
        (where.folder / "AGENTS.md").write_text("Rules of the first folder.\n")
        agent = await agent_in(where, Told(say("hello")))
        await agent.turn("hi")
        await agent.close()
        first, other = where.folder, tmp_path / "other"
        (other / ".git").mkdir(parents=True)
        (other / "AGENTS.md").write_text("Rules of the second folder.\n")
        where.folder = other
        with pytest.raises(UserMistake, match="works in") as mistake:
            await agent_in(where, Told(), how="resumed", session_id=agent.session_id)
        assert "--fork" in mistake.value.next_step
        model = Told(say("there"))
        where.events.clear()
        fork = await agent_in(where, model, how="forked", session_id=agent.session_id)
        assert where.of(SessionOpened)[0].rules == (str(other / "AGENTS.md"),)
        await fork.turn("go on")
        assert "Rules of the second folder." in model.text(0)
        assert "Rules of the first folder." not in model.text(0)
        assert "hello" in model.text(0), "what was said goes along"
        assert fork.engine.session.cwd == str(other)
        await fork.close()
        where.folder = first
        back = await agent_in(where, Told(), how="resumed", session_id=agent.session_id)
        await back.close()

    asyncio.run(main())


@pytest.mark.design("Y-6")
def test_a_question_that_breaks_is_an_error_of_that_call_alone(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)

        async def asker(asked):
            raise OSError("the terminal is gone")

        model = Told(call("bash", command="touch x"), say("then not"))
        agent = await agent_in(where, model, mode="ask", asker=asker)
        assert (await agent.turn("go")).finish is Finish.STOP
        (result,) = where.of(Returned)
        assert result.state == "error"
        assert "the terminal is gone" in result.text
        assert not (where.folder / "x").exists()
        await agent.close()

    asyncio.run(main())


@pytest.mark.design("P-5", "M-R3", "A-8")
def test_rules_that_are_reached_come_in_portions_and_after_a_continued_answer_too(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        (where.folder / ".git").mkdir()
        for number in range(12):
            folder = where.folder / f"pkg{number}"
            folder.mkdir()
            (folder / "AGENTS.md").write_text(f"Rule of package {number}.\n" + "Words that make it long.\n" * 900)
            (folder / "a.py").write_text("x = 1\n")
        reads = [CallEvent(f"c{n}", "read", {"path": f"pkg{n}/a.py"}) for n in range(12)]
        model = Told(
            say("I begin ", Finish.LENGTH), [*reads, FinishEvent(Finish.TOOL_CALLS)], call("glob", pattern="*"), say("ok")
        )
        agent = await agent_in(where, model)
        await agent.turn("read them")
        assert reminded(where)[0] == "output_continuation"
        told = [model.text(index).count("Rule of package") for index in range(4)]
        assert told[:2] == [0, 0]
        assert 0 < told[2] < 12, "not all at once"
        assert told[3] > told[2], "the rest comes with the next step"
        assert len(model.body(2)) < 4 * 57_600
        await agent.close()

    asyncio.run(main())


@pytest.mark.design("A-3", "M-5", "R-15")
def test_what_a_void_attempt_cost_is_counted(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        retry = RetryEvent(1, 0.1, ErrorKind.UNAVAILABLE, "empty answer")
        model = Told([UsageEvent(Usage(fresh=9_000, output=500)), retry, TextEvent("now"), FinishEvent(Finish.STOP)])
        agent = await agent_in(where, model)
        ended = await agent.turn("go")
        assert ended.usage.fresh > 9_000
        assert ended.usage.output == 520
        one, two = await where.store.calls(agent.session_id)
        assert one.usage == Usage(fresh=9_000, output=500)
        assert "empty answer" in one.error
        assert two.error == ""
        assert len(where.of(Metered)) == 2
        await agent.close()

    asyncio.run(main())


@pytest.mark.design("P-9", "P-7", "M-R3")
def test_mode_and_style_given_at_resume_are_told(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        agent = await agent_in(where, Told(say("hello")), mode="accept-edits")
        await agent.turn("hi")
        await agent.close()
        model = Told(say("short"), say("again"))
        resumed = await agent_in(
            where, model, mode="full", how="resumed", session_id=agent.session_id, settings=Settings(output_style="concise")
        )
        await resumed.turn("go on")
        assert set(reminded(where)) >= {"mode_change", "output_style"}
        assert "# Output style: concise" in model.text(0)
        assert any(m.source == "prefix_changed" for m in await where.store.messages(agent.session_id))
        with pytest.raises(UserMistake, match="no mode"):
            await resumed.set_mode("nonsense")
        await resumed.close()
        plain = Told(say("x"))
        back = await agent_in(where, plain, how="resumed", session_id=agent.session_id)
        await back.turn("and now")
        assert "# Output style" not in plain.text(0)
        await back.close()

    asyncio.run(main())


@pytest.mark.design("R-11", "C-17")
def test_a_close_that_is_cancelled_still_gives_the_session_back(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path, on_disk=True)
        model = Told(say("x"))
        agent = await agent_in(where, model)
        await agent.turn("go")
        closing = asyncio.create_task(agent.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait({closing})
        assert await where.store.holder(agent.session_id) is None
        assert model.closed
        await where.store.close()

    asyncio.run(main())


@pytest.mark.design("A-1", "W-12", "M-R7")
def test_a_turn_says_what_failed_around_it_and_never_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*args: object, **more: object) -> None:
        raise WorkFailed("the disk is full")

    async def main() -> None:
        where = await room(tmp_path)
        model = Told(call("write", path="a.txt", content="text"), say("written"), say("again"))
        agent = await agent_in(where, model, keep_files=True, documents=tmp_path / "memory")
        with monkeypatch.context() as patched:
            patched.setattr(type(agent.engine), "put_snapshot", broken)
            patched.setattr(type(agent.engine.memory), "entries", broken)
            ended = await agent.turn("write it")
        assert ended.finish in (Finish.STOP, Finish.ERROR)
        with monkeypatch.context() as patched:
            patched.setattr(Files, "after_turn", broken)
            patched.setattr(type(agent.engine.memory), "entries", broken)
            ended = await agent.turn("once more")
        assert (ended.finish, ended.text) == (Finish.STOP, "again"), "the answer stands"
        told = [event.detail for event in where.of(Noticed) if event.key == "files_not_kept"]
        assert told == [{"reason": "the disk is full"}], "once"
        await agent.close()

    asyncio.run(main())


@pytest.mark.design("K-3", "K-4")
def test_the_connection_of_a_checkpoint_model_is_closed_with_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[Choice, Told]] = []

    async def connect(choice: Choice, *ports: object) -> Told:
        made.append((choice, Told(name=str(choice.model))))
        return made[-1][1]

    monkeypatch.setattr("sojourn.agent.session.connected", connect)
    settings = Settings(checkpoint=CheckpointSettings(model="other"))

    async def main() -> None:
        where = await room(tmp_path)
        model = Told(say("well"))
        agent = await agent_in(where, model, settings=settings, writer=None)
        ((choice, other),) = made
        assert choice == Choice("other")
        writer = agent.engine._state.ports.writer
        assert (writer.name, writer.forks) == ("model", False)
        assert (await agent.turn("go")).finish is Finish.STOP
        assert not other.closed
        await agent.close()
        assert (model.closed, other.closed) == (True, True)
        with pytest.raises(UserMistake, match="tool"):
            await agent_in(where, None, settings=settings_with_an_unknown_tool(settings), writer=None)  # type: ignore[arg-type]
        assert [each.closed for _, each in made] == [True, True, True], "what was opened is closed where opening fails"

    asyncio.run(main())


def settings_with_an_unknown_tool(settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, permissions=Permissions(deny=("nosuchtool",)))


@pytest.mark.design("C-18")
def test_economic_windows_know_the_prices_before_the_first_answer(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        known = relative_prices("gpt-5", "openai")
        assert known is not None
        for policy, prices in (("balanced", known), ("full", None)):
            settings = Settings(compaction=Compaction(policy=policy))  # type: ignore[arg-type]
            agent = await agent_in(where, Told(name="gpt-5", provider="openai"), settings=settings)
            usual = usual_prices("automatic")
            assert agent.engine._state.prices == (prices or usual)
            assert prices != usual
            await agent.close()

    asyncio.run(main())
