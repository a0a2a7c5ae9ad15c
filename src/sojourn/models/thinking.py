"""How much a model thinks, as protocols that know efforts say it (A-1)."""

_LOW = 2_048
_MEDIUM = 12_288
"""Budgets up to these, in tokens, are a low and a medium effort."""


def effort(value: str | None) -> str | None:
    """``RequestSettings.thinking`` as an effort. None = say nothing: none is set, or the model decides (``adaptive``)."""
    match value:
        case None | "adaptive":
            return None
        case "off":
            return "none"
    if not value.isdecimal():
        return value
    budget = int(value)
    return "low" if budget <= _LOW else "medium" if budget <= _MEDIUM else "high"
