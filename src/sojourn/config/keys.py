"""The catalogue of keys, read off the settings model: what loading checks and what the docs print (S-9)."""

import types
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from sojourn.config.settings import Amount, Settings

VARIABLES = {
    "compaction.auto": "SOJOURN_DISABLE_AUTOCOMPACT",
    "compaction.trigger_ratio": "SOJOURN_COMPACTION_TRIGGER_RATIO",
    "checkpoint.enabled": "SOJOURN_DISABLE_CHECKPOINT",
}
"""Environment variables by key. One named ``DISABLE`` switches its key off when it is set to 1, true, yes or on."""

SECTION_NAMES = (
    "pins",
    "tasks",
    "checkpoint",
    "working_set",
    "state",
    "actors",
    "recent_user",
    "project_memory",
    "global_memory",
    "notes",
    "memory_index",
    "recent_activity",
)
"""The opening's sections that ``checkpoint.push_caps`` may name, in their order (W-3)."""

THINKING = ("off", "minimal", "low", "medium", "high", "xhigh", "max", "adaptive")
"""What ``model.thinking`` may be besides a number of tokens; which efforts a model takes is its provider's affair."""
THINKING_LEAST = 1_024
"""Tokens."""

PERCENT_OF = {
    "compaction.max_context": "the model's window",
    "checkpoint.thresholds": "the trigger",
    "checkpoint.reserved": "the trigger",
}
"""What a percentage is taken of; a key that is not here takes none."""


class Key(msgspec.Struct, frozen=True):
    """One setting."""

    name: str
    """Dotted, as in ``config.toml``."""
    type: Any
    """With its bounds, for checking."""
    default: Any
    kind: str
    """The type in words."""
    allowed: str
    """The values that are let through, in words."""
    meaning: str
    variable: str

    @property
    def is_table(self) -> bool:
        """Whether its value is (or may be) a table with free names."""
        return any(get_origin(option) is dict for option in _options(_bare(self.type)))


@cache
def catalogue() -> dict[str, Key]:
    """Every key by its name, in the model's order."""
    return {key.name: key for key in _walk(Settings, "")}


@cache
def tables() -> frozenset[str]:
    """The names of tables that hold keys: ``compaction``, ``checkpoint``, ..."""
    return frozenset(name.rpartition(".")[0] for name in catalogue() if "." in name)


def _walk(model: type[msgspec.Struct], prefix: str) -> Iterator[Key]:
    hints = get_type_hints(model, include_extras=True)
    for field in msgspec.structs.fields(model):
        name, hint = prefix + field.encode_name, hints[field.name]
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            yield from _walk(hint, f"{name}.")
            continue
        meta = next((extra for extra in get_args(hint) if isinstance(extra, msgspec.Meta)), msgspec.Meta())
        default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
        yield Key(
            name=name,
            type=hint,
            default=default,
            kind=_kind(_bare(hint)),
            allowed=_allowed(name, _bare(hint), meta),
            meaning=meta.description or "",
            variable=VARIABLES.get(name, ""),
        )


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _kind(hint: Any) -> str:
    options = [option for option in _options(hint) if option is not type(None)]
    amounts = set(get_args(Amount))
    words = ["amount"] if amounts <= set(options) else []
    for option in options:
        if words and option in amounts:
            continue
        origin = get_origin(option)
        if origin is tuple:
            words.append(f"list of {_kind(get_args(option)[0])}s")
        elif origin is dict:
            words.append(f"table of {_kind(get_args(option)[1])}s")
        elif origin is Literal:
            words.append("choice")
        else:
            words.append({bool: "yes or no", float: "number", int: "whole number", str: "text"}[option])
    return " or ".join(words)


def _allowed(name: str, hint: Any, meta: msgspec.Meta) -> str:
    if get_origin(hint) is Literal:
        return ", ".join(get_args(hint))
    if hint is bool:
        return "true, false"
    if name == "model.thinking":
        return f"{', '.join(THINKING)}, or a whole number of tokens, {THINKING_LEAST} or more"
    if meta.ge is not None and meta.le is not None:
        return f"{meta.ge} to {meta.le}"
    kind = _kind(hint)
    if "amount" not in kind:
        return f"a {kind}"
    words = "tokens such as 64000, 64K or 1.5M"
    if name in PERCENT_OF:
        words += f', or "40%" of {PERCENT_OF[name]}'
    if name == "compaction.max_context":
        words += '; or a table from patterns such as "provider/model*" to these'
    if name == "checkpoint.push_caps":
        words += "; names: " + ", ".join(SECTION_NAMES)
    return words
