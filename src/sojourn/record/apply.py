"""The one write: a fenced, idempotent commit of a few changes, all or none (R-9)."""

from collections.abc import Callable, Sequence
from typing import Any

import apsw
import msgspec

from sojourn.base import UserMistake
from sojourn.record import index
from sojourn.record.changes import (
    AddCheckpoint,
    AddMessage,
    AddTrims,
    AddUndo,
    AddWindow,
    Change,
    CloseCall,
    Committed,
    ConsumeTiers,
    Fence,
    Fenced,
    OpenCall,
    Pin,
    PutInbox,
    PutPrefix,
    PutSnapshot,
    PutTask,
    SetSession,
    SetSlot,
    SettlePart,
    SetTrigger,
    TakeInbox,
)
from sojourn.record.codec import decode, encode, key
from sojourn.record.messages import add_message, finish_message, settle_part
from sojourn.record.schema import immediate
from sojourn.record.tasks import put_task
from sojourn.record.types import Call, Session, Slot, Undo
from sojourn.record.undo import open_undo
from sojourn.record.windows import add_checkpoint, add_trims, add_window, consume_tiers, in_view, set_trigger
from sojourn.record.work import Refused, Work

_IDS: dict[type[Any], tuple[str, Callable[[Any], str]]] = {
    AddMessage: ("messages", lambda change: change.message.id),
    AddWindow: ("windows", lambda change: change.window.id),
    AddUndo: ("undos", lambda change: change.undo.id),
    AddCheckpoint: ("checkpoints", lambda change: change.checkpoint.id),
    OpenCall: ("calls", lambda change: change.call.id),
    PutInbox: ("inbox", lambda change: change.row.id),
    PutSnapshot: ("snapshots", lambda change: change.snapshot.id),
}
"""Changes that make a row under an id of the client's: what tells a repeat."""


def commit(db: apsw.Connection, now: int, session_id: str, fence: Fence, changes: Sequence[Change]) -> Committed | Fenced:
    """Applies the changes. A repeat answers the seqs of then, with the head and revision of now.

    Raises UserMistake if one commit names an id twice.
    """
    try:
        with immediate(db):
            return _commit(db, now, session_id, fence, changes)
    except Refused as refused:
        return refused.fenced


def _commit(db: apsw.Connection, now: int, session_id: str, fence: Fence, changes: Sequence[Change]) -> Committed:
    row = db.execute(
        "SELECT pk, head, epoch, revision, lease_owner, slot FROM sessions WHERE id = ?", (key(session_id),)
    ).fetchone()
    if row is None:
        raise Refused("missing", f"there is no session {session_id}")
    sid, head, epoch, revision, owner, slot = row
    if not changes or not all(isinstance(change, PutInbox) for change in changes):
        if fence.epoch != epoch:
            raise Refused("epoch", f"epoch {fence.epoch} is over: {owner or 'nobody'} has epoch {epoch}")
        if owner is None:
            raise Refused("no_lease", f"nobody holds session {session_id}")
    seqs = _seqs_of_then(db, sid, changes)
    if seqs is not None:
        return Committed(head, revision, seqs, repeated=True)
    if fence.head is not None and fence.head != head and any(isinstance(change, AddMessage) for change in changes):
        raise Refused("head", f"the head is {head}, not {fence.head}")
    if fence.slot_generation is not None:
        generation = decode(slot, Slot).generation
        if generation != fence.slot_generation:
            raise Refused("slot", f"the slot's generation is {generation}, not {fence.slot_generation}")
    work = Work(db, sid, session_id, head)
    for change in changes:
        _apply(work, now, fence, change)
    index.note(db, work.to_index, revision + 1)
    db.execute("UPDATE sessions SET head = ?, revision = ?, updated = ? WHERE pk = ?", (work.head, revision + 1, now, sid))
    return Committed(work.head, revision + 1, tuple(work.seqs))


def _seqs_of_then(db: apsw.Connection, sid: int, changes: Sequence[Change]) -> tuple[int, ...] | None:
    """The seqs that a commit of these ids has given; None if they are new. Refused if only some are there."""
    seqs: list[int] = []
    there: list[str] = []
    names: set[tuple[str, str]] = set()
    wanted = 0
    for change in changes:
        kind = _IDS.get(type(change))
        if kind is None:
            continue
        wanted += 1
        table, id_of = kind
        name = id_of(change)
        if (table, name) in names:
            raise UserMistake(f"one commit names {name} twice", next_step="Give each new row an id of its own.")
        names.add((table, name))
        column = "seq" if table == "messages" else "0"
        row = db.execute(f"SELECT sid, {column} FROM {table} WHERE id = ?", (name,)).fetchone()  # noqa: S608  (constants)
        if row is None:
            continue
        if row[0] != sid:
            raise Refused("settled", f"{name} is taken in another session")
        there.append(name)
        if table == "messages":
            seqs.append(row[1])
    if not there:
        return None
    if len(there) < wanted:
        raise Refused("settled", f"{there[0]} is there already, other rows of this commit are not")
    return tuple(seqs)


def _apply(work: Work, now: int, fence: Fence, change: Change) -> None:
    match change:
        case AddMessage(message):
            add_message(work, message)
        case SettlePart(message_id, idx, part):
            settle_part(work, message_id, idx, part)
        case AddWindow(window):
            add_window(work, window)
        case ConsumeTiers():
            consume_tiers(work, change)
        case AddTrims():
            add_trims(work, change)
        case SetTrigger():
            set_trigger(work, change)
        case AddUndo(undo):
            _add_undo(work, undo)
        case AddCheckpoint(checkpoint):
            add_checkpoint(work, checkpoint, fence.undo_revision)
        case OpenCall(call):
            _open_call(work, call)
        case CloseCall():
            _close_call(work, now, change)
        case _:
            _apply_small(work, change)


def _apply_small(
    work: Work, change: SetSlot | PutPrefix | SetSession | Pin | PutTask | PutSnapshot | PutInbox | TakeInbox
) -> None:
    db = work.db
    match change:
        case SetSlot(slot):
            db.execute("UPDATE sessions SET slot = ? WHERE pk = ?", (encode(slot), work.sid))
        case PutPrefix(prefix):
            db.execute("INSERT OR IGNORE INTO prefixes (id, body) VALUES (?, ?)", (prefix.id, encode(prefix)))
        case SetSession():
            _set_session(work, change)
        case Pin(pin):
            db.execute("INSERT INTO pins (sid, id, body) VALUES (?, ?, ?)", (work.sid, pin.id, encode(pin)))
        case PutTask(task):
            put_task(work, task)
        case PutSnapshot(shot):
            db.execute("INSERT INTO snapshots (sid, id, body) VALUES (?, ?, ?)", (work.sid, shot.id, encode(shot)))
        case PutInbox(row):
            db.execute("INSERT INTO inbox (sid, id, body) VALUES (?, ?, ?)", (work.sid, row.id, encode(row)))
        case TakeInbox(ids):
            for name in ids:
                db.execute("UPDATE inbox SET taken = 1 WHERE id = ? AND sid = ? AND taken = 0", (name, work.sid))
                if not db.changes():
                    raise Refused("missing", f"{name} is not in the inbox")


def _add_undo(work: Work, undo: Undo) -> None:
    undos = work.undos  # read before the row is there
    if undo.closes is not None:
        if not open_undo(undos, undo.closes):
            raise Refused("undo", f"{undo.closes} is not an undo that can be closed")
    elif undo.kind == "window":
        if undo.window_id is None:
            raise Refused("undo", "the undo of a window names no window")
        if not in_view(work, undo.window_id):
            raise Refused("undo", f"window {undo.window_id} is undone already")
    elif not 0 <= undo.after_seq < undo.upto_seq <= work.head:
        raise Refused("undo", f"({undo.after_seq}, {undo.upto_seq}] is not a range of messages up to {work.head}")
    work.db.execute("INSERT INTO undos (sid, id, body) VALUES (?, ?, ?)", (work.sid, undo.id, encode(undo)))
    undos.append(undo)


def _open_call(work: Work, call: Call) -> None:
    work.db.execute(
        "INSERT INTO calls (sid, id, window_id, purpose, prefix_id, metered, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (work.sid, call.id, call.window_id, call.purpose, call.prefix_id, _metered(call), encode(call)),
    )


def _close_call(work: Work, now: int, change: CloseCall) -> None:
    row = work.db.execute("SELECT pk, body FROM calls WHERE id = ? AND sid = ?", (change.call_id, work.sid)).fetchone()
    if row is None:
        raise Refused("missing", f"call {change.call_id} is not of this session")
    pk, body = row
    call = decode(body, Call)
    if call.ended is not None:
        raise Refused("settled", f"call {change.call_id} is complete")
    call = msgspec.structs.replace(
        call,
        usage=change.usage,
        price=change.price,
        verdict=change.verdict,
        error=change.error,
        finish=change.finish,
        ended=now if change.ended is None else change.ended,
    )
    work.db.execute("UPDATE calls SET metered = ?, body = ? WHERE pk = ?", (_metered(call), encode(call), pk))
    if call.message_id is not None and change.finish is not None:
        finish_message(work, call.message_id, change.finish)


def _metered(call: Call) -> bool:
    """Whether it can anchor the level: finished, with usage."""
    return call.ended is not None and call.usage is not None


def _set_session(work: Work, change: SetSession) -> None:
    (body,) = work.db.execute("SELECT body FROM sessions WHERE pk = ?", (work.sid,)).fetchone() or (b"",)
    session = decode(body, Session)
    named: dict[str, object] = {
        "title": change.title,
        "model": change.model,
        "mode": change.mode,
        "grants": change.grants,
        "plan_seq": change.plan_seq,
    }
    read = {"lines": change.source_lines, "bytes": change.source_bytes, "sha": change.source_sha}
    given = {name: value for name, value in read.items() if value is not None}
    if given:
        if session.source is None:
            raise Refused("missing", f"session {work.session_id} was not imported: it has no source")
        session = msgspec.structs.replace(session, source=msgspec.structs.replace(session.source, **given))
    session = msgspec.structs.replace(session, **{name: value for name, value in named.items() if value is not None})
    work.db.execute("UPDATE sessions SET body = ? WHERE pk = ?", (encode(session), work.sid))
