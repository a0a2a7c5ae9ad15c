"""What came in and was not sent yet, cut so that it fits (C-6)."""

import msgspec

from sojourn.base import WorkFailed
from sojourn.engine.state import State
from sojourn.engine.view import tokens_of
from sojourn.record import AddTrims, Trim
from sojourn.window import apply_trims, trim_tail

_CUT_MARGIN = 50
"""Tokens."""
_CUT_TRIES = 4
_CUT_ROUNDING = 10
"""Tokens: sums of rounded numbers against the rounded sum."""


async def cut_incoming(state: State, line: int) -> bool:
    """C-6: cuts what came in and was not sent yet, so that the level comes under the line. False: nothing to cut."""
    cut_already = {trim.seq for trim in state.view.window.trims}
    unsent = [message for message in state.view.after(state.sent_upto) if message.seq not in cut_already]
    bare = [msgspec.structs.replace(message, parts=()) for message in unsent]
    size, frames = (tokens_of(some, state.calibration, state.traits.name) for some in (unsent, bare))
    level, over = state.level().tokens, state.level().tokens - line + _CUT_MARGIN
    trims: tuple[Trim, ...] = ()
    for _ in range(_CUT_TRIES):  # a cut counts texts, the level whole messages: what is still over is cut as well
        trims = tuple(trim_tail(unsent, max(0, size - frames - over), state.count))
        cut = tokens_of([apply_trims(one, trims) for one in unsent], state.calibration, state.traits.name)
        left = level - size + cut - line + _CUT_ROUNDING
        if left <= 0:
            break
        over += left
    if not trims:
        return state.level().tokens <= state.lines().hard
    await state.commit(AddTrims(state.view.window.id, trims))
    window = await state.ports.store.window(state.view.window.id)
    if window is None:
        raise WorkFailed(f"window {state.view.window.id} cannot be read back", next_step="Run sojourn doctor.")
    named = {trim.seq for trim in trims}
    whole = [m for m in await state.ports.store.messages(state.session.id, after=min(named) - 1) if m.seq in named]
    state.view.retrim(window, whole)
    state.emit("incoming_cut", messages=sorted(named))
    return state.level().tokens <= state.lines().hard
