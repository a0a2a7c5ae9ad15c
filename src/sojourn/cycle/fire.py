"""What becomes of tiers: consumed at the opening, fired again after a failure (C-7)."""

from sojourn.config import Amount
from sojourn.cycle.lines import highest_tier
from sojourn.cycle.types import Lines


def tiers_at_or_below(level: int, lines: Lines) -> tuple[int, ...]:
    """The tiers that are consumed when a window opens with ``level`` tokens."""
    return tuple(tier for tier in lines.tiers if tier <= level)


def recovery_gate(level_at_fire: int, lines: Lines, *, reserved: Amount | None = None) -> int | None:
    """The level at which the last tier fires again after its writer failed with a retryable class, tokens.

    One distance of the last two tiers (the tier itself, if it is the only one) further on, at most the cap of tiers.
    None = not armed: that would not lie above ``level_at_fire``. ``reserved``: ``checkpoint.reserved``.
    """
    if not lines.tiers:
        return None
    below = lines.tiers[-2] if len(lines.tiers) > 1 else 0
    gate = min(level_at_fire + lines.tiers[-1] - below, highest_tier(lines.trigger, reserved))
    return gate if gate > level_at_fire else None
