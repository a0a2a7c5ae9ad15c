"""Windows and checkpoints: their rows, and the part of a window that grows (R-5, R-6)."""

from collections.abc import Iterator, Sequence

import apsw
import msgspec

from sojourn.record.changes import AddTrims, ConsumeTiers, SetTrigger
from sojourn.record.codec import decode, encode
from sojourn.record.lineage import Segment, cover
from sojourn.record.types import Checkpoint, Trim, Window
from sojourn.record.undo import Cover, touched_since
from sojourn.record.work import Refused, Work


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """What changes while a window is the newest. The window's own row is written once.

    It is kept for each session apart: a fork goes on from its parent's window without changing it there.
    """

    tiers: tuple[int, ...] = ()
    gate: int | None = None
    trims: tuple[Trim, ...] = ()
    trigger: int = 0
    """0 = the one that it opened with."""

    def put_into(self, window: Window) -> Window:
        return msgspec.structs.replace(
            window, tiers=self.tiers, gate=self.gate, trims=self.trims, trigger=self.trigger or window.trigger
        )


class Row(msgspec.Struct, frozen=True):
    pk: int
    window: Window
    undos_before: int
    trigger: int = 0
    """The one that was set after it had opened; 0 = none was."""
    opened_with: tuple[int, ...] = ()
    """The tiers that its opening had consumed."""

    @property
    def state(self) -> State:
        return State(self.window.tiers, self.window.gate, self.window.trims, self.trigger)


def add_window(work: Work, window: Window) -> None:
    """Numbers the window and writes it."""
    newest = next(_rows(work.db, work.chain), None)
    number = newest.window.number + 1 if newest else 1
    work.db.execute(
        "INSERT INTO windows (sid, id, number, opened_at_seq, undos_before, prefix_id, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            work.sid,
            window.id,
            number,
            window.opened_at_seq,
            len(work.undos),
            window.prefix_id,
            encode(msgspec.structs.replace(window, number=number)),
        ),
    )


def consume_tiers(work: Work, change: ConsumeTiers) -> None:
    """Adds the tiers that are not consumed yet, and sets the gate (None = no gate)."""
    row = _known(work, change.window_id)
    tiers = (*row.window.tiers, *(tier for tier in dict.fromkeys(change.tiers) if tier not in row.window.tiers))
    _put_state(work.db, work.sid, row.pk, msgspec.structs.replace(row.state, tiers=tiers, gate=change.gate))


def set_trigger(work: Work, change: SetTrigger) -> None:
    """The trigger of a window that opened without one of its own. Refused where one was set already."""
    row = _known(work, change.window_id)
    if row.trigger:
        raise Refused("settled", f"window {change.window_id} has its trigger")
    _put_state(work.db, work.sid, row.pk, msgspec.structs.replace(row.state, trigger=change.trigger))


def add_trims(work: Work, change: AddTrims) -> None:
    """Adds trims to the newest window; one that is there already stays as it is."""
    row = _known(work, change.window_id)
    newest = newest_row(work.db, work.chain, work.cover)
    if newest is None or newest.pk != row.pk:
        raise Refused("settled", f"window {change.window_id} is not the newest any more")
    held = {(trim.seq, trim.part): trim for trim in row.window.trims}
    for trim in change.trims:
        if held.setdefault((trim.seq, trim.part), trim) != trim:
            raise Refused("settled", f"part {trim.part} of message {trim.seq} is trimmed otherwise already")
    _put_state(work.db, work.sid, row.pk, msgspec.structs.replace(row.state, trims=tuple(held.values())))


def inherit_state(db: apsw.Connection, chain: Sequence[Segment], *, ends_earlier: bool) -> None:
    """A new fork keeps the state of the window that it starts with as it is now. ``ends_earlier`` than its parent, it has not
    come as far: only the tiers that the window's opening had consumed are."""
    row = newest_row(db, chain, cover(db, chain))
    if row is not None:
        state = msgspec.structs.replace(row.state, tiers=row.opened_with, gate=None) if ends_earlier else row.state
        _put_state(db, chain[0].sid, row.pk, state)


def newest_row(
    db: apsw.Connection, chain: Sequence[Segment], hidden: Cover | None, opened_upto: int | None = None
) -> Row | None:
    """The newest window that no undo covers, of those that opened so early; with ``hidden`` None the newest of all these."""
    for row in _rows(db, chain):
        if opened_upto is not None and row.window.opened_at_seq > opened_upto:
            continue
        if hidden is None or not hidden.window(row.window.id, row.window.opened_at_seq, row.undos_before):
            return row
    return None


def read_windows(db: apsw.Connection, chain: Sequence[Segment], include_undone: bool) -> list[Window]:
    """The view's windows by number."""
    hidden = cover(db, chain)
    return [
        row.window
        for row in reversed(list(_rows(db, chain)))
        if include_undone or not hidden.window(row.window.id, row.window.opened_at_seq, row.undos_before)
    ]


def in_view(work: Work, window_id: str) -> bool:
    """Whether the window is in view. Raises Refused if the session has no such window."""
    row = _known(work, window_id)
    return not work.cover.window(window_id, row.window.opened_at_seq, row.undos_before)


def add_checkpoint(work: Work, checkpoint: Checkpoint, undo_revision: int | None) -> None:
    """Writes the checkpoint; refused if its range was undone (or redone) meanwhile (K-7)."""
    if undo_revision is not None:
        undo = touched_since(work.undos, undo_revision, *checkpoint.range)
        if undo is not None:
            raise Refused("undo", f"undo {undo.id} touches messages {checkpoint.range[0] + 1} to {checkpoint.range[1]}")
    work.db.execute(
        "INSERT INTO checkpoints (sid, id, covered_seq, undos_before, body) VALUES (?, ?, ?, ?, ?)",
        (work.sid, checkpoint.id, checkpoint.covered_seq, len(work.undos), encode(checkpoint)),
    )


def checkpoint_bodies(db: apsw.Connection, chain: Sequence[Segment], hidden: Cover | None, after: int = -1) -> Iterator[bytes]:
    """The view's checkpoints with a mark behind ``after``, the newest first; ``hidden`` None = undone ones as well."""
    for segment in chain:
        rows = db.execute(
            "SELECT covered_seq, undos_before, body FROM checkpoints"
            " WHERE sid = ? AND pk <= ? AND covered_seq <= ? AND covered_seq > ? ORDER BY pk DESC",
            (segment.sid, segment.checkpoint_cap, segment.upto, after),
        )
        for covered, undos_before, body in rows:
            if hidden is None or not hidden.row(covered, undos_before):
                yield body


def _rows(db: apsw.Connection, chain: Sequence[Segment]) -> Iterator[Row]:
    """All windows of the view, the newest first, undone ones included."""
    for segment in chain:
        rows = db.execute(
            "SELECT pk, undos_before, body FROM windows WHERE sid = ? AND pk <= ? AND opened_at_seq <= ? ORDER BY number DESC",
            (segment.sid, segment.window_cap, segment.upto),
        )
        for pk, undos_before, body in rows:
            window, state = decode(body, Window), _state_of(db, chain, pk)
            now, trigger = (window, 0) if state is None else (state.put_into(window), state.trigger)
            yield Row(pk, now, undos_before, trigger, window.tiers)


def _state_of(db: apsw.Connection, chain: Sequence[Segment], pk: int) -> State | None:
    for segment in chain:
        found = db.execute("SELECT body FROM window_states WHERE sid = ? AND window = ?", (segment.sid, pk)).fetchone()
        if found:
            state = decode(found[0], State)
            # Behind the fork the same numbers are other messages.
            return msgspec.structs.replace(state, trims=tuple(trim for trim in state.trims if trim.seq <= segment.upto))
    return None


def by_id(db: apsw.Connection, window_id: str) -> Window | None:
    """The window as its own session sees it."""
    row = db.execute(
        "SELECT w.body, s.body FROM windows w LEFT JOIN window_states s ON s.window = w.pk AND s.sid = w.sid WHERE w.id = ?",
        (window_id,),
    ).fetchone()
    if row is None:
        return None
    window = decode(row[0], Window)
    return window if row[1] is None else decode(row[1], State).put_into(window)


def _known(work: Work, window_id: str) -> Row:
    for row in _rows(work.db, work.chain):
        if row.window.id == window_id:
            return row
    raise Refused("missing", f"window {window_id} is not of this session")


def _put_state(db: apsw.Connection, sid: int, pk: int, state: State) -> None:
    db.execute("INSERT OR REPLACE INTO window_states (sid, window, body) VALUES (?, ?, ?)", (sid, pk, encode(state)))
