"""A request as the provider caches it: a list of units, each the bytes of what is sent (Q-2)."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any

from sojourn.models import canonical
from sojourn.models.encoder import SERIALISERS
from sojourn.wire import ModelRequest

Body = dict[str, Any]

_KEY_SETTINGS = ("model", "thinking", "output_config", "reasoning_effort", "reasoning", "tool_choice", "toolConfig")
"""Settings that are part of a provider's cache key; of Gemini's ``generationConfig`` it is ``thinkingConfig`` alone."""
_CONVERSATIONS = tuple(dict.fromkeys(serialiser.CONVERSATION for serialiser in SERIALISERS.values()))
_HASH_CHARACTERS = 16


def units(request: ModelRequest, encode: Callable[[ModelRequest], Body]) -> list[bytes]:
    """Settings of the cache key, tools, system blocks, then every part with its role, in order; marks removed.

    ``encode`` is a protocol's serialiser: units are taken from the body that leaves. Pictures count by their address:
    call it with a request whose pictures have no ``data``.
    """
    return body_units(encode(request))


def body_units(body: Body) -> list[bytes]:
    """The units of a body that is encoded already."""
    return [*_head(body), *chain.from_iterable(message_units(message) for message in _conversation(body))]


def unit_hashes(units: Sequence[bytes]) -> tuple[str, ...]:
    """A short hash of each unit: 64 bits in hex, as a call's row keeps them (R-15)."""
    return tuple(sha256(unit).hexdigest()[:_HASH_CHARACTERS] for unit in units)


def extends(longer: Sequence[bytes] | Sequence[str], shorter: Sequence[bytes] | Sequence[str]) -> bool:
    """Whether the longer list of units (or hashes) starts with the whole shorter one (Q-2)."""
    return first_difference(longer, shorter) is None


def first_difference(longer: Sequence[bytes] | Sequence[str], shorter: Sequence[bytes] | Sequence[str]) -> int | None:
    """Index of the first unit of ``shorter`` that ``longer`` does not repeat; None = it repeats all of them.

    Where ``longer`` simply ends too early the index is its length.
    """
    for index, unit in enumerate(shorter):
        if index >= len(longer) or longer[index] != unit:
            return index
    return None


class UnitHashes:
    """``unit_hashes`` of one growing conversation: messages hashed before are known by identity.

    Made for the bodies of ``models.Encoder``, which shares unchanged messages from body to body.
    """

    def __init__(self) -> None:
        self._messages: list[Body] = []
        self._hashes: list[tuple[str, ...]] = []

    def of(self, body: Body) -> tuple[str, ...]:
        """Exactly ``unit_hashes(body_units(body))``."""
        messages = _conversation(body)
        known = zip(self._messages, messages, self._hashes, strict=False)
        hashes = [old if seen is message else unit_hashes(message_units(message)) for seen, message, old in known]
        hashes += [unit_hashes(message_units(message)) for message in messages[len(hashes) :]]
        self._messages, self._hashes = list(messages), hashes
        return (*unit_hashes(list(_head(body))), *chain.from_iterable(hashes))


def _conversation(body: Body) -> list[Body]:
    return next(body[key] for key in _CONVERSATIONS if key in body)


def _head(body: Body) -> Iterator[bytes]:
    settings = {key: body[key] for key in _KEY_SETTINGS if key in body}
    if thinking := body.get("generationConfig", {}).get("thinkingConfig"):
        settings["thinkingConfig"] = thinking
    yield canonical(settings)
    for entry in body.get("tools", ()):
        for tool in entry.get("functionDeclarations", (entry,)):
            yield canonical({"tool": tool})
    for block in body.get("system") or body.get("systemInstruction", {}).get("parts", ()):
        yield _unit("system", block)


def message_units(message: Body) -> list[bytes]:
    """The units of one encoded message or item. A text alone is the same unit as a text beside others."""
    role = message.get("role")
    if role is None or "tool_call_id" in message:
        return [canonical(message)]
    content = message["parts"] if "parts" in message else message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    if "reasoning_content" in message:
        blocks = [{"type": "reasoning", "text": message["reasoning_content"]}, *blocks]
    return [_unit(role, block) for block in (*blocks, *message.get("tool_calls", ()))]


def _unit(role: str, block: Body) -> bytes:
    unmarked = {key: value for key, value in block.items() if key != "cache_control"} if "cache_control" in block else block
    return canonical({"role": role, "part": unmarked})
