"""The database file: its tables, its versions, and how it is opened (R-9)."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from sojourn.base import UserMistake, WorkFailed

APPLICATION_ID = 0x534F4A52
"""``SOJR``: tells our files from other programs' SQLite files."""

BUSY_MS = 10_000
_HEADER = b"SQLite format 3\x00"

_V1 = """
CREATE TABLE sessions (
  pk INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  project_id ANY NOT NULL,
  parent_id ANY,
  source_format ANY,
  foreign_id ANY,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  head INTEGER NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0,
  revision INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT,
  lease_since INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER NOT NULL DEFAULT 0,
  slot BLOB NOT NULL,
  fork_parent INTEGER REFERENCES sessions(pk),
  fork_seq INTEGER,
  fork_window INTEGER,
  fork_checkpoint INTEGER,
  fork_undo INTEGER,
  fork_pin INTEGER,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX sessions_project ON sessions(project_id);
CREATE INDEX sessions_parent ON sessions(parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_foreign ON sessions(foreign_id) WHERE foreign_id IS NOT NULL;
CREATE INDEX sessions_fork ON sessions(fork_parent) WHERE fork_parent IS NOT NULL;

CREATE TABLE messages (
  pk INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions(pk) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL UNIQUE,
  origin TEXT NOT NULL,
  finish TEXT,
  answers INTEGER NOT NULL,
  body BLOB NOT NULL,
  UNIQUE (sid, seq)
) STRICT;
CREATE INDEX messages_user ON messages(sid, seq) WHERE origin = 'user';
CREATE INDEX messages_answer ON messages(sid, seq) WHERE answers = 1;

CREATE TABLE parts (
  message INTEGER NOT NULL REFERENCES messages(pk) ON DELETE CASCADE,
  idx INTEGER NOT NULL,
  call TEXT,
  body BLOB NOT NULL,
  PRIMARY KEY (message, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE blob_uses (
  message INTEGER NOT NULL REFERENCES messages(pk) ON DELETE CASCADE,
  sha TEXT NOT NULL,
  PRIMARY KEY (message, sha)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_uses_sha ON blob_uses(sha);

CREATE TABLE windows (
  pk INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions(pk) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE,
  number INTEGER NOT NULL,
  opened_at_seq INTEGER NOT NULL,
  undos_before INTEGER NOT NULL,
  prefix_id TEXT,
  body BLOB NOT NULL,
  UNIQUE (sid, number)
) STRICT;
CREATE INDEX windows_prefix ON windows(prefix_id) WHERE prefix_id IS NOT NULL;

CREATE TABLE window_states (
  sid INTEGER NOT NULL REFERENCES sessions(pk) ON DELETE CASCADE,
  window INTEGER NOT NULL REFERENCES windows(pk) ON DELETE CASCADE,
  body BLOB NOT NULL,
  PRIMARY KEY (sid, window)
) STRICT, WITHOUT ROWID;
CREATE INDEX window_states_window ON window_states(window);

CREATE TABLE checkpoints (
  pk INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions(pk) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE,
  covered_seq INTEGER NOT NULL,
  undos_before INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX checkpoints_session ON checkpoints(sid);

CREATE TABLE undos (
  pk INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions(pk) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX undos_session ON undos(sid);

CREATE TABLE calls (
  pk INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions(pk) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE,
  window_id TEXT,
  purpose TEXT NOT NULL,
  prefix_id TEXT,
  metered INTEGER NOT NULL DEFAULT 0,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX calls_window ON calls(sid, window_id, purpose, metered);
CREATE INDEX calls_prefix ON calls(prefix_id) WHERE prefix_id IS NOT NULL;

CREATE TABLE pins (
  pk INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions(pk) ON DELETE CASCADE,
  id TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX pins_session ON pins(sid);

CREATE TABLE inbox (
  pk INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions(pk) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE,
  taken INTEGER NOT NULL DEFAULT 0,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX inbox_session ON inbox(sid, taken);

CREATE TABLE prefixes (
  id TEXT NOT NULL PRIMARY KEY,
  body BLOB NOT NULL
) STRICT;

CREATE TABLE unindexed (
  message INTEGER PRIMARY KEY REFERENCES messages(pk) ON DELETE CASCADE
) STRICT;

CREATE VIRTUAL TABLE message_index USING fts5(
  scope, text, content='', contentless_delete=1,
  tokenize="unicode61 remove_diacritics 2 tokenchars '_'"
);
"""

_V2 = """
CREATE TABLE tasks (
  pk INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions(pk) ON DELETE CASCADE,
  id TEXT NOT NULL,
  at_seq INTEGER NOT NULL,
  undos_before INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX tasks_session ON tasks(sid);

CREATE TABLE snapshots (
  pk INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions(pk) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX snapshots_session ON snapshots(sid);

ALTER TABLE sessions ADD COLUMN fork_task INTEGER NOT NULL DEFAULT 0;
"""

STEPS: tuple[str, ...] = (_V1, _V2)
"""Step n brings version n to n + 1. Released steps never change."""


@contextmanager
def immediate(db: apsw.Connection) -> Iterator[None]:
    """One write transaction: all of it, or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # SQLite rolls back by itself where the disk failed
            db.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(db: apsw.Connection) -> Iterator[None]:
    """One read transaction: every statement in it sees the same moment."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("COMMIT")


def open_database(path: Path | None) -> apsw.Connection:
    """A connection to the database at the path (None = in memory), created or migrated as needed.

    Raises UserMistake, and leaves the file as it is, for a newer version or another program's file; WorkFailed for a
    damaged one.
    """
    if path is None:
        db = apsw.Connection(":memory:")
        db.execute("PRAGMA foreign_keys = ON")
        migrate(db, ":memory:")
        return db
    _look_at_header(path)
    _make_private(path)
    db = apsw.Connection(str(path))
    try:
        db.set_busy_timeout(BUSY_MS)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # a file that we refuse is left as it is
        _refuse_newer(version(db), path)
        _write_ahead(db)
        db.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 16777216")
        migrate(db, str(path))
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    except BaseException:
        db.close()
        raise
    return db


def version(db: apsw.Connection) -> int:
    """The schema's version: 0 for an empty file."""
    return int(db.pragma("user_version"))


def migrate(db: apsw.Connection, name: str, steps: Sequence[str] = STEPS) -> None:
    """Brings the database to the newest version, one transaction a step; two processes may do so at once."""
    while version(db) < len(steps):
        with immediate(db):
            current = version(db)  # another process may have been faster
            if current < len(steps):
                db.execute(steps[current])
                db.execute(f"PRAGMA user_version = {current + 1}; PRAGMA application_id = {APPLICATION_ID}")
    _refuse_newer(version(db), Path(name), len(steps))


def _refuse_newer(found: int, path: Path, known: int = len(STEPS)) -> None:
    if found > known:
        raise UserMistake(
            f"{path} was written by a newer Sojourn (record version {found}; this one knows up to {known})",
            next_step="Update Sojourn, or point it at another data folder. The file was not changed.",
        )


def is_ours(path: Path) -> bool:
    """Whether the file is a database of ours (by its header)."""
    with path.open("rb") as file:
        head = file.read(100)
    return head.startswith(_HEADER) and int.from_bytes(head[68:72], "big") == APPLICATION_ID


def _look_at_header(path: Path) -> None:
    """Refuses before SQLite touches the file: opening it would write beside it."""
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        return
    except OSError as error:
        raise WorkFailed(f"{path} cannot be read: {error.strerror}", next_step="Check the path and its permissions.") from error
    if not head:
        return
    if not head.startswith(_HEADER):
        raise UserMistake(f"{path} is not a Sojourn record", next_step="Give another path; the file was not changed.")
    if len(head) < 100:
        raise WorkFailed(f"{path} is damaged: its header is cut short", next_step="Restore it from a copy.")
    application = int.from_bytes(head[68:72], "big")
    has_tables = int.from_bytes(head[40:44], "big") > 0
    if application != APPLICATION_ID and (application or has_tables):
        raise UserMistake(
            f"{path} is the database of another program", next_step="Give another path; the file was not changed."
        )
    _refuse_newer(int.from_bytes(head[60:64], "big"), path)


def _make_private(path: Path) -> None:
    """The file 0600, in a folder 0700 if we make it; SQLite gives its side files the file's mode."""
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
            path.parent.chmod(0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(handle).st_mode & 0o777 != 0o600 and hasattr(os, "fchmod"):
                os.fchmod(handle, 0o600)
        finally:
            os.close(handle)
    except OSError as error:
        raise WorkFailed(
            f"{path} cannot be opened for writing: {error.strerror}", next_step="Check the folder and its permissions."
        ) from error


def _write_ahead(db: apsw.Connection) -> None:
    """Turns on the write-ahead log. SQLite does not wait for others here, so we do."""
    deadline = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
