"""A fork that ends earlier than its parent (R-4)."""

import os
import secrets
import socket

from sojourn.base import SystemClock, SystemIds, UserMistake, WorkFailed
from sojourn.engine import Engine
from sojourn.record import AddUndo, Fence, Fenced, Held, Session, Store, Undo
from sojourn.surfaces.catalogue import say


async def forked(store: Store, parent: Session, at: int | None) -> Session:
    """A new session with the parent's present view, or with its view as it ends with message ``at``.

    Raises UserMistake where the parent's view has no such message.
    """
    if at is not None and not await store.messages(parent.id, after=at - 1, upto=at):
        raise UserMistake(say("no_message", id=parent.id, seq=at), next_step=say("no_message_next", id=parent.id))
    async with await Engine.open(store=store, session_id=parent.id, read_only=True) as engine:
        made = await engine.fork()
    if at is not None and at < made.head:
        await _end_after(store, made, at)
    return made


async def _end_after(store: Store, made: Session, at: int) -> None:
    """An undo row of the fork covers what came later: messages, windows and checkpoints alike, in the fork only."""
    lease = await store.acquire(made.id, f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}")
    if isinstance(lease, Held):
        raise WorkFailed(say("fork_failed", id=made.id, reason=lease.owner))
    clock = SystemClock()
    row = Undo(id=SystemIds(clock).new("undo"), kind="turn", after_seq=at, upto_seq=made.head, created=clock.now())
    try:
        done = await store.commit(made.id, Fence(epoch=lease.epoch), [AddUndo(row)])
    finally:
        await store.release(lease)
    if isinstance(done, Fenced):
        raise WorkFailed(say("fork_failed", id=made.id, reason=done.reason))
