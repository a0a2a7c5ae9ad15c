"""What else a session's rows tell: model calls, prefixes, pins, snapshots, what waits in the inbox (R-7, R-15)."""

from collections.abc import Sequence

import apsw

from sojourn.record.codec import decode, key
from sojourn.record.lineage import Segment
from sojourn.record.types import Call, InboxRow, PinRow, PrefixSnapshot, Snapshot

_CALLS = "SELECT c.body FROM calls c JOIN sessions s ON s.pk = c.sid WHERE s.id = ?"


def calls(db: apsw.Connection, session_id: str, window_id: str | None) -> Sequence[Call]:
    """The session's own calls, oldest first; a fork's cost is what it spent itself."""
    if window_id is None:
        rows = db.execute(f"{_CALLS} ORDER BY c.pk", (key(session_id),))
    else:
        rows = db.execute(f"{_CALLS} AND c.window_id = ? ORDER BY c.pk", (key(session_id), window_id))
    return [decode(body, Call) for (body,) in rows]


def newest_call(db: apsw.Connection, session_id: str, window_id: str, purpose: str) -> Call | None:
    """The newest finished call of the window that has usage."""
    row = db.execute(
        f"{_CALLS} AND c.window_id = ? AND c.purpose = ? AND c.metered = 1 ORDER BY c.pk DESC LIMIT 1",
        (key(session_id), window_id, purpose),
    ).fetchone()
    return decode(row[0], Call) if row else None


def prefix(db: apsw.Connection, prefix_id: str) -> PrefixSnapshot | None:
    row = db.execute("SELECT body FROM prefixes WHERE id = ?", (prefix_id,)).fetchone()
    return decode(row[0], PrefixSnapshot) if row else None


def pins(db: apsw.Connection, chain: Sequence[Segment]) -> Sequence[PinRow]:
    """The pins in view, in the order in which they were first made; the newest row of an id is the pin."""
    held: dict[str, PinRow] = {}
    for segment in reversed(chain):
        for (body,) in db.execute(
            "SELECT body FROM pins WHERE sid = ? AND pk <= ? ORDER BY pk", (segment.sid, segment.pin_cap)
        ):
            pin = decode(body, PinRow)
            held[pin.id] = pin
    return [pin for pin in held.values() if not pin.removed]


def snapshots(db: apsw.Connection, session_id: str) -> Sequence[Snapshot]:
    """The session's own, oldest first. An undo puts files back by them, so it takes none of them away (W-12)."""
    rows = db.execute(
        "SELECT n.body FROM snapshots n JOIN sessions s ON s.pk = n.sid WHERE s.id = ? ORDER BY n.pk", (key(session_id),)
    )
    return [decode(body, Snapshot) for (body,) in rows]


def inbox(db: apsw.Connection, session_id: str) -> Sequence[InboxRow]:
    """What waits for the session's runner, oldest first."""
    rows = db.execute(
        "SELECT i.body FROM inbox i JOIN sessions s ON s.pk = i.sid WHERE s.id = ? AND i.taken = 0 ORDER BY i.pk",
        (key(session_id),),
    )
    return [decode(body, InboxRow) for (body,) in rows]
