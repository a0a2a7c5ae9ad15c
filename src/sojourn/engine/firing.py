"""Starting writers, in the background where a model writes, and what becomes of a run (C-7, C-17, K-8, K-9)."""

import asyncio
from typing import Literal

import msgspec

from sojourn.checkpoint import ExtractiveWriter, Writer, WriterFailed
from sojourn.cycle import Fire, recovery_gate
from sojourn.engine.handing import RecordLookup, WriterLedger, cache_is_warm, fork_fits, live_fork, original_of_digest
from sojourn.engine.remembering import notes_to_take, take_over
from sojourn.engine.state import State, is_economic
from sojourn.engine.writing import Run, carry_out, mark_dirty, render_for_people, take_slot
from sojourn.record import Checkpoint, ConsumeTiers, Lease
from sojourn.window import watermark

Came = Literal["written", "write_failed", "wait_expired"]
"""What came of a rung of the ladder that writes or waits (C-9)."""


async def fire(state: State, at: Fire) -> None:
    """Starts a writer for the tiers crossed; they are consumed when it has really started (C-7).

    Extraction takes less than a fifth of a second and is awaited; a model writes in the background, as long as its share of
    what the session spends allows it (K-11).
    """
    writer = state.ports.writer
    if writer.name == "model" and state.spent.writer_share > state.ports.settings.checkpoint.budget_share:
        state.notice("writers_over_budget")
        writer = ExtractiveWriter()
    run = await _begin(state, writer, at.tiers, f"level {at.level}")
    if run is None:
        return
    state.writing = asyncio.create_task(_settle(state, run, writer, at))
    if writer.name == "extractive":
        await asyncio.shield(state.writing)


async def note_dirty(state: State) -> None:
    """A tier was crossed while a writer runs: the tiers are looked at once more when it has settled (K-9)."""
    if state.lease is not None and await mark_dirty(state.ports.store, state.session.id, state.lease):
        state.emit("writer_dirty")


async def write_now(state: State, writer: Writer) -> Checkpoint | WriterFailed | None:
    """One run up to K-5's mark, awaited; None = nothing new to write, or a writer runs already."""
    run = await _begin(state, writer, (), "asked for")
    return None if run is None else await _settle(state, run, writer, None)


async def write_or_wait(state: State, wait: int) -> Came:
    """The ladder's second rung: the running writer, or one started on the spot, waited for at most ``wait`` milliseconds.

    Giving up does not cancel it.
    """
    if not running(state):
        run = await _begin(state, state.ports.writer, (), "the window is full")
        if run is None:
            return "write_failed"
        state.writing = asyncio.create_task(_settle(state, run, state.ports.writer, None))
    state.emit("notice", key="waiting_for_writer", milliseconds=wait)
    assert state.writing is not None
    done, _ = await asyncio.wait({state.writing}, timeout=wait / 1_000)
    if not done:
        return "wait_expired"
    return "written" if isinstance(state.writing.result(), Checkpoint) else "write_failed"


def running(state: State) -> bool:
    """Whether a writer runs: always in this process, since a writer runs under its session's lease (K-9)."""
    return state.writing is not None and not state.writing.done()


async def drain(state: State, wait: int) -> bool:
    """Waits at most ``wait`` milliseconds for a running writer when the session ends; whether none is left (C-17).

    One that is still running is cancelled: everything stays as it was, and its tier fires again in the next process.
    """
    if state.writing is None or not running(state):
        return True
    if wait > 0:
        state.emit("notice", key="waiting_for_writer", milliseconds=wait)
        done, _ = await asyncio.wait({state.writing}, timeout=wait / 1_000)
        if done:
            return True
    state.writing.cancel()
    await asyncio.wait({state.writing})
    return False


async def _begin(state: State, writer: Writer, tiers: tuple[int, ...], reason: str) -> Run | None:
    """Takes the slot for a run up to K-5's mark and consumes the tiers; None where there is nothing new, or no slot."""
    ports, session_id = state.ports, state.session.id
    if state.lease is None:
        return None
    previous = await ports.store.newest_checkpoint(session_id)
    state.mark = max(state.mark, previous.covered_seq if previous else 0)
    trigger = state.lines().full_trigger
    mark = watermark(state.view.sent, trigger, max(state.mark, state.view.window.covered_seq))
    if mark is None or mark <= state.mark:
        return None
    slot = await take_slot(ports.store, session_id, state.lease, mark=mark, now=ports.clock.now())
    if slot is None:
        state.emit("writer_dirty")
        return None
    if tiers:
        await _consume(state, tiers, None)
    run = Run(
        store=ports.store,
        session_id=session_id,
        lease=state.lease,
        generation=slot.generation,
        undo_revision=len(await ports.store.undos(session_id)),
        previous=previous,
        mark=mark,
        trigger=trigger,
        clock=ports.clock,
        ids=ports.ids,
        documents=ports.documents,
        economic=is_economic(state),
    )
    if writer.name == "model":
        run = await _with_model(state, run, state.lease, reason, forks=writer.forks)
    state.emit("checkpoint_started", mark=mark, writer=writer.name, reason=reason)
    return run


async def _with_model(state: State, run: Run, lease: Lease, reason: str, *, forks: bool) -> Run:
    """The run with what a model is asked from: a cache read of the live request where that is to be had (K-4)."""
    original = await original_of_digest(state, run.previous.covered_seq if run.previous else 0)
    fork = forks and cache_is_warm(state) and fork_fits(state, run.mark, original)
    return msgspec.structs.replace(
        run,
        fork=live_fork(state, run.mark) if fork else None,
        original=original if fork else (),
        ledger=WriterLedger(state, lease, "writer", run.mark, reason),
        lookup=RecordLookup(run.store, run.session_id),
        notes=await notes_to_take(state),
    )


async def _settle(state: State, run: Run, writer: Writer, at: Fire | None) -> Checkpoint | WriterFailed:
    """Runs the writer and tells what came of it; a retryable failure of the last tier arms the recovery gate (C-7)."""
    window_id = state.view.window.id
    try:
        done = await carry_out(run, writer)
    except asyncio.CancelledError:
        if at is not None:
            await _consume(state, (), at.level)  # its tier fires again, in the next process if need be (C-17)
        raise
    if isinstance(done, Checkpoint | WriterFailed) and done.usage is not None:
        state.spent = state.spent.plus("writer", done.usage, state.prices)
    if isinstance(done, Checkpoint):
        state.mark = done.covered_seq
        await take_over(state, done, run.previous)
        if problem := render_for_people(run, done):
            state.emit("notice", key="rendering_failed", problem=problem)
        state.emit("checkpoint_written", checkpoint=done)
        return done
    state.emit("checkpoint_failed", reason=done.reason, failure=done.kind)
    if at is not None and at.last and done.kind == "retryable" and state.view.window.id == window_id:
        gate = recovery_gate(at.level, state.lines(), reserved=state.ports.settings.checkpoint.reserved)
        if gate is not None:
            await _consume(state, (), gate)
    return done


async def _consume(state: State, tiers: tuple[int, ...], gate: int | None) -> None:
    window = state.view.window
    await state.commit(ConsumeTiers(window.id, tiers, gate))
    if state.view.window.id == window.id:  # not left meanwhile
        consumed = tuple(sorted({*state.view.window.tiers, *tiers}))
        state.view.window = msgspec.structs.replace(state.view.window, tiers=consumed, gate=gate)
