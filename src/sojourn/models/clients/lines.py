"""Server-sent events with bare JSON among them, as Gemini's endpoint sends its errors (A-1)."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec

_FIELDS = (b":", b"event:", b"id:", b"retry:")
"""Comments (signs of life of servers in between) and fields that say nothing here."""


async def json_events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[Any, None]:
    """The JSON value of every event's data, and of whatever stands outside of events, at the end.

    Lines end at LF or CRLF alone: other separators may stand inside a string. Raises msgspec.DecodeError.
    """
    data: list[bytes] = []
    bare: list[bytes] = []
    async for line in _lines(pieces):
        if line.startswith(b"data:"):
            data.append(line[5:])
        elif line:
            bare += [] if line.startswith(_FIELDS) else [line]
        elif data:
            yield msgspec.json.decode(b"\n".join(data))
            data = []
    for rest in (data, bare):
        if rest:
            yield msgspec.json.decode(b"\n".join(rest))


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    rest: list[bytes] = []
    async for piece in pieces:
        *whole, last = piece.split(b"\n")
        for line in whole:
            yield b"".join((*rest, line)).removesuffix(b"\r")
            rest = []
        rest.append(last)
    yield b"".join(rest)
