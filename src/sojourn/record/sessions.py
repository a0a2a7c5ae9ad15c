"""Session rows: making, finding and listing them by metadata only (R-1, R-10)."""

from collections.abc import Sequence

import apsw
import msgspec

from sojourn.base import UserMistake
from sojourn.record.codec import decode, encode, key
from sojourn.record.lineage import Segment, lineage
from sojourn.record.messages import read_messages
from sojourn.record.schema import immediate
from sojourn.record.types import ForkOf, PinRow, Session, Slot
from sojourn.record.windows import inherit_state

_COLUMNS = "id, updated, head, epoch, revision, body"
_NEWEST_FIRST = "ORDER BY updated DESC, pk DESC"


def create(db: apsw.Connection, now: int, session: Session) -> Session:
    """Adds the session, with the head of a new one; the same id again answers the stored one.

    Raises UserMistake for a fork of a session, window or message that is not there.
    """
    with immediate(db):
        stored = get(db, session.id)
        if stored is not None:
            return stored
        fork = session.fork_of
        created = session.created or now
        session = msgspec.structs.replace(
            session, created=created, updated=created, head=fork.seq if fork else 0, epoch=0, revision=0
        )
        source = session.source
        db.execute(
            "INSERT INTO sessions (id, project_id, parent_id, source_format, foreign_id, created, updated, head, slot, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                session.id,
                key(session.project_id),
                key(session.parent_id),
                key(source.format) if source else None,
                key(source.foreign_id) if source else None,
                created,
                created,
                session.head,
                encode(Slot()),
                encode(session),
            ),
        )
        if fork is not None:
            _fork(db, session.id, fork)
        return session


def _fork(db: apsw.Connection, session_id: str, fork: ForkOf) -> None:
    parent = lineage(db, fork.session_id)
    stored = get(db, fork.session_id)
    if stored is None:
        raise UserMistake(f"there is no session {fork.session_id} to fork", next_step="List them with: sojourn sessions")
    if not 0 <= fork.seq <= stored.head:
        raise UserMistake(
            f"session {fork.session_id} cannot be forked at message {fork.seq}: it ends at {stored.head}",
            next_step=f"Give a number from 0 to {stored.head}.",
        )
    window_cap = _newest_pk(db, "windows", "window_cap", parent)
    if fork.window_id is not None:
        window_cap = _window_pk(db, fork, parent)
    db.execute(
        "UPDATE sessions SET fork_parent = ?, fork_seq = ?, fork_window = ?, fork_checkpoint = ?, fork_undo = ?, fork_pin = ?,"
        " fork_task = ? WHERE id = ?",
        (
            parent[0].sid,
            fork.seq,
            window_cap,
            _newest_pk(db, "checkpoints", "checkpoint_cap", parent),
            _newest_pk(db, "undos", "undo_cap", parent),
            _pin_cap(db, fork, parent),
            _newest_pk(db, "tasks", "task_cap", parent),
            session_id,
        ),
    )
    inherit_state(db, lineage(db, session_id), ends_earlier=fork.seq < stored.head)


def _newest_pk(db: apsw.Connection, table: str, cap: str, chain: Sequence[Segment]) -> int:
    """The newest row that the chain sees; 0 = none."""
    query = f"SELECT max(pk) FROM {table} WHERE sid = ? AND pk <= ?"  # noqa: S608  (constants only)
    found = [db.execute(query, (segment.sid, getattr(segment, cap))).fetchone() for segment in chain]
    return max((row[0] or 0 for row in found if row), default=0)


def _pin_cap(db: apsw.Connection, fork: ForkOf, chain: Sequence[Segment]) -> int:
    """The newest pin that was there before the first message that the fork does not see; where none is left out, the newest."""
    later = read_messages(db, chain, None, after=fork.seq, upto=None, limit=1, newest_first=False)
    came = later[0].created if later else 0
    if not came:  # no message, or one of which nobody knows when it came
        return _newest_pk(db, "pins", "pin_cap", chain)
    query = "SELECT pk, body FROM pins WHERE sid = ? AND pk <= ?"
    rows = (row for segment in chain for row in db.execute(query, (segment.sid, segment.pin_cap)))
    return max((pk for pk, body in rows if decode(body, PinRow).created < came), default=0)


def _window_pk(db: apsw.Connection, fork: ForkOf, chain: Sequence[Segment]) -> int:
    row = db.execute("SELECT pk, sid FROM windows WHERE id = ?", (fork.window_id,)).fetchone()
    for segment in chain:
        if row is not None and row[1] == segment.sid and row[0] <= segment.window_cap:
            return int(row[0])
    raise UserMistake(
        f"session {fork.session_id} has no window {fork.window_id}",
        next_step=f"See its windows with: sojourn show {fork.session_id}",
    )


def get(db: apsw.Connection, session_id: str) -> Session | None:
    return _one(db, "id = ?", (key(session_id),))


def by_source(db: apsw.Connection, form: str, foreign_id: str) -> Session | None:
    """The newest session that was imported from there."""
    return _one(db, "source_format = ? AND foreign_id = ?", (key(form), key(foreign_id)))


def find(db: apsw.Connection, text: str) -> Sequence[Session]:
    """Sessions whose id is or begins with the text, or whose foreign id is the text; an exact id alone, if there is one."""
    exact = get(db, text)
    if exact is not None:
        return (exact,)
    wanted = key(text)
    if not text or not isinstance(wanted, str):
        return _many(db, "foreign_id = ?", (wanted,)) if text else ()
    return _many(db, "(id >= ? AND id < ?) OR foreign_id = ?", (wanted, wanted + "\U0010ffff", wanted))


def listed(db: apsw.Connection, project_id: str | None, parent_id: str | None, limit: int | None) -> Sequence[Session]:
    """Newest first, by when something was last committed."""
    terms, values = ["1"], []
    for column, value in (("project_id", project_id), ("parent_id", parent_id)):
        if value is not None:
            terms.append(f"{column} = ?")
            values.append(key(value))
    return _many(db, " AND ".join(terms), tuple(values), -1 if limit is None else max(limit, 0))


def slot(db: apsw.Connection, session_id: str) -> Slot:
    """K-9. A session that is not there has an empty one."""
    row = db.execute("SELECT slot FROM sessions WHERE id = ?", (key(session_id),)).fetchone()
    return decode(row[0], Slot) if row else Slot()


def revision(db: apsw.Connection, session_id: str) -> int:
    """How many commits it has seen; 0 if it is not there."""
    row = db.execute("SELECT revision FROM sessions WHERE id = ?", (key(session_id),)).fetchone()
    return int(row[0]) if row else 0


def _one(db: apsw.Connection, where: str, values: tuple[str | bytes | None, ...]) -> Session | None:
    return next(iter(_many(db, where, values, 1)), None)


def _many(db: apsw.Connection, where: str, values: tuple[str | bytes | None, ...], limit: int = -1) -> list[Session]:
    rows = db.execute(f"SELECT {_COLUMNS} FROM sessions WHERE {where} {_NEWEST_FIRST} LIMIT ?", (*values, limit))  # noqa: S608
    return [
        msgspec.structs.replace(decode(body, Session), id=name, updated=updated, head=head, epoch=epoch, revision=revision)
        for name, updated, head, epoch, revision, body in rows
    ]
