"""Ends of cycles that gain nothing (C-10, C-11)."""

from collections.abc import Sequence
from typing import Literal

from sojourn.cycle.types import Stop


def stop_for(steps_between: Sequence[int]) -> Stop | None:
    """A stop at the third window in a row that came less than 4 finished steps after the one before (C-11).

    ``steps_between``: finished steps between one window's opening and the next, newest last; the newest is the count up
    to now, before the window that is about to open.
    """
    newest = steps_between[-3:]
    return Stop("windows_in_a_row") if len(newest) == 3 and max(newest) < 4 else None


def too_full(level_after: int, trigger: int) -> bool:
    """Whether a window would open above 60% of the trigger, so that smaller budgets come first (C-11)."""
    return 5 * level_after > 3 * trigger


def may_recover(recoveries_without_step: int) -> Literal["ladder", "smaller", "extract", "stop"]:
    """What answers a provider's overflow after so many recoveries with no successful step in between (C-10).

    Two by the ladder, one with smaller budgets, one by extraction, then a clear stop that names the largest parts.
    """
    if recoveries_without_step < 2:
        return "ladder"
    if recoveries_without_step == 2:
        return "smaller"
    return "extract" if recoveries_without_step == 3 else "stop"
