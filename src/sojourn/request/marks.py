"""Where cache marks stand (Q-5)."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from sojourn.wire import SystemBlock, WireMessage
from sojourn.wire.request import Mark

DYNAMIC = "dynamic"
"""The section of the system block that changes from window to window."""
Marked = TypeVar("Marked", SystemBlock, WireMessage)

_BEFORE_TALK = ("context", "opening")


def mark_places(
    system: Sequence[SystemBlock], messages: Sequence[WireMessage], most: int, previous_seq: int | None = None
) -> tuple[dict[int, Mark], dict[int, Mark]]:
    """Where at most ``most`` marks stand: index -> mark, of system blocks and of messages. None for a protocol without (0).

    Four: ``last`` (the last message: the next request reads up to it), ``stable`` (end of the stable system block:
    survives windows), ``previous`` (the last message that the request before held, by ``previous_seq``), ``opening``
    (end of the opening, or of the context). With fewer than four they are given in this order.
    Two reasons for one place make one mark. A system message in mid-conversation carries none: ``last`` and ``previous``
    stand on the message before it.
    """
    in_system: dict[int, Mark] = {}
    in_messages: dict[int, Mark] = {}
    reasons: tuple[tuple[Mark, dict[int, Mark], int | None], ...] = (
        ("last", in_messages, _last(messages)),
        ("stable", in_system, _stable(system)),
        ("previous", in_messages, _previous(messages, previous_seq)),
        ("opening", in_messages, _opening(messages)),
    )
    for mark, places, index in reasons:
        if index is not None and len(in_system) + len(in_messages) < most:
            places.setdefault(index, mark)
    return in_system, in_messages


def put_marks(units: list[Marked], places: dict[int, Mark]) -> tuple[Marked, ...]:
    """The blocks or messages with their marks; the list is changed."""
    for index, mark in places.items():
        units[index] = msgspec.structs.replace(units[index], mark=mark)
    return tuple(units)


def _stable(system: Sequence[SystemBlock]) -> int | None:
    """The last block that stays from window to window; where none does, the last one."""
    stable = [index for index, block in enumerate(system) if block.about.name != DYNAMIC]
    return stable[-1] if stable else len(system) - 1 if system else None


def _last(messages: Sequence[WireMessage]) -> int | None:
    return next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role != "system"), None)


def _opening(messages: Sequence[WireMessage]) -> int | None:
    """The message that ends what stands before the talk."""
    end = None
    for index, message in enumerate(messages):
        if not all(part.about.kind in _BEFORE_TALK for part in message.parts):
            break
        end = index
    return end


def _previous(messages: Sequence[WireMessage], previous_seq: int | None) -> int | None:
    """The last message that the request before held whole; what stands before the talk is no message of the record."""
    if previous_seq is None:
        return None
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "system":
            continue
        seqs = [part.about.seq for part in messages[index].parts if part.about.seq is not None]
        if seqs and max(seqs) <= previous_seq:
            return index
    return None
