"""What the engine answers and reports: plain values."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from sojourn.cycle.types import Lines
from sojourn.meter import Level
from sojourn.record import Undo, Window
from sojourn.wire import ModelRequest

EventKind = Literal[
    "window_opened",
    "checkpoint_started",
    "checkpoint_written",
    "checkpoint_failed",
    "incoming_cut",
    "limit_learned",
    "notice",
    "undone",
    "prefix_changed",
    "promoted",
]


class EngineEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One automatic act, with its reason: hosts show it, tests read it (principle 5: say it, show it, undo it)."""

    kind: EventKind
    seq: int
    """The head when it happened."""
    detail: dict[str, Any] = {}


OnEvent = Callable[[EngineEvent], None]


class Projected(msgspec.Struct, frozen=True):
    """One request, ready to be serialised, and where the session stands with it."""

    request: ModelRequest
    level: Level
    lines: Lines
    window: Window
    upto_seq: int
    """The newest message that the request holds."""


class Answer(msgspec.Struct, frozen=True):
    """An answer that has begun: its message and its call stand in the record before the request leaves (R-15)."""

    message_id: str
    call_id: str
    seq: int


class Rebuilt(msgspec.Struct, frozen=True):
    """What a rebuild (or compaction) by hand came to."""

    outcome: str
    """``rebuilt``, ``extracted``, ``compacted`` or ``insert_failed`` (C-9)."""
    window: Window | None
    level_before: int
    level_after: int


class Undone(msgspec.Struct, frozen=True):
    """What an undo or redo took back."""

    undo: Undo
    what: str
    """``window 3`` or ``turn at message 412``."""
    level: int
    over_hard: bool
    """The view that returned is over the hard line: the next request opens a window (W-12)."""


class WindowSummary(msgspec.Struct, frozen=True):
    """One window as reports show it."""

    number: int
    kind: str
    reason: str
    outcome: str
    opened_at_seq: int
    covered_seq: int
    digest_seq: int
    level_before: int
    level_after: int
    trigger: int
    hard: int
    sections: dict[str, int]


def summarise(window: Window) -> WindowSummary:
    """The window's row with the tokens of its opening by section."""
    sections: dict[str, int] = {}
    for block in window.opening:
        sections[block.section] = sections.get(block.section, 0) + block.tokens
    return WindowSummary(
        number=window.number,
        kind=window.kind,
        reason=window.reason,
        outcome=window.outcome,
        opened_at_seq=window.opened_at_seq,
        covered_seq=window.covered_seq,
        digest_seq=window.digest_seq,
        level_before=window.meter_before,
        level_after=window.meter_after,
        trigger=window.trigger,
        hard=window.hard,
        sections=sections,
    )


class Context(msgspec.Struct, frozen=True):
    """What is in the window, by part (M-4), and the lines it is measured against."""

    session_id: str
    title: str
    model: str
    level: int
    estimated: bool
    lines: Lines
    limit_source: str
    categories: dict[str, int]
    """Tokens by category; they sum to ``level`` exactly."""
    window: WindowSummary
    head: int
    watermark: int
    """``covered_seq`` of the newest checkpoint; 0 = none."""
