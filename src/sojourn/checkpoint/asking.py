"""A run's calls of the model: each in the ledger before it leaves and after it has ended, however it ends (R-15, K-11)."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from sojourn.base import ErrorKind, Finish, Usage, finish_first
from sojourn.checkpoint.writer import Ledger
from sojourn.wire import CallEvent, Event, FinishEvent, Model, ModelError, ModelRequest, RetryEvent, TextEvent, UsageEvent

Price = Callable[[Usage], Awaitable[float | None]]
"""What an answer cost, in US dollars; None = unknown."""


class Answer(msgspec.Struct, frozen=True):
    text: str
    calls: int
    """Tool calls, which nobody runs."""
    whole: bool
    """Not cut at the output limit."""


class _Incoming:
    """One answer while it streams in."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.calls = 0
        self.usage: Usage | None = None
        self.finish: Finish | None = None

    def take(self, event: Event) -> None:
        match event:
            case TextEvent(text):
                self.text.append(text)
            case CallEvent():
                self.calls += 1
            case UsageEvent(usage):
                self.usage = usage
            case FinishEvent(finish):
                self.finish = finish
            case _:
                pass


class Asking:
    """The calls of one run: their ids and what they took together."""

    def __init__(self, model: Model, ledger: Ledger | None, price: Price | None) -> None:
        self.model = model
        self._ledger = ledger
        self._price = price
        self.calls: list[str] = []
        self.usage: Usage | None = None

    async def ask(self, request: ModelRequest) -> Answer:
        """The whole answer. Raises ModelError, also for an answer without an end; a cancel passes through. The row is
        completed in every case."""
        await self._begin(request)
        incoming = _Incoming()
        error = ""
        try:
            async for event in self.model.stream(request):
                if isinstance(event, RetryEvent):  # all that came so far is void
                    incoming = _Incoming()
                incoming.take(event)
            if incoming.finish in (None, Finish.ERROR, Finish.INTERRUPTED):
                raise ModelError(ErrorKind.UNAVAILABLE, "the answer broke off")
        except BaseException as problem:
            error = _told(problem)
            raise
        finally:
            await finish_first(self._end(incoming, error))
        return Answer("".join(incoming.text), incoming.calls, whole=incoming.finish is not Finish.LENGTH)

    async def _begin(self, request: ModelRequest) -> None:
        if self._ledger is None:
            return
        begun = asyncio.ensure_future(self._ledger.begin(request, self.model.traits))
        try:
            self.calls.append(await finish_first(begun))
        except asyncio.CancelledError:
            if begun.exception() is None:
                self.calls.append(begun.result())
                await finish_first(self._end(_Incoming(), "interrupted"))
            raise

    async def _end(self, incoming: _Incoming, error: str) -> None:
        usage = incoming.usage
        if usage is not None:
            self.usage = usage.plus(self.usage)
        if self._ledger is not None:
            price = await self._price(usage) if self._price is not None and usage is not None else None
            await self._ledger.end(self.calls[-1], usage=usage, price=price, error=error, finish=incoming.finish)


def _told(problem: BaseException) -> str:
    if isinstance(problem, ModelError):
        return f"{problem.kind.value}: {problem}"
    if isinstance(problem, asyncio.CancelledError | GeneratorExit):
        return "interrupted"
    return f"{type(problem).__name__}: {problem}"
