"""How large a window is and where its lines lie: limit, hard line, trigger, tiers (C-1 to C-4, C-18)."""

import math
import re
from decimal import Decimal

from sojourn.base import UserMistake, parse_quantity
from sojourn.config import Amount, CheckpointSettings, Compaction, Settings
from sojourn.cycle.economy import economic_trigger
from sojourn.cycle.types import Economics, Lines, Policy

SMALLEST_WINDOW = 8_000
"""Tokens; below it no opening is worth having (C-1)."""
SMALLEST_CYCLE = 25_000
"""Tokens of trigger; below it there are no built-in tiers (C-3) and no model writer on the ladder (C-9)."""
SMALLEST_OUTPUT = 1_024
"""Tokens that a request may always ask for (C-2)."""


def effective_limit(limit: int, model: str, compaction: Compaction) -> tuple[int, str]:
    """The window to use, tokens, and ``"config"`` if the setting made it smaller than ``limit``, else ``""`` (C-1).

    ``limit``: the provider's, tokens. ``model``: ``provider/model``. Raises UserMistake for an amount that is none.
    """
    key, amount = "compaction.max_context", compaction.max_context
    if isinstance(amount, dict):
        pattern = _most_specific(model, amount)
        if pattern is None:
            return limit, ""
        key, amount = f'{key}."{pattern}"', amount[pattern]
    if amount is None:
        return limit, ""
    asked = parse_quantity(amount, key=key, of=limit)
    return (asked, "config") if asked < limit else (limit, "")


def _most_specific(model: str, patterns: dict[str, Amount]) -> str | None:
    """The longest pattern that fits; of equally long ones the one with fewer wildcards, then the earlier one."""
    fitting = [pattern for pattern in patterns if re.fullmatch(_as_regex(pattern), model, re.DOTALL)]
    return max(fitting, key=lambda pattern: (len(pattern), -pattern.count("*") - pattern.count("?")), default=None)


def _as_regex(pattern: str) -> str:
    # Only * and ? are wildcards: model names may hold brackets, which fnmatch would read as a set.
    return "".join(".*" if char == "*" else "." if char == "?" else re.escape(char) for char in pattern)


def check_window(effective: int, fixed: int) -> None:
    """Raises UserMistake when ``effective`` is under 8,000 or under four times the ``fixed`` part, tokens (C-1)."""
    least = max(SMALLEST_WINDOW, 4 * fixed)
    if effective < least:
        raise UserMistake(
            f"The window of {effective:,} tokens is too small: the fixed part (system and tools) takes {fixed:,} tokens,"
            f" so at least {least:,} are needed",
            next_step="Raise compaction.max_context, choose a model with a larger window, or switch off tools.",
        )


def draw_lines(
    effective: int,
    *,
    output_cap: int | None,
    settings: Settings,
    economics: Economics | None = None,
    undone: bool = False,
) -> Lines:
    """The lines of a window of ``effective`` tokens, one that ``check_window`` let pass (C-2, C-3, C-18).

    ``output_cap``: the model's, tokens; None (or 0) = unknown. ``economics``: None = not measured yet. ``undone``:
    the newest window was taken back, so the trigger is the hard line (W-12). Raises UserMistake for bad tiers.
    """
    share = max(SMALLEST_OUTPUT, effective // 20)
    reserve = min(output_cap or share, share)
    hard = effective - reserve
    # By way of the ratio's decimal text: 0.57 as a binary float lies below 0.57 and would lose a token.
    full = min(math.floor(effective * Decimal(str(settings.compaction.trigger_ratio))), hard)
    policy = settings.compaction.policy
    trigger = hard if undone else economic_trigger(full, policy, economics)
    return Lines(
        effective=effective,
        hard=hard,
        trigger=trigger,
        full_trigger=full,
        output_reserve=reserve,
        tiers=tiers_for(trigger, policy, settings.checkpoint),
        policy=policy,
    )


def tiers_for(trigger: int, policy: Policy, checkpoint: CheckpointSettings) -> tuple[int, ...]:
    """Levels in tokens, ascending, at which a writer starts (C-3); ``checkpoint.thresholds`` replaces the built-in list.

    Raises UserMistake with key, value and allowed range for a threshold or a reserve that cannot be.
    """
    if checkpoint.thresholds is None:
        levels = [trigger * percent // 100 for percent in _built_in(trigger, policy)]
    else:
        levels = [_threshold(value, trigger) for value in checkpoint.thresholds]
    if not levels:
        return ()
    cap = highest_tier(trigger, checkpoint.reserved)
    # The first above the cap becomes the cap; the later ones fall on it and are dropped with the doubles.
    return tuple(sorted({min(level, cap) for level in levels}))


def _built_in(trigger: int, policy: Policy) -> range:
    """Percentages of the trigger."""
    if trigger < SMALLEST_CYCLE:
        return range(0)
    if policy != "full":
        return range(85, 86)  # late: what comes after its mark is only digested, and nothing waits for it (C-18)
    if trigger <= 200_000:
        return range(20, 81, 20)
    if trigger <= 500_000:
        return range(10, 91, 10)
    return range(5, 91, 5)


def _threshold(value: Amount, trigger: int) -> int:
    level = parse_quantity(value, key="checkpoint.thresholds", of=trigger)
    if level < 1:
        raise UserMistake(
            f"checkpoint.thresholds = {value!r} is out of range",
            next_step=f"A threshold lies from 1 to {trigger:,} tokens (the trigger), or above 0% and up to 100% of it.",
        )
    return level


def highest_tier(trigger: int, reserved: Amount | None = None) -> int:
    """The cap of tiers and of the recovery gate: ``trigger - reserved``, tokens (C-3).

    ``reserved``: ``checkpoint.reserved``; a percentage is of the trigger. Raises UserMistake if nothing would be left.
    """
    if reserved is None:
        return trigger - min(13_000, trigger // 8)
    kept_free = parse_quantity(reserved, key="checkpoint.reserved", of=trigger)
    if kept_free >= trigger:
        raise UserMistake(
            f"checkpoint.reserved = {reserved!r} is out of range",
            next_step=f"Give an amount from 0 to {trigger - 1:,} tokens: it is taken off the trigger of {trigger:,}.",
        )
    return trigger - kept_free


def max_output(lines: Lines, level: int) -> int:
    """Tokens of output that a request of ``level`` tokens may ask for at most (C-2).

    Over the hard line (only after ``insert_failed`` and with ``compaction.auto=false``) never under 1,024.
    """
    left = lines.effective - level
    return left if level <= lines.hard else max(SMALLEST_OUTPUT, left)
