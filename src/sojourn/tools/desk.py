"""What the tools of one session work on: its folder, what they have seen, the shell with its jobs."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary

from sojourn.record import Hit, Message
from sojourn.tools.places import real, shown
from sojourn.tools.seen import Seen
from sojourn.tools.shell import Shell, environment

PutBlob = Callable[[bytes], Awaitable[str]]
"""Keeps a payload and answers its address (the store's ``put_blob``)."""


class History(Protocol):
    """The session's whole record, for the ``history`` tool (R-13)."""

    async def search(self, query: str, *, limit: int = 20) -> Sequence[Hit]: ...

    async def read(self, after: int, upto: int) -> Sequence[Message]:
        """Messages with seq in (after, upto], whole."""
        ...

    async def blob(self, prefix: str) -> bytes | None:
        """The payload whose address begins with ``prefix`` (at least 8 hex digits)."""
        ...


class Desk:
    """One for each session, until ``close``.

    ``root`` is the working folder as a real path: relative arguments start there. ``timeout`` is the seconds of a shell
    command that names none. Without ``history`` the history tool, without ``put_blob`` pictures are refused. Commands get
    ``environ`` (default: this process's) without the providers' API keys. ``hidden`` are files that a search through a
    folder leaves out beside those with keys (``hiding.hidden_below`` says how they are written).
    """

    def __init__(
        self,
        root: Path | str,
        *,
        timeout: int = 120,
        history: History | None = None,
        put_blob: PutBlob | None = None,
        environ: Mapping[str, str] | None = None,
        hidden: tuple[str, ...] = (),
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self.timeout = timeout
        self.history = history
        self.put_blob = put_blob
        self.hidden = hidden
        self.seen = Seen()
        self.shell = Shell(self.root, environment(os.environ if environ is None else environ))
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def path(self, given: str) -> Path:
        """The real path that an argument means: ``~`` expanded, from ``root``, links followed, whether it exists or not.

        Raises UserMistake for one that no system takes.
        """
        return real(self.root, given)

    def shown(self, path: Path) -> str:
        """The path as the model reads it: relative inside ``root``."""
        return shown(self.root, path)

    def lock(self, path: Path) -> asyncio.Lock:
        """Held while a file is changed, so that two calls at once do not lose one another's work."""
        key = str(path)
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock

    async def close(self) -> None:
        """Ends every job with its children and removes what the shell kept on disk."""
        await self.shell.close()
