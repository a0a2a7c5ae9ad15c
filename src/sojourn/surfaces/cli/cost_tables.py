"""The ledger as tables and as JSON."""

from collections.abc import Sequence
from typing import Any

import msgspec

from sojourn.base import Usage
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import cut, one_line, table
from sojourn.surfaces.cli.costs import Ledger, Line, Overview, Sum
from sojourn.surfaces.cli.kinds import verdict_word
from sojourn.surfaces.cli.prices import dollars
from sojourn.surfaces.cli.render import paint, table_width, width

_ID_SHOWN = 18
_VERDICT = 40
"""Columns that a verdict or an error may take before the model."""
_COUNTS = ("calls", "fresh", "cached", "written", "output", "share", "price")
_RIGHT = (1, 2, 3, 4, 5, 6, 7)


def ledger_json(held: Ledger) -> dict[str, Any]:
    """``{"session", "calls": [...], "totals": [...], "total"}``; unknown is null."""
    return {
        "session": held.session.id,
        "calls": [_line_json(line) for line in held.lines],
        "totals": [fields(one) for one in held.sums],
        "total": fields(held.whole),
    }


def overview_json(held: Overview) -> dict[str, Any]:
    """``{"sessions": [...], "totals": [...], "total"}``."""
    return {
        "sessions": [{"session": one.id, "title": one.title, **fields(whole)} for one, whole in held.sessions],
        "totals": [fields(one) for one in held.sums],
        "total": fields(held.whole),
    }


def days_json(days: Sequence[Sum]) -> list[dict[str, Any]]:
    """Each day with its sums."""
    return [{"day": one.purpose, **{key: value for key, value in fields(one).items() if key != "purpose"}} for one in days]


def _line_json(line: Line) -> dict[str, Any]:
    usage = line.usage
    tokens = {name: getattr(usage, name) if usage else None for name in ("fresh", "cached", "written", "output", "reasoning")}
    return {**{key: value for key, value in fields(line).items() if key != "usage"}, **tokens}


def fields(value: msgspec.Struct) -> dict[str, Any]:
    """A row's fields for JSON."""
    return {name: msgspec.to_builtins(one) for name, one in msgspec.structs.asdict(value).items()}


def ledger_report(held: Ledger) -> str:
    """A table of calls, then the sums by purpose."""
    models = sorted({one_line(line.model) for line in held.lines})
    title = cut("  ".join((held.session.id, *(models if len(models) == 1 else ()), one_line(held.session.title))), width())
    if not held.lines and not held.sums:
        return f"{paint(title, bold=True)}\n{say('cost_no_calls')}"
    told = [paint(title, bold=True), "", _call_table(held.lines, with_model=len(models) > 1)]
    told += ["", sum_table(held.sums, held.whole), *_unknowns(held.whole)]
    return "\n".join(told)


def overview_report(held: Overview) -> str:
    """A line a session, then the sums by purpose."""
    keys = ("id", "calls", "fresh", "cached", "written", "output", "price", "title")  # no share: titles need the room
    rows = []
    for one, whole in held.sessions:
        *counts, _, price = _sum_row(one.id[:_ID_SHOWN], whole)
        rows.append((*counts, price, one_line(one.title)))
    told = [table(_heads(keys), rows, right=_RIGHT[:-1], limit=table_width())]
    if held.sums:
        told += ["", sum_table(held.sums, held.whole)]
    return "\n".join([*told, *_unknowns(held.whole)])


def days_report(days: Sequence[Sum]) -> str:
    """A line a day."""
    keys = ("day", *_COUNTS)
    return table(_heads(keys), [_sum_row(one.purpose, one) for one in days], right=_RIGHT)


def sum_table(sums: Sequence[Sum], whole: Sum) -> str:
    """A line a purpose, the whole below where there are several."""
    lines = (*sums, *([whole] if len(sums) > 1 else []))
    return table(_heads(("purpose", *_COUNTS)), [_sum_row(one.purpose, one) for one in lines], right=_RIGHT)


def _call_table(lines: Sequence[Line], *, with_model: bool) -> str:
    """Only calls of different models name theirs."""
    keys = ("number", "purpose", "fresh", "cached", "written", "output", "price", "cache", "model")
    shown = len(keys) if with_model else -1
    rows = []
    for line in lines:
        verdict = one_line(f"{say('run_error')}: {line.error}" if line.error else verdict_word(line.verdict, line.usage) or "-")
        number = "" if line.request is None else str(line.request)
        row = (number, line.purpose, *_tokens(line.usage), dollars(line.price), cut(verdict, _VERDICT), one_line(line.model))
        rows.append(row[:shown])
    return table(_heads(keys)[:shown], rows, right=(0, 2, 3, 4, 5, 6), limit=table_width())


def _heads(keys: Sequence[str]) -> list[str]:
    return [say(f"column_{key}") for key in keys]


def _tokens(usage: Usage | None) -> tuple[str, str, str, str]:
    if usage is None:
        return ("?", "?", "?", "?")
    return (f"{usage.fresh:,}", _count(usage.cached), _count(usage.written), f"{usage.output:,}")


def _sum_row(name: str, one: Sum) -> tuple[str, ...]:
    counts = (one.fresh, one.cached, one.written, one.output)
    if not one.calls:
        return (name, "0", *"------")
    return (name, f"{one.calls:,}", *map(_count, counts), percent(one.cached_share), dollars(one.price))


def percent(share: float | None) -> str:
    """``?`` = unknown."""
    return "?" if share is None else f"{share:.1%}"


def _count(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


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
