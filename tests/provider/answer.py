"""One answer in the shape of its protocol, whole and as events."""

from collections.abc import Callable
from dataclasses import dataclass, field

from provider.memory import Memory
from provider.refusal import Body
from provider.reply import Call, Reply
from provider.seen import Bill, Seen
from provider.terms import Terms
from provider.tokens import TOOL, count, count_json

Event = tuple[str, Body]
"""The event's name (empty = it has none) and its data."""


@dataclass
class Answer:
    """``error``: the event that says an error inside the stream, from its code and message. ``end``: bytes behind the last
    event.
    """

    whole: Body
    events: list[Event]
    usage: Body | None
    error: Callable[[str, str], Event]
    end: bytes = b""
    new_line: str = "\n"
    headers: dict[str, str] = field(default_factory=dict)


Speak = Callable[[Seen, Reply, Bill, Memory, Terms], Answer]


def output_tokens(reply: Reply) -> int:
    """Thinking, text and calls; at least 1."""
    calls = sum(TOOL + count(call.name) + _arguments(call) for call in reply.all_calls)
    return max(1, count(reply.text) + thought_tokens(reply) + calls)


def thought_tokens(reply: Reply) -> int:
    """Tokens of the thinking alone."""
    return sum(map(count, reply.thoughts)) + count(reply.redacted)


def _arguments(call: Call) -> int:
    return count(call.arguments) if isinstance(call.arguments, str) else count_json(call.arguments)
