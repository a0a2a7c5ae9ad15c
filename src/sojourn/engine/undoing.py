"""Undo and redo by rows: the exact earlier view returns (R-4, W-12)."""

from collections.abc import Sequence

from sojourn.base import UserMistake
from sojourn.engine.remembering import move_notes
from sojourn.engine.state import State
from sojourn.engine.types import Undone
from sojourn.engine.writing import render_for_people
from sojourn.record import AddUndo, Checkpoint, Undo, standing_undos


async def undo(state: State) -> Undone:
    """Takes back the newest of: a window, a turn of the user. Raises UserMistake where there is neither."""
    store, session_id = state.ports.store, state.session.id
    window = await store.newest_window(session_id)
    turns = await store.turns(session_id, upto=state.head, limit=1)
    last_turn = turns[0].message.seq if turns else 0
    row_id, now = state.ports.ids.new("undo"), state.ports.clock.now()
    if window is not None and window.kind != "start" and window.opened_at_seq >= last_turn:
        row = Undo(id=row_id, kind="window", window_id=window.id, upto_seq=state.head, created=now)
        what = f"window {window.number}"
    elif last_turn:
        row = Undo(id=row_id, kind="turn", after_seq=last_turn - 1, upto_seq=state.head, created=now)
        what = f"the turn at message {last_turn}"
    else:
        raise UserMistake(f"session {session_id} has nothing to undo")
    return await _apply(state, row, what)


async def redo(state: State) -> Undone:
    """Takes back the newest undo, as long as no message has come since. Raises UserMistake otherwise."""
    standing = standing_undos(await state.ports.store.undos(state.session.id))
    if not standing:
        raise UserMistake(f"session {state.session.id} has no undo to take back")
    newest = standing[-1]
    if state.head > newest.upto_seq:
        raise UserMistake("the undo stands: messages have been written since", next_step="Undo them first, or go on.")
    row = Undo(
        id=state.ports.ids.new("undo"),
        kind=newest.kind,
        after_seq=newest.after_seq,
        upto_seq=newest.upto_seq,
        window_id=newest.window_id,
        closes=newest.id,
        created=state.ports.clock.now(),
    )
    return await _apply(
        state, row, "the undo of " + (newest.window_id or f"messages {newest.after_seq + 1} to {newest.upto_seq}")
    )


async def _apply(state: State, row: Undo, what: str) -> Undone:
    async with state.following:
        before = await _in_reach(state, row)
        await state.commit(AddUndo(row))
        await state.restore_prefix(state.offered, state.next_fixed)
        await state.load()
        await _follow(state, before, await _in_reach(state, row))
    level = state.level().tokens
    undone = Undone(undo=row, what=what, level=level, over_hard=level > state.lines().hard)
    state.emit("undone", what=what, over_hard=undone.over_hard)
    return undone


async def _in_reach(state: State, row: Undo) -> Sequence[Checkpoint]:
    """Those that hold of the checkpoints that the undo may take out, or its end bring back."""
    if row.kind == "window":
        return ()
    return await state.ports.store.checkpoints(state.session.id, after=row.after_seq)


async def _follow(state: State, before: Sequence[Checkpoint], after: Sequence[Checkpoint]) -> None:
    """The files follow the rows: the rendering is of the checkpoint that holds now, and notes that one which no longer holds
    had taken in stand in their file again."""
    held, holds = {row.id for row in before}, {row.id for row in after}
    if held == holds:
        return
    newest = await state.ports.store.newest_checkpoint(state.session.id)
    problem = render_for_people(state.ports.documents, state.session.id, newest)
    if problem:
        state.emit("notice", key="rendering_failed", problem=problem)
    gone = [sha for row in before if row.id not in holds for sha in row.notes]
    back = [sha for row in after if row.id not in held for sha in row.notes]
    await move_notes(state, into_file=gone, out_of_file=back)
