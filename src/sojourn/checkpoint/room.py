"""Items within the budgets of their sections (K-2)."""

from collections.abc import Sequence

from sojourn.base import Item
from sojourn.meter import estimate_text, total

HEADING = 6
"""Tokens of a section's heading, which its budget includes."""


def cost(text: str) -> int:
    """Tokens of an item as a bullet of its section."""
    return total(estimate_text(f"- {text}\n"))


def taken(items: Sequence[Item]) -> int:
    """Tokens of a section with these items, its heading included; 0 without any."""
    return HEADING + sum(cost(item.text) for item in items) if items else 0


Rank = tuple[float, ...]


def fitting(items: Sequence[Item], room: int, ranks: Sequence[Rank]) -> tuple[list[Item], list[Item]]:
    """Those that stay within ``room`` tokens and those that leave, each in the given order.

    ``ranks``, one an item: the highest stays longest. What a person wrote stays, whatever the room (R-6). One that does
    not fit is skipped and the next one tried.
    """
    if taken(items) <= room:
        return list(items), []
    left = room - HEADING - sum(cost(item.text) for item in items if item.by == "user")
    kept = {index for index, item in enumerate(items) if item.by == "user"}
    for index in sorted((at for at in range(len(items)) if at not in kept), key=ranks.__getitem__, reverse=True):
        price = cost(items[index].text)
        if price <= left:
            kept.add(index)
            left -= price
    return [one for at, one in enumerate(items) if at in kept], [one for at, one in enumerate(items) if at not in kept]
