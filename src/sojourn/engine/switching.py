"""Leaving a window: firing writers at tiers, climbing the ladder, opening what it says (C-7 to C-12)."""

import msgspec

from sojourn.base import Item, WorkFailed
from sojourn.checkpoint import ExtractiveWriter
from sojourn.cycle import LadderState, draw_lines, economic_trigger, next_step, stop_for, tiers_at_or_below, too_full
from sojourn.engine.economy import as_measured, economics, files_read, first_economics
from sojourn.engine.firing import Came, running, write_now, write_or_wait
from sojourn.engine.opening import Composed, Frame, compose_compaction, compose_rebuild, compose_start
from sojourn.engine.pinning import pins_section
from sojourn.engine.remembering import memory_sections
from sojourn.engine.state import State, is_economic
from sojourn.engine.summarising import summary
from sojourn.engine.types import Rebuilt
from sojourn.engine.view import tokens_of
from sojourn.memory import layout, path_of
from sojourn.record import AddWindow, Checkpoint, Message, PutPrefix, SetTrigger, Window
from sojourn.window import open_task, tasks_ledger

WRITER_LEAST = 15_000
"""Tokens beside the fixed part that a writer needs at least: 11,000 for items, 2,000 to answer, the rest for what it reads."""
SHARES = (1.0, 0.6, 0.35)
"""Budgets of an opening, tried in turn while the window would open too full (C-11)."""


async def open_first(state: State) -> None:
    """The ``start`` window: pins and durable memory (W-3)."""
    await gather_sections(state)
    composed = await compose_start(_frame(state, 1.0))
    await _commit_window(state, composed, kind="start", reason="start", outcome="started", checkpoint=None)


async def draw_first_trigger(state: State) -> None:
    """C-18: the trigger of a session's first window, from its first five steps: nothing was measured when it opened. Stored
    with the window then, so that neither its line nor its tiers move any more."""
    window, lines = state.view.window, state.lines()
    if not is_economic(state) or window.trigger != lines.full_trigger:
        return
    known = first_economics(state.view, lines.full_trigger, state.fixed_tokens(), state.prices, state.ratio())
    trigger = economic_trigger(lines.full_trigger, lines.policy, known)
    if trigger < window.trigger:
        await state.commit(SetTrigger(window.id, trigger))
        state.view.window = msgspec.structs.replace(window, trigger=trigger)


async def switch(
    state: State,
    reason: str,
    *,
    shares: tuple[float, ...] = SHARES,
    extract_first: bool = False,
) -> Rebuilt:
    """Leaves the window by the ladder (C-9). Raises WorkFailed for a clear stop (C-11).

    ``shares``: budgets of the opening, tried in turn. ``extract_first``: the checkpoint is brought up to date by
    extraction even where one is usable (C-10's last way but one).
    """
    if reason in ("usage", "cold_cache"):
        _stop_if_looping(state)
    before = state.level().tokens
    await state.offer_fresh_prefix()
    tried: list[Came] = []
    while True:
        step = next_step(_ladder(state, reason == "manual", tried))
        state.notice(step.notice)
        if step.rung == "compact":
            window = await compact(state, reason, step.outcome)
            break
        if step.rung in ("write", "wait"):
            tried.append(await write_or_wait(state, step.wait))
            continue
        if step.rung == "extract" or extract_first:
            await write_now(state, ExtractiveWriter())
        window = await _rebuild(state, reason, step.outcome, shares)
        break
    return Rebuilt(
        outcome=window.outcome if window else "insert_failed",
        window=window,
        level_before=before,
        level_after=state.level().tokens,
    )


async def compact(state: State, reason: str, outcome: str = "compacted", focus: str = "") -> Window | None:
    """A compaction window (W-14); None where there is nothing to compact. ``focus``: what a person asked to look after."""
    await gather_sections(state)
    present = state.view.window
    checkpoint = await state.ports.store.newest_checkpoint(state.session.id)
    known = present.items if present.kind == "compaction" else (checkpoint.items if checkpoint else ())

    async def summarise(items: tuple[Item, ...], gone: tuple[Message, ...], covered: int) -> tuple[Item, ...]:
        return await summary(state, items, gone, covered, reason=reason, focus=focus)

    composed = await compose_compaction(_frame(state, 1.0), known, present.covered_seq, summarise)
    if composed is None or not composed.opening.has_content:
        return None
    if reason == "manual" and _level_after(state, composed) >= _estimated(state):
        return None  # it would only make the view larger
    return await _commit_window(state, composed, kind="compaction", reason=reason, outcome=outcome, checkpoint=None)


async def _rebuild(state: State, reason: str, outcome: str, shares: tuple[float, ...]) -> Window | None:
    """A rebuilt window; smaller budgets first while it would open above 60% of the trigger (C-11)."""
    await gather_sections(state)  # after any wait for a writer, which may have taken notes in
    checkpoint = await state.ports.store.newest_checkpoint(state.session.id)
    present = state.view.window
    covered = max(checkpoint.covered_seq if checkpoint else 0, present.covered_seq)
    composed: Composed | None = None
    for share in shares:
        smaller = await compose_rebuild(_frame(state, share), checkpoint, covered)
        if not smaller.opening.has_content:
            break  # too small a budget to say anything: the one before stands
        composed = smaller
        if not too_full(_level_after(state, composed), state.lines().full_trigger):
            break
    if composed is None:
        return None
    if too_full(_level_after(state, composed), state.lines().full_trigger):
        state.notice("window_opens_full")
    if _level_after(state, composed) >= _estimated(state):
        if reason != "usage":
            return None  # it would only make the view larger: by hand nothing is done, a recovery goes on to its next way
        if composed.digest_seq <= present.digest_seq:
            raise _no_gain(state)
    if checkpoint is None and outcome == "rebuilt":
        outcome = "extracted"
    return await _commit_window(state, composed, kind="rebuild", reason=reason, outcome=outcome, checkpoint=checkpoint)


async def _commit_window(
    state: State, composed: Composed, *, kind: str, reason: str, outcome: str, checkpoint: Checkpoint | None
) -> Window:
    ports = state.ports
    before = state.level().tokens
    after = _level_after(state, composed)
    effective, _ = state.limit()
    written = composed.opening.tokens + composed.tail_tokens
    found = economics(state.view, state.spent, state.prices, level=after, written=written, ratio=state.ratio())
    lines = draw_lines(effective, output_cap=state.traits.output_cap, settings=ports.settings, economics=found)
    window = Window(
        id=ports.ids.new("win"),
        number=0,
        kind=kind,  # type: ignore[arg-type]
        covered_seq=composed.covered_seq,
        digest_seq=composed.digest_seq,
        opened_at_seq=state.head,
        opening=composed.opening.blocks,
        items=composed.items,
        trims=composed.trims,
        prefix_id=state.offered.id if state.offered else None,
        checkpoint_id=checkpoint.id if checkpoint else None,
        reason=reason,
        outcome=outcome,
        trigger=lines.trigger,
        hard=lines.hard,
        policy=lines.policy,
        meter_before=before,
        meter_after=after,
        tiers=tiers_at_or_below(after, lines),
        measured=as_measured(found, state.spent),
        files=files_read(state.view),
        created=ports.clock.now(),
    )
    await state.commit(*([PutPrefix(state.offered)] if state.offered else []), AddWindow(window))
    if kind != "start":
        state.window_steps.append(state.view.steps)
    try:
        stored = await ports.store.window(window.id)
        if stored is None:
            raise WorkFailed(f"window {window.id} was written but cannot be read back", next_step="Run sojourn doctor.")
        await state.show(stored)
    except BaseException:
        state.stale = True  # the record has the window: the view is read again before it is used
        raise
    state.emit(
        "window_opened",
        window=stored,
        left_out=composed.opening.left_out,
        budget=composed.opening.budget,
        saved=max(0, before - after) if reason == "cold_cache" else 0,
    )
    return stored


async def gather_sections(state: State) -> None:
    """What the opening shows beside the conversation is read at each new window: tasks, memory, the host's own (W-9)."""
    gather = state.ports.gather_sections
    own = tuple(await gather()) if gather is not None else ()
    ledger = tasks_ledger(state.tasks)
    remembered = await memory_sections(state)
    state.gathered = (*([ledger] if ledger else []), *own, *remembered)


def _ladder(state: State, manual: bool, tried: list[Came]) -> LadderState:
    settings = state.ports.settings
    return LadderState(
        trigger=state.lines().full_trigger,
        child=state.session.parent_id is not None,
        manual=manual,
        checkpoint_enabled=settings.checkpoint.enabled,
        memory_writable=not settings.memory.disable_write,
        has_checkpoint=state.mark > 0,
        usable_checkpoint=state.mark > state.view.window.covered_seq,
        has_model=state.ports.writer.name == "model",
        writer_fits=state.lines().effective >= state.fixed_tokens() + WRITER_LEAST,
        writer_running=running(state),
        tried=tuple(tried),
    )


def _frame(state: State, share: float) -> Frame:
    ports = state.ports
    lines = state.lines()
    # C-18: shares are of the smaller of T and the last window's trigger, at least half of T.
    last = state.view.window.trigger or lines.full_trigger
    base = max(min(lines.full_trigger, last), lines.full_trigger // 2)
    return Frame(
        store=ports.store,
        session_id=state.session.id,
        settings=ports.settings,
        count=state.count,
        weigh=lambda message: tokens_of([message], state.calibration, state.traits.name),
        lines=lines,
        share_base=max(1, round(base * share)),
        fixed=state.fixed_tokens(),
        head=state.head,
        now=ports.clock.now(),
        checkpoint_path=_folder(state),
        sections=(*pins_section(state), *state.sections, *state.gathered),
        task=open_task(state.tasks) or state.task,
        economic=is_economic(state),
        root=state.session.cwd,
        in_view=tuple(state.view.sent),
        carried=next((block.text for block in state.view.window.opening if block.section == "working_set"), ""),
    )


def _folder(state: State) -> str:
    """Where this session's documents lie, as an opening names it; "" where there are none."""
    root = state.ports.documents
    return str(path_of(root, layout.checkpoint(state.session.id)).parent) if root else ""


def _estimated(state: State) -> int:
    """The present level counted as a new window's is: by the estimate (report 44: before and after by one measure)."""
    return state.view.estimated_level(state.calibration, state.traits.name).tokens


def _level_after(state: State, composed: Composed) -> int:
    return state.fixed_tokens() + composed.opening.tokens + composed.tail_tokens


def _stop_if_looping(state: State) -> None:
    """C-11: the third window in a row that came less than 4 finished steps after the one before."""
    if stop_for([*state.window_steps, state.view.steps]) is not None:
        raise WorkFailed(
            f"stopped: three windows in a row filled within fewer than 4 steps each. {largest_parts(state)}",
            next_step="Use a larger window, read smaller parts of files, or give the next instruction to go on.",
        )


def _no_gain(state: State) -> WorkFailed:
    return WorkFailed(
        f"stopped: nothing in the window can be left out without being lost unread. {largest_parts(state)}",
        next_step="Use a larger window or a model with one, or send less at once.",
    )


def largest_parts(state: State) -> str:
    """What fills the window, for the text of a stop."""
    model, calibration = state.traits.name, state.calibration
    parts = [("the fixed part (system, tools, rules)", state.fixed_tokens())]
    parts.append(("the opening", sum(block.tokens for block in state.view.window.opening)))
    parts += [
        (f"message {message.seq} ({message.role})", tokens_of([message], calibration, model)) for message in state.view.sent
    ]
    largest = sorted(parts, key=lambda part: -part[1])[:3]
    named = ", ".join(f"{name} with {tokens:,} tokens" for name, tokens in largest if tokens)
    return f"It holds {state.level().tokens:,} of {state.lines().effective:,} tokens; the largest parts: {named}."
