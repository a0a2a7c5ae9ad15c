"""The first bytes of a file that somebody else may have put there (P-5, P-6)."""

import os
import stat
from pathlib import Path

import msgspec


class Head(msgspec.Struct, frozen=True):
    data: bytes
    size: int
    """Bytes of the whole file; ``data`` may be less."""
    modified: int
    """Nanoseconds since 1970."""

    @property
    def cut(self) -> bool:
        return self.size > len(self.data)


def head(path: Path, most: int) -> Head:
    """At most ``most`` bytes. Never waits: a pipe or a device in a file's place is an OSError like any other."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no ordinary file")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return Head(stream.read(most), status.st_size, status.st_mtime_ns)
    finally:
        os.close(descriptor)


def real(path: Path) -> Path:
    """The real path; of a link that leads in a circle the path itself, where ``Path.resolve`` raises before Python 3.13."""
    return Path(os.path.realpath(path))


def inside(path: Path, folder: Path) -> bool:
    """Whether the real path lies in the folder."""
    return real(path).is_relative_to(real(folder))
