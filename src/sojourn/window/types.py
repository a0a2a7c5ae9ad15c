"""What goes into an opening and what comes out: plain values (W-1 to W-7)."""

from collections.abc import Callable
from typing import Literal

import msgspec

from sojourn.base import Item
from sojourn.record import Block, Message

SectionName = Literal[
    "pins",
    "tasks",
    "checkpoint",
    "working_set",
    "state",
    "actors",
    "recent_user",
    "project_memory",
    "global_memory",
    "notes",
    "memory_index",
    "recent_activity",
]
"""The rows of W-3, in their order: 0, 1, 2, 2a, 2b, 3, 4, 5, 6, 7, 8, 9."""

Count = Callable[[str], int]
"""Calibrated tokens of a text: the one meter, handed in."""

TurnStatus = Literal["answered", "interrupted", "open"]

Closing = Literal["answer_user", "mid_loop", "open_task", "wait"]
"""W-7's states, the first that holds."""


class OpeningSection(msgspec.Struct, frozen=True, omit_defaults=True):
    """A section that the caller fills (W-3 rows 0, 1, 2b, 3, 5, 6, 7, 8): its text, cut here by its row's rule."""

    name: SectionName
    text: str
    path: str = ""
    """Where the document lives: shown as a ``File:`` line, the document's own level-1 heading is dropped."""


class UserText(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of the user, quoted verbatim (row 4)."""

    seq: int
    text: str
    status: TurnStatus
    attachments: tuple[str, ...] = ()
    """Names of its pictures and files, with how to fetch them."""


class OpenTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """The task that W-7 names when the session stopped in the middle of one."""

    name: str
    next_action: str = ""
    progress_file: str = ""


class OpeningInput(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an opening is made from. Nothing else is looked at, so the same input gives the same bytes."""

    kind: Literal["start", "rebuild", "compaction"]
    count: Count
    share_base: int
    """What shares are taken of: the trigger (C-18: the smaller of T and the last window's, at least 0.5 T), tokens."""
    hard: int
    fixed: int
    """System + tools + context blocks, tokens."""
    live_tail: int
    """The live tail as it will be sent, after its own cut, tokens."""
    covered_seq: int
    digest_seq: int
    items: tuple[Item, ...] = ()
    """The checkpoint's open items, then W-2a's, merged by the caller."""
    checkpoint_path: str = ""
    user_texts: tuple[UserText, ...] = ()
    """At or before covered_seq, oldest first."""
    activity: tuple[Message, ...] = ()
    """(covered_seq, digest_seq], in order."""
    activity_status: dict[int, TurnStatus] = {}
    """Status of the user texts within ``activity``, by seq."""
    working_set: str = ""
    """Row 2a as ``working_set`` rendered it."""
    sections: tuple[OpeningSection, ...] = ()
    economic: bool = False
    """A policy under which every step pays for what stands here: long messages that were answered are cut sooner (C-18)."""
    closing: Closing = "wait"
    task: OpenTask | None = None
    boundary: str = ""
    """When the boundary happened, in words: ``2026-11-29 14:03 UTC, after message 412``."""
    caps: dict[str, int] = {}
    """``checkpoint.push_caps`` and ``rebuild.recent_user*``: caps in tokens by section name, plus
    ``recent_user_per_msg``."""


class LeftOut(msgspec.Struct, frozen=True):
    """What of a section did not fit."""

    section: str
    count: int
    """Lines, messages, items or headings, by the section's kind."""
    tokens: int


class Opening(msgspec.Struct, frozen=True):
    blocks: tuple[Block, ...]
    """Exactly as sent, in order; joined they are the opening message."""
    sections: dict[str, int]
    """Calibrated tokens by section, label and closing included. Their sum is ``tokens``."""
    tokens: int
    budget: int
    """The total it had to stay in (W-4)."""
    left_out: tuple[LeftOut, ...] = ()
    has_content: bool = True
    """False: no section has anything to say (W-10)."""
