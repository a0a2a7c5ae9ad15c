"""Keeping the full-text index, and asking it (R-13)."""

from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from typing import Any

import apsw

from sojourn.record.codec import decode, key
from sojourn.record.lineage import Segment, cover, lineage
from sojourn.record.schema import immediate, snapshot
from sojourn.record.search import index_text, match_query, searchable, snippet
from sojourn.record.store import Hit
from sojourn.record.types import Message, Part, Session
from sojourn.record.undo import Cover

INDEXED_ORIGINS = frozenset({"user", "model"})
"""Who is searched as speech: people and models, not engine text, not what another program wrote (R-2)."""

_MANY = 16
"""Messages in one commit from which on it is an import, not a conversation."""


def scope(sid: int, project_id: str | bytes) -> str:
    """The words that narrow a search: one for the session, one for its project (as its column holds it)."""
    return f"s{sid} {_project(project_id)}"


def note(db: apsw.Connection, pks: Collection[int], revision: int) -> None:
    """Puts messages on the list of those to be indexed, within a commit.

    Indexing many at once costs a fraction of one at a time, and a streamed message is indexed once, not for each part: so
    a small commit only notes its messages, and every 32nd catches up. A large one (an import) indexes what it has noted.
    """
    db.executemany("INSERT OR IGNORE INTO unindexed (message) VALUES (?)", ((pk,) for pk in pks))
    if len(pks) >= _MANY:
        catch_up(db, len(pks))
    elif revision % 32 == 0:
        catch_up(db, 32 * _MANY)


def catch_up(db: apsw.Connection, limit: int) -> int:
    """Indexes up to ``limit`` messages of the list, the oldest first; how many. Within a transaction."""
    words: dict[int, str] = {}
    rows: list[Any] = db.execute(
        "SELECT m.pk, m.sid, s.project_id FROM unindexed u JOIN messages m ON m.pk = u.message JOIN sessions s ON s.pk = m.sid"
        " ORDER BY m.pk LIMIT ?",
        (limit,),
    ).fetchall()
    for pk, sid, project_id in rows:
        if sid not in words:
            words[sid] = scope(sid, project_id)
        reindex(db, pk, words[sid])
    db.executemany("DELETE FROM unindexed WHERE message = ?", ((pk,) for pk, _, _ in rows))
    return len(rows)


def catch_up_all(db: apsw.Connection) -> None:
    """Indexes the whole list, in short transactions."""
    while db.execute("SELECT 1 FROM unindexed LIMIT 1").fetchone():
        with immediate(db):
            catch_up(db, 1_000)


def reindex(db: apsw.Connection, pk: int, words: str) -> None:
    """Indexes the message anew from its rows."""
    text = searchable(stored_parts(db, pk))
    if text:
        db.execute("INSERT OR REPLACE INTO message_index (rowid, scope, text) VALUES (?, ?, ?)", (pk, words, index_text(text)))
    else:
        db.execute("DELETE FROM message_index WHERE rowid = ?", (pk,))


def stored_parts(db: apsw.Connection, pk: int) -> tuple[Part, ...]:
    """The message's parts, in order."""
    rows = db.execute("SELECT body FROM parts WHERE message = ? ORDER BY idx", (pk,))
    return tuple(decode(body, Part) for (body,) in rows)  # type: ignore[arg-type]


def search(db: apsw.Connection, query: str, *, session_id: str | None, project_id: str | None, limit: int) -> Sequence[Hit]:
    """The newest hits first, by when they were recorded. Undone messages are left out."""
    match = match_query(query)
    if match is None or limit < 1:
        return ()
    catch_up_all(db)
    with snapshot(db):
        return _search(db, match, query, session_id, project_id, limit)


def _search(
    db: apsw.Connection, match: str, query: str, session_id: str | None, project_id: str | None, limit: int
) -> Sequence[Hit]:
    views: dict[int, Sequence[Segment]] = {}
    if session_id is not None:
        chain = lineage(db, session_id)
        if not chain:
            return ()
        match = f"{{scope}} : ({' OR '.join(f's{segment.sid}' for segment in chain)}) AND {match}"
        views = {segment.sid: chain for segment in chain}
    if project_id is not None:
        match = f"{{scope}} : {_project(key(project_id) or '')} AND {match}"
    hits: list[Hit] = []
    covers: dict[int, Cover] = {}
    rows = db.execute(
        "SELECT m.pk, m.sid, m.seq, m.body FROM message_index JOIN messages m ON m.pk = message_index.rowid"
        " WHERE message_index MATCH ? ORDER BY message_index.rowid DESC",
        (match,),
    )
    for pk, sid, seq, body in rows:
        if not _in_view(db, sid, seq, views, covers):
            continue
        hits.append(_hit(db, pk, sid, seq, body, query))
        if len(hits) == limit:
            break
    return hits


def _in_view(db: apsw.Connection, sid: int, seq: int, views: dict[int, Sequence[Segment]], covers: dict[int, Cover]) -> bool:
    """Whether the message can be seen: from the session searched, or (a wider search) from its own."""
    chain = views.get(sid)
    if chain is None:
        (session_id,) = db.execute("SELECT id FROM sessions WHERE pk = ?", (sid,)).fetchone() or ("",)
        chain = views[sid] = lineage(db, session_id)[:]
    elif any(segment.sid == sid and seq > segment.upto for segment in chain):
        return False
    if sid not in covers:
        covers[sid] = cover(db, chain)
    return not covers[sid].message(seq)


def _hit(db: apsw.Connection, pk: int, sid: int, seq: int, body: bytes, query: str) -> Hit:
    message = decode(body, Message)
    session_id, session = db.execute("SELECT id, body FROM sessions WHERE pk = ?", (sid,)).fetchone() or ("", b"")
    return Hit(
        session_id=session_id,
        seq=seq,
        role=message.role,
        snippet=snippet(searchable(stored_parts(db, pk)), query),
        created=message.created,
        title=decode(session, Session).title,
    )


def forget(db: apsw.Connection, pks: Iterable[int]) -> None:
    """Takes messages out of the index."""
    db.executemany("DELETE FROM message_index WHERE rowid = ?", ((pk,) for pk in pks))


def _project(column: str | bytes) -> str:
    return "p" + sha256(column.encode() if isinstance(column, str) else column).hexdigest()[:16]
