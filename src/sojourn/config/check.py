"""Checks one value against its key (S-9)."""

from typing import Any

import msgspec

from sojourn.base import UserMistake, parse_quantity
from sojourn.config.keys import PERCENT_OF, SECTION_NAMES, THINKING, THINKING_LEAST, Key

_POSITIVE = {"compaction.max_context", "checkpoint.thresholds"}
"""Amounts for which 0 means nothing."""


def check(key: Key, raw: Any) -> Any:
    """The value in the key's type. Raises UserMistake that names key, value and what is allowed, without the place."""
    thinks = key.name == "model.thinking"
    try:
        # A number of tokens may be written as a number, as every other one in the file.
        value = msgspec.convert(str(raw) if thinks and type(raw) is int else raw, key.type)
    except msgspec.ValidationError as error:
        raise bad_value(key, raw) from error
    if thinks and value is not None and not _is_thinking(value):
        raise bad_value(key, raw)
    if "amount" in key.kind:
        _check_amounts(key, value)
    if key.name == "checkpoint.push_caps":
        for name in value:
            if name not in SECTION_NAMES:
                raise unknown(f"{key.name}.{name}", [f"{key.name}.{section}" for section in SECTION_NAMES])
    return value


def _is_thinking(value: str) -> bool:
    return value in THINKING or (value.isascii() and value.isdecimal() and int(value) >= THINKING_LEAST)


def bad_value(key: Key, raw: Any) -> UserMistake:
    return UserMistake(f"{key.name} = {raw!r} is not allowed", next_step=f"Allowed: {key.allowed}.")


def unknown(name: str, known: list[str]) -> UserMistake:
    """For a key that is not there, with the nearest ones that are."""
    import difflib  # here: only on the way to an error

    last = name.rpartition(".")[2]
    lasts = sorted({key.rpartition(".")[2] for key in known})
    meant = {last, *difflib.get_close_matches(last, lasts, n=1, cutoff=0.7)}
    near = [key for key in known if key.rpartition(".")[2] in meant]
    guess = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(known)}."
    return UserMistake(f"Unknown setting {name}", next_step=guess)


def _check_amounts(key: Key, value: Any) -> None:
    """Every amount in it can be read: the number itself is computed where its base is known."""
    if isinstance(value, dict):
        found = [(f'{key.name}."{name}"', amount) for name, amount in value.items()]
    elif isinstance(value, tuple):
        found = [(key.name, amount) for amount in value]
    else:
        found = [] if value is None else [(key.name, value)]
    base = 1_000_000 if key.name in PERCENT_OF else None
    for name, amount in found:
        if parse_quantity(amount, key=name, of=base) < 1 and key.name in _POSITIVE:
            raise UserMistake(f"{name} = {amount!r} is out of range", next_step=f"Above 0. Allowed: {key.allowed}.")
