"""What the provider's cache should have given, and what it gave (A-7)."""

import msgspec

from sojourn.base import Usage

_DROP_SHARE = 0.05
_DROP_TOKENS = 2_000


class CacheBefore(msgspec.Struct, frozen=True):
    """The call before this one, as far as its cache goes on living."""

    input: int
    """Everything that it sent, tokens: what the provider can read back."""
    at: int
    """When it was answered, milliseconds since the epoch."""
    window_id: str


class Watched(msgspec.Struct, frozen=True):
    """One call's verdict. ``expected`` and ``missed`` in tokens; None = nothing could be expected."""

    verdict: str
    """``first``, ``hit``, ``new_window``, ``ttl_expired``, ``prefix_changed: <part>``, ``unknown`` or ``not_reported``."""
    expected: int | None = None
    missed: int = 0


def watch(
    before: CacheBefore | None, usage: Usage, *, changed: str, shared: int, window_id: str, started: int, ttl: int
) -> Watched:
    """The verdict on a call's cache read.

    ``changed``: the first part in which the request does not repeat the one before (empty = it extends it); ``shared``:
    tokens up to there. ``started``: milliseconds; ``ttl``: seconds. Only a drop of more than 5% and 2,000 tokens counts.
    """
    if usage.cached is None:
        return Watched("not_reported")
    if before is None:
        return Watched("first")
    expected = min(shared, before.input) if changed else before.input
    missed = max(0, before.input - usage.cached)
    if missed <= max(_DROP_TOKENS, round(before.input * _DROP_SHARE)):
        return Watched("hit", expected)
    if started - before.at > ttl * 1_000:
        return Watched("ttl_expired", expected, missed)
    if window_id != before.window_id:
        return Watched("new_window", expected, missed)
    return Watched(f"prefix_changed: {changed}" if changed else "unknown", expected, missed)
