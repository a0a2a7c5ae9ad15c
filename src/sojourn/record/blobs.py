"""Large payloads beside the database, addressed by what they hold (R-8)."""

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from sojourn.base import Clock

_ADDRESS = re.compile(r"[0-9a-f]{64}")


class Stored(NamedTuple):
    sha: str
    size: int
    """Bytes."""
    put: int
    """When it was last put, milliseconds by the store's clock."""


class Blobs(Protocol):
    """Bytes by the hex sha256 of their content. Raises OSError where the disk fails."""

    def put(self, data: bytes) -> str: ...

    def get(self, sha: str) -> bytes | None: ...

    def remove(self, sha: str) -> int:
        """The bytes freed; 0 if it was not there."""
        ...

    def all(self) -> Iterator[Stored]: ...

    def sweep(self, before: int) -> int:
        """Removes unfinished files last touched before the time; the bytes freed."""
        ...


class MemoryBlobs:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[str, tuple[bytes, int]] = {}

    def put(self, data: bytes) -> str:
        sha = hashlib.sha256(data).hexdigest()
        self._held[sha] = (bytes(data), self._clock.now())
        return sha

    def get(self, sha: str) -> bytes | None:
        held = self._held.get(sha)
        return held[0] if held else None

    def remove(self, sha: str) -> int:
        held = self._held.pop(sha, None)
        return len(held[0]) if held else 0

    def all(self) -> Iterator[Stored]:
        for sha, (data, put) in list(self._held.items()):
            yield Stored(sha, len(data), put)

    def sweep(self, before: int) -> int:
        return 0


class FolderBlobs:
    """``<folder>/ab/abcdef...``, files 0600 in folders 0700: written aside, synced, then renamed."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.folder = folder
        self._clock = clock

    def put(self, data: bytes) -> str:
        sha = hashlib.sha256(data).hexdigest()
        path = self._path(sha)
        now = self._clock.now() * 1_000_000
        if path.exists():
            os.utime(path, ns=(now, now))  # young again: a collection spares it until its row is there
            return sha
        self._make_folder(path.parent)
        handle, aside = tempfile.mkstemp(prefix=".put-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.utime(aside, ns=(now, now))
            os.replace(aside, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(aside)
            raise
        _sync_folder(path.parent)
        return sha

    def get(self, sha: str) -> bytes | None:
        if not _ADDRESS.fullmatch(sha):
            return None
        try:
            return self._path(sha).read_bytes()
        except FileNotFoundError:
            return None

    def remove(self, sha: str) -> int:
        path = self._path(sha)
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            return 0
        return size

    def all(self) -> Iterator[Stored]:
        for entry in self._files():
            if _ADDRESS.fullmatch(entry.name):
                state = entry.stat()
                yield Stored(entry.name, state.st_size, state.st_mtime_ns // 1_000_000)

    def sweep(self, before: int) -> int:
        freed = 0
        for entry in self._files():
            state = entry.stat()
            if entry.name.startswith(".put-") and state.st_mtime_ns // 1_000_000 < before:
                os.unlink(entry.path)
                freed += state.st_size
        return freed

    def _files(self) -> Iterator["os.DirEntry[str]"]:
        if not self.folder.is_dir():
            return
        with os.scandir(self.folder) as shelves:
            names = sorted(shelf.path for shelf in shelves if shelf.is_dir(follow_symlinks=False))
        for name in names:
            with os.scandir(name) as files:
                yield from [file for file in files if file.is_file(follow_symlinks=False)]

    def _path(self, sha: str) -> Path:
        return self.folder / sha[:2] / sha

    def _make_folder(self, folder: Path) -> None:
        for each in (self.folder, folder):
            try:
                each.mkdir(mode=0o700)
            except FileExistsError:
                continue
            _sync_folder(each.parent)


def _sync_folder(folder: Path) -> None:
    """Makes a new name in the folder durable (Windows has no such call, and needs none)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
