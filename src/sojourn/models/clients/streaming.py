"""What the clients of all protocols share: from a request to events, over an official SDK (A-1).

The body that leaves is exactly the canonical bytes of what the serialiser gives, and the SDK's own repetitions are off:
repeating is ours, and visible (A-3).
"""

import asyncio
import importlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any, ClassVar, Protocol

from sojourn.base import ErrorKind
from sojourn.models.canonical import canonical
from sojourn.models.clients.failures import advised, failure, unreadable
from sojourn.models.pictures import Pictures
from sojourn.models.types import SILENCE, Blobs, Target
from sojourn.wire import Event, ModelError, ModelRequest, Traits

Body = dict[str, Any]

NO_KEY = "none"
"""Local servers need no key, the SDKs do."""


class Reader(Protocol):
    """Reads one answer of a protocol."""

    def read(self, event: Body) -> Iterator[Event]:
        """What follows from one event of the provider. Raises ModelError where it is an error."""
        ...

    def end(self) -> Iterator[Event]:
        """What is left when the stream is over. Raises ModelError where it was no whole answer."""
        ...


class Streaming(ABC):
    """A ``wire.Model`` over an SDK. Several streams may run at once.

    ``silence``: seconds without a byte after which a stream is given up (a server that reads a long prompt on a slow
    machine may need more: ``model.timeout``).
    """

    sdk: ClassVar[str]
    """The module that is imported on first use."""
    extra: ClassVar[str]
    """The extra of the package that brings it."""

    def __init__(self, target: Target, blobs: Blobs | None = None, *, silence: float = SILENCE) -> None:
        self._target = target
        self._key = target.key.strip() or NO_KEY
        self._silence = silence
        self._pictures = Pictures(blobs, target.traits.images_most)
        self._sdk: Any = None
        self._connection: Any = None
        self._connecting = asyncio.Lock()

    @property
    def traits(self) -> Traits:
        return self._target.traits

    async def warm(self) -> None:
        """Imports the SDK in a thread, so that the first request does not wait for it. Raises ModelError."""
        await self._connected()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        """The events of the answer. Raises ModelError and nothing else; closing the iterator closes the connection."""
        try:
            filled = await self._pictures.fill(request)
            body = self._body(filled)
            connection = await self._connected()
            reader = self._reader()
            async with aclosing(self._events(connection, body)) as events:
                async for event in events:
                    for one in self._read(reader, event):
                        yield one
            for one in reader.end():
                yield one
        except Exception as error:
            raise advised(failure(error, self._silence, self._target.base_url), self._target) from error

    async def close(self) -> None:
        """Gives connections back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._close(connection)

    @staticmethod
    def _read(reader: Reader, event: object) -> Iterator[Event]:
        """Whatever a provider may send instead of an event must not look like a fault of ours."""
        try:
            if not isinstance(event, dict):
                raise TypeError(f"an event that is a {type(event).__name__}")
            yield from reader.read(event)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise unreadable(error) from error

    async def _connected(self) -> Any:
        async with self._connecting:
            if self._connection is None:
                self._connection = await asyncio.to_thread(self._load)
            return self._connection

    def _load(self) -> Any:
        """In a thread: SDKs take up to seconds to import, and a context for TLS its time as well."""
        if not (self._key.isascii() and self._key.isprintable()):
            raise ModelError(ErrorKind.AUTH_FAILED, f"the key from {self._target.key_from} is not one", next_step="Check it.")
        try:
            self._sdk = importlib.import_module(self.sdk)
        except ModuleNotFoundError as error:
            step = f'pip install "sojourn[{self.extra}]"'
            raise ModelError(ErrorKind.AUTH_FAILED, f"{error.name} is not installed", next_step=step) from error
        return self._connect(self._sdk)

    def _bytes(self, body: Body) -> bytes:
        return canonical(body)

    @abstractmethod
    def _body(self, request: ModelRequest) -> Body:
        """What the serialiser gives, and how the stream is asked for."""

    @abstractmethod
    def _connect(self, sdk: Any) -> Any:
        """The SDK's client. Runs in a thread."""

    @abstractmethod
    def _events(self, connection: Any, body: Body) -> AsyncGenerator[Body, None]:
        """Sends the body and gives the provider's events, decoded."""

    @abstractmethod
    def _reader(self) -> Reader: ...

    @abstractmethod
    async def _close(self, connection: Any) -> None: ...
