"""The table of W-3 as data: order, heading, cap, floor, weight and how a section is cut."""

from typing import Literal

import msgspec

from sojourn.window.types import SectionName

CutRule = Literal["start", "lines", "tasks", "items", "names", "newest_users", "document", "end", "digest"]
"""start: from the first line on. lines: the same, with a count of what is left out. tasks: the same, with a count by
status. items: the schema's order of
dropping. names: names only. newest_users: row 4. document: W-5. end: the newest lines. digest: row 9."""


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of W-3; tokens by the meter."""

    name: SectionName
    heading: str
    cap: int
    floor: int
    weight: float
    cut: CutRule
    cap_share: float = 0.0
    """Where set, the cap is this share of the trigger instead of ``cap``."""
    last: bool = False
    """Its floor shrinks last."""
    at_start: bool = False
    """It stands in a ``start`` window too."""

    def cap_of(self, share_base: int) -> int:
        """The cap in tokens."""
        return int(share_base * self.cap_share) if self.cap_share else self.cap


ROWS: tuple[Row, ...] = (
    Row("pins", "Pins", 2_000, 2_000, 0, "start", last=True, at_start=True),
    Row("tasks", "Tasks ledger", 500, 200, 1, "tasks"),
    Row("checkpoint", "Session checkpoint", 29_000, 1_500, 4, "items"),
    Row("working_set", "Working set", 0, 0, 2, "names", cap_share=0.03),
    Row("state", "Mode, plan, skills and hooks", 3_000, 500, 2, "start"),
    Row("actors", "Active actors", 500, 100, 1, "lines"),
    Row("recent_user", "Recent user input (verbatim)", 16_000, 1_000, 4, "newest_users"),
    Row("project_memory", "Project durable knowledge", 10_000, 500, 2, "document", at_start=True),
    Row("global_memory", "Global memory", 6_000, 200, 1, "document", at_start=True),
    Row("notes", "Session notes", 6_000, 0, 1, "end"),
    Row("memory_index", "Memory keys index", 500, 0, 1, "lines"),
    Row("recent_activity", "Recent activity", 4_000, 300, 3, "digest"),
)
"""In the order in which they stand in an opening."""

USER_MESSAGE_CAP = 2_000
"""Tokens of one message of the user (``recent_user_per_msg``)."""


ANSWERED_CAP = 500
"""Tokens of one that was answered and is not the newest, under an economic policy (C-18): facts in its middle are items."""


def row(name: SectionName) -> Row:
    """The row of that name."""
    return next(one for one in ROWS if one.name == name)
