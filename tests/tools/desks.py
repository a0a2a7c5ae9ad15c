"""A desk in a folder, and short ways to use it."""

import contextlib
import hashlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from sojourn.record import Hit, Message, Touch
from sojourn.tools import Desk, Outcome, by_name, run


class Hands:
    """Calls tools by name at one desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    async def __call__(self, name: str, /, **arguments: Any) -> Outcome:
        return await run(by_name[name], arguments, self.desk)

    async def good(self, name: str, /, **arguments: Any) -> str:
        outcome = await self(name, **arguments)
        assert not outcome.error, outcome.text
        return outcome.text

    async def bad(self, name: str, /, **arguments: Any) -> str:
        outcome = await self(name, **arguments)
        assert outcome.error, outcome.text
        return outcome.text


@contextlib.asynccontextmanager
async def hands(root: Path, **more: Any) -> AsyncIterator[Hands]:
    desk = Desk(root, **more)
    try:
        yield Hands(desk)
    finally:
        await desk.close()


class Blobs(dict[str, bytes]):
    """Keeps payloads as the store does."""

    async def put(self, data: bytes) -> str:
        address = hashlib.sha256(data).hexdigest()
        self[address] = data
        return address


class Remembered:
    """A record of a few messages."""

    def __init__(self, messages: Sequence[Message] = (), hits: Sequence[Hit] = (), blobs: Blobs | None = None) -> None:
        self.messages = messages
        self.hits = hits
        self.blobs = blobs or Blobs()
        self.asked: list[tuple[Any, ...]] = []

    async def search(self, query: str, *, limit: int = 20) -> Sequence[Hit]:
        self.asked.append((query, limit))
        return self.hits[:limit]

    async def read(self, after: int, upto: int) -> Sequence[Message]:
        self.asked.append((after, upto))
        return [message for message in self.messages if after < message.seq <= upto]

    async def blob(self, prefix: str) -> bytes | None:
        return next((data for address, data in self.blobs.items() if address.startswith(prefix)), None)


def touched(path: Path, kind: Any, *lines: int) -> tuple[Touch, ...]:
    return (Touch(str(path), kind, (lines[0], lines[1]) if lines else None),)
