"""Time as a port: milliseconds since the Unix epoch."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time. Injected, so that a test (or a replay) can stop it."""

    def now(self) -> int:
        """Milliseconds since the Unix epoch."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that moves only when it is told to."""

    def __init__(self, start: int = 1_700_000_000_000) -> None:
        self._now = start

    def now(self) -> int:
        return self._now

    def advance(self, milliseconds: int) -> None:
        """Moves the clock forward."""
        self._now += milliseconds
