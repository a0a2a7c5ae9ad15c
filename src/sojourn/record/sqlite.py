"""The embedded store: one SQLite file and its blobs, or all of it in memory (R-9)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw
import msgspec

from sojourn.base import Clock, UserMistake, WorkFailed
from sojourn.record import apply, care, erase, index, leases, ledger, messages, sessions, tasks, windows
from sojourn.record.blobs import Blobs, FolderBlobs, MemoryBlobs
from sojourn.record.changes import Change, Committed, Fence, Fenced, Held, Lease
from sojourn.record.codec import decode
from sojourn.record.lineage import cover, lineage, undo_rows
from sojourn.record.schema import open_database, snapshot
from sojourn.record.scrub import scrub
from sojourn.record.store import Hit, Space, Turn
from sojourn.record.turns import read_turns
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

_P = ParamSpec("_P")
_T = TypeVar("_T")


class SqliteStore:
    """``Store`` on SQLite. With a path, all its work runs in one thread of its own; in memory, on the spot.

    With a path, several tasks, event loops and processes may use it at once. A caller cancelled while it waits may find
    its commit done: repeating it answers "already".
    """

    def __init__(
        self, db: apsw.Connection, path: Path | None, blobs: Blobs, clock: Clock, worker: ThreadPoolExecutor | None
    ) -> None:
        self._db: apsw.Connection | None = db
        self._path = path
        self._blobs = blobs
        self._clock = clock
        self._worker = worker

    @classmethod
    async def open(cls, path: Path | None, *, clock: Clock) -> "SqliteStore":
        """The store at the path, created or migrated as needed; None = in memory.

        Raises UserMistake, leaving the file alone, for a newer version or a file that is not ours; WorkFailed for a
        damaged one.
        """
        if path is None:
            return cls(open_database(None), None, MemoryBlobs(clock), clock, None)
        worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sojourn-record")
        try:
            opening = asyncio.get_running_loop().run_in_executor(worker, _translated, path, partial(open_database, path))
            return cls(await opening, path, FolderBlobs(path.parent / "blobs", clock), clock, worker)
        except BaseException:
            worker.shutdown(wait=False)
            raise

    async def close(self) -> None:
        """Writes the log back into the file and lets go of it. Closing twice is harmless."""
        if self._db is None:
            return
        try:
            await self._run(_close)
        finally:
            self._db = None
            if self._worker is not None:
                self._worker.shutdown(wait=False)

    # sessions
    async def create(self, session: Session) -> Session:
        return await self._run(sessions.create, self._clock.now(), session)

    async def session(self, session_id: str) -> Session | None:
        return await self._run(sessions.get, session_id)

    async def find(self, id_or_prefix: str) -> Sequence[Session]:
        return await self._run(sessions.find, id_or_prefix)

    async def sessions(
        self, *, project_id: str | None = None, parent_id: str | None = None, limit: int | None = None
    ) -> Sequence[Session]:
        return await self._run(sessions.listed, project_id, parent_id, limit)

    async def by_source(self, format: str, foreign_id: str) -> Session | None:
        return await self._run(sessions.by_source, format, foreign_id)

    async def delete(self, session_id: str) -> int:
        return await self._run(erase.delete, self._path, self._blobs, session_id)

    async def scrub(self, text: str, marker: str) -> int:
        return await self._run(scrub, self._path, self._blobs, text, marker)

    # leases: who runs it
    async def acquire(self, session_id: str, owner: str, ttl: int = 20_000) -> Lease | Held:
        return await self._run(leases.acquire, self._clock, session_id, owner, ttl)

    async def renew(self, lease: Lease, ttl: int = 20_000) -> Lease | Fenced:
        return await self._run(leases.renew, self._clock, lease, ttl)

    async def release(self, lease: Lease) -> None:
        await self._run(leases.release, lease)

    async def holder(self, session_id: str) -> Held | None:
        return await self._run(leases.holder, self._clock, session_id)

    # the one write
    async def commit(self, session_id: str, fence: Fence, changes: Sequence[Change]) -> Committed | Fenced:
        return await self._run(apply.commit, self._clock.now(), session_id, fence, changes)

    # reads
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
        def read(db: apsw.Connection) -> Sequence[Message]:
            chain = lineage(db, session_id)
            hidden = None if include_undone else cover(db, chain)
            return messages.read_messages(db, chain, hidden, after=after, upto=upto, limit=limit, newest_first=newest_first)

        return await self._read(read)

    async def turns(self, session_id: str, *, upto: int, limit: int = 200) -> Sequence[Turn]:
        """Messages of origin user in view, newest first, each with how its turn went."""

        def read(db: apsw.Connection) -> Sequence[Turn]:
            chain = lineage(db, session_id)
            return read_turns(db, chain, cover(db, chain), upto, limit)

        return await self._read(read)

    async def message(self, session_id: str, message_id: str) -> Message | None:
        return await self._read(lambda db: messages.one_message(db, lineage(db, session_id), message_id))

    async def newest_window(
        self, session_id: str, *, include_undone: bool = False, opened_upto: int | None = None
    ) -> Window | None:
        def read(db: apsw.Connection) -> Window | None:
            chain = lineage(db, session_id)
            row = windows.newest_row(db, chain, None if include_undone else cover(db, chain), opened_upto)
            return row.window if row else None

        return await self._read(read)

    async def windows(self, session_id: str, *, include_undone: bool = False) -> Sequence[Window]:
        return await self._read(lambda db: windows.read_windows(db, lineage(db, session_id), include_undone))

    async def window(self, window_id: str) -> Window | None:
        return await self._read(lambda db: windows.by_id(db, window_id))

    async def newest_checkpoint(self, session_id: str) -> Checkpoint | None:
        def read(db: apsw.Connection) -> Checkpoint | None:
            chain = lineage(db, session_id)
            body = next(windows.checkpoint_bodies(db, chain, cover(db, chain)), None)
            return None if body is None else decode(body, Checkpoint)

        return await self._read(read)

    async def checkpoints(self, session_id: str, *, after: int = -1, include_undone: bool = False) -> Sequence[Checkpoint]:
        def read(db: apsw.Connection) -> Sequence[Checkpoint]:
            chain = lineage(db, session_id)
            bodies = windows.checkpoint_bodies(db, chain, None if include_undone else cover(db, chain), after)
            return [decode(body, Checkpoint) for body in reversed(list(bodies))]

        return await self._read(read)

    async def undos(self, session_id: str) -> Sequence[Undo]:
        """Oldest first; a fork's begin with those that stood in its parent when it was made."""
        return await self._read(lambda db: undo_rows(db, lineage(db, session_id)))

    async def calls(self, session_id: str, *, window_id: str | None = None) -> Sequence[Call]:
        return await self._read(lambda db: ledger.calls(db, session_id, window_id))

    async def newest_call(self, session_id: str, *, window_id: str, purpose: str = "main") -> Call | None:
        return await self._read(lambda db: ledger.newest_call(db, session_id, window_id, purpose))

    async def prefix(self, prefix_id: str) -> PrefixSnapshot | None:
        return await self._read(lambda db: ledger.prefix(db, prefix_id))

    async def pins(self, session_id: str) -> Sequence[PinRow]:
        return await self._read(lambda db: ledger.pins(db, lineage(db, session_id)))

    async def tasks(self, session_id: str, *, every_state: bool = False) -> Sequence[TaskRow]:
        return await self._read(lambda db: tasks.read_tasks(db, lineage(db, session_id), every_state))

    async def snapshots(self, session_id: str) -> Sequence[Snapshot]:
        return await self._read(lambda db: ledger.snapshots(db, session_id))

    async def slot(self, session_id: str) -> Slot:
        return await self._read(lambda db: sessions.slot(db, session_id))

    async def inbox(self, session_id: str) -> Sequence[InboxRow]:
        return await self._read(lambda db: ledger.inbox(db, session_id))

    # large payloads
    async def put_blob(self, data: bytes) -> str:
        return await self._run(lambda _: self._blobs.put(data))

    async def blob(self, sha: str) -> bytes | None:
        return await self._run(lambda _: self._blobs.get(sha))

    async def find_blob(self, session_id: str, prefix: str) -> bytes | None:
        sha = await self._run(messages.blob_named, session_id, prefix)
        return await self.blob(sha) if sha else None

    # looking things up
    async def search(
        self, query: str, *, session_id: str | None = None, project_id: str | None = None, limit: int = 20
    ) -> Sequence[Hit]:
        return await self._run(index.search, query, session_id=session_id, project_id=project_id, limit=limit)

    # whole-store care
    async def revision(self, session_id: str) -> int:
        return await self._run(sessions.revision, session_id)

    async def space(self) -> Space:
        return await self._run(care.space, self._path, self._blobs)

    async def collect(self) -> int:
        return await self._run(care.collect, self._clock.now(), self._path, self._blobs)

    async def check(self) -> Sequence[str]:
        return await self._read(lambda db: care.check(db, self._blobs))

    async def stream(self, session_id: str, *, after: int = 0, batch: int = 500) -> AsyncIterator[Message]:
        while True:
            found = await self.messages(session_id, after=after, limit=batch)
            for message in found:
                yield message
            if len(found) < batch:
                return
            after = found[-1].seq

    async def _read(self, work: Callable[[apsw.Connection], _T]) -> _T:
        def in_one_moment(db: apsw.Connection) -> _T:
            with snapshot(db):
                return work(db)

        return await self._run(in_one_moment)

    async def _run(self, work: Callable[Concatenate[apsw.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        db = self._db
        if db is None:
            raise WorkFailed("the record is closed", next_step="Open it again.")
        call = partial(work, db, *args, **kwargs)
        if self._worker is None:
            return _translated(self._path, call)
        return await asyncio.get_running_loop().run_in_executor(self._worker, _translated, self._path, call)


def _close(db: apsw.Connection) -> None:
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        db.close()


def _translated(path: Path | None, call: Callable[[], _T]) -> _T:
    """Runs the call; what goes wrong on disk is said in a person's words."""
    name = "the record in memory" if path is None else str(path)
    try:
        return call()
    except apsw.FullError as error:
        message, next_step = f"no space left to write {name}", "Free some space; nothing that was saved is lost."
        raise WorkFailed(message, next_step=next_step) from error
    except (apsw.CorruptError, apsw.NotADBError, msgspec.MsgspecError) as error:
        message, next_step = f"{name} is damaged: {error}", "Run sojourn doctor, or restore the file from a copy."
        raise WorkFailed(message, next_step=next_step) from error
    except apsw.BusyError as error:
        message, next_step = f"{name} is in use by another process: {error}", "Try again in a moment."
        raise WorkFailed(message, next_step=next_step) from error
    except (apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, OSError) as error:
        message, next_step = f"reading or writing {name} failed: {error}", "Check the disk; nothing that was saved is lost."
        raise WorkFailed(message, next_step=next_step) from error
    except UnicodeEncodeError as error:
        message, next_step = f"{error.object!r} cannot be an id: it holds half a character", "Give another id."
        raise UserMistake(message, next_step=next_step) from error
