"""Errors that a person sees: what happened, which input, what to do next."""


class SojournError(Exception):
    """Any error of ours. ``str(error)`` is one message for a person; ``next_step`` says what to do."""

    exit_code = 1

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step


class UserMistake(SojournError):
    """The input was wrong: a bad value, an unknown id, an unreadable file. Exit code 2."""

    exit_code = 2


class WorkFailed(SojournError):
    """The input was fine, the work failed: disk full, a lost lease, a damaged store. Exit code 1."""

    exit_code = 1
