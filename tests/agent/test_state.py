"""Plan and skills of a session, read off its record (W-9)."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.talking import Told, agent_in, call, room, say
from sojourn.agent.state import Plan, accepted_plan, active_skills, plan_in, plan_to_accept, skills_in_use
from sojourn.base import Finish
from sojourn.record import Block, Message, Reasoning, Reminder, Session, Text, ToolCall
from sojourn.tools import Tool, said
from sojourn.tools.types import Outcome
from sojourn.window import state_section

pytestmark = pytest.mark.design("W-9")

PLAN = "We port it in two steps.\n1. Read `parser.py`; check: tests\n2. Move it to `port/`; check: fuzz"
计划 = "分两步：\n1、读 parser\n2、移植，跑测试"


def answer(text: str = "", *calls: ToolCall, finish: Finish = Finish.STOP) -> Message:
    return Message("a", "assistant", "model", (*([Text(text)] if text else []), *calls), finish=finish)


def loaded(name: Any, state: Any = "completed", tool: str = "skill") -> Message:
    return answer("", ToolCall("c", tool, {"name": name}, state=state), finish=Finish.TOOL_CALLS)


def told(source: str) -> Message:
    return Message("r", "user", "engine", (Reminder(source, "b"),), source=source)


def user(text: str = "go") -> Message:
    return Message("u", "user", "user", (Text(text),))


def numbered(*messages: Message) -> list[Message]:
    return [msgspec.structs.replace(one, seq=seq) for seq, one in enumerate(messages, 1)]


def test_skills_newest_first_each_once() -> None:
    talk = [user(), loaded("a"), loaded("/b"), loaded(" a "), loaded("c", "error"), loaded("d", "interrupted"), loaded(" ")]
    assert active_skills(talk) == ("a", "b")
    assert active_skills([*talk, loaded("b"), loaded("e", tool="read")]) == ("b", "a")
    assert active_skills([]) == active_skills([user("skill a")]) == ()


def test_the_newest_10_skills() -> None:
    every = [loaded(f"s{number}") for number in range(11)]
    assert active_skills(every[:10]) == tuple(f"s{number}" for number in range(9, -1, -1))
    assert active_skills(every) == tuple(f"s{number}" for number in range(10, 0, -1))


@pytest.mark.parametrize("cut", range(8))
def test_skills_read_on_from_where_an_earlier_reading_stopped(cut: int) -> None:
    every = [loaded(name) for name in ("a", "b", "c", "a", "d", "b", "e")]
    assert active_skills(every[cut:], active_skills(every[:cut])) == active_skills(every) == ("e", "b", "d", "a", "c")


@pytest.mark.report(6, 110)
def test_the_plan_is_the_newest_finished_answer_without_calls() -> None:
    failed = (answer(PLAN, finish=Finish.ERROR), answer(PLAN, finish=Finish.INTERRUPTED))
    calls = answer(PLAN, ToolCall("c", "read", {}, state="completed"), finish=Finish.TOOL_CALLS)
    thought = Message("a", "assistant", "model", (Reasoning("1. a\n2. b"),), finish=Finish.STOP)
    talk = numbered(user(), told("runtime_mode"), answer(PLAN), answer("and so on"), *failed, calls, thought, user(PLAN))
    assert plan_in(talk[:2]) == 0
    assert plan_in(talk[:3]) == 3
    assert plan_in(talk) == 3
    assert plan_in(numbered(told("runtime_mode"), answer("Read it, then port it."))) == 2, "it need not have steps"


@pytest.mark.report(6)
@pytest.mark.parametrize("plan", [PLAN, 计划, "# Read\nx\n# Port\ny", "- read\n  * port", "1) a\n100. b"])
def test_questions_about_the_plan_may_follow_it(plan: str) -> None:
    talk = [told("runtime_mode"), user(), answer("Where?"), user(), answer(plan), user("why?"), answer("It is slow.")]
    assert plan_in(numbered(*talk)) == 5
    assert plan_in(numbered(*talk, user(), answer(f"{plan}, changed"))) == 9
    for other in ("- only one step", "**Note** that\n**this** is bold\n---\n----", "3.11 or\n3.12", "-1\n-2"):
        assert plan_in(numbered(*talk[:4], answer(other), *talk[5:])) == 7


def test_only_what_was_answered_in_plan_mode() -> None:
    before = [user(), answer(PLAN)]
    assert plan_in(numbered(*before, told("runtime_mode"), user())) == 0
    again = [*before, told("runtime_mode"), answer(PLAN), told("runtime_mode"), answer("fine")]
    assert plan_in(numbered(*again)) == 4, "the mode was only told again"
    left = [*again, told("plan_mode_exit"), answer("1. did\n2. did")]
    assert plan_in(numbered(*left)) == 8, "outside of it: what stands last"
    assert plan_in(numbered(*left, told("runtime_mode"), user())) == 0
    assert plan_in(numbered(*left, told("runtime_mode"), answer("Port it."))) == 10
    assert plan_in(numbered(answer(PLAN), answer("fine"))) == 2, "where nothing tells of the mode: the newest"


class Newest:
    """A store that is asked for its newest messages."""

    def __init__(self, *messages: Message) -> None:
        self.every = messages

    async def messages(self, session_id: str, *, limit: int = 9_999, newest_first: bool = False, **span: int) -> list[Message]:
        assert (session_id, newest_first) == ("s", not span)
        found = [one for one in self.every if span.get("after", 0) < one.seq <= span.get("upto", 9_999)]
        return found[::-1][:limit] if newest_first else found


def test_a_plan_is_looked_for_in_the_newest_400_messages() -> None:
    async def main() -> None:
        steps = [loaded("a")] * 398
        store: Any = Newest(*numbered(told("runtime_mode"), answer(PLAN), *steps))
        assert await plan_to_accept(store, "s") == 2
        store = Newest(*numbered(told("runtime_mode"), answer(PLAN), *steps, loaded("a")))
        assert await plan_to_accept(store, "s") == 2, "the reminder is out of sight, the plan is not"
        store = Newest(*numbered(told("runtime_mode"), answer(PLAN), *steps, loaded("a"), loaded("a")))
        assert await plan_to_accept(store, "s") == 0

    asyncio.run(main())


def test_the_accepted_plan_is_word_for_word() -> None:
    async def main() -> None:
        parts = (Text("\n1. 读\n"), Reasoning("hm"), Text("2. 移植\n "))
        first = Message("a", "assistant", "model", parts, seq=1, finish=Finish.STOP)
        store: Any = Newest(first, *numbered(answer("2"), answer(" "))[1:])
        assert await accepted_plan(store, Session(id="s", plan_seq=1)) == Plan("1. 读\n\n2. 移植", 1)
        for none in (0, 2, 9):
            assert await accepted_plan(store, Session(id="s", plan_seq=none)) == Plan("", 0)

    asyncio.run(main())


def test_plan_and_skills_of_a_stored_session(tmp_path: Path) -> None:
    async def load(arguments: dict[str, Any], desk: Any) -> Outcome:
        return said("text")

    async def main() -> None:
        where = await room(tmp_path)
        skill = Tool("skill", "d", {"type": "object", "properties": {"name": {"type": "string"}}}, "read", "name", load)
        model = Told(call("skill", name="release"), say(PLAN), call("skill", name="tidy"), say("done"))
        agent = await agent_in(where, model, mode="plan", tools=(skill,))
        store, session_id = where.store, agent.session_id
        assert await plan_to_accept(store, session_id) == 0
        await agent.turn("plan it")
        seq = await plan_to_accept(store, session_id)
        assert [message_.parts[-1].text for message_ in await agent.engine.read(seq - 1, seq)] == [PLAN]
        assert await skills_in_use(store, session_id, None) == ("release",)
        assert await accepted_plan(store, agent.engine.session) == Plan()
        await agent.engine.accept_plan(seq)
        await agent.set_mode("full")
        await agent.turn("do it")
        assert await accepted_plan(store, agent.engine.session) == Plan(PLAN, seq)
        first = agent.engine.window
        assert await skills_in_use(store, session_id, first) == ("tidy", "release")
        named = state_section("full", "", 0, skills=("tidy", "release"))
        assert named is not None
        opening = (Block("state", f"<state>\n{named.text}\n</state>", 40),)
        later = msgspec.structs.replace(first, number=7, opening=opening, digest_seq=agent.engine.head)
        assert await skills_in_use(store, session_id, later) == ("tidy", "release"), "what no message in view says any more"
        blind = msgspec.structs.replace(later, opening=())
        assert await skills_in_use(store, session_id, blind) == (), "nothing older than the window is read"
        gone = Session(id=session_id, plan_seq=agent.engine.head + 9)
        assert await accepted_plan(store, gone) == Plan()
        await agent.close()

    asyncio.run(main())
