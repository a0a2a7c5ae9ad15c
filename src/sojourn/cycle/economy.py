"""The trigger that makes a step cheapest (C-18)."""

import math

from sojourn.cycle.types import Economics, Policy

_FEWEST_STEPS = 4.0


def economic_trigger(full_trigger: int, policy: Policy, economics: Economics | None) -> int:
    """The trigger in tokens under a policy, at most ``full_trigger`` (``T``).

    With ``n = sqrt(2 (f b + W + R) / (p g))`` steps a window: ``economy`` has ``clamp(o + n g, max(2 o, 0.25 T), T)``,
    ``balanced`` the geometric mean of that and T. ``n`` is at least 4: windows of fewer steps are what C-11 stops.
    It is T under ``full``, before 5 measured steps, and where growth or
    the cached-read price is not above 0: then leaving a window early saves nothing that can be computed.
    """
    if policy == "full" or economics is None or economics.steps < 5 or economics.growth <= 0 or economics.cached_price <= 0:
        return full_trigger
    opening_cost = economics.written_price * economics.opening_written + economics.writer_cost + economics.reread_cost
    steps = max(_FEWEST_STEPS, math.sqrt(2 * opening_cost / (economics.cached_price * economics.growth)))
    cheapest = economics.opening_level + steps * economics.growth
    lowest = max(2 * economics.opening_level, full_trigger / 4)
    economy = math.floor(min(max(cheapest, lowest), full_trigger))
    return economy if policy == "economy" else math.isqrt(economy * full_trigger)
