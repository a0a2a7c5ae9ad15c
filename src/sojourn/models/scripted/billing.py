"""What the scripted model's provider would bill: its own body, counted unit by unit, with an automatic prefix cache."""

from hashlib import sha256
from typing import Any

import msgspec

from sojourn.meter import estimate_text, estimate_value, total
from sojourn.models.canonical import canonical
from sojourn.models.encoder import Encoder
from sojourn.models.scripted.sight import Answer
from sojourn.wire import ModelRequest

_FRAME = 4
"""Tokens that a message costs beside its text."""
_LEAST = 1_024
"""Tokens from which a prefix is cached."""
_BLOCK = 128
"""Tokens in which a cached prefix grows."""


class Bill(msgspec.Struct, frozen=True):
    body: bytes
    """Canonical, as it leaves (Q-2)."""
    input: int
    """Tokens, the cached ones included."""
    cached: int


class Provider:
    """Counts requests and remembers their prefixes, as providers with an automatic cache do.

    A prefix is the tools, then the messages, one by one; settings such as the output limit are no part of it. Any
    earlier request's prefix is a hit, not only the last one's.
    """

    def __init__(self) -> None:
        self._encoder = Encoder("chat")
        self._prefixes: set[bytes] = set()
        self._tokens: dict[bytes, int] = {}

    def bill(self, request: ModelRequest) -> Bill:
        """The body and what its input costs. The prefix is remembered from now on."""
        body = self._encoder.encode(request)
        units = [body.get("tools", []), *body["messages"]]
        tokens = shared = 0
        prefix = b""
        for number, unit in enumerate(units):
            unit_hash = sha256(canonical(unit)).digest()
            if unit_hash not in self._tokens:
                self._tokens[unit_hash] = _tool_tokens(unit) if number == 0 else _message_tokens(unit)
            tokens += self._tokens[unit_hash]
            prefix = sha256(prefix + unit_hash).digest()
            if prefix in self._prefixes:
                shared = tokens
            self._prefixes.add(prefix)
        cached = shared - shared % _BLOCK if shared >= _LEAST else 0
        return Bill(canonical(body), tokens, cached)


def answer_tokens(answer: Answer) -> int:
    """Tokens of an answer: its text, and each call's name and arguments."""
    calls = sum(total(estimate_text(call.name)) + total(estimate_value(call.arguments)) for call in answer.calls)
    return max(1, total(estimate_text(answer.say)) + calls)


def _tool_tokens(tools: list[dict[str, Any]]) -> int:
    functions = [tool["function"] for tool in tools]
    names = sum(total(estimate_text(one["name"])) + total(estimate_text(one["description"])) for one in functions)
    return names + sum(total(estimate_value(one["parameters"])) for one in functions)


def _message_tokens(message: dict[str, Any]) -> int:
    content = message.get("content") or ""
    blocks = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
    calls = [call["function"] for call in message.get("tool_calls", ())]
    texts = [*blocks, *(call["name"] for call in calls), *(call["arguments"] for call in calls)]
    return _FRAME + sum(total(estimate_text(text)) for text in texts)
