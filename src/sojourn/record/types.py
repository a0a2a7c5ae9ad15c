"""What happened, as frozen values. Rows in every store have these shapes (R-1 to R-8, R-15)."""

from typing import Any, Literal

import msgspec

from sojourn.base import Finish, Item, Tokens, Usage

Role = Literal["user", "assistant"]
Origin = Literal["user", "engine", "model", "import"]
"""Who speaks (R-2). ``import`` is text that another program wrote; a person's own text keeps ``user``."""

CallState = Literal["pending", "running", "completed", "error", "interrupted"]


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an imported session came from; the same source grown longer continues it (R-14)."""

    format: str
    foreign_id: str
    lines: int = 0
    """Lines read so far, bad ones included."""
    bytes: int = 0
    """Bytes read so far."""
    sha: str = ""
    """SHA-256 of those bytes: tells a grown file from another one."""


class ForkOf(msgspec.Struct, frozen=True):
    session_id: str
    window_id: str | None
    seq: int
    """The newest seq of the parent that the fork sees."""


class Session(msgspec.Struct, frozen=True, omit_defaults=True):
    """R-1. One journey; an actor (sub-agent) is a session of its own with ``parent_id``."""

    id: str
    project_id: str = ""
    title: str = ""
    created: int = 0
    """Milliseconds since the epoch."""
    updated: int = 0
    parent_id: str | None = None
    spawned_at_seq: int | None = None
    fork_of: ForkOf | None = None
    source: Source | None = None
    model: str = ""
    agent: str = "main"
    mode: str = "ask"
    grants: tuple[str, ...] = ()
    """Permission rules that the person granted with "always", for this session (Y-6)."""
    plan_seq: int = 0
    """The message with the plan that the person accepted by leaving plan mode; 0 = none (W-9)."""
    cwd: str = ""
    head: int = 0
    """The newest seq; 0 = no message yet. The first message has seq 1 (a fork's goes on from ``fork_of.seq``)."""
    epoch: int = 0
    """Bumped with every lease."""
    revision: int = 0
    """Bumped with every commit; watchers follow it."""


# --- parts (R-3) -------------------------------------------------------------------------------------------------


class Touch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that a tool call read or changed."""

    path: str
    kind: Literal["read", "edit", "write"]
    lines: tuple[int, int] | None = None
    """First and last line, from 1."""


class Text(msgspec.Struct, frozen=True, omit_defaults=True, tag="text"):
    text: str
    tokens: Tokens = {}


class Reasoning(msgspec.Struct, frozen=True, omit_defaults=True, tag="reasoning"):
    """A model's thinking, byte for byte, for the model that signed it only."""

    text: str
    provider: str = ""
    model: str = ""
    signature: str = ""
    redacted: str = ""
    """Encrypted or redacted payload as the provider gave it."""
    tokens: Tokens = {}


class Image(msgspec.Struct, frozen=True, omit_defaults=True, tag="image"):
    blob: str
    """Content address: ``sha256`` in hex."""
    media_type: str
    size: int
    """Bytes."""
    pixels: tuple[int, int] | None = None
    """Width, height; None = unknown."""
    name: str = ""
    tokens: Tokens = {}


class File(msgspec.Struct, frozen=True, omit_defaults=True, tag="file"):
    """An attachment that is not a picture, or a result too large to stand in a row (R-8)."""

    blob: str
    media_type: str
    size: int
    """Bytes."""
    name: str = ""
    excerpt: str = ""
    """What stands in view in its place."""
    tokens: Tokens = {}
    """Of the excerpt: what the model sees."""


ResultPart = Text | Image | File


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True, tag="tool_call"):
    """A call and its result in one part, so that nothing can separate them."""

    call_id: str
    name: str
    arguments: dict[str, Any] = {}
    raw_arguments: str = ""
    """Set only where the model's arguments are not a JSON object: exactly what it wrote."""
    state: CallState = "pending"
    result: tuple[ResultPart, ...] = ()
    started: int | None = None
    ended: int | None = None
    touches: tuple[Touch, ...] = ()
    extra: dict[str, Any] = {}
    """Provider fields needed for an exact replay (a thought signature, a custom-tool flag)."""
    tokens: Tokens = {}
    """Of name and arguments; each result part keeps its own."""


class Reminder(msgspec.Struct, frozen=True, omit_defaults=True, tag="reminder"):
    """An engine's note to the model, stored in the form in which it was sent (M-R2)."""

    source: str
    body: str
    form: Literal["system", "wrapped"] = "wrapped"
    tokens: Tokens = {}


class Notice(msgspec.Struct, frozen=True, omit_defaults=True, tag="notice"):
    """Shown to people, never sent."""

    kind: str
    text: str
    detail: dict[str, Any] = {}
    """What a program may want to know of it, by ``kind``."""


Part = Text | Reasoning | ToolCall | Image | File | Reminder | Notice


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """R-2. ``seq`` is 0 until the store has given one."""

    id: str
    role: Role
    origin: Origin
    parts: tuple[Part, ...] = ()
    seq: int = 0
    session_id: str = ""
    created: int = 0
    source: str = ""
    """Engine messages: who in the engine made it. Imported text: its kind over there (``summary``, ``meta``, ...)."""
    model: str = ""
    finish: Finish | None = None
    """Assistant messages: why it ended; None = still running, or never finished."""
    usage: Usage | None = None
    """Only as an imported file gave it; may teach the ratio, never anchors (R-2)."""
    foreign_id: str = ""
    """Its id in the file it was imported from."""


# --- undo, windows, checkpoints (R-4 to R-7) ----------------------------------------------------------------------


class Undo(msgspec.Struct, frozen=True, omit_defaults=True):
    """R-4. Takes one window, or one user turn, out of view. ``closes`` = a redo: it ends the undo row of that id."""

    id: str
    kind: Literal["window", "turn"]
    after_seq: int = 0
    upto_seq: int = 0
    """A turn covers messages in (after_seq, upto_seq]."""
    window_id: str | None = None
    closes: str | None = None
    created: int = 0


WindowKind = Literal["start", "rebuild", "compaction"]


class Block(msgspec.Struct, frozen=True, omit_defaults=True):
    """One block of an opening, exactly as sent, with what it is."""

    section: str
    """``label``, ``checkpoint``, ``recent_user``, ``recent_activity``, ``closing``, ..."""
    text: str
    tokens: int = 0
    """Calibrated tokens, as budgeted."""
    sources: tuple[int, ...] = ()


class Trim(msgspec.Struct, frozen=True):
    """A result (or text) in the live tail that is sent cut. Decided before it is first sent, or never."""

    seq: int
    part: int
    """Index of the part in its message."""
    head: int
    """Characters kept from the start."""
    tail: int
    """Characters kept from the end."""


class Window(msgspec.Struct, frozen=True, omit_defaults=True):
    """R-5. The newest one that no undo covers is the view."""

    id: str
    number: int
    """From 1, never used again."""
    kind: WindowKind
    covered_seq: int
    """Everything at or before it is out of view."""
    digest_seq: int
    """(covered_seq, digest_seq] stands in the opening as recent activity; after it the live tail begins."""
    opened_at_seq: int
    """The head when it opened."""
    opening: tuple[Block, ...] = ()
    items: tuple[Item, ...] = ()
    """What the extractive writer found in (covered_seq, digest_seq] (W-2a)."""
    trims: tuple[Trim, ...] = ()
    prefix_id: str | None = None
    checkpoint_id: str | None = None
    reason: str = ""
    """``start``, ``usage``, ``overflow``, ``manual``, ``cold_cache``, ``model_switch``."""
    outcome: str = ""
    """``started``, ``rebuilt``, ``extracted``, ``compacted`` (C-9)."""
    trigger: int = 0
    hard: int = 0
    policy: str = "full"
    meter_before: int = 0
    meter_after: int = 0
    """Estimated until the first answer (M-3)."""
    tiers: tuple[int, ...] = ()
    """Tiers consumed so far."""
    gate: int | None = None
    """The recovery gate (C-7)."""
    measured: dict[str, float] = {}
    """What its trigger was computed from (C-18): growth, steps, opening, writer, reread, cached_price, written_price."""
    files: tuple[str, ...] = ()
    """Files that the model had read before it opened, newest first: one read again was out of sight (C-18's R)."""
    created: int = 0


class Checkpoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """R-6. Items and mark are one row, one commit."""

    id: str
    covered_seq: int
    """The watermark."""
    items: tuple[Item, ...]
    items_sha: str
    writer: Literal["model", "extractive", "user"]
    range: tuple[int, int]
    """(after, upto]: the messages that this run read."""
    usage: Usage | None = None
    previous_id: str | None = None
    refused: tuple[str, ...] = ()
    """Operations that validation dropped, for the ledger (K-6)."""
    mode: Literal["", "fork", "delta"] = ""
    """How the model was asked (K-4); empty = no model."""
    calls: tuple[str, ...] = ()
    """Ids of the calls that the run made: what it cost stands in their rows (K-11)."""
    added: tuple[str, ...] = ()
    """Ids of the items that the model (or the person) added, replacements included."""
    closed: tuple[str, ...] = ()
    """Ids of the items that it closed or replaced."""
    checked: tuple[str, ...] = ()
    """Ids of the items that the extractive check added (K-10)."""
    promoted: tuple[str, ...] = ()
    """Ids of the items that were proven durable and go to the project's memory (K-12)."""
    notes: tuple[str, ...] = ()
    """Hashes of the entries of ``notes.md`` that the run has taken in (K-13)."""
    created: int = 0


class PrefixSnapshot(msgspec.Struct, frozen=True, omit_defaults=True):
    """R-7. The exact system blocks, context blocks and tool schemas as sent, by hash."""

    id: str
    """``sha256`` of the canonical bytes of the three fields below."""
    system: tuple[Block, ...] = ()
    context: tuple[Block, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    """Each ``{"name", "description", "schema"}``, sorted by name."""
    tokens: int = 0
    created: int = 0


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """R-15. One model call: the row is there before the request leaves and is completed after."""

    id: str
    purpose: Literal["main", "writer", "compaction", "title"]
    upto_seq: int
    """The newest message that the request holds."""
    window_id: str | None = None
    prefix_id: str | None = None
    message_id: str | None = None
    """The assistant message that the answer goes to."""
    model: str = ""
    settings: dict[str, Any] = {}
    unit_hashes: tuple[str, ...] = ()
    """The request as the provider caches it (Q-2)."""
    estimate: Tokens = {}
    """Uncalibrated estimate of the request by kind: what the ratio is learned from."""
    usage: Usage | None = None
    price: float | None = None
    """US dollars; None = unknown."""
    verdict: str = ""
    error: str = ""
    finish: Finish | None = None
    started: int = 0
    ended: int | None = None


class PinRow(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    text: str
    source: str = "user"
    created: int = 0
    removed: bool = False


TaskStatus = Literal["open", "in_progress", "blocked", "done", "abandoned"]


class TaskRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """Y-3. One state of a task. A change is a new row of the same id: the newest that no undo covers holds."""

    id: str
    """``T1``, ``T2``; a child's ``T1.1``."""
    summary: str
    status: TaskStatus = "open"
    parent_id: str | None = None
    owner: str = ""
    """The actor that works on it; empty = the session itself."""
    next_action: str = ""
    """The next concrete action, or what it is blocked by."""
    at_seq: int = 0
    """The head when this state was set: an undo that covers it takes this row out of view."""
    created: int = 0
    """Of the task."""
    updated: int = 0
    """Of this row."""


class Snapshot(msgspec.Struct, frozen=True, omit_defaults=True):
    """The files of the working folder at one moment, in the private object store (W-12)."""

    id: str
    at_seq: int
    """The head when it was taken."""
    tree: str
    """Name of the tree in the object store."""
    root: str
    """The folder that it shows, as a real path."""
    when: Literal["before_turn", "after_turn", "before_undo"]
    created: int = 0


class InboxRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """Text sent to a running session; its holder gives it a seq at the next safe point (R-9)."""

    id: str
    text: str
    origin: Literal["user"] = "user"
    """The person: nobody else may write to a session yet."""
    created: int = 0


class Slot(msgspec.Struct, frozen=True, omit_defaults=True):
    """K-9. The writer's place: at most one runs, told apart by generation."""

    running: bool = False
    generation: int = 0
    started: int = 0
    mark: int = 0
    """The watermark that the running writer will set."""
