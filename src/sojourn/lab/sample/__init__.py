"""A session that ships with the project: one invented day of work, made by this code, the same at every run.

A developer and a coding agent on ``tidewatch``, a tide-prediction service that does not exist. What has to survive is
planted and listed, so that anyone can see without a key what a window keeps.
"""

import msgspec

from sojourn.record import Message


class Fact(msgspec.Struct, frozen=True):
    """Something that later work needs."""

    name: str
    text: str
    """The exact string to look for."""
    seq: int
    """The message that says it first."""
    kind: str
    """``rule``, ``value``, ``decision``, ``finding``, ``error``, ``fix``, ``path``, ``hash``."""
    void_after: int | None = None
    """The message that took it back; None = it holds to the end."""


class Sample(msgspec.Struct, frozen=True):
    """The session and what was planted in it."""

    title: str
    messages: tuple[Message, ...]
    """As an importer gives them: seq from 1, calls with their results, times of one working day."""
    facts: tuple[Fact, ...]


def sample_session() -> Sample:
    """About 150,000 tokens in about 200 steps; deterministic. Takes a fraction of a second."""
    # Imported here: the day's text is not needed to name the types.
    from sojourn.lab.sample.afternoon import afternoon
    from sojourn.lab.sample.day import Day
    from sojourn.lab.sample.morning import morning

    day = Day()
    morning(day)
    afternoon(day)
    return Sample("tidewatch: KV-17 runs ahead of the tide", tuple(day.messages), tuple(day.facts))


__all__ = ["Fact", "Sample", "sample_session"]
