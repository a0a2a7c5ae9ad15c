"""The contract of a checkpoint writer (K-3 to K-10): what it is handed, what it gives back."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from sojourn.base import Finish, Item, Usage
from sojourn.record import Hit, Message
from sojourn.wire import ModelRequest, Traits

Fork = Callable[[str], ModelRequest]
"""From the writer's own words to the live request up to the mark with one user message more (K-4, Q-7)."""


class Ledger(Protocol):
    """Where a run's model calls are written down: before a request leaves and after its answer (R-15, K-11)."""

    @property
    def ended(self) -> int:
        """Calls that have ended with usage, whatever came of the run."""
        ...

    async def begin(self, request: ModelRequest, traits: Traits) -> str:
        """The id of the call's row, which is durable."""
        ...

    async def end(
        self, call_id: str, *, usage: Usage | None, price: float | None, error: str = "", finish: Finish | None = None
    ) -> None:
        """Completes the row."""
        ...


class Lookup(Protocol):
    """The session's record, for a writer that asks to look something up (K-3)."""

    async def search(self, query: str, *, limit: int = 20) -> Sequence[Hit]: ...

    async def read(self, after: int, upto: int) -> Sequence[Message]:
        """Messages with seq in (after, upto], whole."""
        ...


class Note(msgspec.Struct, frozen=True):
    """An entry of ``notes.md`` (K-13)."""

    sha: str
    """Of the entry as it stands in the file."""
    text: str


class WriterInput(msgspec.Struct, frozen=True, kw_only=True):
    """One run: bring the items up to the mark."""

    items: tuple[Item, ...]
    """The present open items, unchanged ones stay byte for byte."""
    messages: tuple[Message, ...]
    """(last mark, new mark], in order."""
    range: tuple[int, int]
    """(after, upto]."""
    trigger: int
    """Section budgets scale with it (K-2)."""
    economic: bool = False
    """A policy of fewer tokens is in force: knowledge keeps to its own budget (C-18)."""
    notes: tuple[Note, ...] = ()
    """Entries of ``notes.md`` that no run has taken in yet."""
    original: tuple[Message, ...] = ()
    """Fork only: what the opening in view stands for as digest, in the original (K-4)."""
    fork: Fork | None = None
    """None = ``delta``: the writer's own prompt with the items and the messages."""
    ledger: Ledger | None = None
    lookup: Lookup | None = None
    summary: bool = False
    """A summary for a compaction window instead of a checkpoint: nothing of ``messages`` stays in view (W-14)."""
    focus: str = ""
    """What a person asked the summary to look after. Not a request: it ends with the run (report 93)."""


class Written(msgspec.Struct, frozen=True):
    """What a run came to: the whole new list, open items first in schema order, left ones with their status."""

    items: tuple[Item, ...]
    refused: tuple[str, ...] = ()
    usage: Usage | None = None
    """Of all its calls together."""
    mode: Literal["", "fork", "delta"] = ""
    calls: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    promoted: tuple[str, ...] = ()


class WriterFailed(msgspec.Struct, frozen=True):
    """K-8. Everything stays as it was."""

    kind: Literal["retryable", "deterministic", "cancelled"]
    reason: str
    usage: Usage | None = None
    """What was spent all the same."""
    calls: tuple[str, ...] = ()


class Writer(Protocol):
    """A writer, with a model or without. Never raises for a bad answer: it answers WriterFailed."""

    name: Literal["model", "extractive"]
    forks: bool
    """Whether it asks the model that the session runs on, so that the live request is a cache read for it (K-4)."""

    async def write(self, run: WriterInput) -> Written | WriterFailed: ...
