"""A person's change of a checkpoint, as a checkpoint of its own (R-6)."""

from sojourn.base import UserMistake, WorkFailed, open_items
from sojourn.checkpoint import WriterInput, apply_user, checkpoint_row, edited, validate
from sojourn.engine.state import State
from sojourn.record import AddCheckpoint, Checkpoint, Fence, Fenced


async def take_edit(state: State, text: str) -> Checkpoint | None:
    """The difference between the newest checkpoint's rendering and ``text``, committed at the same mark; None = none."""
    store, session_id = state.ports.store, state.session.id
    before = await store.newest_checkpoint(session_id)
    if before is None:
        raise UserMistake(
            f"session {session_id} has no checkpoint to edit", next_step=f"sojourn checkpoint {session_id} --write makes one."
        )
    if state.lease is None:
        raise WorkFailed(f"session {session_id} is open for reading only")
    operations = edited(before, text, newest=state.head)
    if not operations:
        return None
    written = validate(apply_user(before, operations, before.covered_seq), state.head)
    run = WriterInput(
        items=open_items(before.items),
        messages=(),
        range=(before.covered_seq, before.covered_seq),
        trigger=state.lines().full_trigger,
    )
    row = checkpoint_row(run, written, "user", ids=state.ports.ids, clock=state.ports.clock, previous_id=before.id)
    slot = await store.slot(session_id)
    if slot.running:
        raise WorkFailed("a checkpoint is being written just now", next_step="Try again when it is done.")
    fence = Fence(epoch=state.lease.epoch, slot_generation=slot.generation, undo_revision=len(await store.undos(session_id)))
    done = await store.commit(session_id, fence, [AddCheckpoint(row)])
    if isinstance(done, Fenced):
        raise WorkFailed(f"the session moved on meanwhile ({done.reason}); nothing was changed", next_step="Edit again.")
    state.emit("checkpoint_written", checkpoint=row)
    return row
