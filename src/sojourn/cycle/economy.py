"""The trigger that makes a step cheapest (C-18)."""

import math

from sojourn.cycle.types import Economics, Policy

_FEWEST_STEPS = 4.0
_TOLERANCE = 0.03
"""``balanced``: a step may cost this much more than the cheapest; for that the window is about half as large again."""


def economic_trigger(full_trigger: int, policy: Policy, economics: Economics | None) -> int:
    """The trigger in tokens under a policy, at most ``full_trigger`` (``T``).

    A window of ``n`` steps costs ``g + p (o + n g / 2) + (f b + W + R) / n`` a step, which is least at
    ``n = sqrt(2 (f b + W + R) / (p g))``: ``economy`` has ``clamp(o + n g, max(2 o, 0.25 T), T)``. ``balanced`` has the most
    steps that cost at most 3% more a step than that, within the same bounds: the curve is flat near its lowest point, and
    what a larger window holds need not be read again. ``n`` is at least 4: windows of fewer steps are what C-11 stops.
    It is T under ``full``, before 5 measured steps, and where growth or the cached-read price is not above 0: then leaving a
    window early saves nothing that can be computed.
    """
    if policy == "full" or economics is None or economics.steps < 5 or economics.growth <= 0 or economics.cached_price <= 0:
        return full_trigger
    switching = economics.written_price * economics.opening_written + economics.writer_cost + economics.reread_cost
    slope = economics.cached_price * economics.growth / 2
    steps = math.sqrt(switching / slope)
    if policy == "balanced":
        steps = _most_steps(steps, slope, economics.growth + economics.cached_price * economics.opening_level)
    cheapest = economics.opening_level + max(_FEWEST_STEPS, steps) * economics.growth
    lowest = max(2 * economics.opening_level, full_trigger / 4)
    return math.floor(min(max(cheapest, lowest), full_trigger))


def _most_steps(cheapest: float, slope: float, constant: float) -> float:
    """The larger ``n`` at which a step costs ``1 + tolerance`` times what it costs at ``cheapest`` steps a window.

    ``slope n + slope cheapest^2 / n + constant`` is the cost of a step; at ``cheapest`` both growing terms are equal.
    """
    half = (2 * slope * cheapest + _TOLERANCE * (2 * slope * cheapest + constant)) / (2 * slope)
    return half + math.sqrt(max(0.0, half * half - cheapest * cheapest))
