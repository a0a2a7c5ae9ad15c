"""Cycles, decided: levels and settings in, decision out. Pure: no clock, no store, no model (C-1 to C-18)."""

from sojourn.cycle.decide import decide
from sojourn.cycle.economy import economic_trigger
from sojourn.cycle.fire import recovery_gate, tiers_at_or_below
from sojourn.cycle.ladder import next_step
from sojourn.cycle.lines import check_window, draw_lines, effective_limit, highest_tier, max_output, tiers_for
from sojourn.cycle.loops import may_recover, stop_for, too_full
from sojourn.cycle.types import (
    Decision,
    Economics,
    Fire,
    LadderState,
    Lines,
    Policy,
    Rung,
    Situation,
    Step,
    Stop,
    Then,
)

__all__ = [
    "Decision",
    "Economics",
    "Fire",
    "LadderState",
    "Lines",
    "Policy",
    "Rung",
    "Situation",
    "Step",
    "Stop",
    "Then",
    "check_window",
    "decide",
    "draw_lines",
    "economic_trigger",
    "effective_limit",
    "highest_tier",
    "max_output",
    "may_recover",
    "next_step",
    "recovery_gate",
    "stop_for",
    "tiers_at_or_below",
    "tiers_for",
    "too_full",
]
