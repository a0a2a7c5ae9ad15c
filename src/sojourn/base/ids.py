"""Ids as a port: made by us, sortable by time, never an autoincrement that only one file knows."""

import os
from typing import Protocol

from sojourn.base.clock import Clock, SystemClock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, lower case


class Ids(Protocol):
    """Makes ids such as ``ses_01hf3v...``: a prefix that names the kind, then 26 characters."""

    def new(self, kind: str) -> str:
        """A new id of the kind (``ses``, ``msg``, ``win``, ``ckp``, ``call``, ...)."""
        ...


class SystemIds:
    """ULIDs: 48 bits of time, 80 random bits. Order of ids is a convenience, never relied upon (R-2)."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()

    def new(self, kind: str) -> str:
        number = (self._clock.now() << 80) | int.from_bytes(os.urandom(10), "big")
        digits = []
        for _ in range(26):
            digits.append(_ALPHABET[number & 31])
            number >>= 5
        return f"{kind}_{''.join(reversed(digits))}"


class CountingIds:
    """``ses_1``, ``msg_2``: the same in every run, for tests and replays."""

    def __init__(self) -> None:
        self._count = 0

    def new(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count}"
