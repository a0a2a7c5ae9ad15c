"""One command that runs: its process group, its output, whether anything of it is still alive."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.tools.spool import Spool

GRACE = 2.0
"""Seconds between asking a group to end and ending it."""
_CHUNK = 64 * 1024
_DRAIN_MOST = 64
"""Chunks read after the end: more than any pipe holds."""
_LOOK = 0.02
"""Seconds between two looks at whether children are still there."""


class Job:
    """Made by ``start``. ``code`` is the exit code of the command, None while it runs (negative: ended by that signal)."""

    def __init__(self, number: int, process: asyncio.subprocess.Process, pipes: tuple[int, int], spool: Spool):
        self.number = number
        self.code: int | None = None
        self.spool = spool
        self._process = process
        self._out, self._life = pipes
        self._open = True
        self._started = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._out, self._read)
        self._done = asyncio.create_task(self._watch())

    @property
    def age(self) -> int:
        """Seconds since it started."""
        return int(time.monotonic() - self._started)

    @property
    def running(self) -> bool:
        """Whether the command or a child of it is still alive."""
        return self.code is None or self._alive()

    def _alive(self) -> bool:
        """Every process of the job holds the writing end of the life pipe: while one lives, reading it would block."""
        if self._life < 0:
            return False
        try:
            while os.read(self._life, _CHUNK):
                pass
        except BlockingIOError:
            return True
        except OSError:
            pass
        os.close(self._life)
        self._life = -1
        return False

    def _read(self) -> bool:
        """Takes one chunk of output; whether there was one."""
        if not self._open:
            return False
        try:
            data = os.read(self._out, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self.spool.add(data)
            return True
        self._close_output()
        return False

    def _close_output(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._out)
            os.close(self._out)

    async def _watch(self) -> None:
        code = await self._process.wait()
        self.drain()
        self.code = code

    def drain(self) -> None:
        """Takes in what was written and not read yet."""
        for _ in range(_DRAIN_MOST):
            if not self._read():
                break

    async def ended(self, seconds: float) -> bool:
        """Waits for the command itself (not for children it left); whether it ended in time."""
        await asyncio.wait((self._done,), timeout=seconds)
        return self.code is not None

    async def over(self, seconds: float) -> bool:
        """Waits for the command and everything it started; whether all of it ended in time."""
        until = time.monotonic() + seconds
        await self.ended(seconds)
        # The end of somebody else's child wakes nobody: it has to be looked for.
        while self.running and (left := until - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(min(_LOOK, left))
        self.drain()
        return not self.running

    async def stop(self, grace: float = GRACE) -> None:
        """Ends the whole group: asked first (TERM), made to after ``grace`` seconds (KILL). Its output is kept."""
        self._signal(signal.SIGTERM)
        if not await self.over(grace):
            self._signal(signal.SIGKILL)
            await self.over(GRACE)

    def _signal(self, number: signal.Signals) -> None:
        if self.running:
            # A group exists as long as one process of it does; one that left the group is beyond reach.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def close(self) -> None:
        """Lets go of the pipes. What still runs goes on without a reader."""
        self._close_output()
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        self.spool.close()


async def start(number: int, argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str], spool: Spool) -> Job:
    """Starts ``argv`` in a session of its own, without input, output and errors in one stream. Raises OSError."""
    out, out_end = os.pipe()
    life, life_end = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=dict(environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out_end,
            stderr=out_end,
            pass_fds=(life_end,),
            start_new_session=True,
        )
    except BaseException:
        os.close(out)
        os.close(life)
        raise
    finally:
        os.close(out_end)
        os.close(life_end)
    os.set_blocking(out, False)
    os.set_blocking(life, False)
    return Job(number, process, (out, life), spool)
