"""Projection: from window, prefix and stored messages to one request, with cache marks (Q-1 to Q-5)."""

from sojourn.request.compare import Change, changed_part
from sojourn.request.marks import mark_places
from sojourn.request.parts import INTERRUPTED
from sojourn.request.projection import Projection, project
from sojourn.request.units import UnitHashes, body_units, extends, first_difference, unit_hashes, units
from sojourn.request.validate import problems

__all__ = [
    "INTERRUPTED",
    "Change",
    "Projection",
    "UnitHashes",
    "body_units",
    "changed_part",
    "extends",
    "first_difference",
    "mark_places",
    "problems",
    "project",
    "unit_hashes",
    "units",
]
