"""Tasks: one row for each state of one, so that an undo brings the state before it back (Y-3, R-4)."""

from collections.abc import Sequence

import apsw

from sojourn.record.codec import decode, encode
from sojourn.record.lineage import Segment, cover
from sojourn.record.types import TaskRow
from sojourn.record.work import Work


def put_task(work: Work, task: TaskRow) -> None:
    """Writes a state of the task; the rows before it stay."""
    work.db.execute(
        "INSERT INTO tasks (sid, id, at_seq, undos_before, body) VALUES (?, ?, ?, ?, ?)",
        (work.sid, task.id, task.at_seq, len(work.undos), encode(task)),
    )


def read_tasks(db: apsw.Connection, chain: Sequence[Segment], every_state: bool) -> list[TaskRow]:
    """The newest row of each id in view, in the order in which they came into it; ``every_state`` = all rows, oldest first."""
    hidden = cover(db, chain)
    newest: dict[str, bytes] = {}
    every: list[bytes] = []
    for segment in reversed(chain):
        rows = db.execute(
            "SELECT id, at_seq, undos_before, body FROM tasks WHERE sid = ? AND pk <= ? AND at_seq <= ? ORDER BY pk",
            (segment.sid, segment.task_cap, segment.upto),
        )
        for name, at_seq, undos_before, body in rows:
            every.append(body)
            if not hidden.row(at_seq, undos_before):
                newest[name] = body  # an id that is there keeps its place
    return [decode(body, TaskRow) for body in (every if every_state else newest.values())]
