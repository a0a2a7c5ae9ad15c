"""Asking again: how often, how long, what is told meanwhile (A-3)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sojourn.base import ErrorKind, Finish
from sojourn.models.retry import Retrying
from sojourn.wire import (
    Event,
    FinishEvent,
    ModelError,
    ModelRequest,
    RequestSettings,
    RetryEvent,
    TextEvent,
    Traits,
)

REQUEST = ModelRequest((), (), (), RequestSettings(model="m"))
DONE = FinishEvent(Finish.STOP)


class Failing:
    """A model whose attempts are given: events, then perhaps an error."""

    def __init__(self, *attempts: list[Event | ModelError]) -> None:
        self.attempts = list(attempts)
        self.asked = 0
        self.ended = 0
        self.closed = False
        self.traits = Traits(name="m")

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event]:
        assert request is REQUEST
        self.asked += 1
        try:
            for event in self.attempts[min(self.asked, len(self.attempts)) - 1]:
                if isinstance(event, ModelError):
                    raise event
                yield event
        finally:
            self.ended += 1

    async def close(self) -> None:
        self.closed = True


def failed(kind: ErrorKind = ErrorKind.OVERLOADED, **given: Any) -> ModelError:
    return ModelError(kind, "no luck", **given)


def ask(model: Failing, chance: float = 0.0) -> tuple[list[Event], list[float], ModelError | None]:
    """The events, the waits, the error."""
    waits: list[float] = []
    events: list[Event] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def main() -> ModelError | None:
        try:
            async for event in Retrying(model, sleep=sleep, chance=lambda: chance).stream(REQUEST):
                events.append(event)
        except ModelError as error:
            return error
        return None

    error = asyncio.run(main())
    return events, waits, error


@pytest.mark.design("A-3")
def test_nothing_is_added_to_a_good_answer() -> None:
    model = Failing([TextEvent("a"), TextEvent("b"), DONE])
    assert ask(model) == ([TextEvent("a"), TextEvent("b"), DONE], [], None)
    assert (model.asked, model.ended) == (1, 1)


@pytest.mark.design("A-3")
@pytest.mark.parametrize("kind", [ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED, ErrorKind.UNAVAILABLE])
def test_asked_again_and_said_so(kind: ErrorKind) -> None:
    model = Failing([TextEvent("half"), failed(kind)], [TextEvent("whole"), DONE])
    events, waits, error = ask(model)
    assert error is None
    assert events == [TextEvent("half"), RetryEvent(1, 1.0, kind, "no luck"), TextEvent("whole"), DONE]
    assert waits == [1.0]
    assert model.ended == 2


@pytest.mark.design("A-3")
def test_five_times_with_growing_waits() -> None:
    events, waits, error = ask(model := Failing([failed(ErrorKind.UNAVAILABLE, next_step="look")]))
    assert model.asked == model.ended == 6
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert [event.attempt for event in events if isinstance(event, RetryEvent)] == [1, 2, 3, 4, 5]
    assert error is not None
    assert error.kind is ErrorKind.UNAVAILABLE
    assert str(error) == "no luck (asked 6 times)"
    assert error.next_step == "look"
    assert ask(Failing([failed()]), chance=1.0)[1] == [2.0, 4.0, 8.0, 16.0, 32.0]
    assert ask(Failing([failed()]), chance=0.5)[1] == [1.5, 3.0, 6.0, 12.0, 24.0]


@pytest.mark.design("A-3")
def test_the_fifth_repetition_still_counts() -> None:
    bad: list[Event | ModelError] = [failed()]
    events, _, error = ask(Failing(bad, bad, bad, bad, bad, [DONE]))
    assert error is None
    assert events[-1] == DONE


@pytest.mark.design("A-3", "C-10")
@pytest.mark.parametrize(
    "kind",
    [
        ErrorKind.CONTEXT_OVERFLOW, ErrorKind.MALFORMED_REQUEST, ErrorKind.AUTH_FAILED, ErrorKind.REFUSED,
        ErrorKind.OUTPUT_TRUNCATED,
    ],
)  # fmt: skip
def test_what_a_repetition_cannot_cure_passes_at_once(kind: ErrorKind) -> None:
    given = failed(kind, limit=200, used=300, retry_after=1.0)
    model = Failing([TextEvent("a"), given], [DONE])
    events, waits, error = ask(model)
    assert (events, waits, model.asked) == ([TextEvent("a")], [], 1)
    assert error is given


@pytest.mark.design("A-3")
def test_the_provider_s_own_wait_is_kept() -> None:
    assert ask(Failing([failed(retry_after=30.0)], [DONE]))[1] == [30.0]
    assert ask(Failing([failed(retry_after=30.0)], [DONE]), chance=1.0)[1] == [31.0]
    assert ask(Failing([failed(retry_after=0.0)], [DONE]))[1] == [1.0]
    assert ask(Failing([failed(retry_after=120.0)], [DONE]))[1] == [120.0]


@pytest.mark.design("A-3")
@pytest.mark.parametrize(
    ("seconds", "told"),
    [(120.5, "2 min"), (121.0, "3 min"), (3_600.0, "1 h 0 min"), (9_001.0, "2 h 31 min")],
)
def test_a_long_wait_is_told_and_not_waited(seconds: float, told: str) -> None:
    events, waits, error = ask(Failing([failed(ErrorKind.RATE_LIMITED, retry_after=seconds)], [DONE]))
    assert (events, waits) == ([], [])
    assert error is not None
    assert str(error) == f"no luck (it can be asked again in {told})"
    assert (error.kind, error.retry_after) == (ErrorKind.RATE_LIMITED, seconds)


@pytest.mark.design("A-3")
def test_ten_minutes_in_all() -> None:
    _, waits, error = ask(Failing([failed(retry_after=120.0)]))
    assert waits == [120.0] * 5
    assert str(error) == "no luck (asked 6 times)"
    _, waits, error = ask(Failing([failed(retry_after=120.0)]), chance=0.1)
    assert len(waits) == 4
    assert sum(waits) <= 600
    assert str(error) == "no luck (asked 5 times in 9 min)"


@pytest.mark.design("A-3")
def test_nothing_is_asked_again_after_the_finish() -> None:
    given = failed()
    model = Failing([TextEvent("a"), DONE, given])
    events, waits, error = ask(model)
    assert (events, waits, error, model.asked) == ([TextEvent("a"), DONE], [], given, 1)


@pytest.mark.design("A-3")
def test_an_answer_that_breaks_off_is_an_outage() -> None:
    events, _, error = ask(Failing([TextEvent("a")], [DONE]))
    assert error is None
    assert events[1] == RetryEvent(1, 1.0, ErrorKind.UNAVAILABLE, "the provider's answer broke off")
    assert events[-1] == DONE
    _, _, error = ask(Failing([TextEvent("a")]))
    assert error is not None
    assert str(error) == "the provider's answer broke off (asked 6 times)"
    assert error.next_step == "Look whether the provider is up, or use another model (`sojourn models`)."


@pytest.mark.design("A-3")
def test_an_error_that_names_its_own_attempts() -> None:
    nobody = failed(ErrorKind.UNAVAILABLE, attempts=3, next_step="look")
    _, waits, error = ask(model := Failing([nobody]))
    assert (model.asked, waits) == (3, [1.0, 2.0])
    assert error is not None
    assert (str(error), error.next_step, error.attempts) == ("no luck (asked 3 times)", "look", 3)
    # A server that answered in between is there: only those in a row count, and never more than usual.
    bad: list[Event | ModelError] = [failed()]
    lost: list[Event | ModelError] = [nobody]
    assert ask(model := Failing(bad, bad, bad, lost, lost, [DONE]))[2] is None
    _, _, error = ask(model := Failing(lost, lost, bad, lost, lost, lost))
    assert (model.asked, str(error)) == (6, "no luck (asked 6 times)")
    _, _, error = ask(model := Failing(lost, bad, lost, lost, lost))
    assert (model.asked, str(error)) == (5, "no luck (asked 5 times)")


@pytest.mark.design("A-3")
def test_closing_early_closes_the_request() -> None:
    model = Failing([TextEvent("a"), TextEvent("b"), DONE])

    async def main() -> None:
        retrying = Retrying(model)
        assert retrying.traits == Traits(name="m")
        events = retrying.stream(REQUEST)
        assert await anext(events) == TextEvent("a")
        assert model.ended == 0
        await events.aclose()  # type: ignore[attr-defined]
        assert model.ended == 1
        await retrying.close()

    asyncio.run(main())
    assert model.closed


@pytest.mark.design("A-3")
def test_a_wait_can_be_cancelled() -> None:
    model = Failing([failed(retry_after=100.0)], [DONE])

    async def main() -> None:
        seen: list[Event] = []
        told = asyncio.Event()

        async def run() -> None:
            async for event in Retrying(model, chance=lambda: 0.0).stream(REQUEST):
                seen.append(event)
                told.set()

        task = asyncio.create_task(run())
        await told.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)
        assert seen == [RetryEvent(1, 100.0, ErrorKind.OVERLOADED, "no luck")]

    asyncio.run(main())
    assert (model.asked, model.ended) == (1, 1)
