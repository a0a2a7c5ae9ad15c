"""How tasks follow one state after another, and the registry over the record (Y-3)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.talking import Told, agent_in, room, say
from sojourn.agent.tasks import SUMMARY, TODOS_MOST, Registry, acted, created, found, todos
from sojourn.agent.types import Returned
from sojourn.base import Finish, ManualClock, UserMistake
from sojourn.checkpoint import ExtractiveWriter
from sojourn.record import TaskRow, TaskStatus
from sojourn.reminders import Todo
from sojourn.tools import CORE, TASK, Act, Desk, run
from sojourn.wire import CallEvent, FinishEvent

pytestmark = pytest.mark.design("Y-3")

STATES = get_args(TaskStatus)
ACTS = get_args(Act)
OVER = ("done", "abandoned")


def row(task_id: str, status: Any = "open", **more: Any) -> TaskRow:
    return TaskRow(task_id, f"do {task_id}", status, **more)


def ids(rows: Sequence[TaskRow]) -> list[str]:
    return [one.id for one in rows]


# --- made ---------------------------------------------------------------------------------------------------------


def test_new_tasks_are_numbered_behind_their_siblings() -> None:
    tasks = [row("T1"), row("T3", "done"), row("T3.7"), row("T3.7.9"), row("T12.4")]
    assert ids(created([], ["a", "b"], now=5)) == ["T1", "T2"]
    assert ids(created(tasks, ["a", "b"], now=5)) == ["T4", "T5"]
    assert ids(created(tasks, ["a"], "T1", now=5)) == ["T1.1"]
    assert ids(created(tasks, ["a", "b"], "3.7", now=5)) == ["T3.7.10", "T3.7.11"]
    (made,) = created(tasks, [" 移植\n 解析器 "], "t1", now=5)
    assert made == TaskRow("T1.1", "移植 解析器", "open", "T1", created=5, updated=5)
    assert created(tasks, ["a"], now=5)[0].parent_id is None
    assert len(created([], ["x" * 300], now=5)[0].summary) == SUMMARY == 240


def test_a_parent_must_be_there_and_not_over() -> None:
    with pytest.raises(UserMistake, match="there is no task T2"):
        created([row("T1")], ["a"], "T2", now=5)
    for over in OVER:
        with pytest.raises(UserMistake, match=f"T1 is {over}: it takes no new parts") as refused:
            created([row("T1", over)], ["a"], "T1", now=5)
        assert refused.value.next_step == "Start T1 again first."


# --- found --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["T1.2", "t1.2", "1.2", "#T1.2", " T1.2: ", "T1.2."])
def test_an_id_may_be_written_in_many_ways(name: str) -> None:
    assert found([row("T1"), row("T1.2")], name).id == "T1.2"


@pytest.mark.parametrize("name", ["T2", "", "T", "T1.", "do T1", "T1 T2", "T1.2.", "T01"])
def test_an_id_that_is_none_is_answered_with_those_there_are(name: str) -> None:
    tasks = [row("T1", "done"), row("T3"), row("T4", "blocked")]
    if name == "T1.":
        assert found(tasks, name).id == "T1"
        return
    with pytest.raises(UserMistake, match=rf"^there is no task {name}$") as refused:
        found(tasks, name)
    assert refused.value.next_step == "There are: T3, T4."


def test_ids_that_are_named() -> None:
    for tasks, said in (
        ([], "There are none yet: create one."),
        ([row("T1", "done")], "There are: T1."),
        ([row(f"T{n}") for n in range(1, 21)], f"There are: {', '.join(f'T{n}' for n in range(1, 21))}."),
        ([row(f"T{n}") for n in range(1, 22)], f"There are: {', '.join(f'T{n}' for n in range(1, 21))} and 1 more."),
        ([row(f"T{n}") for n in range(1, 23)], f"There are: {', '.join(f'T{n}' for n in range(1, 21))} and 2 more."),
    ):
        with pytest.raises(UserMistake) as refused:
            found(tasks, "x")
        assert refused.value.next_step == said


# --- moved --------------------------------------------------------------------------------------------------------

ROW = {"next_action": "run it", "owner": "actor_1", "at_seq": 3, "created": 1, "updated": 2}
REFUSED, SAME = "refused", "same"
TABLE: dict[str, dict[str, Any]] = {
    #            open           in_progress    blocked        done           abandoned
    "start": dict(zip(STATES, ("in_progress", SAME, "in_progress", "in_progress", "in_progress"), strict=True)),
    "next": dict(zip(STATES, ("open", "in_progress", REFUSED, REFUSED, REFUSED), strict=True)),
    "block": dict(zip(STATES, ("blocked", "blocked", "blocked", REFUSED, REFUSED), strict=True)),
    "unblock": dict(zip(STATES, (SAME, SAME, "open", REFUSED, REFUSED), strict=True)),
    "done": dict(zip(STATES, ("done", "done", "done", SAME, REFUSED), strict=True)),
    "abandon": dict(zip(STATES, ("abandoned", "abandoned", "abandoned", REFUSED, SAME), strict=True)),
    "rename": dict(zip(STATES, STATES, strict=True)),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("status", STATES)
def test_every_act_in_every_state(act: Act, status: TaskStatus) -> None:
    task = row("T1", status, **ROW)
    expected = TABLE[act][status]
    if expected == REFUSED:
        with pytest.raises(UserMistake, match=f"^T1 is {status}: ") as refused:
            acted([task], act, "T1", "new", now=9)
        assert refused.value.next_step == "Start T1 first if work on it goes on."
        return
    done = acted([task], act, "T1", "new", now=9)
    if expected == SAME:
        assert done.task is task
        assert done.word == "Nothing changed: it stood so already."
        return
    action = {"next": "new", "block": "new", "rename": "run it"}.get(act, "")
    if act == "start" and status == "open":
        action = "run it"
    summary = "new" if act == "rename" else "do T1"
    changed = msgspec.structs.replace(task, status=expected, summary=summary, next_action=action, updated=9)
    assert done.task == changed, "owner, parent, place and the time it was made stay"
    again = status in OVER and act == "start"
    assert done.word == (f"T1 was {status}: it is under way again." if again else "")


def test_the_same_again_changes_nothing() -> None:
    for task, act, text in (
        (row("T1", "blocked", next_action="no key"), "block", " no  key "),
        (row("T1", "in_progress", next_action="run"), "next", "run"),
        (row("T1", "done"), "rename", "do T1"),
    ):
        done = acted([task], act, "T1", text, now=9)  # type: ignore[arg-type]
        assert (done.task is task, done.word) == (True, "Nothing changed: it stood so already.")
    blocked = row("T1", "blocked", next_action="no key")
    assert acted([blocked], "block", "T1", "no net", now=9).task.next_action == "no net"
    assert len(acted([blocked], "block", "T1", "x" * 300, now=9).task.next_action) == SUMMARY


@pytest.mark.parametrize("act", ["done", "abandon"])
def test_open_parts_are_named_when_the_whole_is_over(act: Act) -> None:
    parts = [row("T1.1", "done"), row("T1.2"), row("T1.3.1", "blocked"), row("T1.4", "abandoned"), row("T10.1"), row("T2")]
    assert acted([row("T1"), *parts], act, "T1", now=9).word == "Still open below it: T1.2, T1.3.1."
    assert acted([row("T2"), *parts[:-1]], act, "T2", now=9).word == ""
    many = [row(f"T1.{n}") for n in range(1, 8)]
    assert acted([row("T1"), *many[:5]], act, "T1", now=9).word.endswith("T1.4, T1.5.")
    assert acted([row("T1"), *many], act, "T1", now=9).word.endswith("T1.4, T1.5 and 2 more.")
    assert acted([row("T1"), *many], "start", "T1", now=9).word == "", "only its end is"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["create", *ACTS]), st.integers(1, 4), st.sampled_from(["", "x", "y"])), max_size=25))
def test_whatever_is_done_the_list_stays_sound(steps: list[tuple[Any, int, str]]) -> None:
    tasks: dict[str, TaskRow] = {}
    for now, (act, number, text) in enumerate(steps, 1):
        before = dict(tasks)
        try:
            if act == "create":
                rows = created(list(tasks.values()), [text or "z"], f"T{number}" if text == "y" else "", now=now)
            else:
                rows = [acted(list(tasks.values()), act, f"T{number}", text, now=now).task]
        except UserMistake:
            continue
        tasks |= {one.id: one for one in rows}
        assert len(tasks) == len(before) + (act == "create"), "numbers are never used twice"
        for one in tasks.values():
            assert one.status in STATES
            assert one.created <= one.updated <= now
            assert not (one.status in OVER and one.next_action)
            assert one.parent_id == (one.id.rpartition(".")[0] or None)
            assert one.parent_id is None or one.parent_id in tasks
            if one.id in before and before[one.id].status in OVER and one.status not in OVER:
                assert act == "start", "nothing else brings a task back"


def test_what_a_reminder_shows() -> None:
    tasks = [row("T1", "done"), row("T2"), row("T3", "blocked"), row("T4", "in_progress"), row("T5", "abandoned"), row("T6")]
    assert todos(tasks) == (
        Todo("T4 do T4", "in_progress"),
        Todo("T3 do T3", "blocked"),
        Todo("T2 do T2", "open"),
        Todo("T6 do T6", "open"),
    )
    assert todos([row("T1", "done")]) == ()
    many = [row(f"T{n}") for n in range(1, 20)]
    assert [todo.text.split()[0] for todo in todos(many)] == [f"T{n}" for n in range(1, TODOS_MOST + 1)]
    assert TODOS_MOST == 10
    assert len(todos([TaskRow("T1", "x" * 240)])[0].text) == len("T1 ") + 120


# --- the registry -------------------------------------------------------------------------------------------------


class Kept:
    """Rows as an engine keeps them; the newest of an id holds, its place is that of the first."""

    def __init__(self) -> None:
        self.rows: list[TaskRow] = []

    @property
    def tasks(self) -> tuple[TaskRow, ...]:
        return tuple({one.id: one for one in self.rows}.values())

    async def put_task(self, task: TaskRow) -> None:
        await asyncio.sleep(0)
        self.rows.append(task)


def test_the_registry_writes_what_changes_and_nothing_else() -> None:
    async def main() -> None:
        kept, clock = Kept(), ManualClock(100)
        registry = Registry(kept, clock)
        assert ids(await registry.create(["a", "b"])) == ["T1", "T2"]
        clock.advance(5)
        assert ids(await registry.create(["c"], "T1")) == ["T1.1"]
        done = await registry.act("start", "t2")
        assert (done.task.status, done.task.created, done.task.updated) == ("in_progress", 100, 105)
        assert len(kept.rows) == 4
        assert (await registry.act("start", "T2")).word == "Nothing changed: it stood so already."
        with pytest.raises(UserMistake):
            await registry.act("start", "T9")
        with pytest.raises(UserMistake):
            await registry.create(["x"], "T9")
        assert len(kept.rows) == 4
        assert [(one.id, one.status) for one in await registry.all()] == [
            ("T1", "open"),
            ("T2", "in_progress"),
            ("T1.1", "open"),
        ]
        kept.rows.pop()  # an undo
        assert (await registry.act("start", "T2")).word == "", "what holds is read each time"

    asyncio.run(main())


def test_calls_that_come_at_once_follow_one_another(tmp_path: Path) -> None:
    async def main() -> None:
        kept = Kept()
        desk = Desk(tmp_path, tasks=Registry(kept, ManualClock(1)))
        calls: list[dict[str, Any]] = [{"do": "create", "text": f"- {n}a\n- {n}b"} for n in range(5)]
        done = await asyncio.gather(*(run(TASK, one, desk) for one in [*calls, {"do": "start", "id": "T10"}]))
        await desk.close()
        assert not any(one.error for one in done)
        assert [one.id for one in kept.rows] == [*(f"T{n}" for n in range(1, 11)), "T10"]
        assert [one.summary for one in kept.tasks][:4] == ["0a", "0b", "1a", "1b"]

    asyncio.run(main())


def asks(**arguments: str) -> list[Any]:
    return [CallEvent(f"call_{arguments['do']}", "task", arguments), FinishEvent(Finish.TOOL_CALLS)]


@pytest.mark.design("Y-3", "R-4", "W-12", "Y-6")
@pytest.mark.report(110)
def test_tasks_of_a_stored_session(tmp_path: Path) -> None:
    """Through the tool, in plan mode too; a turn that is undone takes its tasks with it; they outlive a rebuild."""

    async def main() -> None:
        where = await room(tmp_path)
        model = Told(
            asks(do="create", text="读解析器\nport it"),
            say("made"),
            asks(do="done", id="T1"),
            say("done"),
            asks(do="list"),
            say("ok"),
        )
        agent = await agent_in(where, model, mode="plan", tools=(*CORE, TASK), writer=ExtractiveWriter())
        agent.hands.desk.tasks = Registry(agent.engine, where.clock)
        await agent.turn("plan it")
        where.clock.advance(1_000)
        await agent.turn("go on")
        assert [(one.id, one.status) for one in agent.engine.tasks] == [("T1", "done"), ("T2", "open")]
        await agent.engine.rebuild()
        assert [one.status for one in agent.engine.tasks] == ["done", "open"]
        await agent.engine.undo()  # the window
        await agent.engine.undo()  # the turn
        assert [(one.id, one.status) for one in await where.store.tasks(agent.session_id)] == [("T1", "open"), ("T2", "open")]
        await agent.close()
        assert [event.text for event in where.of(Returned)] == [
            "- [open] T1 读解析器\n- [open] T2 port it",
            "- [done] T1 读解析器\nNext: [open] T2 port it",
        ]
        again = await agent_in(where, model, session_id=agent.session_id, how="resumed", tools=(*CORE, TASK))
        again.hands.desk.tasks = Registry(again.engine, where.clock)
        await again.turn("and?")
        assert where.of(Returned)[-1].text == "- [open] T1 读解析器\n- [open] T2 port it"
        await again.close()

    asyncio.run(main())
