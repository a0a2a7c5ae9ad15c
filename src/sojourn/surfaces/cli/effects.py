"""What windows cost a session and what they spared it: writers, openings, files read again (M-5, K-11, C-18, report 127)."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sojourn.base import Usage
from sojourn.meter import part_tokens, total
from sojourn.record import Call, Session, Store, ToolCall, Window
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import cells, pad, wrapped
from sojourn.surfaces.cli.cost_tables import percent
from sojourn.surfaces.cli.prices import NOTHING, Spent, dollars, price_of, spent_on, tokens_cost
from sojourn.surfaces.cli.render import width
from sojourn.surfaces.cli.runs import BACKGROUND


class Part(msgspec.Struct, frozen=True):
    """One side of the account."""

    count: int
    """Calls, windows, results or requests, by its name."""
    tokens: int
    price: float | None
    units: float

    @property
    def spent(self) -> Spent:
        return Spent(self.price, self.units)


class Effect(msgspec.Struct, frozen=True):
    """The net effect of checkpoints and windows on one session's bill; its sub-agents' own windows are not in it."""

    writers: Part
    """Background calls, with their input tokens."""
    writers_share: float | None
    """Of what the whole session cost."""
    openings: Part
    """Windows opened after the first: what their first requests sent that was not read from the cache."""
    read_again: Part
    """Results of files that had been read before the window opened and were out of view."""
    spared: Part
    """Requests that a window made smaller, with the tokens that they did not carry, priced as cached reads: the least
    that they would have cost."""
    too_large: int
    """Of those requests, how many would not have fitted into the model's window at all."""
    priced: bool
    """The price of every call of the session that reported its usage is known."""

    @property
    def net(self) -> Spent:
        """Spared less spent: over zero, windows have paid for themselves."""
        cost = self.writers.spent + self.openings.spent + self.read_again.spent
        known = self.spared.price is not None and cost.price is not None
        return Spent((self.spared.price or 0) - (cost.price or 0) if known else None, self.spared.units - cost.units)


async def effect(store: Store, session: Session) -> Effect | None:
    """The account of the session; None = nothing was written in the background and no window opened after the first."""
    calls = await store.calls(session.id)
    windows = await store.windows(session.id, include_undone=True)
    opened = [window for window in windows if window.kind != "start"]
    background = [call for call in calls if call.purpose in BACKGROUND]
    if not opened and not background:
        return None
    main = [call for call in calls if call.purpose == "main" and call.usage is not None]
    standing = {window.id for window in await store.windows(session.id)}
    writers = spent_on(background)
    used = [call.usage for call in background if call.usage is not None]
    prices = [price_of(call) for call in calls if call.usage is not None]
    return Effect(
        writers=Part(len(background), sum(usage.input for usage in used), writers.price, writers.units),
        writers_share=writers.share_of(spent_on(calls)),
        openings=_openings(opened, main),
        read_again=await _read_again(store, session.id, opened, main),
        **_spared(opened, main, standing),
        priced=bool(prices) and None not in prices,
    )


def _openings(opened: Sequence[Window], main: Sequence[Call]) -> Part:
    first: dict[str, Call] = {}
    for call in main:
        first.setdefault(call.window_id or "", call)
    count, tokens, spent = 0, 0, NOTHING
    for begun in (first[window.id] for window in opened if window.id in first):
        if begun.usage is not None:
            count += 1
            tokens += begun.usage.fresh + (begun.usage.written or 0)
            spent += tokens_cost(begun.model, Usage(fresh=begun.usage.fresh))
            spent += tokens_cost(begun.model, Usage(written=begun.usage.written))
    return Part(count, tokens, spent.price, spent.units)


async def _read_again(store: Store, session_id: str, opened: Sequence[Window], main: Sequence[Call]) -> Part:
    """A read of a file that was read last before what the window stands for as text."""
    if not opened:
        return Part(0, 0, 0.0, 0.0)
    count, tokens = 0, 0
    read: dict[str, int] = {}
    at = -1
    async for message in store.stream(session_id):
        while at + 1 < len(opened) and opened[at + 1].opened_at_seq < message.seq:
            at += 1
        gone = opened[at].digest_seq if at >= 0 else 0
        for part in message.parts:
            if isinstance(part, ToolCall):
                paths = {touch.path for touch in part.touches if touch.kind == "read"}
                if any(0 < read.get(path, 0) <= gone for path in paths):
                    count += 1
                    tokens += sum(total(part_tokens(result)) for result in part.result)
                read.update(dict.fromkeys(paths, message.seq))
    newest = main[-1] if main else None
    writes = newest is not None and newest.usage is not None and bool(newest.usage.written)
    spent = tokens_cost(newest.model if newest else "", Usage(0, 0, tokens) if writes else Usage(tokens))
    return Part(count, tokens, spent.price, spent.units)


def _spared(opened: Sequence[Window], main: Sequence[Call], standing: set[str]) -> dict[str, Any]:
    less: dict[str, int] = {}
    gone = 0
    for window in opened:
        saved = max(0, window.meter_before - window.meter_after)
        less[window.id] = gone + saved
        gone += saved if window.id in standing else 0
    count, tokens, too_large, spent = 0, 0, 0, NOTHING
    for call in main:
        spared = less.get(call.window_id or "", 0)
        if spared and call.usage is not None:
            count += 1
            tokens += spared
            spent += tokens_cost(call.model, Usage(0, spared))
            limit = _limit(call.settings)
            too_large += bool(limit) and call.usage.input + spared > limit
    return {"spared": Part(count, tokens, spent.price, spent.units), "too_large": too_large}


def _limit(settings: Mapping[str, Any]) -> int:
    limit = settings.get("traits", {}).get("limit", 0)
    return limit if isinstance(limit, int) else 0


# --- shown --------------------------------------------------------------------------------------------------------


def effect_json(one: Effect) -> dict[str, Any]:
    """The account with its net."""
    net = one.net
    return {**msgspec.to_builtins(one), "net": {"price": net.price, "units": net.units}}


def effect_report(one: Effect) -> str:
    """What it cost, what it spared, the difference."""
    share = percent(one.writers_share)

    def spent(part: Part) -> str:
        return dollars(part.price) if one.priced and part.price is not None else say("cost_in_units", units=part.units)

    writers = say("effect_writers", count=one.writers.count, tokens=one.writers.tokens, spent=spent(one.writers), share=share)
    openings, again, spared = one.openings, one.read_again, one.spared
    lines = [
        (say("effect_writers_head"), writers),
        (
            say("effect_openings_head"),
            say("effect_openings", count=openings.count, tokens=openings.tokens, spent=spent(openings)),
        ),
        (say("effect_again_head"), say("effect_again", count=again.count, tokens=again.tokens, spent=spent(again))),
        (say("effect_spared_head"), say("effect_spared", count=spared.count, tokens=spared.tokens, spent=spent(spared))),
    ]
    lines.append((say("effect_net_head"), _net(one)))
    room = max(cells(head) for head, _ in lines)
    told = [say("effect_head"), *(_hanging(pad(head, room), text) for head, text in lines)]
    if one.too_large:
        told.append(wrapped(say("effect_too_large", count=one.too_large), width(), indent="  "))
    return "\n".join(told)


def _net(one: Effect) -> str:
    net = one.net
    priced = one.priced and net.price is not None
    size = (net.price or 0.0) if priced else net.units
    told = dollars(abs(size)) if priced else say("cost_in_units", units=abs(size))
    if told in (dollars(0.0), say("cost_in_units", units=0.0)):
        return say("effect_even")
    return say("effect_saved", size=told) if size > 0 else say("effect_lost", size=told)


def _hanging(head: str, text: str) -> str:
    """The text beside its head, in as many lines as it needs."""
    indent = " " * (cells(head) + 4)
    return f"  {head}  {wrapped(text, width(), indent=indent).lstrip(' ')}"
