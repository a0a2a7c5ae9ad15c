"""Amounts as people write them: ``64000``, ``"64K"``, ``"1.5M"``, ``"40%"``. K = 1,000, M = 1,000,000."""

import math
import re
from decimal import Decimal

from sojourn.base.errors import UserMistake

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([KkMm%]?)")
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000}


def parse_quantity(value: int | float | str, *, key: str, of: int | None = None) -> int:
    """A number of tokens, floored.

    ``of`` is what a percentage is taken of; without it a percentage is a mistake.
    Raises UserMistake that names ``key``, the value and what is allowed.
    """
    allowed = "a whole number, or a number with K or M (such as 64K or 1.5M)"
    if of is not None:
        allowed += ', or a percentage (such as "40%")'
    if isinstance(value, bool):
        raise UserMistake(f"{key} = {value!r} is not an amount", next_step=f"Give {allowed}.")
    if isinstance(value, int | float):
        if not math.isfinite(value) or value < 0:
            raise UserMistake(f"{key} = {value!r} is not an amount", next_step=f"Give {allowed}.")
        return math.floor(value)
    match = _NUMBER.fullmatch(value.strip())
    if match is None or (match[2] == "%" and of is None):
        raise UserMistake(f"{key} = {value!r} is not an amount", next_step=f"Give {allowed}.")
    number = Decimal(match[1])  # a binary float would lose a token: 64.1K is 64,100
    if match[2] == "%":
        if of is None or not 0 < number <= 100:
            raise UserMistake(f"{key} = {value!r} is out of range", next_step="A percentage lies above 0% and up to 100%.")
        return math.floor(of * number / 100)
    return math.floor(number * _SCALE[match[2].lower()])
