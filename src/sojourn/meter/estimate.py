"""What a part costs, before any provider has said so (M-1).

Pure, no network, no tokenizer. Parts never change once stored, so each is counted once and keeps its numbers.
"""

from collections.abc import Iterable

import msgspec

from sojourn.base import Tokens
from sojourn.meter.kinds import weigh
from sojourn.record import File, Image, Message, Notice, Part, Reasoning, Reminder, Text, ToolCall

_UNKNOWN = 1_000
"""What a part costs that cannot be serialised (M-1)."""
_FRAME = 4
"""What a message costs beside its parts: role and separators."""
_IMAGE_MOST = 1_600
_PIXELS_A_TOKEN = 750
_SEALED_CHARACTERS_A_TOKEN = 4
"""Encrypted thinking is opened by its provider: it costs what it says, not what its base64 would."""


def estimate_text(text: str) -> Tokens:
    """Uncalibrated tokens of a text by kind of content: ``prose``, ``code``, ``json``, ``cjk``, ``dense`` (M-1).

    Only kinds that occur are present; an empty text gives ``{}``. Any string is accepted, lone surrogates too.
    """
    return weigh(text)


def estimate_value(value: object) -> Tokens:
    """Uncalibrated tokens of a value as JSON text: arguments, a tool's schema (M-1).

    A value that cannot be serialised costs 1,000 under ``unknown``.
    """
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return {"unknown": _UNKNOWN}
    return estimate_text(text)


def estimate_image(pixels: tuple[int, int] | None, media_type: str, size: int) -> int:
    """Tokens of a picture: width times height over 750, between 1 and 1,600; 1,600 where the pixels are unknown.

    ``media_type`` and ``size`` (bytes) describe the file and do not count: providers bill what they see, so a picture
    is never weighed by the length of its base64 (M-1).
    """
    del media_type, size
    if pixels is None or min(pixels) <= 0:
        return _IMAGE_MOST
    width, height = pixels
    return min(_IMAGE_MOST, -(-width * height // _PIXELS_A_TOKEN))


def count_part(part: Part) -> Part:
    """The same part with ``tokens`` filled in, results of a call too (M-1). What has tokens already keeps them."""
    match part:
        case Notice():
            return part
        case ToolCall():
            result = tuple(one if one.tokens else msgspec.structs.replace(one, tokens=_own(one)) for one in part.result)
            return msgspec.structs.replace(part, tokens=part.tokens or _own(part), result=result)
        case _:
            return part if part.tokens else msgspec.structs.replace(part, tokens=_own(part))


def count_message(message: Message) -> Message:
    """The same message with every part counted (M-1)."""
    return msgspec.structs.replace(message, parts=tuple(count_part(part) for part in message.parts))


def part_tokens(part: Part) -> Tokens:
    """Tokens of a part by kind; of a call with its results. A notice costs nothing: it is never sent.

    Uses the numbers that the part keeps and counts what has none.
    """
    match part:
        case Notice():
            return {}
        case ToolCall():
            return add(part.tokens or _own(part), *(one.tokens or _own(one) for one in part.result))
        case _:
            return part.tokens or _own(part)


def message_tokens(message: Message) -> Tokens:
    """Tokens of a message by kind: its parts and 4 of kind ``frame`` for what separates messages."""
    return add({"frame": _FRAME}, *map(part_tokens, message.parts))


def total(tokens: Tokens) -> int:
    """All kinds together."""
    return sum(tokens.values())


def add(*tokens: Tokens) -> Tokens:
    """The sum kind by kind; the arguments stay as they are."""
    return _sum(tokens)


def _sum(many: Iterable[Tokens]) -> Tokens:
    result: Tokens = {}
    for tokens in many:
        for kind, count in tokens.items():
            result[kind] = result.get(kind, 0) + count
    return result


def _own(part: Text | Reasoning | ToolCall | Image | File | Reminder) -> Tokens:
    """Of the part alone, without a call's results."""
    match part:
        case Text():
            return estimate_text(part.text)
        case Reasoning():
            sealed = -(-len(part.redacted) // _SEALED_CHARACTERS_A_TOKEN)
            return add(estimate_text(part.text), {"dense": sealed} if sealed else {})
        case ToolCall():
            arguments = estimate_text(part.raw_arguments) if part.raw_arguments else estimate_value(part.arguments)
            return add(estimate_text(part.name), arguments)
        case Image():
            return {"image": estimate_image(part.pixels, part.media_type, part.size)}
        case File():
            return estimate_text(part.excerpt)
        case Reminder():
            return estimate_text(part.body)
