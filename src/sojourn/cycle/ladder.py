"""The ladder: the only place that decides how a window is left (C-9, C-13, C-14)."""

from sojourn.cycle.lines import SMALLEST_CYCLE
from sojourn.cycle.types import LadderState, Step

AUTOMATIC_WAIT = 180_000
"""Milliseconds that a step waits for a writer."""
MANUAL_WAIT = 300_000
"""Milliseconds that a person waits who asked for it."""


def next_step(state: LadderState) -> Step:
    """The next rung and the outcome to record for it. Ask again after ``write`` and ``wait``, with what came of it.

    Every state has an answer, and a second answer is always the last: ``rebuild``, ``extract`` or ``compact``.
    """
    if state.child:
        return Step("compact", "compacted")
    if not state.checkpoint_enabled:
        return Step("compact", "checkpoint_off", notice="checkpoint_off")
    if not state.memory_writable:
        if state.manual and state.has_checkpoint:
            return Step("rebuild", "rebuilt", notice="checkpoint_stale")
        return Step("compact", "writing_off", notice="writing_off")
    if state.usable_checkpoint or "written" in state.tried:
        return Step("rebuild", "rebuilt")
    if state.tried:
        return Step("extract", "extracted", notice=state.tried[-1])
    if state.trigger < SMALLEST_CYCLE or not state.has_model or not state.writer_fits:
        return Step("extract", "extracted")
    wait = MANUAL_WAIT if state.manual else AUTOMATIC_WAIT
    return Step("wait" if state.writer_running else "write", "started", wait=wait)
