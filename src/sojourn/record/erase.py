"""Deleting sessions: a person's act only (R-16)."""

from collections.abc import Sequence
from pathlib import Path

import apsw

from sojourn.base import UserMistake
from sojourn.record import index
from sojourn.record.blobs import Blobs
from sojourn.record.care import refuse_shared
from sojourn.record.codec import key
from sojourn.record.schema import immediate


def delete(db: apsw.Connection, path: Path | None, blobs: Blobs, session_id: str) -> int:
    """Removes the session, its children, and all their rows; the number of messages.

    Raises UserMistake for an unknown session, or one whose messages a fork outside still reads.
    """
    with immediate(db):
        sids = [
            sid
            for (sid,) in db.execute(
                "WITH RECURSIVE tree (pk, id) AS (SELECT pk, id FROM sessions WHERE id = ?"
                " UNION SELECT s.pk, s.id FROM sessions s JOIN tree t ON s.parent_id = t.id) SELECT pk FROM tree",
                (key(session_id),),
            )
        ]
        if not sids:
            raise UserMistake(f"there is no session {session_id}", next_step="List them with: sojourn sessions")
        _refuse_forked(db, session_id, sids)
        doomed = ",".join(map(str, sids))
        pks = [pk for (pk,) in db.execute(f"SELECT pk FROM messages WHERE sid IN ({doomed})")]  # noqa: S608  (numbers)
        shas = {sha for pk in pks for (sha,) in db.execute("SELECT sha FROM blob_uses WHERE message = ?", (pk,))}
        prefixes = {
            name
            for table in ("windows", "calls")
            for (name,) in db.execute(f"SELECT prefix_id FROM {table} WHERE sid IN ({doomed}) AND prefix_id IS NOT NULL")  # noqa: S608
        }
        index.forget(db, pks)
        db.execute(f"UPDATE sessions SET fork_parent = NULL WHERE pk IN ({doomed})")  # noqa: S608
        db.execute(f"DELETE FROM sessions WHERE pk IN ({doomed})")  # noqa: S608
        for name in prefixes:
            db.execute(
                "DELETE FROM prefixes WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM windows WHERE prefix_id = ?1)"
                " AND NOT EXISTS (SELECT 1 FROM calls WHERE prefix_id = ?1)",
                (name,),
            )
        orphans = [sha for sha in shas if not db.execute("SELECT 1 FROM blob_uses WHERE sha = ?", (sha,)).fetchone()]
    if orphans and not _shared(path):
        for sha in orphans:
            blobs.remove(sha)
    rewrite(db)
    return len(pks)


def _refuse_forked(db: apsw.Connection, session_id: str, sids: Sequence[int]) -> None:
    forks = [
        name
        for sid in sids
        for name, pk in db.execute("SELECT id, pk FROM sessions WHERE fork_parent = ?", (sid,))
        if pk not in sids
    ]
    if forks:
        raise UserMistake(
            f"session {session_id} cannot be deleted: {', '.join(forks)} was forked from it and reads its messages",
            next_step="Delete the forks first.",
        )


def _shared(path: Path | None) -> bool:
    try:
        refuse_shared(path)
    except UserMistake:
        return True
    return False


def rewrite(db: apsw.Connection) -> None:
    """Takes erased bytes out of the index, the free pages and the log."""
    db.execute("INSERT INTO message_index (message_index) VALUES ('optimize')")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
