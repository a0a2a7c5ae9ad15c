"""Tokens and money: estimate, calibrate, level, breakdown, cuts to a budget, prices (N5, M-1 to M-5)."""

from sojourn.meter.breakdown import breakdown
from sojourn.meter.cache import CacheBefore, Watched, watch
from sojourn.meter.calibrate import Calibration, calibrated, learn
from sojourn.meter.estimate import (
    add,
    count_message,
    count_part,
    estimate_image,
    estimate_text,
    estimate_value,
    message_tokens,
    part_tokens,
    total,
)
from sojourn.meter.fit import fit_ends, fit_head, fit_line
from sojourn.meter.level import Level, level_from_error, level_from_estimate, level_from_usage
from sojourn.meter.money import CacheRule, Cost, Prices, cost, price, relative_prices, units, usual_prices

__all__ = [
    "CacheBefore",
    "CacheRule",
    "Calibration",
    "Cost",
    "Level",
    "Prices",
    "Watched",
    "add",
    "breakdown",
    "calibrated",
    "cost",
    "count_message",
    "count_part",
    "estimate_image",
    "estimate_text",
    "estimate_value",
    "fit_ends",
    "fit_head",
    "fit_line",
    "learn",
    "level_from_error",
    "level_from_estimate",
    "level_from_usage",
    "message_tokens",
    "part_tokens",
    "price",
    "relative_prices",
    "total",
    "units",
    "usual_prices",
    "watch",
]
