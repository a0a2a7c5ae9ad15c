"""Canonical JSON bytes of what a serialiser gives: the same value, the same bytes (Q-2)."""

from typing import Any

import msgspec


def canonical(value: object) -> bytes:
    """UTF-8 JSON without white space, keys in the order in which they were built.

    Strings with lone surrogates are made safe first (see ``safe_text``), so no text can make this fail.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_safe(value))


def safe_text(text: str) -> str:
    """The text as UTF-8 can carry it: two halves of one character are joined, a lone half becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def safe_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call with every string safe; the same object where nothing has to change."""
    try:
        msgspec.json.encode(arguments)
    except UnicodeEncodeError:
        safe: dict[str, Any] = _safe(arguments)
        return safe
    return arguments


def _safe(value: Any) -> Any:
    match value:
        case str():
            return safe_text(value)
        case dict():
            return {_safe(key): _safe(one) for key, one in value.items()}
        case list() | tuple():
            return [_safe(one) for one in value]
        case _:
            return value
