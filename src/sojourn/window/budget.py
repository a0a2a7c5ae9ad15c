"""The total of an opening and its shares (W-4). Whole tokens, no clock, no order but the given one."""

from collections.abc import Sequence

import msgspec


class Want(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one section asks for, in tokens."""

    name: str
    want: int
    """What it would take."""
    floor: int = 0
    """What it gets before anything is shared by weight."""
    weight: float = 1.0
    cap: int | None = None
    """What it gets at most; None = no cap."""
    last: bool = False
    """Its floor shrinks only when all other floors are gone (pins, the newest request)."""


def total_budget(share_base: int, fixed: int, live_tail: int) -> int:
    """Tokens that an opening gets: min(0.40 base, 0.60 base - fixed - live tail), never under 0.15 base (W-4)."""
    return max(share_base * 15 // 100, min(share_base * 40 // 100, share_base * 60 // 100 - fixed - live_tail))


def share_out(wants: Sequence[Want], total: int) -> dict[str, int]:
    """Tokens by name; their sum is at most ``total``, none is above its want or its cap (W-4).

    All fit: each gets what it wants. Else each gets its floor and the rest by weight, what one does not need going to
    the others. Where the floors do not fit, they shrink together, those marked ``last`` after all others.
    """
    total = max(0, total)
    demand = {one.name: max(0, one.want if one.cap is None else min(one.want, one.cap)) for one in wants}
    if sum(demand.values()) <= total:
        return demand
    floors = {one.name: min(one.floor, demand[one.name]) for one in wants}
    if sum(floors.values()) > total:
        return _shrink(wants, floors, total)
    shares = dict(floors)
    _by_weight(wants, demand, shares, total - sum(floors.values()))
    return shares


def _shrink(wants: Sequence[Want], floors: dict[str, int], total: int) -> dict[str, int]:
    kept = sum(floors[one.name] for one in wants if one.last)
    others = sum(floors[one.name] for one in wants if not one.last)
    for_last = min(kept, total)
    rest = total - for_last
    return {
        one.name: floors[one.name] * for_last // max(1, kept) if one.last else floors[one.name] * rest // max(1, others)
        for one in wants
    }


def _by_weight(wants: Sequence[Want], demand: dict[str, int], shares: dict[str, int], rest: int) -> None:
    active = [one for one in wants if one.weight > 0 and demand[one.name] > shares[one.name]]
    while active and rest > 0:
        weight = sum(one.weight for one in active)
        offers = {one.name: int(rest * one.weight / weight) for one in active}
        sated = [one for one in active if demand[one.name] - shares[one.name] <= offers[one.name]]
        for one in sated:
            rest -= demand[one.name] - shares[one.name]
            shares[one.name] = demand[one.name]
        if sated:
            active = [one for one in active if one not in sated]
            continue
        for one in active:
            shares[one.name] += offers[one.name]
            rest -= offers[one.name]
        for one in active:  # what rounding left, a token each in the given order
            if rest > 0:
                shares[one.name] += 1
                rest -= 1
        return
