"""The history of a session's checkpoints: what each run read, added, closed, was refused, and cost (K-11, R-6)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from sojourn.base import open_items
from sojourn.record import Call, Checkpoint, Store
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import cells, cut, one_line, table, wrapped
from sojourn.surfaces.cli.cost_tables import percent
from sojourn.surfaces.cli.costs import cached_share
from sojourn.surfaces.cli.kinds import writer_word
from sojourn.surfaces.cli.prices import Spent, spent_on
from sojourn.surfaces.cli.render import short_moment, table_width, width

BACKGROUND = ("writer", "compaction")
"""Purposes of calls that no turn waits for an answer of."""
_FAILURES_SHOWN = 5
_FIRST_TO_GO = ("id", "checked", "refused", "calls", "share")
"""Columns that a narrow terminal has no room for, in this order; ``--json`` has them all."""


class Run(msgspec.Struct, frozen=True):
    """One checkpoint as an event."""

    id: str
    created: int
    """Milliseconds since the epoch."""
    writer: Literal["model", "extractive", "user"]
    mode: str
    """How the model was asked: ``fork`` or ``delta``; empty = no model."""
    after: int
    """The run read the messages in (after, upto]."""
    upto: int
    items: int
    """Open ones, after it."""
    added: int
    closed: int
    checked: int
    """Added by the extractive check beside the model."""
    promoted: int
    """Proven durable: they went to the project's memory."""
    refused: tuple[str, ...]
    calls: int
    cached_share: float | None
    """Of the input of its calls; None = no call, or nobody says."""
    price: float | None
    """US dollars; None = unknown."""
    units: float
    """Input and output in units of one fresh input token."""
    undone: bool

    @property
    def spent(self) -> Spent:
        return Spent(self.price, self.units)


class Failure(msgspec.Struct, frozen=True):
    """A background call that came to no checkpoint."""

    purpose: str
    started: int
    error: str
    price: float | None
    units: float


class History(msgspec.Struct, frozen=True):
    runs: tuple[Run, ...]
    """Oldest first."""
    failures: tuple[Failure, ...]
    spent: Spent
    """On all of it: background calls that failed, too."""

    def of(self, checkpoint: Checkpoint) -> Run:
        """The run that wrote it."""
        return next(one for one in self.runs if one.id == checkpoint.id)


async def history(store: Store, session_id: str) -> History:
    """Every checkpoint of the session, undone ones too, and the background calls that none of them names."""
    every = await store.checkpoints(session_id, include_undone=True)
    standing = {one.id for one in await store.checkpoints(session_id)}
    calls = [call for call in await store.calls(session_id) if call.purpose in BACKGROUND]
    by_id = {call.id: call for call in calls}
    before: Checkpoint | None = None
    runs = []
    rows = {one.id: one for one in every}
    for one in every:
        before = rows.get(one.previous_id or "")
        runs.append(_run(one, before, by_id, undone=one.id not in standing))
    named = {id for one in every for id in one.calls}
    failures = tuple(_failure(call) for call in calls if call.id not in named and call.purpose == "writer")
    return History(tuple(runs), failures, spent_on(calls))


def _run(one: Checkpoint, before: Checkpoint | None, calls: Mapping[str, Call], *, undone: bool) -> Run:
    mine = [calls[id] for id in one.calls if id in calls]
    spent = spent_on(mine)
    added, closed = len(one.added), len(one.closed)
    if one.writer == "extractive":  # it makes the list anew and does not say what is new in it
        now = {item.id for item in open_items(one.items)}
        then = {item.id for item in open_items(before.items)} if before else set()
        added, closed = len(now - then), len(then - now)
    return Run(
        id=one.id,
        created=one.created,
        writer=one.writer,
        mode=one.mode,
        after=one.range[0],
        upto=one.range[1],
        items=len(open_items(one.items)),
        added=added,
        closed=closed,
        checked=len(one.checked),
        promoted=len(one.promoted),
        refused=one.refused,
        calls=len(one.calls),
        cached_share=cached_share(call.usage for call in mine),
        price=spent.price,
        units=spent.units,
        undone=undone,
    )


def _failure(call: Call) -> Failure:
    spent = spent_on([call])
    return Failure(call.purpose, call.started, call.error, spent.price, spent.units)


# --- shown --------------------------------------------------------------------------------------------------------


def history_json(held: History) -> dict[str, Any]:
    """``{"checkpoints": [...], "failed": [...], "price", "units"}``."""
    return {
        "checkpoints": [run_json(one) for one in held.runs],
        "failed": [msgspec.to_builtins(one) for one in held.failures],
        "price": held.spent.price,
        "units": held.spent.units,
    }


def run_json(one: Run) -> dict[str, Any]:
    """A run's fields."""
    return dict(msgspec.to_builtins(one))


def history_report(held: History) -> str:
    """A line a checkpoint, then what failed and what all of it cost; only columns that there is room for."""
    told = [_fitting([_row(one) for one in held.runs], table_width())]
    told.append(wrapped(say("runs_spent", spent=held.spent), width()))
    if held.failures:
        told.append(wrapped(say("runs_failed", count=len(held.failures)), width()))
        for one in held.failures[-_FAILURES_SHOWN:]:
            told.append(cut(f"  {short_moment(one.started)}  {one_line(one.error) or '-'}", width()))
    return "\n".join(told)


def _fitting(rows: Sequence[Mapping[str, str]], limit: int | None) -> str:
    keys = ["when", "writer", "range", "items", "added", "closed", "checked", "refused", "calls", "share", "price", "id"]
    for leaving in (*_FIRST_TO_GO, None):
        heads = [say(f"column_{key}") for key in keys]
        right = [at for at, key in enumerate(keys) if key not in ("when", "writer", "range", "id")]
        text = table(heads, [[row[key] for key in keys] for row in rows], right=right)
        if leaving is None or limit is None or max(map(cells, text.split("\n"))) <= limit:
            break
        keys.remove(leaving)
    return "\n".join(cut(line, limit) if limit is not None else line for line in text.split("\n"))


def run_told(one: Run) -> str:
    """One run in a line: what changed, who wrote it, what it cost."""
    parts = [say("run_items", items=one.items, added=one.added, closed=one.closed)]
    if one.checked:
        parts.append(say("run_checked", count=one.checked))
    parts.append(_who(one))
    if one.calls:
        parts.append(say("run_cost", calls=one.calls, spent=one.spent, share=percent(one.cached_share)))
    return "; ".join(parts)


def _who(one: Run) -> str:
    who = writer_word(one.writer)
    return f"{who}/{one.mode}" if one.mode else who


def _row(one: Run) -> dict[str, str]:
    """By column."""
    return {
        "when": short_moment(one.created) + (f" ({say('run_undone')})" if one.undone else ""),
        "writer": _who(one),
        "range": f"m{one.after + 1}-m{one.upto}" if one.upto > one.after + 1 else f"m{one.upto}",
        "items": f"{one.items:,}",
        "added": f"+{one.added:,}",
        "closed": f"-{one.closed:,}",
        "checked": f"+{one.checked:,}",
        "refused": f"{len(one.refused):,}",
        "calls": f"{one.calls:,}",
        "share": percent(one.cached_share) if one.calls else "-",
        "price": str(one.spent) if one.calls else "-",
        "id": one.id,
    }
