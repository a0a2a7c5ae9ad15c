"""Windows, checkpoints, tasks and undos of an exported session, back in as rows of their own (R-14)."""

from collections.abc import Iterable

import msgspec

from sojourn.base import Ids, WorkFailed
from sojourn.record import (
    AddCheckpoint,
    AddUndo,
    AddWindow,
    Change,
    Fence,
    Fenced,
    Lease,
    PutTask,
    SetSession,
    Store,
)
from sojourn.record.journal import CheckpointRow, Header, Row, TaskStateRow, UndoRow, WindowRow

_Kept = WindowRow | CheckpointRow | TaskStateRow | UndoRow


async def restore_rows(store: Store, lease: Lease, rows: Iterable[Header | Row], ids: Ids) -> int:
    """Adds the rows in the order in which they were made, under new ids (a task's id is the session's own and stays), and
    what the session's row says of its messages; answers how many changes. The messages are there already, with their old
    seqs. Raises WorkFailed where the store refuses."""
    changes: list[Change] = []
    kept: list[tuple[int, _Kept]] = []
    newest_task = 0
    for row in rows:
        if isinstance(row, Header) and row.session.plan_seq:
            changes.append(SetSession(plan_seq=row.session.plan_seq))
        elif isinstance(row, _Kept):
            made = _made(row)
            if isinstance(row, TaskStateRow):  # the last state holds: a clock that was set back must not reorder them
                made = newest_task = max(newest_task, made)
            kept.append((made, row))
    names: dict[str, str] = {}
    changes += (_change(row, names, ids) for _, row in sorted(kept, key=lambda pair: pair[0]))
    if changes:
        done = await store.commit(lease.session_id, Fence(epoch=lease.epoch), changes)
        if isinstance(done, Fenced):
            raise WorkFailed(f"windows and checkpoints of {lease.session_id} could not be restored ({done.reason})")
    return len(changes)


def _change(row: _Kept, names: dict[str, str], ids: Ids) -> Change:
    """The row under a new id; ``names`` = the new ids by the old ones."""
    match row:
        case WindowRow(window):
            names[window.id] = ids.new("win")
            checkpoint_id = names.get(window.checkpoint_id or "")
            return AddWindow(msgspec.structs.replace(window, id=names[window.id], checkpoint_id=checkpoint_id, prefix_id=None))
        case CheckpointRow(checkpoint):
            names[checkpoint.id] = ids.new("ckp")
            previous = names.get(checkpoint.previous_id or "")
            return AddCheckpoint(msgspec.structs.replace(checkpoint, id=names[checkpoint.id], previous_id=previous))
        case TaskStateRow(task):
            return PutTask(task)
        case UndoRow(undo):
            names[undo.id] = ids.new("undo")
            return AddUndo(
                msgspec.structs.replace(
                    undo,
                    id=names[undo.id],
                    window_id=names.get(undo.window_id or ""),
                    closes=names.get(undo.closes or ""),
                )
            )


def _made(row: _Kept) -> int:
    match row:
        case WindowRow(window):
            return window.created
        case CheckpointRow(checkpoint):
            return checkpoint.created
        case TaskStateRow(task):
            return task.updated
        case UndoRow(undo):
            return undo.created
