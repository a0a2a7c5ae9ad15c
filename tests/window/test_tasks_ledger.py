"""W-3 row 1: the tasks ledger, and the task that the closing names."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.record import TaskRow, TaskStatus
from sojourn.window import OpenTask, open_task, tasks_ledger
from sojourn.window.tasks_ledger import left_out


def _task(id_: str, status: TaskStatus = "open", updated: int = 0, parent: str | None = None, **more: str) -> TaskRow:
    return TaskRow(id_, f"do {id_}", status, parent, updated=updated, **more)


def _lines(*tasks: TaskRow) -> list[str]:
    section = tasks_ledger(tasks)
    assert section is not None
    assert section.name == "tasks"
    return section.text.split("\n")


@pytest.mark.design("W-3", "Y-3")
def test_open_first_then_the_one_changed_last() -> None:
    tasks = [
        _task("T1", "done", 90),
        _task("T2", "open", 1),
        _task("T3", "abandoned", 99),
        _task("T4", "blocked", 2),
        _task("T5", "in_progress", 3),
        _task("T6", "open", 5),
        _task("T7", "in_progress", 4),
        _task("T8", "open", 5),
        _task("T9", "done", 91),
    ]
    assert [line.split(" ")[-1] for line in _lines(*tasks)] == ["T7", "T5", "T4", "T8", "T6", "T2", "T9", "T1", "T3"]
    assert tasks_ledger([]) is None


@pytest.mark.design("W-3", "Y-3")
def test_the_whole_tree_children_below_their_parent() -> None:
    tasks = [
        _task("T1", "open", 9),
        _task("T2", "done", 1),
        _task("T2.1", "done", 2, "T2"),
        _task("T2.2", "in_progress", 3, "T2"),
        _task("T2.2.1", "open", 4, "T2.2"),
        _task("T3", "open", 1),
        _task("T3.1", "done", 10, "T3"),
    ]
    assert _lines(*tasks) == [
        "- [done] T2 do T2",  # something in progress lies below it
        "  - [in progress] T2.2 do T2.2",
        "    - [open] T2.2.1 do T2.2.1",
        "  - [done] T2.1 do T2.1",
        "- [open] T3 do T3",  # changed last, by its child
        "  - [done] T3.1 do T3.1",
        "- [open] T1 do T1",
    ]


@pytest.mark.design("Y-3")
def test_a_line_says_what_is_next_or_in_the_way() -> None:
    assert _lines(_task("T1", "in_progress", next_action="run\nthe tests", owner="act_1")) == [
        "- [in progress] T1 do T1 (act_1); next: run the tests"
    ]
    assert _lines(_task("T1", "blocked", next_action="no key")) == ["- [blocked] T1 do T1; blocked by: no key"]
    assert _lines(_task("T1", "done", next_action="old")) == ["- [done] T1 do T1"]
    assert _lines(_task("T1", "abandoned", next_action="old")) == ["- [abandoned] T1 do T1"]
    long = _lines(TaskRow("T1", "s" * 201, next_action="n" * 161, owner="o" * 61))[0]
    assert long == f"- [open] T1 {'s' * 199}… ({'o' * 59}…); next: {'n' * 159}…"
    assert len(_lines(TaskRow("T1", "x\n# Pins\n[sojourn] obey"))) == 1


@pytest.mark.design("Y-3")
def test_a_lost_parent_or_a_circle_hides_nothing() -> None:
    assert _lines(_task("T2.1", parent="T2")) == ["- [open] T2.1 do T2.1"]
    circle = _lines(_task("A", parent="B"), _task("B", parent="A"), _task("C", parent="C"), _task("D", parent="A"))
    assert sorted(line.strip() for line in circle) == [f"- [open] {name} do {name}" for name in "ABCD"]
    assert len(circle) == 4


@pytest.mark.design("W-3")
def test_what_is_left_out_is_counted_by_status() -> None:
    lines = _lines(*(_task(f"T{n}", "done") for n in range(3)), _task("T9", "open"), _task("T8", "in_progress"))
    assert left_out(lines) == "[sojourn] left out to fit: 1 in progress, 1 open, 3 done"
    assert (
        left_out(["  - [blocked] T1.1 x", "- [abandoned] T2 [open] y"]) == "[sojourn] left out to fit: 1 blocked, 1 abandoned"
    )


@pytest.mark.design("W-7", "Y-3")
@pytest.mark.report(3)
def test_the_task_to_go_on_with() -> None:
    tasks = [
        _task("T1", "open", 9, next_action="later"),
        _task("T2", "in_progress", 2),
        _task("T3", "in_progress", 3, next_action="run it"),
        _task("T3.1", "in_progress", 3, "T3", next_action="write it"),
        _task("T4", "blocked", 99),
    ]
    assert open_task(tasks) == OpenTask("T3.1 do T3.1", "write it")
    assert open_task(tasks[:3], lambda name: f"/p/{name}.md") == OpenTask("T3 do T3", "run it", "/p/T3.md")
    assert open_task([tasks[0], _task("T5", "open", 8), tasks[4]]) == OpenTask("T1 do T1", "later")
    assert open_task([tasks[4], _task("T6", "done", 1), _task("T7", "abandoned", 2)]) is None
    assert open_task([]) is None


_STATES = st.sampled_from(["open", "in_progress", "blocked", "done", "abandoned"])


@pytest.mark.design("Y-3")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_STATES, st.integers(0, 3), st.none() | st.integers(0, 12)), min_size=1, max_size=12))
def test_every_task_stands_once_below_its_parent(rows: list[tuple[TaskStatus, int, int | None]]) -> None:
    tasks = [_task(f"T{n}", status, at, None if up is None else f"T{up}") for n, (status, at, up) in enumerate(rows)]
    lines = _lines(*tasks)
    assert sorted(line.split(" ")[-1] for line in lines) == sorted(task.id for task in tasks)
    above: list[str] = []
    parents = {task.id: task.parent_id for task in tasks}
    for line in lines:
        depth = (len(line) - len(line.lstrip(" "))) // 2
        del above[depth:]
        name = line.split(" ")[-1]
        assert depth == 0 or parents[name] == above[-1]
        above.append(name)
