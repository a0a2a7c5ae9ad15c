"""The one way history is written: a fenced, idempotent commit of a few changes (R-9)."""

import msgspec

from sojourn.base import Finish, Usage
from sojourn.record.types import (
    Call,
    Checkpoint,
    InboxRow,
    Message,
    Part,
    PinRow,
    PrefixSnapshot,
    Slot,
    Snapshot,
    TaskRow,
    Trim,
    Undo,
    Window,
)


class AddMessage(msgspec.Struct, frozen=True, tag=True):
    """Takes the next seq. The message's own ``seq`` and ``session_id`` are ignored."""

    message: Message


class SettlePart(msgspec.Struct, frozen=True, tag=True):
    """Adds the part at ``index``, or replaces the one there if that is a tool call still pending or running."""

    message_id: str
    index: int
    part: Part


class AddWindow(msgspec.Struct, frozen=True, tag=True):
    """``number`` is given by the store: one more than any before, undone ones included."""

    window: Window


class ConsumeTiers(msgspec.Struct, frozen=True, tag=True):
    """Adds to a window's consumed tiers and sets its recovery gate."""

    window_id: str
    tiers: tuple[int, ...]
    gate: int | None = None


class SetTrigger(msgspec.Struct, frozen=True, tag=True):
    """A window's trigger that was drawn after it had opened: a session's first one has nothing to be computed from before its
    first steps (C-18). Set once; a second one is refused."""

    window_id: str
    trigger: int


class AddTrims(msgspec.Struct, frozen=True, tag=True):
    """Results that will be sent cut from now on; only for the newest window, only what was never sent."""

    window_id: str
    trims: tuple[Trim, ...]


class AddUndo(msgspec.Struct, frozen=True, tag=True):
    undo: Undo


class OpenCall(msgspec.Struct, frozen=True, tag=True):
    """Usually in one commit with the AddMessage of the assistant message that will hold the answer."""

    call: Call


class CloseCall(msgspec.Struct, frozen=True, tag=True):
    """Completes a call; its assistant message, if any, gets the finish."""

    call_id: str
    usage: Usage | None = None
    price: float | None = None
    verdict: str = ""
    error: str = ""
    finish: Finish | None = None
    ended: int | None = None


class AddCheckpoint(msgspec.Struct, frozen=True, tag=True):
    """Refused (Fenced) if an undo made since ``Fence.undo_revision`` covers a seq of its range (K-7)."""

    checkpoint: Checkpoint


class SetSlot(msgspec.Struct, frozen=True, tag=True):
    slot: Slot


class PutPrefix(msgspec.Struct, frozen=True, tag=True):
    """A snapshot that is there already is left alone."""

    prefix: PrefixSnapshot


class SetSession(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """None = leave as it is."""

    title: str | None = None
    model: str | None = None
    mode: str | None = None
    grants: tuple[str, ...] | None = None
    plan_seq: int | None = None
    source_lines: int | None = None
    source_bytes: int | None = None
    source_sha: str | None = None


class Pin(msgspec.Struct, frozen=True, tag=True):
    """Adds the pin, or (same id) replaces it: ``removed`` takes it out of view."""

    pin: PinRow


class PutTask(msgspec.Struct, frozen=True, tag=True):
    """A new state of a task: the newest row of an id that no undo covers holds (Y-3)."""

    task: TaskRow


class PutSnapshot(msgspec.Struct, frozen=True, tag=True):
    """The files at one moment (W-12). Undo rows do not cover it."""

    snapshot: Snapshot


class PutInbox(msgspec.Struct, frozen=True, tag=True):
    """The one change that needs no lease: anyone may send text to a running session."""

    row: InboxRow


class TakeInbox(msgspec.Struct, frozen=True, tag=True):
    """Takes rows out of the inbox, in the same commit as their AddMessage."""

    ids: tuple[str, ...]


Change = (
    AddMessage
    | SettlePart
    | AddWindow
    | ConsumeTiers
    | SetTrigger
    | AddTrims
    | AddUndo
    | OpenCall
    | CloseCall
    | AddCheckpoint
    | SetSlot
    | PutPrefix
    | SetSession
    | Pin
    | PutTask
    | PutSnapshot
    | PutInbox
    | TakeInbox
)


class Fence(msgspec.Struct, frozen=True):
    """What must still hold for a commit to go in. ``head`` is looked at only when a change takes a seq."""

    epoch: int
    head: int | None = None
    slot_generation: int | None = None
    undo_revision: int | None = None
    """The number of undo rows known when a writer started (``Store.undos`` length); see AddCheckpoint."""


class Committed(msgspec.Struct, frozen=True):
    head: int
    revision: int
    seqs: tuple[int, ...] = ()
    """The seqs given, one for each AddMessage in order."""
    repeated: bool = False
    """These ids were there already: nothing was written, this is the answer of then."""


class Fenced(msgspec.Struct, frozen=True):
    """Refused, nothing written."""

    reason: str
    """``epoch``, ``head``, ``slot``, ``undo``, ``no_lease``, ``settled`` or ``missing``."""
    detail: str = ""


class Lease(msgspec.Struct, frozen=True):
    session_id: str
    owner: str
    """``host:pid:random``."""
    epoch: int
    expires: int
    """By the store's clock, milliseconds."""


class Held(msgspec.Struct, frozen=True):
    """Somebody else runs the session (R-11)."""

    session_id: str
    owner: str
    since: int
    expires: int
