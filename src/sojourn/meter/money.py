"""What usage costs: in units of one fresh input token, and in US dollars where the prices are known (M-5)."""

from typing import Literal

import msgspec

from sojourn.base import Usage

CacheRule = Literal["marked", "automatic"]
"""How a provider bills its cache. ``marked``: fresh 1.0, written 1.25, read 0.1. ``automatic``: writing is free of a
surcharge (1.0, as fresh), read 0.1."""

_WRITTEN = {"marked": 1.25, "automatic": 1.0}
_CACHED = 0.1


class Cost(msgspec.Struct, frozen=True):
    """Input of one or more calls in units of one fresh input token. ``None`` = the provider does not say."""

    units: float
    fresh: int
    written: int | None
    cached: int | None
    rule: CacheRule


def units(fresh: int, written: int, cached: int, rule: CacheRule) -> float:
    """Units of one fresh input token. The counts are disjoint, in tokens."""
    return fresh + written * _WRITTEN[rule] + cached * _CACHED


def cost(usage: Usage, rule: CacheRule) -> Cost:
    """The input side of one call's usage. What the provider does not say stays unknown and weighs nothing: it then
    reports the same tokens as fresh."""
    weight = units(usage.fresh, usage.written or 0, usage.cached or 0, rule)
    return Cost(weight, usage.fresh, usage.written, usage.cached, rule)


class Prices(msgspec.Struct, frozen=True):
    """What a token costs in units of one fresh input token."""

    cached: float = _CACHED
    written: float = 1.25
    output: float = 5.0

    def of(self, usage: Usage) -> float:
        """One call in tokens of fresh input, output included."""
        cached, written = (usage.cached or 0) * self.cached, (usage.written or 0) * self.written
        return usage.fresh + cached + written + usage.output * self.output


def usual_prices(rule: CacheRule) -> Prices:
    """Where the provider's are not known: a tenth for what is read from the cache, five for output."""
    return Prices(written=_WRITTEN[rule])


def relative_prices(model: str, provider: str = "") -> Prices | None:
    """The provider's, from the table of ``price``; None where it is unknown or asks nothing for input."""
    million = 1_000_000
    fresh = price(model, Usage(fresh=million), provider)
    if not fresh:
        return None

    def relative(usage: Usage, otherwise: float) -> float:
        return (price(model, usage, provider) or otherwise * fresh) / fresh

    return Prices(
        cached=relative(Usage(cached=million), _CACHED),
        written=relative(Usage(written=million), 1.0),
        output=relative(Usage(output=million), 5.0),
    )


def price(model: str, usage: Usage, provider: str = "") -> float | None:
    """US dollars of one call from the price table that ships with genai-prices; ``None`` where model or provider is unknown.

    ``model`` may name its provider itself (``anthropic/claude-...``). No network. The table is imported on first use.
    """
    from genai_prices import Usage as Counts
    from genai_prices import calc_price

    if not provider and "/" in model:
        provider, _, model = model.partition("/")
    counts = Counts(
        input_tokens=usage.input,
        cache_read_tokens=usage.cached or 0,
        cache_write_tokens=usage.written or 0,
        output_tokens=usage.output,
    )
    try:
        return float(calc_price(counts, model, provider_id=provider or None).total_price)
    except LookupError:
        return None
