"""What calls cost: in dollars where the prices are known, else in units of one fresh input token (M-5)."""

from collections.abc import Iterable
from functools import cache

import msgspec

from sojourn.base import Usage
from sojourn.meter import price, usual_prices
from sojourn.record import Call
from sojourn.surfaces.catalogue import say

_SAMPLE = 1_000
"""Tokens that a price per token is read from: small enough for the first step of a graded tariff."""


class Spent(msgspec.Struct, frozen=True):
    """What something cost."""

    price: float | None
    """US dollars; None = the price of a part of it is unknown."""
    units: float
    """Input and output in units of one fresh input token: what can be compared where prices are unknown."""

    def __add__(self, other: "Spent") -> "Spent":
        known = self.price is not None and other.price is not None
        return Spent((self.price or 0) + (other.price or 0) if known else None, self.units + other.units)

    def share_of(self, whole: "Spent") -> float | None:
        """This as a share of the whole, by price where both are known; None = the whole is nothing."""
        if self.price is not None and whole.price:
            return self.price / whole.price
        return self.units / whole.units if whole.units else None

    def __str__(self) -> str:
        """Nothing at all is told in units: whether its price is known nobody can say."""
        known = self.price is not None and (self.price or self.units)
        return dollars(self.price) if known else say("cost_in_units", units=self.units)


NOTHING = Spent(0.0, 0.0)


def dollars(amount: float | None) -> str:
    """For people; ``?`` = unknown."""
    return "?" if amount is None else f"${amount:,.4f}"


def price_of(call: Call) -> float | None:
    """US dollars of a call: as it was recorded, else from the price table; None = unknown."""
    if call.price is not None or call.usage is None or not call.model:
        return call.price
    return price(call.model, call.usage)


def spent_on(calls: Iterable[Call]) -> Spent:
    """What these calls cost together. One that was never answered, or without reported usage, cost nothing known."""
    whole = NOTHING
    for call in calls:
        if call.usage is not None or call.price is not None:
            whole += Spent(price_of(call), weight(call.usage))
    return whole


def weight(usage: Usage | None) -> float:
    """A call in units of one fresh input token, by usual prices; a provider that reports no writing charges nothing extra
    for it."""
    return 0.0 if usage is None else usual_prices("automatic" if usage.written is None else "marked").of(usage)


def tokens_cost(model: str, usage: Usage) -> Spent:
    """What input that no call was made for would cost: ``usage`` names one kind of it."""
    if not usage.input:
        return NOTHING
    each = _each(model, bool(usage.cached), bool(usage.written))
    return Spent(None if each is None else each * usage.input, weight(usage))


@cache
def _each(model: str, cached: bool, written: bool) -> float | None:
    sample = Usage(0, _SAMPLE) if cached else Usage(0, 0, _SAMPLE) if written else Usage(_SAMPLE)
    told = price(model, sample) if model else None
    return None if told is None else told / _SAMPLE
