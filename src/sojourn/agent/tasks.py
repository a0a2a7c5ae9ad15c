"""The session's tasks: how one state follows another, and the registry that writes them down (Y-3).

A task is open, under way, blocked, done or abandoned. Only ``start`` brings back one that is over; the same state twice
changes nothing and says so. Each change is a row of its own: an undo of the turn takes it back.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from sojourn.base import Clock, UserMistake
from sojourn.meter import fit_line
from sojourn.record import TaskRow, TaskStatus
from sojourn.reminders import Todo
from sojourn.tools import Act, Acted

SUMMARY = 240
"""Characters of a summary or a next action, on one line."""
TODOS_MOST = 10
"""Tasks that a reminder names."""
_TODO = 120
_NAMED_MOST = 5
_OVER = ("done", "abandoned")
_ID = re.compile(r"#?[tT]?(\d+(?:\.\d+)*)[:.]?")
_TO: dict[Act, TaskStatus] = {
    "start": "in_progress", "block": "blocked", "unblock": "open", "done": "done", "abandon": "abandoned",
}  # fmt: skip


def created(tasks: Sequence[TaskRow], summaries: Sequence[str], parent: str = "", *, now: int) -> Sequence[TaskRow]:
    """New rows, open, numbered behind their siblings: ``T1``, below a parent ``T1.1``.

    Raises UserMistake for a parent that is none or is over.
    """
    above = found(tasks, parent) if parent else None
    if above is not None and above.status in _OVER:
        raise UserMistake(f"{above.id} is {above.status}: it takes no new parts", next_step=f"Start {above.id} again first.")
    prefix = f"{above.id}." if above else "T"
    siblings = (task.id.removeprefix(prefix) for task in tasks if task.id.startswith(prefix))
    last = max((int(number) for number in siblings if number.isdecimal()), default=0)
    return [
        TaskRow(
            id=f"{prefix}{number}",
            summary=fit_line(summary, SUMMARY),
            parent_id=above.id if above else None,
            created=now,
            updated=now,
        )
        for number, summary in enumerate(summaries, last + 1)
    ]


def acted(tasks: Sequence[TaskRow], act: Act, task_id: str, text: str = "", *, now: int) -> Acted:
    """The task after the act; the row itself where nothing changed, with a word that says so.

    ``unblock`` makes a task open again: nobody works on it before ``start``, which a blocked one takes as well. A next
    action goes with the state that it belonged to; it is kept when an open task is started. Raises UserMistake for an
    unknown id, and for an act that a task in this state does not take.
    """
    task = found(tasks, task_id)
    text = fit_line(text, SUMMARY)
    if act == "rename":
        changed = msgspec.structs.replace(task, summary=text)
    elif act == "next":
        _refuse_unless(task.status in ("open", "in_progress"), task, "it has no next step")
        changed = msgspec.structs.replace(task, next_action=text)
    else:
        changed = _moved(task, act, text)
    if changed == task:
        return Acted(task, "Nothing changed: it stood so already.")
    word = ""
    if act == "start" and task.status in _OVER:
        word = f"{task.id} was {task.status}: it is under way again."
    elif act in ("done", "abandon") and (left := _open_below(tasks, task.id)):
        names = ", ".join(left[:_NAMED_MOST]) + (f" and {len(left) - _NAMED_MOST} more" if len(left) > _NAMED_MOST else "")
        word = f"Still open below it: {names}."
    return Acted(msgspec.structs.replace(changed, updated=now), word)


def _moved(task: TaskRow, act: Act, text: str) -> TaskRow:
    status = _TO[act]
    if act != "start" and task.status != status:
        _refuse_unless(task.status not in _OVER, task, f"{act} means nothing to it")
    if act == "block":
        return msgspec.structs.replace(task, status=status, next_action=text)
    if task.status == status or (act == "unblock" and task.status == "in_progress"):
        return task
    keeps = act == "start" and task.status == "open"
    return msgspec.structs.replace(task, status=status, next_action=task.next_action if keeps else "")


def _refuse_unless(fine: bool, task: TaskRow, why: str) -> None:
    if not fine:
        state = task.status.replace("_", " ")
        raise UserMistake(f"{task.id} is {state}: {why}", next_step=f"Start {task.id} first if work on it goes on.")


def found(tasks: Sequence[TaskRow], task_id: str) -> TaskRow:
    """The task that is meant by ``T1``, ``t1``, ``1`` or ``#T1``. UserMistake: none is, with the ids there are."""
    match = _ID.fullmatch(task_id.strip())
    task = next((one for one in tasks if match and one.id == f"T{match[1]}"), None)
    if task is None:
        known = [one.id for one in tasks if one.status not in _OVER] or [one.id for one in tasks]
        more = f" and {len(known) - 20} more" if len(known) > 20 else ""
        ids = f"There are: {', '.join(known[:20])}{more}." if known else "There are none yet: create one."
        raise UserMistake(f"there is no task {task_id}", next_step=ids)
    return task


def _open_below(tasks: Iterable[TaskRow], task_id: str) -> list[str]:
    return [task.id for task in tasks if task.id.startswith(f"{task_id}.") and task.status not in _OVER]


def todos(tasks: Sequence[TaskRow]) -> tuple[Todo, ...]:
    """What a reminder shows: the tasks that are not over, under way first, then blocked, then open, at most 10."""
    left = [task for status in ("in_progress", "blocked", "open") for task in tasks if task.status == status]
    return tuple(Todo(f"{task.id} {fit_line(task.summary, _TODO)}", task.status) for task in left[:TODOS_MOST])


class Rows(Protocol):
    """Where tasks are kept: an ``Engine``."""

    @property
    def tasks(self) -> Sequence[TaskRow]:
        """The newest state of each, in the order in which they were made."""
        ...

    async def put_task(self, task: TaskRow) -> None:
        """A new state; where it stands in the session is the keeper's to say."""
        ...


class Registry:
    """The tasks of one session, for its tools. What holds is read from the rows each time: an undo may have
    changed it. Calls that come at once follow one another in their order."""

    def __init__(self, rows: Rows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._turn = asyncio.Lock()

    async def all(self) -> Sequence[TaskRow]:
        return self._rows.tasks

    async def create(self, summaries: Sequence[str], parent: str = "") -> Sequence[TaskRow]:
        async with self._turn:
            rows = created(self._rows.tasks, summaries, parent, now=self._clock.now())
            for row in rows:
                await self._rows.put_task(row)
            return rows

    async def act(self, act: Act, task_id: str, text: str = "") -> Acted:
        async with self._turn:
            tasks = self._rows.tasks
            done = acted(tasks, act, task_id, text, now=self._clock.now())
            if done.task not in tasks:
                await self._rows.put_task(done.task)
            return done
