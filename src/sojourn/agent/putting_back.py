"""Files of a folder put into another state: all of them or none, as far as a file system lets (W-12).

New contents are written aside first, then every file is looked at once more, then names are exchanged. What a name leads
to is never followed: a link on the way to a file stops everything.
"""

import contextlib
import os
import shutil
import stat as modes
import subprocess
from collections.abc import Iterable, Sequence
from hashlib import sha1
from typing import Literal

import msgspec

from sojourn.agent.snapshot_scan import FILE_MOST, STAGING, really_inside
from sojourn.agent.snapshot_types import LINK, PLAIN, PROGRAM, Entry, Move, same, shown
from sojourn.base import WorkFailed

_STRANGE = Entry(0, "")
"""A folder's socket, a device, a file too large to be one of ours: like nothing that a snapshot holds."""


class Differs(Exception):
    """These paths are not what they were said to be; nothing was changed."""

    def __init__(self, paths: Sequence[bytes]) -> None:
        super().__init__(", ".join(map(shown, paths)))
        self.paths = tuple(paths)


class NotPut(WorkFailed):
    """The system did not allow it; what had been changed was put back."""


class Contents(msgspec.Struct, frozen=True):
    """The object store's ``cat-file --batch``."""

    command: list[str]
    environ: dict[str, str]

    def write(self, wanted: Sequence[tuple[str, bytes]]) -> None:
        """Each content to its new file (0600). Raises OSError; NotPut where the store does not have one."""
        if not wanted:
            return
        asked = "".join(f"{sha}\n" for sha, _ in wanted).encode()
        with subprocess.Popen(  # noqa: S603 (a fixed command)
            self.command, env=self.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                for at in range(0, len(asked), _ASKED):
                    self._answer(process, asked[at : at + _ASKED], wanted[at // _LINE : (at + _ASKED) // _LINE])
            finally:
                process.kill()

    def _answer(self, process: "subprocess.Popen[bytes]", asked: bytes, wanted: Sequence[tuple[str, bytes]]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(asked)
        process.stdin.flush()
        for sha, path in wanted:
            head = process.stdout.readline().split()
            if len(head) != 3 or head[1] != b"blob":
                raise NotPut(f"the content {sha} is not in the snapshots any more", next_step="Leave the files as they are.")
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(handle, "wb") as file:
                left = int(head[2])
                while left:
                    data = process.stdout.read(min(left, 1 << 20))
                    if not data:
                        raise NotPut(f"the content {sha} could not be read from the snapshots")
                    file.write(data)
                    left -= len(data)
            process.stdout.read(1)


_LINE = 41
_ASKED = 100 * _LINE
"""So many names are asked for at a time: more would fill the pipe while nobody reads the answers."""


def state(root: bytes, path: bytes) -> Entry | None:
    """What is there now. None = nothing, or a folder, or no way to it but through a link."""
    target = root + b"/" + path
    if not really_inside(root, path):
        return None
    try:
        stat = os.lstat(target)
    except FileNotFoundError:
        return None
    if modes.S_ISLNK(stat.st_mode):
        return Entry(LINK, _blob(os.readlink(target)), 0)
    if modes.S_ISDIR(stat.st_mode):
        return None
    if not modes.S_ISREG(stat.st_mode) or stat.st_size > FILE_MOST:
        return _STRANGE
    with open(target, "rb") as file:
        content = _blob(file.read())
    return Entry(PROGRAM if stat.st_mode & 0o100 else PLAIN, content, stat.st_mode & 0o777)


def _blob(data: bytes) -> str:
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def put(root: bytes, moves: Sequence[Move], contents: Contents, token: str) -> None:
    """Raises Differs, NotPut: nothing was changed; WorkFailed where putting back what was changed failed too."""
    if moves:
        _Putting(root, moves, token).run(contents)


def remains(root: bytes, token: str) -> bytes:
    """The folder in which the contents of an interrupted ``put`` wait."""
    return root + b"/" + STAGING + token.encode()


def folders_to_make(root: bytes, moves: Sequence[Move]) -> tuple[bytes, ...]:
    """Folders that are not there and that the moves need, the outermost first."""
    needed = {folder for move in moves if move.wanted is not None for folder in _folders(move.path)}
    return tuple(sorted(folder for folder in needed if not os.path.lexists(root + b"/" + folder)))


def remove_empty(root: bytes, folders: Sequence[bytes]) -> None:
    """Removes those of the folders in which nothing is."""
    for folder in sorted(folders, reverse=True):
        if really_inside(root, folder):
            with contextlib.suppress(OSError):  # it is not there, or somebody has put something into it
                os.rmdir(root + b"/" + folder)


class _Done(msgspec.Struct, frozen=True):
    """A step of the exchange, and what it takes to undo it."""

    act: Literal["exchanged", "came", "made", "dropped"]
    target: bytes
    old: bytes = b""
    """Where what was there waits (``exchanged``)."""
    bits: int = 0
    """Permissions of a folder (``dropped``)."""


class _Putting:
    """One exchange of files."""

    def __init__(self, root: bytes, moves: Sequence[Move], token: str) -> None:
        self._root = root
        self._moves = sorted(moves, key=lambda move: move.path)
        self._aside = remains(root, token)
        self._stamps: dict[bytes, tuple[int, ...] | None] = {}
        self._done: list[_Done] = []

    def run(self, contents: Contents) -> None:
        try:
            self._check()
            self._stage(contents)
            self._exchange()
        except (OSError, Differs, NotPut) as error:
            self._back(error)
            shutil.rmtree(self._aside, ignore_errors=True)
            if isinstance(error, OSError):
                raise NotPut(_told(error), next_step="Mend that and try again, or leave the files as they are.") from error
            raise
        shutil.rmtree(self._aside, ignore_errors=True)

    # --- before anything is changed ----------------------------------------------------------------------------------

    def _check(self) -> None:
        wrong = []
        for move in self._moves:
            if not _proper(move.path):
                raise NotPut(f"{shown(move.path)} is no path of a file in the folder")
            self._stamps[move.path] = self._stamp(move.path)
            if not same(state(self._root, move.path), move.present):
                wrong.append(move.path)
        if wrong:
            raise Differs(wrong)

    def _stamp(self, path: bytes) -> tuple[int, ...] | None:
        """Tells cheaply whether a file is still the one that was looked at."""
        try:
            stat = os.lstat(self._target(path)) if really_inside(self._root, path) else None
        except FileNotFoundError:
            return None
        if stat is None or modes.S_ISDIR(stat.st_mode):
            return None
        return stat.st_mode, stat.st_ino, stat.st_dev, stat.st_size, stat.st_mtime_ns

    def _stage(self, contents: Contents) -> None:
        """New contents as ``n.new``, second names of what is there now as ``n.old``."""
        os.mkdir(self._aside, 0o700)
        contents.write([(move.wanted.sha, self._new(n)) for n, move in enumerate(self._moves) if move.wanted])
        for n, move in enumerate(self._moves):
            if move.wanted is not None and move.wanted.mode == LINK:
                with open(self._new(n), "rb") as file:
                    points_to = file.read()
                os.unlink(self._new(n))
                os.symlink(points_to, self._new(n))
            elif move.wanted is not None:
                os.chmod(self._new(n), move.wanted.permissions)
            if move.present is not None:
                self._second_name(self._target(move.path), self._old(n))

    def _second_name(self, target: bytes, old: bytes) -> None:
        try:
            os.link(target, old, follow_symlinks=False)
        except (OSError, NotImplementedError):  # a file system without second names
            shutil.copy2(target, old, follow_symlinks=False)

    # --- the exchange ------------------------------------------------------------------------------------------------

    def _exchange(self) -> None:
        goes = [(n, move) for n, move in enumerate(self._moves) if move.wanted is None]
        comes = [(n, move) for n, move in enumerate(self._moves) if move.wanted is not None]
        needed = {folder for _, move in comes for folder in _folders(move.path)}
        for n, move in goes:
            self._still(move.path)
            os.unlink(self._target(move.path))
            self._done.append(_Done("exchanged", self._target(move.path), self._old(n)))
        for folder in sorted({folder for _, move in goes for folder in _folders(move.path)} - needed, reverse=True):
            self._drop_empty(folder)
        for n, move in comes:
            self._still(move.path)
            for folder in _folders(move.path):
                self._make(folder)
            os.replace(self._new(n), self._target(move.path))
            act: Literal["exchanged", "came"] = "exchanged" if move.present is not None else "came"
            self._done.append(_Done(act, self._target(move.path), self._old(n)))

    def _still(self, path: bytes) -> None:
        if self._stamp(path) != self._stamps[path]:
            raise Differs([path])

    def _drop_empty(self, folder: bytes) -> None:
        target = self._target(folder)
        with contextlib.suppress(OSError):  # something else lives there
            bits = os.lstat(target).st_mode & 0o777
            os.rmdir(target)
            self._done.append(_Done("dropped", target, bits=bits))

    def _make(self, folder: bytes) -> None:
        target = self._target(folder)
        try:
            os.mkdir(target)
        except FileExistsError:
            if not modes.S_ISDIR(os.lstat(target).st_mode):
                raise Differs([folder]) from None
        else:
            self._done.append(_Done("made", target))

    # --- back --------------------------------------------------------------------------------------------------------

    def _back(self, error: BaseException) -> None:
        try:
            while self._done:
                done = self._done[-1]
                match done.act:
                    case "exchanged":
                        os.replace(done.old, done.target)
                    case "came":
                        os.unlink(done.target)
                    case "made":
                        os.rmdir(done.target)
                    case "dropped":
                        os.mkdir(done.target)
                        os.chmod(done.target, done.bits)
                self._done.pop()
        except OSError as second:
            raise WorkFailed(
                f"{_told(error)}; and putting back what was changed failed: {_told(second)}",
                next_step=f"What was there before is in {shown(self._aside)}: mend the cause and undo again.",
            ) from error

    def _target(self, path: bytes) -> bytes:
        return self._root + b"/" + path

    def _new(self, n: int) -> bytes:
        return self._aside + b"/%d.new" % n

    def _old(self, n: int) -> bytes:
        return self._aside + b"/%d.old" % n


def _folders(path: bytes) -> Iterable[bytes]:
    """The folders on the way, the outermost first."""
    names = path.split(b"/")
    return [b"/".join(names[:n]) for n in range(1, len(names))]


def _proper(path: bytes) -> bool:
    names = path.split(b"/")
    return not any(name in (b"", b".", b"..") or name.lower() == b".git" for name in names) and b"\0" not in path


def _told(error: BaseException) -> str:
    if not isinstance(error, OSError):
        return str(error)
    name = error.filename2 or error.filename
    where = shown(name) if isinstance(name, bytes) else str(name or "")
    return f"{error.strerror or type(error).__name__}: {where}" if where else str(error)
