"""The ``task`` tool over a list that does as it is told (Y-3)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sojourn.base import UserMistake
from sojourn.meter import estimate_text, estimate_value, total
from sojourn.record import TaskRow
from sojourn.tools import TASK, Act, Acted, Desk, Outcome, effect_of, run
from sojourn.tools.task import CREATED_MOST, LISTED_MOST, task_line, tree

pytestmark = pytest.mark.design("Y-3")


def row(task_id: str, status: Any = "open", summary: str = "", action: str = "") -> TaskRow:
    return TaskRow(task_id, summary or f"do {task_id}", status, next_action=action)


class Listed:
    """Answers what it was given, writes down what it was asked."""

    def __init__(self, *rows: TaskRow, word: str = "", answer: TaskRow | None = None) -> None:
        self.rows, self.word, self.answer = rows, word, answer
        self.asked: list[tuple[Any, ...]] = []

    async def all(self) -> Sequence[TaskRow]:
        return self.rows

    async def create(self, summaries: Sequence[str], parent: str = "") -> Sequence[TaskRow]:
        self.asked.append(("create", list(summaries), parent))
        return [row(f"{parent or 'T'}{'.' if parent else ''}{n}", summary=one) for n, one in enumerate(summaries, 1)]

    async def act(self, act: Act, task_id: str, text: str = "") -> Acted:
        self.asked.append((act, task_id, text))
        if self.answer is None:
            raise UserMistake(f"there is no task {task_id}", next_step="There are: T1.")
        return Acted(self.answer, self.word)


def ask(tmp_path: Path, tasks: Listed | None, **arguments: Any) -> Outcome:
    async def main() -> Outcome:
        desk = Desk(tmp_path, tasks=tasks)
        try:
            assert effect_of(TASK, arguments, desk) == "read", "plan mode has it too"
            return await run(TASK, arguments, desk)
        finally:
            await desk.close()

    return asyncio.run(main())


def good(tmp_path: Path, tasks: Listed, **arguments: Any) -> str:
    outcome = ask(tmp_path, tasks, **arguments)
    assert not outcome.error, outcome.text
    return outcome.text


def bad(tmp_path: Path, tasks: Listed | None, **arguments: Any) -> str:
    outcome = ask(tmp_path, tasks, **arguments)
    assert outcome.error, outcome.text
    return outcome.text


@pytest.mark.design("P-8")
def test_it_is_lean() -> None:
    assert 50 < total(estimate_value(TASK.listed())) < 150
    assert total(estimate_text(TASK.description)) < 50


def test_a_line() -> None:
    assert task_line(row("T1")) == "- [open] T1 do T1"
    assert task_line(row("T1.2", "in_progress", "移植", "跑测试")) == "  - [in progress] T1.2 移植; next: 跑测试"
    assert task_line(row("T1.2.1", "open", "x", "y")) == "    - [open] T1.2.1 x; next: y"
    assert task_line(row("T2", "blocked", "x", "no key")) == "- [blocked] T2 x; blocked by: no key"
    for over in ("done", "abandoned"):
        assert task_line(row("T3", over, "x", "y")) == f"- [{over}] T3 x"


def test_the_tree_goes_by_numbers() -> None:
    ids = ["T10", "T2", "T1", "T1.10", "T1.2", "T1.2.1", "T9"]
    assert [task.id for task in tree(map(row, ids))] == ["T1", "T1.2", "T1.2.1", "T1.10", "T2", "T9", "T10"]


@pytest.mark.parametrize(
    ("text", "summaries"),
    [
        ("read it", ["read it"]),
        ("- read it\n\n  * port it \n+ test it\n• ship it", ["read it", "port it", "test it", "ship it"]),
        ("1. read it\n2) port it\n12、跑测试", ["read it", "port it", "跑测试"]),
        ("- [ ] read it\n- [x] port it\n[ ] test", ["read it", "port it", "test"]),
        ("3 files to read\n-x flag\n3.11 support\n**now**", ["3 files to read", "-x flag", "3.11 support", "**now**"]),
        ("100. read it\n1000. is the limit", ["read it", "1000. is the limit"]),
    ],
)
def test_create_takes_a_line_a_task(tmp_path: Path, text: str, summaries: list[str]) -> None:
    tasks = Listed()
    lines = good(tmp_path, tasks, do="create", text=text, parent=" T4 ").split("\n")
    assert tasks.asked == [("create", summaries, "T4")]
    assert lines == [f"- [open] T4.{number} {summary}" for number, summary in enumerate(summaries, 1)]


def test_create_at_most(tmp_path: Path) -> None:
    tasks = Listed()
    assert bad(tmp_path, tasks, do="create", text="x\n" * 51) == "51 tasks at once are too many: none was made.\nAt most 50."
    assert bad(tmp_path, tasks, do="create").startswith("create needs text.\nFor example {")
    assert bad(tmp_path, tasks, do="create", text="- \n1.\n").startswith("create needs text.")
    assert tasks.asked == []
    assert good(tmp_path, tasks, do="create", text="x\n" * CREATED_MOST).count("\n") == 49


def test_an_act_answers_with_the_line_and_a_word(tmp_path: Path) -> None:
    tasks = Listed(row("T1"), word="It stood so already.", answer=row("T1.1", "blocked", "x", "no key"))
    assert good(tmp_path, tasks, do="block", id=" T1.1 ", text=" no key ") == (
        "- [blocked] T1.1 x; blocked by: no key\nIt stood so already."
    )
    assert good(tmp_path, tasks, do="start", id="T1.1").startswith("- [blocked]")
    assert tasks.asked == [("block", "T1.1", "no key"), ("start", "T1.1", "")]


@pytest.mark.parametrize("over", ["done", "abandoned"])
def test_what_is_over_leads_to_the_next(tmp_path: Path, over: Any) -> None:
    done = row("T1", over)
    rows = [done, row("T2", "blocked"), row("T10"), row("T3"), row("T4", "in_progress", action="run"), row("T5", "done")]
    tasks = Listed(*rows, answer=done)
    line = f"- [{over}] T1 do T1"
    assert good(tmp_path, tasks, do="done", id="T1") == f"{line}\nNext: [in progress] T4 do T4; next: run (3 more open)"
    tasks.rows = (*rows[:4], rows[5])
    assert good(tmp_path, tasks, do="done", id="T1") == f"{line}\nNext: [open] T3 do T3 (2 more open)"
    tasks.rows = (done, row("T2", "blocked", action="no key"))
    assert good(tmp_path, tasks, do="done", id="T1") == f"{line}\nNext: [blocked] T2 do T2; blocked by: no key"
    tasks.rows = (done, row("T2.1"), row("T2", "done"), row("T3", "blocked"))
    assert good(tmp_path, tasks, do="done", id="T1") == f"{line}\nNext: [open] T2.1 do T2.1 (1 more open)"
    tasks.rows = (done,)
    assert good(tmp_path, tasks, do="done", id="T1") == f"{line}\nNothing else is open."


def test_list_shows_the_tree(tmp_path: Path) -> None:
    tasks = Listed(row("T2", "done"), row("T1"), row("T1.1", "in_progress"))
    assert good(tmp_path, tasks, do="list") == "- [open] T1 do T1\n  - [in progress] T1.1 do T1.1\n- [done] T2 do T2"
    assert good(tmp_path, Listed(), do="list") == "There are no tasks."


def test_a_long_list_leaves_out_what_is_over_and_counts_the_rest(tmp_path: Path) -> None:
    over = [row(f"T{n}", "done" if n % 2 else "abandoned") for n in range(1, 41)]
    left = [row(f"T{n}", "open" if n % 2 else "blocked") for n in range(41, 101)]
    whole = good(tmp_path, Listed(*over[:30], *left[:30]), do="list").split("\n")
    assert len(whole) == LISTED_MOST == 60
    assert not whole[-1].startswith("[")
    lines = good(tmp_path, Listed(*over[:31], *left[:30]), do="list").split("\n")
    assert (len(lines), lines[0], lines[-1]) == (61, "- [abandoned] T2 do T2", "[not shown: 1 done]")
    lines = good(tmp_path, Listed(*over, *left), do="list").split("\n")
    assert [line.split()[-1] for line in lines[:60]] == [task.id for task in left], "what is to be done stays"
    assert lines[60:] == ["[not shown: 20 done, 20 abandoned]"]
    more = [row(f"T{n}", "in_progress") for n in range(101, 104)]
    lines = good(tmp_path, Listed(*over, *left, *more), do="list").split("\n")
    assert lines[60:] == ["[not shown: 3 in progress, 20 done, 20 abandoned]"]


def test_refusals(tmp_path: Path) -> None:
    tasks = Listed()
    assert bad(tmp_path, None, do="list") == "This session keeps no tasks.\nGo on without them."
    assert bad(tmp_path, tasks, do="done") == "done needs the id of a task, such as T1.\nIds stand in the list."
    for do in ("next", "block", "rename"):
        assert bad(tmp_path, tasks, do=do, id="T1", text=" ").startswith(f"{do} needs text.\n")
    assert tasks.asked == []
    assert bad(tmp_path, tasks, do="start", id="T9") == "there is no task T9\nThere are: T1."
    for do in ("start", "unblock", "done", "abandon"):
        assert not ask(tmp_path, Listed(answer=row("T1")), do=do, id="T1").error, "text is not needed"
