"""The store's contract (R-9). One conformance suite runs against every implementation."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

from sojourn.base import Finish
from sojourn.record.changes import Change, Committed, Fence, Fenced, Held, Lease
from sojourn.record.types import (
    Call,
    Checkpoint,
    InboxRow,
    Message,
    PinRow,
    PrefixSnapshot,
    Session,
    Slot,
    Snapshot,
    TaskRow,
    Undo,
    Window,
)


class Hit(msgspec.Struct, frozen=True):
    """One search result (R-13)."""

    session_id: str
    seq: int
    role: str
    snippet: str
    """About 200 characters around the first hit, one line."""
    created: int
    title: str = ""


class Turn(msgspec.Struct, frozen=True):
    """A message of the user and how its turn went, for the opening's verbatim section (W-2, W-3 row 4)."""

    message: Message
    last_finish: Finish | None
    """Of the newest finished assistant message before the user's next message; None = none yet."""
    stop_after: bool
    """Any later assistant message finished without calls."""


class Space(msgspec.Struct, frozen=True):
    """What a store takes on disk, in bytes."""

    database: int
    wal: int
    blobs: int
    orphans: int
    """Blobs without a row."""


class Store(Protocol):
    """Sessions and all their rows. Every method is short; none is held open over a model or tool call.

    Reads leave out what an undo covers, unless ``include_undone``. Reads of a fork follow its parent up to
    ``fork_of.seq``. Raises WorkFailed for a damaged or full disk, UserMistake for a newer database.
    """

    async def close(self) -> None: ...

    async def create(self, session: Session) -> Session:
        """Adds the session; the same id again answers the stored one."""
        ...

    async def session(self, session_id: str) -> Session | None: ...

    async def find(self, id_or_prefix: str) -> Sequence[Session]:
        """Sessions whose id is, or begins with, the text (or whose foreign id is)."""
        ...

    async def sessions(
        self, *, project_id: str | None = None, parent_id: str | None = None, limit: int | None = None
    ) -> Sequence[Session]:
        """Newest first, by metadata only (R-10)."""
        ...

    async def by_source(self, format: str, foreign_id: str) -> Session | None: ...

    async def delete(self, session_id: str) -> int:
        """R-16: a person's act. The session, its children and all their rows; answers the number of messages."""
        ...

    async def scrub(self, text: str, marker: str) -> int:
        """R-16: replaces the text in every row and blob by the marker; answers the number of places."""
        ...

    async def acquire(self, session_id: str, owner: str, ttl: int = 20_000) -> Lease | Held:
        """Bumps the epoch. A holder that died on this host is replaced at once."""
        ...

    async def renew(self, lease: Lease, ttl: int = 20_000) -> Lease | Fenced: ...

    async def release(self, lease: Lease) -> None: ...

    async def holder(self, session_id: str) -> Held | None: ...

    async def commit(self, session_id: str, fence: Fence, changes: Sequence[Change]) -> Committed | Fenced:
        """All changes or none, in one transaction, durable when it returns."""
        ...

    async def messages(
        self,
        session_id: str,
        *,
        after: int = 0,
        upto: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
        include_undone: bool = False,
    ) -> Sequence[Message]:
        """Messages with seq in (after, upto], in order of seq (or newest first)."""
        ...

    async def turns(self, session_id: str, *, upto: int, limit: int = 200) -> Sequence[Turn]:
        """Messages of origin user at or before ``upto``, newest first, in a time that does not grow with the session."""
        ...

    async def message(self, session_id: str, message_id: str) -> Message | None: ...

    async def newest_window(
        self, session_id: str, *, include_undone: bool = False, opened_upto: int | None = None
    ) -> Window | None:
        """The newest window, that no undo covers unless ``include_undone`` (a fork without its own: its parent's);
        ``opened_upto``: of those that opened at this message at the latest."""
        ...

    async def windows(self, session_id: str, *, include_undone: bool = False) -> Sequence[Window]: ...

    async def window(self, window_id: str) -> Window | None: ...

    async def newest_checkpoint(self, session_id: str) -> Checkpoint | None: ...

    async def checkpoints(self, session_id: str, *, after: int = -1, include_undone: bool = False) -> Sequence[Checkpoint]:
        """Those with a mark behind ``after``, oldest first."""
        ...

    async def undos(self, session_id: str) -> Sequence[Undo]: ...

    async def calls(self, session_id: str, *, window_id: str | None = None) -> Sequence[Call]: ...

    async def newest_call(self, session_id: str, *, window_id: str, purpose: str = "main") -> Call | None:
        """The newest finished one, with usage."""
        ...

    async def prefix(self, prefix_id: str) -> PrefixSnapshot | None: ...

    async def pins(self, session_id: str) -> Sequence[PinRow]: ...

    async def tasks(self, session_id: str, *, every_state: bool = False) -> Sequence[TaskRow]:
        """The newest state of each task that no undo covers, in the order in which the tasks were made (a fork's begin with
        its parent's, as they were at ``fork_of.seq``). ``every_state``: all rows, older and undone ones as well, oldest
        first (R-14's export)."""
        ...

    async def snapshots(self, session_id: str) -> Sequence[Snapshot]:
        """Of this session only, oldest first; undo rows do not cover them."""
        ...

    async def slot(self, session_id: str) -> Slot: ...

    async def inbox(self, session_id: str) -> Sequence[InboxRow]: ...

    async def put_blob(self, data: bytes) -> str:
        """Content-addressed; answers the hex sha256. Durable when it returns."""
        ...

    async def blob(self, sha: str) -> bytes | None: ...

    async def find_blob(self, session_id: str, prefix: str) -> bytes | None:
        """The payload of this session whose address begins with ``prefix`` (8 hex digits or more); None = none, or several."""
        ...

    async def search(
        self, query: str, *, session_id: str | None = None, project_id: str | None = None, limit: int = 20
    ) -> Sequence[Hit]: ...

    async def revision(self, session_id: str) -> int: ...

    async def space(self) -> Space: ...

    async def collect(self) -> int:
        """Removes blobs without a row; answers the bytes freed."""
        ...

    async def check(self) -> Sequence[str]:
        """Integrity findings, empty when all is well."""
        ...

    def stream(self, session_id: str, *, after: int = 0, batch: int = 500) -> AsyncIterator[Message]:
        """All messages in order, in batches: constant memory."""
        ...
