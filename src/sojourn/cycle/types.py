"""What the deciding part is told and what it answers: plain values (C-2 to C-18)."""

from typing import Literal

import msgspec

Policy = Literal["full", "balanced", "economy"]


class Lines(msgspec.Struct, frozen=True):
    """The lines of one window, in tokens (C-2, C-3, C-18)."""

    effective: int
    hard: int
    """Above it no request is sent."""
    trigger: int
    """The single line that switches windows, lowered by the policy."""
    full_trigger: int
    """``T``: the trigger before the policy lowered it."""
    output_reserve: int
    tiers: tuple[int, ...]
    policy: Policy = "full"


class Economics(msgspec.Struct, frozen=True):
    """What C-18 computes with; measured by the caller."""

    growth: float = 0.0
    """Tokens a step, mean of the last 50 steps."""
    steps: int = 0
    """How many steps that mean rests on; under 5 the trigger is T."""
    opening_level: int = 0
    """``o``: the level with which this window opened."""
    opening_written: int = 0
    """``b``: tokens written by an opening."""
    writer_cost: float = 0.0
    """``W``: what the writers of a window cost, in tokens of fresh input."""
    reread_cost: float = 0.0
    """``R``: what a window costs in files that are read again because they were out of sight, likewise."""
    cached_price: float = 0.1
    """``p``, of a fresh token."""
    written_price: float = 1.25
    """``f``."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session stands just before a model call (C-6)."""

    level: int
    """What the next request will hold (M-2)."""
    lines: Lines
    recovered: bool = False
    """The newest window was opened after the last finished assistant: usage was answered already."""
    child: bool = False
    """A child session: compaction, no checkpoints."""
    consumed: tuple[int, ...] = ()
    gate: int | None = None
    since_mark: int = 0
    """Tokens after the last mark."""
    writer_running: bool = False
    checkpoints: bool = True
    """Writing is on: neither ``checkpoint.enabled=false``, ``memory.disable_write`` nor the variable."""
    auto: bool = True
    window_undone: bool = False
    """The newest window row is undone: the trigger is ``hard`` until the next window (W-12)."""
    usable_checkpoint: bool = False
    cache_expired: bool = False


class Fire(msgspec.Struct, frozen=True):
    """Start a writer for the highest tier crossed; ``tiers`` are consumed when it has really started (C-7)."""

    level: int
    tiers: tuple[int, ...]
    last: bool
    """The last tier is among them: a retryable failure arms the recovery gate."""


Then = Literal["send", "cut_incoming", "open", "compact", "recover"]
"""send: go on. cut_incoming: only what came in is cut (C-6). open: the ladder (C-9). compact: a child's
compaction (C-8). recover: over hard with no usage to blame: C-10's steps."""


class Decision(msgspec.Struct, frozen=True):
    then: Then
    reason: str = ""
    """``usage``, ``cold_cache``, ``over_hard`` for open and recover."""
    fire: Fire | None = None


Rung = Literal["rebuild", "write", "wait", "extract", "compact"]
"""The next thing to do on the ladder (C-9)."""


class LadderState(msgspec.Struct, frozen=True, kw_only=True):
    """What the ladder knows; asked again after each rung with what came of it."""

    trigger: int
    child: bool = False
    manual: bool = False
    checkpoint_enabled: bool = True
    """``checkpoint.enabled`` / SOJOURN_DISABLE_CHECKPOINT."""
    memory_writable: bool = True
    """``memory.disable_write``."""
    has_checkpoint: bool = False
    """Any checkpoint row (by hand one may be rebuilt from even with writing off, marked stale)."""
    usable_checkpoint: bool = False
    """Its mark is past the ``covered_seq`` of the current window."""
    has_model: bool = False
    """A model writer could run."""
    writer_fits: bool = True
    """Request, items and 2,000 output fit ``effective`` (in ``delta`` at least)."""
    writer_running: bool = False
    tried: tuple[Literal["written", "write_failed", "wait_expired"], ...] = ()
    """What came of the rungs so far."""


class Step(msgspec.Struct, frozen=True):
    """The rung to take and the outcome to record when it is done."""

    rung: Rung
    outcome: str
    """``rebuilt``, ``extracted`` (after writer_failed), ``compacted``, ``writing_off``, ``checkpoint_off``."""
    wait: int = 0
    """Milliseconds that a ``write`` or ``wait`` may take in the foreground (180,000 automatic, 300,000 manual)."""
    notice: str = ""
    """A message key for people, once a session; empty = none."""


class Stop(msgspec.Struct, frozen=True):
    """A clear stop (C-11, C-10)."""

    reason: Literal["windows_in_a_row", "no_gain", "overflow_again"]
