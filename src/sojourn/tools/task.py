"""The ``task`` tool: the session's tasks, kept outside the window (Y-3)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from sojourn.record import TaskRow
from sojourn.tools.desk import Act, Desk, Tasks
from sojourn.tools.texts import text
from sojourn.tools.types import Outcome, Tool, failed, said

CREATED_MOST = 50
"""Tasks of one call."""
LISTED_MOST = 60
"""Lines of one answer; those that are over are left out first."""
_MARKS = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])(?:\s+|$)|\d{1,3}、\s*)?(?:\[[ xX]?\]\s*)?")
"""What stands before a line of a list."""
_OVER = ("done", "abandoned")
_WORKED_ON = ("in_progress", "open", "blocked")
"""What to go on with, first."""
_NEEDS_TEXT = ("next", "block", "rename")


def task_line(task: TaskRow) -> str:
    """``- [in progress] T1.2 summary; next: ...``, indented below its parents."""
    said = {"in_progress": "; next: ", "open": "; next: ", "blocked": "; blocked by: "}.get(task.status, "")
    action = f"{said}{task.next_action}" if said and task.next_action else ""
    return f"{'  ' * task.id.count('.')}- [{task.status.replace('_', ' ')}] {task.id} {task.summary}{action}"


def tree(tasks: Iterable[TaskRow]) -> Iterator[TaskRow]:
    """Each task followed by its parts, in the order of their numbers."""
    return iter(sorted(tasks, key=lambda task: [int(part) for part in task.id[1:].split(".")]))


async def _task(arguments: dict[str, Any], desk: Desk) -> Outcome:
    if desk.tasks is None:
        return failed("This session keeps no tasks.", "Go on without them.")
    do, said_text = arguments["do"], arguments.get("text", "").strip()
    task_id, parent = arguments.get("id", "").strip(), arguments.get("parent", "").strip()
    if do == "list":
        return said(_listed(await desk.tasks.all()))
    if do == "create":
        return await _create(said_text, parent, desk.tasks)
    if not task_id:
        return failed(f"{do} needs the id of a task, such as T1.", "Ids stand in the list.")
    if do in _NEEDS_TEXT and not said_text:
        return failed(f"{do} needs text.", 'For example {"do": "next", "id": "T1", "text": "run the tests"}.')
    acted = await desk.tasks.act(do, task_id, said_text)
    lines = [task_line(acted.task).strip(), *([acted.word] if acted.word else [])]
    if acted.task.status in _OVER:
        lines += _what_is_left(await desk.tasks.all())
    return said("\n".join(lines))


async def _create(lines: str, parent: str, tasks: Tasks) -> Outcome:
    summaries = [summary for line in lines.split("\n") if (summary := _MARKS.sub("", line, count=1).strip())]
    if not summaries:
        return failed("create needs text.", 'For example {"do": "create", "text": "read the parser\\nport it"}.')
    if len(summaries) > CREATED_MOST:
        return failed(f"{len(summaries)} tasks at once are too many: none was made.", f"At most {CREATED_MOST}.")
    return said("\n".join(task_line(task).strip() for task in await tasks.create(summaries, parent)))


def _what_is_left(tasks: Sequence[TaskRow]) -> Iterator[str]:
    """One line: what to go on with, and how many stand behind it."""
    left = [task for status in _WORKED_ON for task in tree(tasks) if task.status == status]
    if not left:
        yield "Nothing else is open."
        return
    more = f" ({len(left) - 1} more open)" if len(left) > 1 else ""
    yield f"Next: {task_line(left[0]).strip()[2:]}{more}"


def _listed(tasks: Sequence[TaskRow]) -> str:
    if not tasks:
        return "There are no tasks."
    shown = list(tree(tasks))
    if len(shown) > LISTED_MOST:
        over = [task for task in shown if task.status in _OVER]
        gone = {task.id for task in over[: len(shown) - LISTED_MOST]}
        shown = [task for task in shown if task.id not in gone][:LISTED_MOST]
    lines = list(map(task_line, shown))
    if len(tasks) > len(shown):
        kept = {task.id for task in shown}
        counts = {status: sum(t.status == status and t.id not in kept for t in tasks) for status in (*_WORKED_ON, *_OVER)}
        named = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in counts.items() if count)
        lines.append(f"[not shown: {named}]")
    return "\n".join(lines)


TASK = Tool(
    name="task",
    description=text("task"),
    schema={
        "type": "object",
        "properties": {
            "do": {"enum": ["create", "list", *get_args(Act)]},
            "id": {"type": "string"},
            "text": {"type": "string"},
            "parent": {"type": "string"},
        },
        "required": ["do"],
    },
    effect="read",
    subject="",
    run=_task,
)
"""It changes nothing but the session's own list: plan mode has it too."""
