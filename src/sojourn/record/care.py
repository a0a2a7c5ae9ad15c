"""Looking after the whole store: what it takes, what nobody needs, whether it is sound (R-8, R-16)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw

from sojourn.base import UserMistake
from sojourn.record.blobs import Blobs
from sojourn.record.schema import immediate, is_ours
from sojourn.record.store import Space

YOUNG_MS = 3_600_000
"""A blob is put before its row is committed: while a session is held, one of the last hour may still get its row."""


def space(db: apsw.Connection, path: Path | None, blobs: Blobs) -> Space:
    """Bytes on disk (in memory: bytes of the pages)."""
    used = _used(db)
    total = orphans = 0
    for stored in blobs.all():
        total += stored.size
        if stored.sha not in used:
            orphans += stored.size
    if path is None:
        return Space(int(db.pragma("page_count")) * int(db.pragma("page_size")), 0, total, orphans)
    log = path.with_name(path.name + "-wal")
    return Space(path.stat().st_size, log.stat().st_size if log.exists() else 0, total, orphans)


def collect(db: apsw.Connection, now: int, path: Path | None, blobs: Blobs) -> int:
    """Removes blobs without a row; the bytes freed. Raises UserMistake where two databases share the folder."""
    refuse_shared(path)
    with immediate(db):  # nobody takes a lease, or commits a row, meanwhile
        (held,) = db.execute("SELECT count(*) FROM sessions WHERE lease_owner IS NOT NULL").fetchone() or (0,)
        used = _used(db)
        orphans = [stored for stored in blobs.all() if stored.sha not in used and not (held and now - stored.put < YOUNG_MS)]
        return sum(blobs.remove(stored.sha) for stored in orphans) + blobs.sweep(now - YOUNG_MS)


def check(db: apsw.Connection, blobs: Blobs) -> Sequence[str]:
    """Findings, empty when all is well."""
    return [*_integrity(db), *_dangling(db, blobs)]


def refuse_shared(path: Path | None) -> None:
    """Raises UserMistake if another database of ours lies beside this one: a blob without a row here may have one there."""
    if path is None:
        return
    others = [
        other.name
        for other in sorted(path.parent.iterdir())
        if other.name != path.name and other.is_file() and not other.name.endswith(("-wal", "-shm")) and is_ours(other)
    ]
    if others:
        raise UserMistake(
            f"{path.name} and {', '.join(others)} share the folder {path.parent / 'blobs'}",
            next_step="Move the other database to a folder of its own, then run this again.",
        )


def _used(db: apsw.Connection) -> set[str]:
    return {sha for (sha,) in db.execute("SELECT DISTINCT sha FROM blob_uses")}


def _integrity(db: apsw.Connection) -> Iterator[str]:
    for (finding,) in db.execute("PRAGMA quick_check"):
        if finding != "ok":
            yield f"database: {finding}"
    for table, _, parent, _ in db.execute("PRAGMA foreign_key_check"):
        yield f"a row of {table} has no {parent}"


def _dangling(db: apsw.Connection, blobs: Blobs) -> Iterator[str]:
    for sha in sorted(_used(db) - {stored.sha for stored in blobs.all()}):
        yield f"blob {sha} is named by a message and not there"
    for name, prefix_id in db.execute(
        "SELECT id, prefix_id FROM windows WHERE prefix_id IS NOT NULL AND prefix_id NOT IN (SELECT id FROM prefixes)"
    ):
        yield f"window {name} names prefix {prefix_id}, which is not there"
    for name, head, newest, count, start in db.execute(
        "SELECT s.id, s.head, max(m.seq), count(m.seq), coalesce(s.fork_seq, 0) FROM sessions s"
        " LEFT JOIN messages m ON m.sid = s.pk GROUP BY s.pk"
    ):
        if head != (start if newest is None else newest) or count != head - start:
            yield f"session {name}: head {head}, but {count} messages up to {newest}"
    for (name,) in db.execute(
        "SELECT m.id FROM messages m JOIN parts p ON p.message = m.pk GROUP BY m.pk HAVING max(p.idx) + 1 <> count(*)"
    ):
        yield f"message {name} lacks a part"
