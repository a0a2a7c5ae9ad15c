"""Asking again where that can help: bounded, visible, cancellable (A-3).

The formula is our own: a library for retries keeps its waits to itself, while each of ours is an event first.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count

from sojourn.base import ErrorKind
from sojourn.wire import Event, FinishEvent, Model, ModelError, ModelRequest, RetryEvent, Traits

_CURABLE = (ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED, ErrorKind.UNAVAILABLE)
REPETITIONS = 5
"""Times that one request is asked again."""
LONGEST = 120.0
"""Seconds: a provider that wants a longer wait than this is not waited for."""
TOTAL = 600.0
"""Seconds of waiting for one answer."""
_FIRST = 2.0


class Retrying:
    """A ``Model`` that asks the one inside again after a rate limit, an overload or an outage.

    Before each wait it yields a RetryEvent: all events of this answer before it are void. Errors that a repetition
    cannot cure (an overflow among them, C-10) pass at once, and so does everything after a FinishEvent. Closing the
    iterator, or cancelling the task, ends a wait.
    """

    def __init__(
        self,
        model: Model,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._model = model
        self._sleep = sleep
        self._chance = chance

    @property
    def traits(self) -> Traits:
        return self._model.traits

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event]:
        """The events of the first attempt that succeeds, and a RetryEvent behind each one that did not.

        Raises the last error, with what was tried in its message.
        """
        waited, hopeless = 0.0, 0
        for attempt in count(1):
            events = self._model.stream(request)
            finished = False
            try:
                async for event in events:
                    finished = isinstance(event, FinishEvent)
                    yield event
                if finished:
                    return
                raise ModelError(ErrorKind.UNAVAILABLE, "the provider's answer broke off", next_step=self._look())
            except ModelError as error:
                if finished or error.kind not in _CURABLE:
                    raise
                hopeless = 0 if error.attempts is None else hopeless + 1
                wait = self._wait(attempt, error, waited, hopeless)
                told = RetryEvent(attempt, wait, error.kind, str(error))
            finally:
                await _closed(events)
            yield told
            waited += wait
            await self._sleep(wait)

    async def close(self) -> None:
        await self._model.close()

    def _look(self) -> str:
        return f"Look whether {self.traits.provider or 'the provider'} is up, or use another model (`sojourn models`)."

    def _wait(self, attempt: int, error: ModelError, waited: float, hopeless: int) -> float:
        """Seconds until the repetition; raises where there is none: then with the reason in the message.

        ``hopeless``: the last so many attempts ended in errors that name their own ``attempts``.
        """
        named = error.retry_after or 0.0
        if named > LONGEST:
            raise _given_up(error, f"it can be asked again in {_span(named)}") from error
        if attempt > REPETITIONS or (error.attempts is not None and hopeless >= error.attempts):
            raise _given_up(error, f"asked {attempt} times") from error
        doubled = _FIRST * 2.0 ** (attempt - 1)
        wait = max(named, doubled / 2) + self._chance() * doubled / 2  # never earlier than the provider said
        if waited + wait > TOTAL:
            raise _given_up(error, f"asked {attempt} times in {_span(waited)}") from error
        return wait


def _given_up(error: ModelError, why: str) -> ModelError:
    return ModelError(
        error.kind,
        f"{error} ({why})",
        limit=error.limit,
        used=error.used,
        retry_after=error.retry_after,
        attempts=error.attempts,
        next_step=error.next_step,
    )


def _span(seconds: float) -> str:
    hours, minutes = divmod(-(-round(seconds) // 60), 60)  # rounded up: asking too early is refused again
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


async def _closed(events: AsyncIterator[Event]) -> None:
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()
