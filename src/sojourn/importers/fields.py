"""Lenient reading of foreign fields: the wrong type is an absent one, never an error."""

from datetime import UTC, datetime
from typing import Any

TITLE_LIMIT = 80


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def count(value: Any) -> int:
    """A token count; anything that is not a non-negative number is 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return max(0, int(value)) if abs(value) < 2**53 else 0


def optional_count(value: Any) -> int | None:
    """As ``count``; None where the format does not say."""
    return None if value is None else count(value)


def millis(value: Any) -> int:
    """Milliseconds since the epoch from an ISO time or a number of seconds or milliseconds; 0 = unknown."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return 0
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        try:
            return max(0, int(moment.timestamp() * 1000 + 0.5))
        except (OverflowError, OSError):
            return 0
    number = count(value)
    return number if number >= 100_000_000_000 else int(float(value) * 1000) if number else 0


def title_of(text: str) -> str:
    """The first line with something in it, cut to 80 characters."""
    first = text.lstrip()[: TITLE_LIMIT * 20].split("\n", 1)[0]
    return " ".join(first.split())[:TITLE_LIMIT]
