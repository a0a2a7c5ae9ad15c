"""What the tools of one session work on: its folder, what they have seen, the shell with its jobs."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol
from weakref import WeakValueDictionary

import msgspec

from sojourn.memory import Document, Entry, MemoryHit, Scope
from sojourn.record import Hit, Message, TaskRow
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


class Memory(Protocol):
    """The memory of one session: its own, its project's, what holds everywhere; for the ``memory`` tool (Y-1).

    ``path`` is the logical path, going in and coming back. Every method raises UserMistake for a path of somebody else,
    one that nothing may be written to, or while writing is switched off; WorkFailed where the disk refuses.
    """

    async def search(self, words: str, *, scope: Scope | None = None, limit: int = 10) -> Sequence[MemoryHit]:
        """Best first."""
        ...

    async def entries(self, scope: Scope | None = None) -> Sequence[Entry]:
        """Every document, newest first."""
        ...

    async def read(self, path: str) -> Document | None: ...

    async def append(self, path: str, text: str) -> Document:
        """Adds the text at the end; to the session's notes as an entry of its own."""
        ...

    async def edit(self, path: str, old: str, new: str) -> Document:
        """``old`` must stand there exactly once."""
        ...

    async def write(self, path: str, text: str) -> Document:
        """The whole text: of a new document, or of one that was read and is unchanged since."""
        ...


Act = Literal["start", "next", "block", "unblock", "done", "abandon", "rename"]


class Acted(msgspec.Struct, frozen=True):
    """What became of a task."""

    task: TaskRow
    """As it stands now."""
    word: str = ""
    """What else there is to say: that nothing changed, or what to look after."""


class Tasks(Protocol):
    """The session's tasks, for the ``task`` tool (Y-3). Raises UserMistake for an id that is none, and for what cannot be
    done to a task as it stands."""

    async def all(self) -> Sequence[TaskRow]:
        """In the order in which they were made."""
        ...

    async def create(self, summaries: Sequence[str], parent: str = "") -> Sequence[TaskRow]: ...

    async def act(self, act: Act, task_id: str, text: str = "") -> Acted: ...


class Desk:
    """One for each session, until ``close``.

    ``root`` is the working folder as a real path: relative arguments start there. ``timeout`` is the seconds of a shell
    command that names none. Without ``history``, ``memory`` or ``tasks`` the tool that needs it, without ``put_blob``
    pictures are refused. Commands get ``environ`` (default: this process's) without the providers' API keys. ``hidden`` are
    files that a search through a folder leaves out beside those with keys (``hiding.hidden_below`` says how they are
    written).
    """

    def __init__(
        self,
        root: Path | str,
        *,
        timeout: int = 120,
        history: History | None = None,
        memory: Memory | None = None,
        tasks: Tasks | None = None,
        put_blob: PutBlob | None = None,
        environ: Mapping[str, str] | None = None,
        hidden: tuple[str, ...] = (),
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self.timeout = timeout
        self.history = history
        self.memory = memory
        self.tasks = tasks
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
