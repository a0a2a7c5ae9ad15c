"""One run of a checkpoint writer: what it reads, its slot, its commit, the rendering for people (K-5 to K-9)."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec

from sojourn.base import Clock, Ids, SojournError, finish_first, open_items
from sojourn.checkpoint import (
    Fork,
    Ledger,
    Lookup,
    Note,
    Writer,
    WriterFailed,
    WriterInput,
    Written,
    checkpoint_row,
    render_checkpoint,
    validate,
    write_checkpoint_file,
)
from sojourn.memory import layout, path_of
from sojourn.meter import message_tokens, total
from sojourn.record import AddCheckpoint, Checkpoint, Fence, Fenced, Lease, Message, SetSlot, Slot, Store

DEADLINE_SECONDS = 300
"""K-8."""
_STRETCH_TOKENS = 200_000
"""The way to a first checkpoint of a long imported session is gone in stretches of this size, so that memory stays flat."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a model writer is handed beside the stretch that it reads (K-4, K-11)."""

    fork: Fork | None = None
    original: tuple[Message, ...] = ()
    ledger: Ledger | None = None
    lookup: Lookup | None = None
    notes: tuple[Note, ...] = ()
    """Entries of the notes that no run has taken in yet (K-13)."""

    def into(self, run: WriterInput) -> WriterInput:
        """The run with all of this."""
        handed = {name: getattr(self, name) for name in self.__struct_fields__}
        return msgspec.structs.replace(run, **handed)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A writer's run as it was started: everything it needs, nothing that may change meanwhile."""

    store: Store
    session_id: str
    lease: Lease
    generation: int
    undo_revision: int
    previous: Checkpoint | None
    mark: int
    trigger: int
    clock: Clock
    ids: Ids
    economic: bool = False
    """A policy of fewer tokens is in force (C-18)."""
    asked: Asked = Asked()
    """What a model is handed; nothing for a writer without one."""


class Stretch(msgspec.Struct, frozen=True):
    """What one reading of a run came to."""

    done: Checkpoint | WriterFailed
    before: Checkpoint | None
    """The checkpoint that it went on from."""


async def carry_out(run: Run, writer: Writer) -> AsyncGenerator[Stretch]:
    """Runs the writer up to the mark. A very long way is read in stretches, each of which commits items and mark together, so
    that a failure keeps what is done; the failure itself leaves everything as it was and is the last answer (K-7, K-8).

    The slot is free afterwards, whatever happened: also when the run is cancelled or the writer raises.
    """
    try:
        while True:
            done = await _stretch(run, writer)
            yield Stretch(done, run.previous)
            if isinstance(done, WriterFailed) or done.covered_seq >= run.mark:
                return
            run = msgspec.structs.replace(run, previous=done)
    finally:
        await finish_first(free_run(run))


def render_for_people(documents: Path | None, session_id: str, row: Checkpoint | None) -> str:
    """Writes the rendering that people read, or takes it away where no checkpoint holds (None); answers what went wrong, "" if
    nothing: the record is as it is either way. ``documents`` None: nobody reads any."""
    if documents is None:
        return ""
    path = path_of(documents, layout.checkpoint(session_id))
    try:
        if row is None:
            path.unlink(missing_ok=True)
        else:
            write_checkpoint_file(path, render_checkpoint(row))
    except (SojournError, OSError) as error:
        return str(error)
    return ""


async def answer_of(writer: Writer, run: WriterInput) -> Written | WriterFailed:
    """A writer's answer within the deadline; whatever goes wrong in it is a failure of this run only (K-8)."""
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await writer.write(run)
    except TimeoutError:
        return WriterFailed("retryable", f"no answer within {DEADLINE_SECONDS} s")
    except Exception as error:  # noqa: BLE001 (a host's writer may raise anything: the session has to go on)
        return WriterFailed("deterministic", f"{type(error).__name__}: {error}")


async def _stretch(run: Run, writer: Writer) -> Checkpoint | WriterFailed:
    after = run.previous.covered_seq if run.previous else 0
    try:
        messages = await _read(run, after)
        upto = messages[-1].seq if messages else run.mark
        last = upto == run.mark
        if not last:  # notes are taken in with the newest stretch
            run = msgspec.structs.replace(run, mark=upto, asked=msgspec.structs.replace(run.asked, notes=()))
        written = await _written(run, writer, after, messages)
        return written if isinstance(written, WriterFailed) else await _commit(run, writer, written, after, free=last)
    except SojournError as error:
        return WriterFailed("retryable", str(error))  # the store refused: the session goes on and says so


async def _read(run: Run, after: int) -> tuple[Message, ...]:
    """(after, mark], of a very long way its first part. What stands in view is asked for in the live request, whatever its
    length: it is a cache read there."""
    messages: list[Message] = []
    size = 0
    async for message in run.store.stream(run.session_id, after=after):
        if message.seq > run.mark:
            break
        messages.append(message)
        size += total(message_tokens(message))
        if size >= _STRETCH_TOKENS and run.asked.fork is None:
            break
    return tuple(messages)


async def _written(run: Run, writer: Writer, after: int, messages: tuple[Message, ...]) -> Written | WriterFailed:
    asked = run.asked.into(
        WriterInput(
            items=open_items(run.previous.items if run.previous else ()),
            messages=messages,
            range=(after, run.mark),
            trigger=run.trigger,
            economic=run.economic,
        )
    )
    written = await answer_of(writer, asked)
    if isinstance(written, WriterFailed):
        return written
    written = validate(written, run.mark)
    if not written.items and (writer.name == "model" or run.previous is not None):
        # Report 71: nothing is no checkpoint.
        return WriterFailed("retryable", "empty answer", usage=written.usage, calls=written.calls)
    return written


async def _commit(run: Run, writer: Writer, written: Written, after: int, *, free: bool) -> Checkpoint | WriterFailed:
    """Items and mark, and the slot given back with the last of them."""
    whole = WriterInput(items=(), messages=(), range=(after, run.mark), trigger=run.trigger)
    previous_id = run.previous.id if run.previous else None
    row = checkpoint_row(whole, written, writer.name, ids=run.ids, clock=run.clock, previous_id=previous_id)
    if writer.name == "model":
        row = msgspec.structs.replace(row, notes=tuple(note.sha for note in run.asked.notes))
    fence = Fence(epoch=run.lease.epoch, slot_generation=run.generation, undo_revision=run.undo_revision)
    slot = await run.store.slot(run.session_id)
    freed = [SetSlot(msgspec.structs.replace(slot, running=False))] if free else []
    done = await run.store.commit(run.session_id, fence, [AddCheckpoint(row), *freed])
    if isinstance(done, Fenced):
        reason = f"the session moved on meanwhile ({done.reason})"
        return WriterFailed("cancelled", reason, usage=written.usage, calls=written.calls)
    return row


async def free_run(run: Run) -> None:
    """Gives the slot back, unless a newer run holds it already."""
    slot = await run.store.slot(run.session_id)
    if slot.running and slot.generation == run.generation:
        fence = Fence(epoch=run.lease.epoch, slot_generation=run.generation)
        await run.store.commit(run.session_id, fence, [SetSlot(msgspec.structs.replace(slot, running=False))])


async def take_slot(store: Store, session_id: str, lease: Lease, *, mark: int, now: int) -> Slot | None:
    """The slot, held for a run up to ``mark``; None where a writer runs (K-9)."""
    slot = await store.slot(session_id)
    if slot.running:
        return None
    held = Slot(running=True, generation=slot.generation + 1, started=now, mark=mark)
    done = await store.commit(session_id, Fence(epoch=lease.epoch, slot_generation=slot.generation), [SetSlot(held)])
    return None if isinstance(done, Fenced) else held
