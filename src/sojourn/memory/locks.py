"""One writer of a document at a time, across processes and tasks (Y-2, report 80)."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from sojourn.base import WorkFailed
from sojourn.memory.files import make_folders

SECONDS = 30.0
"""How long one waits for the other writers of a document."""

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def held(root: Path, name: str, seconds: float | None = None) -> Iterator[None]:
    """Holds the document's lock; blocks, so it runs in a thread. The system frees it if the process dies.

    The locks are 256 files in ``<root>/.locks``: two documents may share one, so nobody holds two at once. Raises WorkFailed
    after ``seconds`` (None: 30).
    """
    folder = root / ".locks"
    try:
        make_folders(folder)
        handle = os.open(folder / f"{sha256(name.encode()).hexdigest()[:2]}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise WorkFailed(
            f"{root} cannot be written: {error.strerror or error}", next_step="Check the folder's rights and its disk."
        ) from error
    try:
        _wait(handle, name, SECONDS if seconds is None else seconds)
        yield
    finally:
        os.close(handle)


def _wait(handle: int, name: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    pause = 0.001
    while True:
        try:
            _lock(handle)
            return
        except (BlockingIOError, PermissionError) as error:
            if time.monotonic() > deadline:
                raise WorkFailed(
                    f"{name} is being written by another process since {seconds:.0f} seconds",
                    next_step="Look for a Sojourn that hangs, end it, and try again.",
                ) from error
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        except OSError as error:
            raise WorkFailed(
                f"{name} cannot be locked: {error.strerror or error}",
                next_step="Put the memory folder on a disk that knows file locks (SOJOURN_HOME).",
            ) from error
