"""Rows' bodies as JSON bytes, lossless for any text that Python can hold.

UTF-8 has no lone surrogates, so a body that holds one is written with a leading space, in Python's ``surrogatepass`` form
of UTF-8. Every other body is plain JSON.
"""

import json
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_ENCODER = msgspec.json.Encoder()
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
_ODD = b" "


def encode(value: Any) -> bytes:
    """The value as JSON bytes."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
        return _ODD + text.encode("utf-8", "surrogatepass")


def decode(body: bytes, kind: type[T]) -> T:
    """The value that ``encode`` was given. Raises msgspec.MsgspecError for a damaged body."""
    if body[:1] == _ODD:
        return msgspec.convert(json.loads(body.decode("utf-8", "surrogatepass")), kind)
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    result: T = decoder.decode(body)
    return result


def needle(text: str) -> bytes:
    """The bytes that a plain body holds wherever one of its strings holds the text."""
    try:
        return _ENCODER.encode(text)[1:-1]
    except UnicodeEncodeError:
        return _ODD  # only odd bodies can hold it; callers look through all of those


def key(text: str | None) -> str | bytes | None:
    """Text as a column's value: text where SQLite can hold it, else bytes. Equal texts give equal values."""
    if text is None or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def plain(text: str) -> str:
    """The text with a replacement character for each lone surrogate: for the index and for files."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
