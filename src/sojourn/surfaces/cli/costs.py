"""The ledger of model calls: a session's, several sessions', by purpose, by day (M-5). Unknown stays unknown (report 57)."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from sojourn.base import Usage
from sojourn.record import Call, Session, Store
from sojourn.surfaces.cli.documents import with_children
from sojourn.surfaces.cli.prices import price_of

ACTOR = "actor"
"""The purpose under which all calls of sub-agents count."""


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
    cached_share: float | None
    """Of the input of the calls that report it, what was read from the cache."""
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


class Overview(msgspec.Struct, frozen=True):
    """Several sessions."""

    sessions: tuple[tuple[Session, Sum], ...]
    sums: tuple[Sum, ...]
    """By purpose, of all of them."""
    whole: Sum


async def ledger(store: Store, session: Session) -> Ledger:
    """All calls of the session; those of its sub-agents in the sums."""
    every = await _lines(store, session)
    own = tuple(line for line in every if line.purpose != ACTOR)
    return Ledger(session, own, by_purpose(every), added_up("all", every))


async def overview(store: Store, newest: int) -> Overview:
    """The newest sessions that are nobody's sub-agent."""
    sessions = [one for one in await store.sessions() if one.parent_id is None][:newest]
    held = [(one, await _lines(store, one)) for one in sessions]
    every = [line for _, lines in held for line in lines]
    rows = tuple((one, added_up("all", lines)) for one, lines in held)
    return Overview(rows, by_purpose(every), added_up("all", every))


async def by_day(store: Store, session: Session | None) -> tuple[Sum, ...]:
    """A sum for each day (local time) on which a call was made, oldest first; ``purpose`` is the day. None = all sessions."""
    sessions = [session] if session else [one for one in await store.sessions() if one.parent_id is None]
    days: dict[str, list[Line]] = {}
    for one in sessions:
        for line in await _lines(store, one):
            days.setdefault(_day(line.started), []).append(line)
    return tuple(added_up(day, days[day]) for day in sorted(days))


def by_purpose(lines: Sequence[Line]) -> tuple[Sum, ...]:
    """A sum for each purpose, in the order in which they first came."""
    purposes = dict.fromkeys(line.purpose for line in lines)
    return tuple(added_up(purpose, [line for line in lines if line.purpose == purpose]) for purpose in purposes)


def added_up(purpose: str, lines: Sequence[Line]) -> Sum:
    """The calls together; what one of them does not report is left out and counted."""
    usages = [line.usage for line in lines if line.usage is not None]
    prices = [line.price for line in lines if line.price is not None]
    return Sum(
        purpose=purpose,
        calls=len(lines),
        fresh=_total(usage.fresh for usage in usages),
        cached=_total(usage.cached for usage in usages),
        written=_total(usage.written for usage in usages),
        output=_total(usage.output for usage in usages),
        cached_share=cached_share(usages),
        price=sum(prices) if prices else None,
        unknown_usage=len(lines) - len(usages),
        unknown_cached=sum(usage.cached is None for usage in usages),
        unknown_price=len(lines) - len(prices),
    )


def cached_share(usages: Iterable[Usage | None]) -> float | None:
    """What of the input was read from the cache, from 0 to 1; None = nobody says."""
    told = [usage for usage in usages if usage is not None and usage.cached is not None]
    whole = sum(usage.input for usage in told)
    return sum(usage.cached or 0 for usage in told) / whole if whole else None


async def _lines(store: Store, session: Session) -> list[Line]:
    """The session's own calls, then those of its sub-agents."""
    lines = _numbered(await store.calls(session.id))
    for child in await with_children(store, session):
        if child.id != session.id:
            theirs = _numbered(await store.calls(child.id))
            lines += [msgspec.structs.replace(line, purpose=ACTOR, request=None) for line in theirs]
    return lines


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
                price=price_of(call),
                verdict=call.verdict,
                error=call.error,
                started=call.started,
            )
        )
    return lines


def _day(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000).astimezone():%Y-%m-%d}" if milliseconds else "-"


def _total(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
