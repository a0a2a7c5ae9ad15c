"""The one number that display, tiers and trigger use: what the next request will hold (M-2, M-3)."""

from typing import Literal

import msgspec

from sojourn.base import Tokens, Usage
from sojourn.meter.calibrate import Calibration, calibrated


class Level(msgspec.Struct, frozen=True):
    """Tokens that the next request will hold, and how we know."""

    tokens: int
    estimated: bool
    """Some part of the number is an estimate: shown with ``~``."""
    source: Literal["usage", "estimate", "error", "pending"]
    """What it rests on: a finished call's usage, nothing but the estimate, a provider's overflow error, or the estimate
    of a window that waits for its first answer."""


def level_from_usage(usage: Usage, after: Tokens, calibration: Calibration, model: str) -> Level:
    """Anchored at the usage of the newest finished main call of this window (M-2).

    Input (fresh, cached and written) + the output that is sent back (reasoning left out where the provider tells it) +
    the calibrated estimate of ``after``: what came after that call's answer.
    """
    sent_back = max(0, usage.output - (usage.reasoning or 0))
    rest = calibrated(calibration, model, after)
    return Level(usage.input + sent_back + rest, rest > 0, "usage")


def level_from_estimate(tokens: Tokens, calibration: Calibration, model: str, *, pending: bool = False) -> Level:
    """The calibrated estimate of the whole request. ``pending``: the window has just opened (M-3)."""
    return Level(calibrated(calibration, model, tokens), True, "pending" if pending else "estimate")


def level_from_error(used: int, after: Tokens, calibration: Calibration, model: str) -> Level:
    """From an overflow error that named what the refused request held (M-2: "270k of 262k").

    ``after``: the uncalibrated estimate of what came since.
    """
    rest = calibrated(calibration, model, after)
    return Level(used + rest, rest > 0, "error")
