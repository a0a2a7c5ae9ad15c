"""What an agent tells of its work, in order: the documented JSON lines of ``sojourn run --output json`` (S-1).

Every event is one JSON object with ``type``; unknown types and fields must be ignored by readers. Tokens are counts,
money is US dollars (null = unknown), times are milliseconds.
"""

from typing import Any, Literal

import msgspec

from sojourn.base import ErrorKind, Finish, Usage


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type"):
    """Base of all events."""


class SessionOpened(Event, frozen=True, omit_defaults=True, tag="session"):
    """First of every run."""

    session_id: str
    how: Literal["new", "continued", "resumed", "forked"]
    model: str
    """provider/name."""
    limit: int
    mode: str
    cwd: str
    window: int = 0
    rules: tuple[str, ...] = ()
    """Instruction files that were loaded, in their order (report 115)."""


class TurnStarted(Event, frozen=True, omit_defaults=True, tag="turn"):
    seq: int
    prompt: str


class StepStarted(Event, frozen=True, omit_defaults=True, tag="step"):
    """A request leaves."""

    number: int
    """In this turn, from 1."""
    call_id: str
    level: int
    trigger: int
    estimated: bool
    window: int


class Said(Event, frozen=True, omit_defaults=True, tag="text"):
    """A piece of the answer."""

    text: str


class Thought(Event, frozen=True, omit_defaults=True, tag="reasoning"):
    text: str


class Called(Event, frozen=True, omit_defaults=True, tag="call"):
    """The model asks for a tool; what became of it follows in ``result``."""

    call_id: str
    name: str
    arguments: dict[str, Any]


class Returned(Event, frozen=True, omit_defaults=True, tag="result"):
    call_id: str
    name: str
    state: Literal["completed", "error", "denied", "interrupted"]
    text: str
    """As the model sees it (cut at the cap)."""
    milliseconds: int = 0


class Reminded(Event, frozen=True, omit_defaults=True, tag="reminder"):
    source: str
    text: str


class WindowOpened(Event, frozen=True, omit_defaults=True, tag="window"):
    number: int
    reason: str
    outcome: str
    level_before: int
    level_after: int
    covered: int
    """Everything up to this seq is out of view, in the record."""
    saved: int = 0
    """Tokens that need not be read anew, since the provider's cache had expired (C-15)."""


class CheckpointEvent(Event, frozen=True, omit_defaults=True, tag="checkpoint"):
    state: Literal["started", "written", "failed"]
    writer: str = ""
    covered: int = 0
    items: int = 0
    reason: str = ""
    usage: Usage | None = None
    """What a model writer took, all its calls together (K-11)."""


class Retrying(Event, frozen=True, omit_defaults=True, tag="retry"):
    """The provider failed and is asked again: the text of this step so far is void."""

    attempt: int
    wait: float
    """Seconds."""
    error: ErrorKind
    message: str


class Noticed(Event, frozen=True, omit_defaults=True, tag="notice"):
    """Something a person should know: ``key`` names it (the same keys as the library's notices), ``detail`` fills it in."""

    key: str
    detail: dict[str, Any] = {}


class Metered(Event, frozen=True, omit_defaults=True, tag="usage"):
    """What the provider reported for a step."""

    call_id: str
    usage: Usage
    price: float | None
    verdict: str
    """Of the cache (A-7): ``first``, ``hit``, ``new_window``, ``ttl_expired``, ``prefix_changed: <part>``, ``unknown`` or
    ``not_reported``."""


class TurnEnded(Event, frozen=True, omit_defaults=True, tag="end"):
    """Last of every turn."""

    finish: Finish
    steps: int
    text: str
    """The answer: the text of the last step."""
    usage: Usage
    price: float | None
    error: str = ""
    next_step: str = ""


AgentEvent = (
    SessionOpened | TurnStarted | StepStarted | Said | Thought | Called | Returned | Reminded | WindowOpened
    | CheckpointEvent | Retrying | Noticed | Metered | TurnEnded
)  # fmt: skip
