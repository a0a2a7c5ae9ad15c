"""Coming to a session: the row, the lease, the prefix that is in force (R-1, R-11, P-7)."""

import os
import secrets
import socket

import msgspec

from sojourn.base import Clock, UserMistake
from sojourn.engine.state import Ports, State
from sojourn.record import ConsumeTiers, ForkOf, Held, Lease, Session, SetSlot, Slot, Store

LEASE = 20_000
"""Milliseconds; renewed every quarter."""


async def find_or_create(ports: Ports, session_id: str | None, session: Session | None) -> Session:
    """The stored session, or a new one with the fields of ``session``. Raises UserMistake for an unknown id."""
    if session_id is not None:
        found = await ports.store.session(session_id)
        if found is None:
            raise UserMistake(f"there is no session {session_id}", next_step="sojourn sessions lists them.")
        return found
    fresh = session or Session(id="")
    now = ports.clock.now()
    return await ports.store.create(
        msgspec.structs.replace(fresh, id=fresh.id or ports.ids.new("ses"), created=fresh.created or now, updated=now)
    )


async def fork(ports: Ports, session_id: str, cwd: str | None = None, at: int | None = None) -> Session:
    """A new session that begins with the present view of another, or with that view as it ends with message ``at``; nothing
    is copied (R-4). Raises UserMistake where the view has no such message."""
    parent = await find_or_create(ports, session_id, None)
    if at is not None and not await ports.store.messages(session_id, after=at - 1, upto=at):
        raise UserMistake(
            f"session {session_id} has no message m{at} in its view", next_step=f"sojourn show {session_id} lists them."
        )
    end = parent.head if at is None else at
    # An undone one, too: the undo stands in the fork, and can be taken back there.
    window = await ports.store.newest_window(session_id, include_undone=True, opened_upto=end)
    inherited = Session(
        id="",
        project_id=parent.project_id,
        title=parent.title,
        model=parent.model,
        agent=parent.agent,
        mode=parent.mode,
        plan_seq=parent.plan_seq if parent.plan_seq <= end else 0,
        cwd=parent.cwd if cwd is None else cwd,
        fork_of=ForkOf(session_id, window.id if window else None, end),
    )
    return await find_or_create(ports, None, inherited)


async def take_lease(store: Store, session: Session, clock: Clock) -> Lease:
    """The lease. Raises UserMistake that says who holds it, since when, and the choices."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    lease = await store.acquire(session.id, owner, LEASE)
    if isinstance(lease, Held):
        raise UserMistake(
            f"session {session.id} is run by {holder(lease, clock)}",
            next_step="Open it read-only, fork it, or wait until that process ends.",
        )
    return lease


def holder(held: Held, clock: Clock) -> str:
    """Who runs a session and since when, in words."""
    host, pid, *_ = held.owner.split(":")
    return f"process {pid} on {host} (since {_ago(held.since, clock)})"


def _ago(since: int, clock: Clock) -> str:
    seconds = max(0, clock.now() - since) // 1000
    return f"{seconds} s ago" if seconds < 120 else f"{seconds // 60} min ago"


async def free_slot(state: State) -> None:
    """A lease just won: a writer that ran under the old one is gone (K-9)."""
    slot = await state.ports.store.slot(state.session.id)
    if slot.running:
        free = SetSlot(Slot(running=False, generation=slot.generation + 1))
        window = state.view.window
        # Its tiers were consumed and nothing came of it: the last one fires again at once (C-7's gate).
        again = (ConsumeTiers(window.id, (), 0),) if window.id and window.tiers else ()
        await state.commit(free, *again)
        if again:
            state.view.window = msgspec.structs.replace(window, gate=0)
