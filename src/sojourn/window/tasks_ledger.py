"""Row 1 of an opening: the tasks (W-3, Y-3), and the one that the closing names (W-7)."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from sojourn.meter import fit_line
from sojourn.record import TaskRow, TaskStatus
from sojourn.window.texts import TASKS_CUT
from sojourn.window.types import OpeningSection, OpenTask

_ORDER: tuple[TaskStatus, ...] = ("in_progress", "blocked", "open", "done", "abandoned")
_CLOSED = ("done", "abandoned")
_SUMMARY_CHARACTERS, _NEXT_CHARACTERS, _OWNER_CHARACTERS = 200, 160, 60
_STATUS = re.compile(r" *- \[([a-z ]+)\]")


def tasks_ledger(tasks: Sequence[TaskRow]) -> OpeningSection | None:
    """The whole tree, a line a task: ``- [in progress] T1.2 summary; next: ...``; None without tasks.

    Trees with an open task come first (in progress, blocked, open, done, abandoned: the first of these that the tree
    holds), among them the one changed last; children stand below their parent, indented, in the same order.
    """
    if not tasks:
        return None
    children = _children(tasks)
    rank = _ranks(tasks, children)

    def lines(parent: str | None, depth: int) -> Iterator[str]:
        for task in sorted(children.get(parent, ()), key=lambda one: rank[one.id]):
            yield f"{'  ' * depth}{_line(task)}"
            yield from lines(task.id, depth + 1)

    return OpeningSection("tasks", "\n".join(lines(None, 0)))


def left_out(lines: Sequence[str]) -> str:
    """What stands for lines of a ledger that do not fit: how many tasks of each status they are of."""
    found = Counter(match[1] for line in lines if (match := _STATUS.match(line)))
    counts = (f"{found[status]} {status}" for status in (one.replace("_", " ") for one in _ORDER) if found[status])
    return TASKS_CUT.format(counts=", ".join(counts))


def open_task(tasks: Sequence[TaskRow], progress: Callable[[str], str] | None = None) -> OpenTask | None:
    """The task that the closing names (W-7): the one in progress that was changed last, else the open one that was; None
    without either (a blocked task is none to go on with). ``progress``: from a task's id to its progress file, "" = none."""
    for status in ("in_progress", "open"):
        newest = max(
            ((task.updated, place) for place, task in enumerate(tasks) if task.status == status),
            default=None,
        )
        if newest is not None:
            task = tasks[newest[1]]
            return OpenTask(f"{task.id} {task.summary}", task.next_action, progress(task.id) if progress else "")
    return None


def _children(tasks: Sequence[TaskRow]) -> Mapping[str | None, list[TaskRow]]:
    """By the parent's id. A task whose ancestors end nowhere, or in a circle, stands at the top."""
    parents = {task.id: task.parent_id for task in tasks}
    children: dict[str | None, list[TaskRow]] = {}
    for task in tasks:
        seen = {task.id}
        above = task.parent_id
        while above is not None and above in parents and above not in seen:
            seen.add(above)
            above = parents[above]
        known = task.parent_id in parents and above != task.id
        children.setdefault(task.parent_id if known else None, []).append(task)
    return children


def _ranks(tasks: Sequence[TaskRow], children: Mapping[str | None, list[TaskRow]]) -> dict[str, tuple[int, int, int]]:
    """By id: the best status in its tree, then the newest change in it, the later made of two first."""
    ranks: dict[str, tuple[int, int, int]] = {}
    place = {task.id: index for index, task in enumerate(tasks)}

    def ranked(task: TaskRow) -> tuple[int, int, int]:
        below = [ranked(child) for child in children.get(task.id, ())]
        own = (_ORDER.index(task.status), -task.updated, -place[task.id])
        ranks[task.id] = (
            min([own[0], *(one[0] for one in below)]),
            min([own[1], *(one[1] for one in below)]),
            own[2],
        )
        return ranks[task.id]

    for task in children.get(None, ()):
        ranked(task)
    return ranks


def _line(task: TaskRow) -> str:
    line = f"- [{task.status.replace('_', ' ')}] {task.id} {fit_line(task.summary, _SUMMARY_CHARACTERS)}"
    if task.owner:
        line += f" ({fit_line(task.owner, _OWNER_CHARACTERS)})"
    if task.next_action and task.status not in _CLOSED:
        word = "blocked by" if task.status == "blocked" else "next"
        line += f"; {word}: {fit_line(task.next_action, _NEXT_CHARACTERS)}"
    return line
