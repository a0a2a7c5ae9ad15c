"""One exception for whatever a provider refuses (A-2)."""

from sojourn.base import ErrorKind


class ModelError(Exception):
    """Raised by every ``Model``; ``kind`` tells what to do about it.

    ``limit`` and ``used`` are tokens that an overflow error named (M-2: "270k of 262k");
    ``retry_after`` is in seconds. ``attempts``: how often in all one request is worth asking after this; None = as usual.
    ``next_step`` tells a person what to do, where that is known.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        limit: int | None = None,
        used: int | None = None,
        retry_after: float | None = None,
        attempts: int | None = None,
        next_step: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.limit = limit
        self.used = used
        self.retry_after = retry_after
        self.attempts = attempts
        self.next_step = next_step
