"""The full-text index beside the documents: a copy that can be thrown away, reconciled with the disk when asked (Y-1).

One SQLite file, ``<root>/.index.sqlite``, opened anew for each question and by one at a time: under a lock, so that an erasure
can remove it with every word in it and nobody writes what he had read before (R-16). A damaged one is made anew; where the disk
refuses one, or another process has it for long, it is built in memory.
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from sojourn.base import WorkFailed
from sojourn.memory.locks import held
from sojourn.memory.reconcile import reconcile, scope_word
from sojourn.record.schema import immediate

T = TypeVar("T")

_NAME = ".index.sqlite"
_SIDES = ("", "-journal", "-wal", "-shm")
_VERSION = 1
_BUSY_MS = 5_000
_SCHEMA = """
CREATE TABLE folders (
  path TEXT NOT NULL PRIMARY KEY, parent TEXT NOT NULL, modified INTEGER NOT NULL, seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX folders_parent ON folders(parent);
CREATE TABLE documents (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, folder TEXT NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
  changed INTEGER NOT NULL, inode INTEGER NOT NULL, seen INTEGER NOT NULL, sha TEXT NOT NULL, title TEXT NOT NULL,
  tokens INTEGER NOT NULL, length INTEGER NOT NULL
) STRICT;
CREATE INDEX documents_folder ON documents(folder);
CREATE VIRTUAL TABLE words USING fts5(
  scope, text, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2 tokenchars '_'"
);
"""

_DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError)
_REFUSED = (
    OSError, apsw.BusyError, apsw.LockedError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError,
    apsw.PermissionsError,
)  # fmt: skip

_K1, _B = 1.2, 0.75
"""BM25's usual constants."""


class Row(NamedTuple):
    path: str
    """Below the root."""
    title: str
    tokens: int
    modified: int
    """Milliseconds."""


class _Foreign(apsw.CorruptError):
    """A file of another version."""


class Index:
    """Answers about the documents in given folders (below the root), as they stand on disk now. Blocks: run it in a thread."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._path = root / _NAME

    def entries(self, tops: Sequence[str]) -> list[Row]:
        """All documents in the folders, newest first."""

        def look(db: apsw.Connection) -> list[Row]:
            reconcile(db, self.root, tops)
            found = [row for top in tops for row in _inside(db, "path, title, tokens, modified / 1000000", top)]
            return sorted((Row(*row) for row in found), key=lambda row: (-row.modified, row.path))

        return self._using(look)

    def ranked(self, tops: Sequence[str], terms: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """(path below the root, score) of documents with any of the FTS5 ``terms``, one phrase each; best first.

        BM25 with numbers of these folders alone: what another project holds changes nothing, and a word that most of few
        documents have still counts for a little.
        """

        def look(db: apsw.Connection) -> list[tuple[str, float]]:
            reconcile(db, self.root, tops)
            lengths = [length for top in tops for (length,) in _inside(db, "length", top)]
            scope = f"{{scope}} : ({' OR '.join(scope_word(top) for top in tops)})"
            counts = [
                next(db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (f"{scope} AND {term}",)))[0]
                for term in terms
            ]
            present = [(term, count) for term, count in zip(terms, counts, strict=True) if count]
            if not present:
                return []
            rarity = [math.log(1 + (len(lengths) - count + 0.5) / (count + 0.5)) for _, count in present]
            match = f"{scope} AND ({' OR '.join(term for term, _ in present)})"
            marks = ", ?" * len(rarity)
            rows: list[Any] = db.execute(
                f"SELECT rowid, relevance(words{marks}, ?) FROM words WHERE words MATCH ?",  # noqa: S608 (only marks are put in)
                (*rarity, sum(lengths) / len(lengths), match),
            ).fetchall()
            paths = {key: path for top in tops for key, path in _inside(db, "id, path", top)}
            found = [(paths[key], score) for key, score in rows if key in paths]
            return sorted(found, key=lambda one: (-one[1], one[0]))[:limit]

        return self._using(look) if tops else []

    def forget(self) -> None:
        """Removes the files of the index, free pages and all; the next question makes them anew. Raises WorkFailed."""
        if not self.root.is_dir():
            return
        with held(self.root, _NAME):
            for path in self._files():
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:
                    raise WorkFailed(
                        f"{path} cannot be removed: {error.strerror or error}",
                        next_step="It holds words of the documents: remove it by hand.",
                    ) from error

    def _using(self, work: Callable[[apsw.Connection], T]) -> T:
        with ExitStack() as lock:
            for _ in range(2 if self._alone(lock) else 0):
                try:
                    with self._opened() as db:
                        return work(db)
                except _DAMAGED:
                    self._discard()
                except _REFUSED:
                    break
        with _connected(":memory:") as db:
            db.execute(_SCHEMA)
            return work(db)

    def _alone(self, lock: ExitStack) -> bool:
        """Whether there is a folder for the index and nobody else uses it now, until the lock is left."""
        if not self.root.is_dir():
            return False
        try:
            lock.enter_context(held(self.root, _NAME, _BUSY_MS / 1_000))
        except WorkFailed:
            return False
        return True

    @contextmanager
    def _opened(self) -> Iterator[apsw.Connection]:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(self._path, flags, 0o600)
        os.close(handle)
        with _connected(str(self._path)) as db:
            version = int(db.pragma("user_version"))
            if version == 0:
                with immediate(db):
                    if int(db.pragma("user_version")) == 0:  # another process may have been faster
                        db.execute(_SCHEMA)
                        db.execute(f"PRAGMA user_version = {_VERSION}")
            elif version != _VERSION:
                raise _Foreign
            yield db

    def _discard(self) -> None:
        for path in self._files():
            try:
                path.unlink(missing_ok=True)
            except OSError:  # then it is built in memory
                return

    def _files(self) -> list[Path]:
        return [path for side in _SIDES if not (path := self.root / f"{_NAME}{side}").is_dir()]


def is_index(name: str) -> bool:
    """Whether a file of this name, directly below the root, is the index's."""
    return name in [f"{_NAME}{side}" for side in _SIDES]


@contextmanager
def _connected(name: str) -> Iterator[apsw.Connection]:
    db = apsw.Connection(name)
    try:
        db.set_busy_timeout(_BUSY_MS)
        db.execute("PRAGMA synchronous = NORMAL")
        db.register_fts5_function("relevance", _relevance)
        yield db
    finally:
        db.close()


def _inside(db: apsw.Connection, columns: str, top: str) -> apsw.Cursor:
    return db.execute(
        f"SELECT {columns} FROM documents WHERE folder = ? OR (folder > ? AND folder < ?)",  # noqa: S608 (fixed names)
        (top, f"{top}/", f"{top}0"),
    )


def _relevance(api: apsw.FTS5ExtensionApi, *values: "apsw.SQLiteValue") -> float:
    """BM25 of the row: of the last phrases, as many as there are rarities; then the mean length."""
    *rarity, mean = (float(value) for value in values if isinstance(value, float | int))
    first = api.phrase_count - len(rarity)
    share = _K1 * (1 - _B + _B * api.column_size(1) / mean)
    score = 0.0
    for number, weight in enumerate(rarity, first):
        times = len(api.phrase_locations(number)[1])
        score += weight * times * (_K1 + 1) / (times + share)
    return score
