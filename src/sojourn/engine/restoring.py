"""Windows, checkpoints and undos of an exported session, back in as rows of their own (R-14)."""

from collections.abc import Iterable

import msgspec

from sojourn.base import Ids, WorkFailed
from sojourn.record import AddCheckpoint, AddUndo, AddWindow, Change, Fence, Fenced, Lease, Store
from sojourn.record.journal import CheckpointRow, Header, Row, UndoRow, WindowRow

_NOT_A_MESSAGE = (WindowRow, CheckpointRow, UndoRow)


async def restore_rows(store: Store, lease: Lease, rows: Iterable[Header | Row], ids: Ids) -> int:
    """Adds the rows in the order in which they were made, under new ids; answers how many. The messages are there already,
    with their old seqs. Raises WorkFailed where the store refuses."""
    kept = sorted((_body(row) for row in rows if isinstance(row, _NOT_A_MESSAGE)), key=lambda body: body[0])
    names: dict[str, str] = {}
    changes: list[Change] = []
    for _, row in kept:
        match row:
            case WindowRow(window):
                names[window.id] = ids.new("win")
                checkpoint_id = names.get(window.checkpoint_id or "")
                changes.append(
                    AddWindow(msgspec.structs.replace(window, id=names[window.id], checkpoint_id=checkpoint_id, prefix_id=None))
                )
            case CheckpointRow(checkpoint):
                names[checkpoint.id] = ids.new("ckp")
                previous = names.get(checkpoint.previous_id or "")
                changes.append(
                    AddCheckpoint(msgspec.structs.replace(checkpoint, id=names[checkpoint.id], previous_id=previous))
                )
            case UndoRow(undo):
                names[undo.id] = ids.new("undo")
                changes.append(
                    AddUndo(
                        msgspec.structs.replace(
                            undo,
                            id=names[undo.id],
                            window_id=names.get(undo.window_id or ""),
                            closes=names.get(undo.closes or ""),
                        )
                    )
                )
    if changes:
        done = await store.commit(lease.session_id, Fence(epoch=lease.epoch), changes)
        if isinstance(done, Fenced):
            raise WorkFailed(f"windows and checkpoints of {lease.session_id} could not be restored ({done.reason})")
    return len(changes)


def _body(row: WindowRow | CheckpointRow | UndoRow) -> tuple[int, WindowRow | CheckpointRow | UndoRow]:
    match row:
        case WindowRow(window):
            return window.created, row
        case CheckpointRow(checkpoint):
            return checkpoint.created, row
        case UndoRow(undo):
            return undo.created, row
