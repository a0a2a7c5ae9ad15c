"""Whose rows a session's view reads: its own, and those of the sessions that it was forked from (R-4)."""

from collections.abc import Sequence
from typing import NamedTuple

import apsw
import msgspec

from sojourn.record.codec import decode, key
from sojourn.record.types import Undo
from sojourn.record.undo import Cover

NO_CAP = (1 << 62) - 1

_FORK = "SELECT pk, id, fork_parent, fork_seq, fork_window, fork_checkpoint, fork_undo, fork_pin, fork_task FROM sessions WHERE"


class Segment(NamedTuple):
    """One session of the chain, with how far the view reaches into it.

    The caps are row numbers: what the parent wrote after the fork is not the fork's.
    """

    sid: int
    session_id: str
    after: int
    """Its own messages begin after this seq."""
    upto: int
    window_cap: int
    checkpoint_cap: int
    undo_cap: int
    pin_cap: int
    task_cap: int


def lineage(db: apsw.Connection, session_id: str) -> list[Segment]:
    """The session first, then its parent, and so on; empty if there is no such session."""
    row = db.execute(f"{_FORK} id = ?", (key(session_id),)).fetchone()
    chain: list[Segment] = []
    upto, caps = NO_CAP, (NO_CAP, NO_CAP, NO_CAP, NO_CAP, NO_CAP)
    while row is not None:
        sid, name, parent, seq, *fork_caps = row
        start = 0 if parent is None else seq
        chain.append(Segment(sid, name, start, upto, *caps))
        if parent is None:
            break
        upto = min(upto, seq)
        caps = tuple(min(old, new) for old, new in zip(caps, fork_caps, strict=True))
        row = db.execute(f"{_FORK} pk = ?", (parent,)).fetchone()
    return chain


def undo_rows(db: apsw.Connection, chain: Sequence[Segment]) -> list[Undo]:
    """The undo rows of the view, oldest first: those that stood when it was forked, then its own. None is left out, so that
    the ``undos_before`` of what a fork inherits counts them as its parent did."""
    rows = [
        (segment, decode(body, Undo))
        for segment in reversed(chain)
        for (body,) in db.execute(
            "SELECT body FROM undos WHERE sid = ? AND pk <= ? ORDER BY pk", (segment.sid, segment.undo_cap)
        )
    ]
    return [_window_seen(db, chain, undo) if undo.kind == "window" else _within(undo, segment.upto) for segment, undo in rows]


def _window_seen(db: apsw.Connection, chain: Sequence[Segment], undo: Undo) -> Undo:
    """The undo of a window that a fork does not begin with has ended by itself: there is nothing to redo."""
    found = db.execute("SELECT sid, pk, opened_at_seq FROM windows WHERE id = ?", (undo.window_id,)).fetchone()
    if found is not None:
        sid, pk, opened = found
        if any(one.sid == sid and pk <= one.window_cap and opened <= one.upto for one in chain):
            return undo
    return msgspec.structs.replace(undo, closes=undo.closes or undo.id)


def _within(undo: Undo, upto: int) -> Undo:
    """The undo of a turn in a view that ends with message ``upto``. The fork's own messages have the numbers of those that were
    undone behind that end, and are others: of the turn counts what is in the view, and an undo of nothing in it is one that
    has ended by itself, so that there is nothing to redo."""
    if undo.upto_seq <= upto:
        return undo
    if undo.after_seq < upto:
        return msgspec.structs.replace(undo, upto_seq=upto)
    return msgspec.structs.replace(undo, after_seq=upto, upto_seq=upto, closes=undo.closes or undo.id)


def cover(db: apsw.Connection, chain: Sequence[Segment]) -> Cover:
    """What those rows take out of view."""
    return Cover(undo_rows(db, chain))
