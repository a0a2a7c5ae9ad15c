"""One runner for each session (R-11). Times are the store's."""

import os
import socket
import sys

import apsw

from sojourn.base import Clock, UserMistake
from sojourn.record.changes import Fenced, Held, Lease
from sojourn.record.codec import key
from sojourn.record.schema import immediate

_HOST = socket.gethostname()


def acquire(db: apsw.Connection, clock: Clock, session_id: str, owner: str, ttl: int) -> Lease | Held:
    """The lease with a new epoch, or who holds it. Raises UserMistake for an unknown session."""
    with immediate(db):
        row = _row(db, session_id)
        if row is None:
            raise UserMistake(f"there is no session {session_id}", next_step="List them with: sojourn sessions")
        epoch, holder, since, until = row
        now = clock.now()  # after the wait for the lock
        if holder is not None and holder != owner and now < until and not _died(holder):
            return Held(session_id, holder, since, until)
        db.execute(
            "UPDATE sessions SET epoch = ?, lease_owner = ?, lease_since = ?, lease_until = ? WHERE id = ?",
            (epoch + 1, owner, now, now + ttl, session_id),
        )
        return Lease(session_id, owner, epoch + 1, now + ttl)


def renew(db: apsw.Connection, clock: Clock, lease: Lease, ttl: int) -> Lease | Fenced:
    """The lease with a later end; one that has expired, but that nobody took over, goes on."""
    with immediate(db):
        row = _row(db, lease.session_id)
        if row is None:
            return Fenced("missing", f"session {lease.session_id} is gone")
        epoch, holder, _, _ = row
        if epoch != lease.epoch:
            return Fenced("epoch", f"{holder or 'another runner'} has taken over (epoch {epoch}, not {lease.epoch})")
        if holder is None:
            return Fenced("no_lease", "the lease was released")
        now = clock.now()
        db.execute("UPDATE sessions SET lease_until = ? WHERE id = ?", (now + ttl, lease.session_id))
        return Lease(lease.session_id, lease.owner, epoch, now + ttl)


def release(db: apsw.Connection, lease: Lease) -> None:
    """Frees the session; a lease that another has taken over is left to that one."""
    with immediate(db):
        db.execute(
            "UPDATE sessions SET lease_owner = NULL, lease_until = 0 WHERE id = ? AND epoch = ?",
            (key(lease.session_id), lease.epoch),
        )


def holder(db: apsw.Connection, clock: Clock, session_id: str) -> Held | None:
    """Who runs the session now; None if nobody does (any more)."""
    row = _row(db, session_id)
    if row is None:
        return None
    _, owner, since, until = row
    if owner is None or clock.now() >= until or _died(owner):
        return None
    return Held(session_id, owner, since, until)


def _row(db: apsw.Connection, session_id: str) -> tuple[int, str | None, int, int] | None:
    query = "SELECT epoch, lease_owner, lease_since, lease_until FROM sessions WHERE id = ?"
    return db.execute(query, (key(session_id),)).fetchone()


def _died(owner: str) -> bool:
    """Whether the owner was a process of this host that is no more. Unknown = no: its time will run out."""
    host, _, rest = owner.rpartition(":")[0].rpartition(":")
    if sys.platform == "win32" or host != _HOST or not (rest.isascii() and rest.isdigit()) or int(rest) == 0:
        return False  # on Windows the probe below would end the process
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
