"""Which folders have rules to say: from the git root down to the working folder (P-5)."""

import os
import stat
from pathlib import Path

import msgspec


class Levels(msgspec.Struct, frozen=True):
    root: Path | None
    """The nearest folder upward with ``.git``; None = outside a repository."""
    folders: tuple[Path, ...]
    """Farthest first, the working folder last."""
    unsafe: tuple[Path, ...] = ()
    """Left out: other users can write there. Outside a repository only."""


def levels(cwd: Path) -> Levels:
    """The folders of ``cwd``. In a repository from its root on; outside up to the file system root."""
    here = cwd.resolve()
    upward = (here, *here.parents)
    for depth, folder in enumerate(upward):
        if os.path.exists(folder / ".git") and not _planted(folder):
            return Levels(folder, upward[depth::-1])
    unsafe = tuple(folder for folder in upward if others_write(folder))
    return Levels(None, tuple(folder for folder in reversed(upward) if folder not in unsafe), unsafe)


def others_write(folder: Path) -> bool:
    """Whether another user (not root) can put a file there. A group counts, but for the user's private one."""
    if not hasattr(os, "getuid"):
        return False
    try:
        status = folder.stat()
    except OSError:
        return True
    if status.st_uid not in (0, os.getuid()) or status.st_mode & stat.S_IWOTH:
        return True
    private = status.st_gid == status.st_uid
    return bool(status.st_mode & stat.S_IWGRP) and not private


def _planted(folder: Path) -> bool:
    """A ``.git`` that somebody else put into a folder open to all (such as ``/tmp``) makes no repository of ours."""
    if not hasattr(os, "getuid"):
        return False
    open_to_all = bool(folder.stat().st_mode & stat.S_IWOTH)
    return open_to_all and (folder / ".git").lstat().st_uid not in (0, os.getuid())
