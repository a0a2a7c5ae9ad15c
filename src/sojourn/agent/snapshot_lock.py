"""One at a time in a folder's snapshots, across processes and tasks."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sojourn.base import WorkFailed

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@asynccontextmanager
async def held(path: Path, seconds: float) -> AsyncIterator[None]:
    """Holds the lock, whose file is made. The system frees it if the process dies. Raises WorkFailed after ``seconds``."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise WorkFailed(f"{path.parent} cannot be written: {error.strerror or error}") from error
    try:
        await _wait(handle, path, seconds)
        yield
    finally:
        os.close(handle)


async def _wait(handle: int, path: Path, seconds: float) -> None:
    deadline, pause = time.monotonic() + seconds, 0.002
    while True:
        try:
            return _lock(handle)
        except (BlockingIOError, PermissionError) as error:
            if time.monotonic() >= deadline:
                raise WorkFailed(
                    f"another session has been at work on this folder's snapshots for {seconds:.0f} seconds",
                    next_step="Wait for it, or look for a Sojourn that hangs.",
                ) from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)
        except OSError as error:
            raise WorkFailed(f"{path} cannot be locked: {error.strerror or error}") from error
