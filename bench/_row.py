"""One line of a benchmark's table."""

from typing import NamedTuple


class Row(NamedTuple):
    name: str
    value: float
    unit: str
    note: str
    """What it is measured against, or what the goal is."""
