"""A foreign transcript into the record: in batches, repeatable, only what is new of a file that has grown (R-14)."""

import asyncio
import hashlib
import os
import secrets
import socket
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from sojourn.base import Clock, Ids, UserMistake, WorkFailed
from sojourn.engine.intake import take_in
from sojourn.engine.joining import holder
from sojourn.engine.project import project_of
from sojourn.engine.restoring import restore_rows
from sojourn.importers import Counts, Done, Imported, ImportRecord, Progress, SessionStart, Skipped, SkippedLine, read_rows
from sojourn.record import (
    AddMessage,
    Change,
    Fence,
    Fenced,
    Held,
    Lease,
    Message,
    Session,
    SetSession,
    SettlePart,
    Source,
    Store,
    ToolCall,
)

_BATCH = 400
OWN_FORMAT = "sojourn-jsonl"
"""Our own lossless export: it brings its windows, checkpoints and undos along."""
_RESULT_CAP = 16_000  # Y-5's largest cap: the window that a session will run in is not known yet


class IngestedSession(msgspec.Struct, frozen=True):
    session_id: str
    foreign_id: str
    title: str
    added: int
    """Messages that were new."""
    total: int
    """Messages that the session has now."""
    parent_id: str | None = None


class Ingested(msgspec.Struct, frozen=True):
    """What came of one file."""

    format: str
    sessions: tuple[IngestedSession, ...]
    counts: Counts
    skipped: tuple[Skipped, ...]


class _Open(msgspec.Struct):
    """One session of the file while it is written."""

    session: Session
    lease: Lease
    known: list[Message]
    head: int
    seen: int = 0
    added: int = 0
    batch: list[Change] = []


class _Ingest:
    def __init__(self, store: Store, format: str, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._format = format
        self._clock = clock
        self._ids = ids
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.open: dict[str, _Open] = {}

    async def start(self, record: SessionStart, source: Source) -> None:
        """Finds the session by its source, or creates it. Raises UserMistake where the file was changed, not grown."""
        if record.foreign_id in self.open:
            return
        found = await self._store.by_source(self._format, record.foreign_id)
        if found is None:
            parent = self.open.get(record.parent_foreign_id)
            now = self._clock.now()
            found = await self._store.create(
                Session(
                    id=self._ids.new("ses"),
                    title=record.title,
                    created=record.created or now,
                    updated=record.created or now,
                    parent_id=parent.session.id if parent else None,
                    spawned_at_seq=len(parent.known) + parent.added if parent else None,
                    model=record.model,
                    agent=record.agent,
                    cwd=record.cwd,
                    project_id=await asyncio.to_thread(project_of, record.cwd),
                    source=Source(format=self._format, foreign_id=record.foreign_id),
                )
            )
        lease = await self._store.acquire(found.id, self._owner)
        if isinstance(lease, Held):
            raise UserMistake(
                f"session {found.id} is run by {holder(lease, self._clock)}: it cannot be brought up to date meanwhile",
                next_step="Close the other program and import again.",
            )
        known = [message async for message in self._store.stream(found.id)] if found.head else []
        self.open[record.foreign_id] = _Open(found, lease, known, found.head)

    async def add(self, record: Imported) -> None:
        """The next message of its session: new, or known already (then only a late result is added)."""
        target = self.open[record.foreign_id]
        for data in record.blobs.values():
            await self._store.put_blob(data)
        ordinal = target.seen
        target.seen += 1
        message = await take_in(_unfinished(record.message), self._store, _RESULT_CAP)
        if ordinal < len(target.known):
            target.batch += _late_results(target.known[ordinal], message)
        else:
            # The same file gives the same ids: an import that was cut short goes on where it stopped.
            name = f"{self._format}\n{record.foreign_id}\n{target.session.id}\n{ordinal}"
            id = "msg_" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:26]
            target.batch.append(AddMessage(msgspec.structs.replace(message, id=id)))
            target.added += 1
        if len(target.batch) >= _BATCH:
            await self.flush(target)

    async def flush(self, target: _Open, *last: Change) -> None:
        changes = [*target.batch, *last]
        if not changes:
            return
        target.batch = []
        done = await self._store.commit(target.session.id, Fence(epoch=target.lease.epoch, head=target.head), changes)
        if isinstance(done, Fenced):
            raise WorkFailed(f"the import into {target.session.id} was overtaken ({done.reason})", next_step="Import again.")
        target.head = done.head

    async def restore(self, path: Path) -> None:
        """Windows, checkpoints and undos of our own export; a fork's refer to a parent that is not here."""
        for target in self.open.values():
            await self.flush(target)
            if not target.known:
                await restore_rows(self._store, target.lease, read_rows(str(path)), self._ids)

    async def finish(self, source: Source, *, whole: bool) -> tuple[IngestedSession, ...]:
        """Writes what is left and gives the leases back; ``whole`` = the file was read to its end."""
        done = []
        for foreign_id, target in self.open.items():
            marks = SetSession(source_lines=source.lines, source_bytes=source.bytes, source_sha=source.sha)
            await self.flush(target, *([marks] if whole else []))
            await self._store.release(target.lease)
            session = target.session
            done.append(
                IngestedSession(
                    session.id, foreign_id, session.title, target.added, len(target.known) + target.added, session.parent_id
                )
            )
        return tuple(done)


async def ingest(
    store: Store,
    path: Path,
    format: str,
    records: Iterable[ImportRecord],
    *,
    clock: Clock,
    ids: Ids,
    on_progress: Callable[[int], None] | None = None,
) -> Ingested:
    """Writes a file's records into the store. Importing a file again adds only what it has gained since.

    Raises UserMistake for a file that was imported before and has been changed since, not only grown.
    """
    work = _Ingest(store, format, clock, ids)
    skipped: list[Skipped] = []
    counts = Counts()
    source = Source(format=format, foreign_id="")
    whole = False
    try:
        for record in records:
            match record:
                case SessionStart():
                    await work.start(record, source)
                    _check_grown(path, work.open[record.foreign_id].session)
                case Imported():
                    await work.add(record)
                case SkippedLine():
                    skipped.append(record.skipped)
                case Progress():
                    if on_progress is not None:
                        on_progress(record.bytes_read)
                case Done():
                    counts = record.counts
                    source = msgspec.structs.replace(
                        source, lines=record.lines, bytes=record.bytes, sha=_sha(path, record.bytes)
                    )
                    whole = True
        if format == OWN_FORMAT:
            await work.restore(path)
    finally:
        sessions = await work.finish(source, whole=whole)
    return Ingested(format, sessions, counts, tuple(skipped))


def _check_grown(path: Path, session: Session) -> None:
    source = session.source
    if source is None or not source.bytes or session.parent_id is not None:
        return
    if _sha(path, source.bytes) != source.sha:
        raise UserMistake(
            f"{path} was imported before as {session.id} and has been changed since, not only grown",
            next_step=f"Delete that session (sojourn delete {session.id}) and import the file again.",
        )


def _sha(path: Path, upto: int) -> str:
    """SHA-256 of the first ``upto`` bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while upto > 0 and (block := file.read(min(upto, 1 << 20))):
            digest.update(block)
            upto -= len(block)
    return digest.hexdigest()


def _unfinished(message: Message) -> Message:
    """A call that the file has no result for may get one when the file has grown: it stays open in the record."""
    parts = tuple(
        msgspec.structs.replace(part, state="pending")
        if isinstance(part, ToolCall) and part.state == "interrupted" and not part.result
        else part
        for part in message.parts
    )
    return msgspec.structs.replace(message, parts=parts)


def _late_results(known: Message, now: Message) -> list[Change]:
    """Results of calls that were still open when the file was read last."""
    return [
        SettlePart(known.id, index, part)
        for index, (before, part) in enumerate(zip(known.parts, now.parts, strict=False))
        if isinstance(before, ToolCall) and isinstance(part, ToolCall) and before.state == "pending" and part.state != "pending"
    ]
