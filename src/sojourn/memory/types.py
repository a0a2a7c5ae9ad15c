"""What memory is made of: where a document lives, what stands in it, who may write it (K-1, Y-1, Y-2)."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

Scope = Literal["session", "project", "global"]
Who = Literal["user", "agent", "writer", "subagent"]
"""``user``: a person through a command. ``agent``: the main agent's tools. ``writer``: the checkpoint writer and promotion.
``subagent``: an actor, bound to its own task."""


class Locator(msgspec.Struct, frozen=True):
    """A document by its logical path: the same in every store."""

    scope: Scope
    scope_id: str
    """Session id, project id; empty for ``global``."""
    key: str
    """``MEMORY``, ``notes``, ``checkpoint``, ``tasks/T1/progress``, ``facts/build-needs-node-20``."""


class Document(msgspec.Struct, frozen=True):
    locator: Locator
    text: str
    sha: str
    """SHA-256 of the text, hex: what a writer read, to be given back when it writes."""
    modified: int
    """Milliseconds since the epoch."""
    path: str
    """Where a person finds it."""


class Version(msgspec.Struct, frozen=True):
    """An earlier text of a document (K-12)."""

    sha: str
    text: str
    who: Who
    replaced: int
    """Milliseconds since the epoch."""


class Entry(msgspec.Struct, frozen=True):
    """A line of a listing."""

    locator: Locator
    path: str
    title: str
    """First heading, or the description in its front matter."""
    tokens: int
    """Estimated."""
    modified: int


class MemoryHit(msgspec.Struct, frozen=True):
    locator: Locator
    path: str
    line: int
    """From 1, where the snippet begins."""
    snippet: str
    score: float


class Belonging(msgspec.Struct, frozen=True):
    """Whose memory: what a search looks through, and nothing beyond it (report 85)."""

    session_id: str
    project_id: str


class MemoryStore(Protocol):
    """Durable documents. The local one is plain files that a person can edit; a fleet's is rows.

    Every change reads the document again under a lock before it writes, and keeps the text that it replaces. Raises
    UserMistake for a path that is none, a document changed meanwhile, or one that ``who`` may not write (Y-2); WorkFailed
    where the disk refuses.
    """

    def gate(self, belonging: Belonging, task_id: str = "") -> "MemoryStore":
        """The same documents for one session: nothing of another session or project is read, found or written."""
        ...

    async def read(self, locator: Locator) -> Document | None: ...

    async def entries(self, belonging: Belonging, scope: Scope | None = None) -> Sequence[Entry]:
        """Every document of these scopes, newest first."""
        ...

    async def append(self, locator: Locator, text: str, *, who: Who) -> Document:
        """Adds the text at the end, as a block of its own. Two processes that append at once both succeed."""
        ...

    async def edit(self, locator: Locator, old: str, new: str, *, who: Who) -> Document:
        """Replaces ``old``, which must stand there exactly once."""
        ...

    async def write(self, locator: Locator, text: str, *, who: Who, expected: str | None) -> Document:
        """The whole text. ``expected``: the sha of what was read, None = there must be none yet."""
        ...

    async def take_out(self, locator: Locator, entries: Sequence[str], *, who: Who) -> Document | None:
        """Removes the entries of a list document whose sha is among ``entries``; what was added meanwhile stays (K-13)."""
        ...

    async def versions(self, locator: Locator) -> Sequence[Version]:
        """Earlier texts, newest first."""
        ...

    async def search(
        self, query: str, belonging: Belonging, *, scope: Scope | None = None, limit: int = 10
    ) -> Sequence[MemoryHit]:
        """Best first; hits under a share of the best one's score are left out (Y-1)."""
        ...

    async def unreadable(self) -> Sequence[str]:
        """Files under the root that are outside the layout or cannot be read: a visible fault (report 83)."""
        ...
