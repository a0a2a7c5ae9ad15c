"""Starting writers, in the background where a model writes, and what becomes of a run (C-7, C-17, K-8, K-9)."""

import asyncio
import contextlib
from typing import Literal

import msgspec

from sojourn.base import SojournError, Usage, finish_first, open_items
from sojourn.checkpoint import ExtractiveWriter, Writer, WriterFailed
from sojourn.cycle import Fire, recovery_gate
from sojourn.engine.handing import count_unrecorded, hand_over
from sojourn.engine.remembering import notes_to_take, take_over
from sojourn.engine.state import State, is_economic
from sojourn.engine.writing import Run, carry_out, free_run, render_for_people, take_slot
from sojourn.record import Checkpoint, ConsumeTiers
from sojourn.window import watermark

Came = Literal["written", "write_failed", "wait_expired"]
"""What came of a rung of the ladder that writes or waits (C-9)."""


async def fire(state: State, at: Fire) -> None:
    """Starts a writer for the tiers crossed; they are consumed when it has really started (C-7).

    Extraction takes less than a fifth of a second and is awaited; a model writes in the background, as long as its share of
    what the session spends allows it (K-11).
    """
    writer = state.ports.writer
    if writer.name == "model" and state.spent.main and state.spent.writer_share > state.ports.settings.checkpoint.budget_share:
        state.notice("writers_over_budget")
        writer = ExtractiveWriter()
    run = await _begin(state, writer, at, f"level {at.level}")
    if run is None:
        return
    state.writing = asyncio.create_task(_settle(state, run, writer, at))
    if writer.name == "extractive":
        await asyncio.shield(state.writing)


async def write_now(state: State, writer: Writer) -> Checkpoint | WriterFailed | None:
    """One run up to K-5's mark, awaited; None = nothing new to write, or a writer runs already."""
    run = await _begin(state, writer, None, "asked for")
    return None if run is None else await _settle(state, run, writer, None)


async def write_or_wait(state: State, wait: int) -> Came:
    """The ladder's second rung: the running writer, or one started on the spot, waited for at most ``wait`` milliseconds.

    Giving up does not cancel it.
    """
    if not running(state):
        run = await _begin(state, state.ports.writer, None, "the window is full")
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


async def _begin(state: State, writer: Writer, at: Fire | None, reason: str) -> Run | None:
    """A run up to K-5's mark that holds the slot, its tiers consumed; None where there is nothing new, or no slot.

    Everything is read before the slot is taken. A cancel while it is being taken gives it back: nobody else would (K-8).
    """
    ports, session_id, lease = state.ports, state.session.id, state.lease
    if lease is None:
        return None
    previous = await ports.store.newest_checkpoint(session_id)
    last_mark = previous.covered_seq if previous else 0
    state.mark = max(state.mark, last_mark)
    trigger = state.lines().full_trigger
    mark = watermark(state.view.sent, trigger, max(state.mark, state.view.window.covered_seq))
    if mark is None or mark <= state.mark:
        return None
    run = Run(
        store=ports.store,
        session_id=session_id,
        lease=lease,
        generation=0,
        undo_revision=len(await ports.store.undos(session_id)),
        previous=previous,
        mark=mark,
        trigger=trigger,
        clock=ports.clock,
        ids=ports.ids,
        economic=is_economic(state),
    )
    if writer.name == "model":
        items, notes = open_items(previous.items if previous else ()), await notes_to_take(state)
        handed = await hand_over(
            state, writer, lease, (last_mark, mark), purpose="writer", reason=reason, items=items, notes=notes
        )
        run = msgspec.structs.replace(run, asked=handed)
    taking = asyncio.ensure_future(_take(state, run, at))
    try:
        taken = await finish_first(taking)
    except asyncio.CancelledError:
        held = None if taking.exception() else taking.result()
        if held is not None:
            await finish_first(_give_back(state, held, at))
        raise
    if taken is not None:
        state.emit("checkpoint_started", mark=mark, writer=writer.name, reason=reason)
    return taken


async def _take(state: State, run: Run, at: Fire | None) -> Run | None:
    """The run with the slot's generation; None where a writer runs."""
    slot = await take_slot(run.store, run.session_id, run.lease, mark=run.mark, now=run.clock.now())
    if slot is None:
        return None
    run = msgspec.structs.replace(run, generation=slot.generation)
    try:
        if at is not None:
            await _consume(state, at.tiers, None)
    except SojournError:
        await free_run(run)
        raise
    return run


async def _give_back(state: State, run: Run, at: Fire | None) -> None:
    await free_run(run)
    if at is not None:
        await _consume(state, (), at.level)  # its tier fires again


async def _settle(state: State, run: Run, writer: Writer, at: Fire | None) -> Checkpoint | WriterFailed:
    """Runs the writer and tells what came of it; a retryable failure of the last tier arms the recovery gate (C-7)."""
    window_id = state.view.window.id
    told: Usage | None = None
    newest: Checkpoint | WriterFailed | None = None
    try:
        async with contextlib.aclosing(carry_out(run, writer)) as stretches:
            async for stretch in stretches:
                newest = stretch.done
                told = newest.usage.plus(told) if newest.usage is not None else told
                if isinstance(newest, Checkpoint):
                    await _take_up(state, run, newest, stretch.before)
    except asyncio.CancelledError:
        done = isinstance(newest, WriterFailed) or (newest is not None and newest.covered_seq >= run.mark)
        if at is not None and not done and state.view.window.id == window_id:
            await _consume(state, (), at.level)  # its tier fires again, in the next process if need be (C-17)
        raise
    finally:
        count_unrecorded(state, run.asked, told)
    assert newest is not None
    if isinstance(newest, Checkpoint):
        return newest
    state.emit("checkpoint_failed", reason=newest.reason, failure=newest.kind)
    if at is not None and at.last and newest.kind == "retryable" and state.view.window.id == window_id:
        gate = recovery_gate(at.level, state.lines(), reserved=state.ports.settings.checkpoint.reserved)
        if gate is not None:
            await _consume(state, (), gate)
    return newest


async def _take_up(state: State, run: Run, done: Checkpoint, before: Checkpoint | None) -> None:
    """What follows a commit, unless an undo has come since and taken it back: files and rows change together."""
    async with state.following:
        newest = await run.store.newest_checkpoint(run.session_id)
        if newest is None or newest.id != done.id:
            return
        state.mark = newest.covered_seq
        if problem := render_for_people(state.ports.documents, run.session_id, done):
            state.emit("notice", key="rendering_failed", problem=problem)
        await take_over(state, done, before)
        state.emit("checkpoint_written", checkpoint=done)


async def _consume(state: State, tiers: tuple[int, ...], gate: int | None) -> None:
    window = state.view.window
    await state.commit(ConsumeTiers(window.id, tiers, gate))
    if state.view.window.id == window.id:  # not left meanwhile
        consumed = tuple(sorted({*state.view.window.tiers, *tiers}))
        state.view.window = msgspec.structs.replace(state.view.window, tiers=consumed, gate=gate)
