"""The ledger of a session's model calls, for people and programs (M-5). Unknown stays unknown (report 57)."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import msgspec

from sojourn.base import Usage
from sojourn.record import Call, Session, Store
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import cut, one_line, table
from sojourn.surfaces.cli.documents import with_children
from sojourn.surfaces.cli.render import paint, table_width, width

_ID_SHOWN = 18
_ACTOR = "actor"
_VERDICT = 40
"""Columns that a verdict or an error may take before the model."""


class Line(msgspec.Struct, frozen=True):
    """One call."""

    request: int | None
    """Its number for ``sojourn show ID --request``; only calls of the conversation itself have one."""
    purpose: str
    model: str
    usage: Usage | None
    """None: it has not been answered, or nothing was reported."""
    price: float | None
    verdict: str
    error: str
    started: int


class Sum(msgspec.Struct, frozen=True):
    """Several calls. A field is None where no call reported it; the ``unknown_*`` say how many did not."""

    purpose: str
    calls: int
    fresh: int | None
    cached: int | None
    written: int | None
    output: int | None
    price: float | None
    unknown_usage: int
    unknown_cached: int
    unknown_price: int


class Ledger(msgspec.Struct, frozen=True):
    session: Session
    lines: tuple[Line, ...]
    """The session's own calls, oldest first."""
    sums: tuple[Sum, ...]
    """By purpose, sub-agents' calls under ``actor``."""
    whole: Sum


async def ledger(store: Store, session: Session) -> Ledger:
    """All calls of the session; those of its sub-agents in the sums."""
    lines = _numbered(await store.calls(session.id))
    children = [one for one in await with_children(store, session) if one.id != session.id]
    actors = [line for child in children for line in _numbered(await store.calls(child.id))]
    every = [*lines, *(msgspec.structs.replace(line, purpose=_ACTOR, request=None) for line in actors)]
    purposes = dict.fromkeys(line.purpose for line in every)
    sums = tuple(_sum(purpose, [line for line in every if line.purpose == purpose]) for purpose in purposes)
    return Ledger(session, tuple(lines), sums, _sum("all", every))


async def overview(store: Store, newest: int) -> list[dict[str, Any]]:
    """A row for each of the newest sessions that are nobody's sub-agent."""
    sessions = [one for one in await store.sessions() if one.parent_id is None][:newest]
    return [{"session": one.id, "title": one.title, **_builtins((await ledger(store, one)).whole)} for one in sessions]


def _numbered(calls: Sequence[Call]) -> list[Line]:
    lines, number = [], 0
    for call in calls:
        number += call.purpose == "main"
        lines.append(
            Line(
                request=number if call.purpose == "main" else None,
                purpose=call.purpose,
                model=call.model,
                usage=call.usage,
                price=_price(call),
                verdict=call.verdict,
                error=call.error,
                started=call.started,
            )
        )
    return lines


def _price(call: Call) -> float | None:
    if call.price is not None or call.usage is None or not call.model:
        return call.price
    return _prices()(call.model, call.usage)


@cache
def _prices() -> Callable[[str, Usage], float | None]:
    from sojourn.meter.money import price

    return price


def _sum(purpose: str, lines: Sequence[Line]) -> Sum:
    usages = [line.usage for line in lines if line.usage is not None]
    prices = [line.price for line in lines if line.price is not None]
    return Sum(
        purpose=purpose,
        calls=len(lines),
        fresh=_total(usage.fresh for usage in usages),
        cached=_total(usage.cached for usage in usages),
        written=_total(usage.written for usage in usages),
        output=_total(usage.output for usage in usages),
        price=sum(prices) if prices else None,
        unknown_usage=len(lines) - len(usages),
        unknown_cached=sum(usage.cached is None for usage in usages),
        unknown_price=len(lines) - len(prices),
    )


def _total(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


# --- shown -----------------------------------------------------------------------------------------------------------


def ledger_json(held: Ledger) -> dict[str, Any]:
    """``{"session", "calls": [...], "totals": [...], "total"}``; unknown is null."""
    return {
        "session": held.session.id,
        "calls": [_line_json(line) for line in held.lines],
        "totals": [_builtins(one) for one in held.sums],
        "total": _builtins(held.whole),
    }


def _line_json(line: Line) -> dict[str, Any]:
    usage = line.usage
    tokens = {name: getattr(usage, name) if usage else None for name in ("fresh", "cached", "written", "output", "reasoning")}
    return {**{key: value for key, value in _builtins(line).items() if key != "usage"}, **tokens}


def _builtins(value: msgspec.Struct) -> dict[str, Any]:
    return {name: msgspec.to_builtins(one) for name, one in msgspec.structs.asdict(value).items()}


def ledger_report(held: Ledger) -> str:
    """A table of calls, then the sums by purpose."""
    models = sorted({one_line(line.model) for line in held.lines})
    title = cut("  ".join((held.session.id, *(models if len(models) == 1 else ()), one_line(held.session.title))), width())
    if not held.lines and not held.sums:
        return f"{paint(title, bold=True)}\n{say('cost_no_calls')}"
    told = [paint(title, bold=True), "", _call_table(held.lines, with_model=len(models) > 1)]
    told += ["", _sum_table(held), *_unknowns(held.whole)]
    return "\n".join(told)


def _call_table(lines: Sequence[Line], *, with_model: bool) -> str:
    """Only calls of different models name theirs."""
    keys = ("number", "purpose", "fresh", "cached", "written", "output", "price", "cache", "model")
    shown = len(keys) if with_model else -1
    rows = []
    for line in lines:
        verdict = one_line(f"{say('run_error')}: {line.error}" if line.error else line.verdict or "-")
        number = "" if line.request is None else str(line.request)
        row = (number, line.purpose, *_tokens(line.usage), _dollars(line.price), cut(verdict, _VERDICT), one_line(line.model))
        rows.append(row[:shown])
    return table(_heads(keys)[:shown], rows, right=(0, 2, 3, 4, 5, 6), limit=table_width())


def _sum_table(held: Ledger) -> str:
    keys = ("purpose", "calls", "fresh", "cached", "written", "output", "price")
    sums = [_sum_row(one.purpose, one) for one in (*held.sums, *([held.whole] if len(held.sums) > 1 else []))]
    return table(_heads(keys), sums, right=(1, 2, 3, 4, 5, 6))


def overview_report(rows: Sequence[dict[str, Any]]) -> str:
    """A line a session."""
    keys = ("id", "calls", "fresh", "cached", "written", "output", "price", "title")
    lines = []
    for row in rows:
        whole = msgspec.convert({key: row[key] for key in Sum.__struct_fields__}, Sum)
        lines.append((*_sum_row(row["session"][:_ID_SHOWN], whole), one_line(row["title"])))
    return table(_heads(keys), lines, right=(1, 2, 3, 4, 5, 6), limit=table_width())


def _heads(keys: Sequence[str]) -> list[str]:
    return [say(f"column_{key}") for key in keys]


def _tokens(usage: Usage | None) -> tuple[str, str, str, str]:
    if usage is None:
        return ("?", "?", "?", "?")
    return (f"{usage.fresh:,}", _count(usage.cached), _count(usage.written), f"{usage.output:,}")


def _sum_row(name: str, one: Sum) -> tuple[str, ...]:
    counts = (one.fresh, one.cached, one.written, one.output)
    if not one.calls:
        return (name, "0", *"-----")
    return (name, f"{one.calls:,}", *map(_count, counts), _dollars(one.price))


def _count(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def _dollars(price: float | None) -> str:
    return "?" if price is None else f"${price:,.4f}"


def _unknowns(whole: Sum) -> list[str]:
    """What the question marks, and sums that leave something out, mean."""
    told = []
    if whole.unknown_usage:
        told.append(say("cost_unknown_usage", count=whole.unknown_usage))
    if whole.unknown_cached:
        told.append(say("cost_unknown_cached", count=whole.unknown_cached))
    if whole.unknown_price:
        told.append(say("cost_unknown_price", count=whole.unknown_price))
    return ["", *told] if told else []
