"""What changed on disk since the index looked: by folder times and file stamps, hashing only what is in doubt (Y-1).

A time stamp has a grain: a file written in the same tick in which it was read would look unchanged. So a stamp is believed
only if it was clearly older than the reading.
"""

import os
import stat
import time
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from sojourn.base import SojournError
from sojourn.memory.files import as_text, read
from sojourn.memory.front_matter import title_of
from sojourn.memory.layout import locator_of, may_hold
from sojourn.meter import estimate_text, total
from sojourn.record.schema import immediate
from sojourn.record.search import index_text

GRAIN_NS = 2_000_000_000
"""The coarsest time stamps of file systems in use: two seconds."""


class Stamp(NamedTuple):
    """What tells a file from its later self, as far as a stamp can. Times in nanoseconds."""

    size: int
    modified: int
    changed: int
    inode: int

    def old(self, seen: int) -> bool:
        """Whether it can be believed by who read the file at ``seen``."""
        return max(self.modified, self.changed) < seen - GRAIN_NS


class _Read(NamedTuple):
    path: str
    folder: str
    stamp: Stamp
    seen: int
    sha: str
    text: str


class _Difference(msgspec.Struct):
    """What is to be written into the index."""

    top: str
    folders: list[tuple[str, str, int, int]] = []
    """(path, parent, time, seen)."""
    no_folders: list[str] = []
    new: list[_Read] = []
    same: list[tuple[Stamp, int, str]] = []
    """Read again and found the same: (stamp, seen, path)."""
    gone: list[str] = []


def reconcile(db: apsw.Connection, root: Path, tops: Iterable[str]) -> None:
    """Brings the index up to date for the documents in these folders, and looks at no others."""
    for top in tops:
        difference = _Difference(top)
        if os.path.normcase(os.path.realpath(root / top)) == os.path.normcase(Path(os.path.realpath(root)) / top):
            _folder(db, root, top, difference)
        else:
            difference.no_folders.append(top)  # a link: not followed
        if any(getattr(difference, name) for name in ("folders", "no_folders", "new", "same", "gone")):
            with immediate(db):
                _apply(db, difference)


def _folder(db: apsw.Connection, root: Path, folder: str, difference: _Difference) -> None:
    seen = time.time_ns()
    try:
        state = os.lstat(root / folder)
    except OSError:
        state = None
    if state is None or not stat.S_ISDIR(state.st_mode):
        difference.no_folders.append(folder)
        return
    known = db.execute("SELECT modified, seen FROM folders WHERE path = ?", (folder,)).fetchone()
    stamps = {
        path: (Stamp(*stamp), when, sha)
        for path, when, sha, *stamp in db.execute(
            "SELECT path, seen, sha, size, modified, changed, inode FROM documents WHERE folder = ?", (folder,)
        )
    }
    inner = {path for (path,) in db.execute("SELECT path FROM folders WHERE parent = ?", (folder,))}
    files, folders = set(stamps), inner
    listed = known is None or known[0] != state.st_mtime_ns or known[0] >= known[1] - GRAIN_NS
    if listed:
        files, folders = _listing(root, folder)
        difference.gone += stamps.keys() - files
        difference.no_folders += inner - folders
    whole = True
    for path in sorted(files):
        whole = _file(root, path, folder, stamps.get(path), difference) and whole
    modified = state.st_mtime_ns if whole else 0  # with a file that could not be read the folder is listed again
    if known is None or known[0] != modified or (listed and whole and modified < seen - GRAIN_NS):
        difference.folders.append((folder, folder.rpartition("/")[0], modified, seen))
    for one in sorted(folders):
        _folder(db, root, one, difference)


def _listing(root: Path, folder: str) -> tuple[set[str], set[str]]:
    """(documents, folders) directly in the folder."""
    files, folders = set(), set()
    try:
        with os.scandir(root / folder) as found:
            for entry in found:
                path = f"{folder}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if may_hold(path):
                        folders.add(path)
                elif entry.is_file(follow_symlinks=False) and locator_of(root, path) is not None:
                    files.add(path)
    except OSError:
        return set(), set()
    return files, folders


def _file(root: Path, path: str, folder: str, known: tuple[Stamp, int, str] | None, difference: _Difference) -> bool:
    """Whether the file could be looked at."""
    try:
        if known is not None and known[0] == _stamp(os.lstat(f"{root}/{path}")) and known[0].old(known[1]):
            return True
        seen = time.time_ns()
        content = read(root / path)
    except (OSError, SojournError):
        content = None
    if content is None:
        if known is not None:
            difference.gone.append(path)
        return False
    stamp, sha = _stamp(content.stat), sha256(content.data).hexdigest()
    if known is None or known[2] != sha:
        difference.new.append(_Read(path, folder, stamp, seen, sha, as_text(content.data)))
    elif known[0] != stamp or stamp.old(seen):
        difference.same.append((stamp, seen, path))
    return True


def _stamp(state: os.stat_result) -> Stamp:
    inode = state.st_ino & 0x7FFF_FFFF_FFFF_FFFF  # SQLite's integers have a sign
    return Stamp(state.st_size, state.st_mtime_ns, state.st_ctime_ns, inode)


def _apply(db: apsw.Connection, difference: _Difference) -> None:
    for folder in difference.no_folders:
        inside = (folder, f"{folder}/", f"{folder}0")  # "0" is the character behind "/"
        _forget(db, "folder = ? OR (folder > ? AND folder < ?)", inside)
        db.execute("DELETE FROM folders WHERE path = ? OR (path > ? AND path < ?)", inside)
    for path in difference.gone:
        _forget(db, "path = ?", (path,))
    for one in difference.new:
        _put(db, difference.top, one)
    db.executemany(
        "UPDATE documents SET size = ?, modified = ?, changed = ?, inode = ?, seen = ? WHERE path = ?",
        ((*stamp, seen, path) for stamp, seen, path in difference.same),
    )
    db.executemany("INSERT OR REPLACE INTO folders (path, parent, modified, seen) VALUES (?, ?, ?, ?)", difference.folders)


def _forget(db: apsw.Connection, where: str, values: tuple[str, ...]) -> None:
    rows = db.execute(f"DELETE FROM documents WHERE {where} RETURNING id", values).fetchall()  # noqa: S608 (fixed texts)
    db.executemany("DELETE FROM words WHERE rowid = ?", rows)


def _put(db: apsw.Connection, top: str, one: _Read) -> None:
    name = one.path.removeprefix(f"{top}/").removesuffix(".md")
    words = index_text(f"{name}\n{one.text}")
    known = (one.path, one.folder, *one.stamp, one.seen, one.sha)
    said = (title_of(one.text), total(estimate_text(one.text)), len(words.split()))
    row = db.execute(
        "INSERT INTO documents (path, folder, size, modified, changed, inode, seen, sha, title, tokens, length)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET size = excluded.size,"
        " modified = excluded.modified, changed = excluded.changed, inode = excluded.inode, seen = excluded.seen,"
        " sha = excluded.sha, title = excluded.title, tokens = excluded.tokens, length = excluded.length RETURNING id",
        (*known, *said),
    ).fetchall()
    db.execute("INSERT OR REPLACE INTO words (rowid, scope, text) VALUES (?, ?, ?)", (row[0][0], scope_word(top), words))


def scope_word(top: str) -> str:
    """The word by which the index narrows a search to one folder."""
    return f"k{sha256(top.encode()).hexdigest()[:16]}"
