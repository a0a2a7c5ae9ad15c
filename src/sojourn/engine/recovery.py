"""What is tried when a view does not fit: refused by the provider (C-10), or too full as soon as it has opened (C-6)."""

import msgspec

from sojourn.base import ErrorKind, WorkFailed
from sojourn.cycle import may_recover
from sojourn.engine.cutting import cut_incoming
from sojourn.engine.requests import output_asked
from sojourn.engine.state import State
from sojourn.engine.switching import SHARES, largest_parts, switch
from sojourn.meter import learn, total
from sojourn.wire import ModelError

_SMALLER: dict[str, tuple[float, ...]] = {"ladder": SHARES, "smaller": (0.35,), "extract": (0.2,)}
"""Budgets of an opening after a provider's refusal, by C-10's ways."""


async def recover(state: State, error: ModelError) -> None:
    """Leaves another view, or another request for it, than the one that the provider refused. Raises WorkFailed when nothing is
    left to try, and for errors that another request cannot cure."""
    if error.kind not in (ErrorKind.CONTEXT_OVERFLOW, ErrorKind.MALFORMED_REQUEST):
        raise WorkFailed(f"the model's provider refused: {error} ({error.kind})") from error
    state.refused.add(_fingerprint(state))
    if error.limit is not None and error.limit < state.traits.limit:
        state.traits = msgspec.structs.replace(state.traits, limit=error.limit, limit_source="learned")
        state.emit("limit_learned", limit=error.limit)
    if error.used is not None:
        state.calibration = learn(state.calibration, state.traits.name, state.view.estimate(), error.used)
        state.view.refuse(error.used)
    reason = "overflow" if error.kind is ErrorKind.CONTEXT_OVERFLOW else "malformed"
    if _fits_now(state):
        state.recoveries += 1
        return  # the view was not too large, what was asked for on top of it was
    while True:
        way = may_recover(state.recoveries)
        state.recoveries += 1
        if way == "stop":
            sent = len(state.refused)
            times = "1 request" if sent == 1 else f"{sent} requests in a row"
            raise WorkFailed(
                f"stopped: the provider refused {times}, the last with: {error}. {largest_parts(state)}",
                next_step=error.next_step or "Set compaction.max_context to the model's real window, or use a larger model.",
            ) from error
        await switch(state, reason, shares=_SMALLER[way], extract_first=way == "extract")
        if _fingerprint(state) not in state.refused:
            return


async def make_room(state: State) -> None:
    """C-6: a window that has just opened is over hard already. What came in is cut, then C-10's steps, then a stop."""
    for way in (None, "smaller", "extract"):
        if way is not None:
            await switch(state, "overflow", shares=_SMALLER[way], extract_first=way == "extract")
        if await cut_incoming(state, state.lines().hard):
            return
    raise WorkFailed(
        f"stopped: the newest messages alone do not fit. {largest_parts(state)}",
        next_step="Use a larger window, or send less at once: attach a file's path instead of its text.",
    )


def _fingerprint(state: State) -> tuple[str, int, int, int]:
    """Tells requests of one session apart without serialising them: its window, its end, its size, what it asks for."""
    return (state.view.window.id, state.head, total(state.view.estimate()), output_asked(state) or 0)


def _fits_now(state: State) -> bool:
    """Whether the view that was refused is well under the trigger of what was learned of the model since, and asks for less
    than before: then nothing needs to leave it."""
    return state.level().tokens < state.lines().trigger and _fingerprint(state) not in state.refused
