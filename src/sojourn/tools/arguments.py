"""A model's arguments, made fit for a tool."""

from typing import Any

from sojourn.base import unescape_value
from sojourn.models.calls import coerced


def fit(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The arguments as the tool gets them: reminder escapes undone (M-R4), null taken for not given, a number for a text,
    and what else has one reading only (``coerced``). All else stays, for ``check_arguments`` to name."""
    known = schema.get("properties", {})
    given = {
        name: str(value) if type(value) is int and known.get(name, {}).get("type") == "string" else value
        for name, value in unescape_value(arguments).items()
        if value is not None
    }
    return coerced(given, schema)
