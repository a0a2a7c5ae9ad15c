"""The model: keeps its place in the script, streams, reports usage, refuses what is too long (A-5)."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable

import msgspec

from sojourn.base import ErrorKind, Finish, Usage
from sojourn.models.scripted.billing import Provider, answer_tokens
from sojourn.models.scripted.looking import Looking
from sojourn.models.scripted.sight import Answer, Result, Script, Shown, Sight, request_text, results_of, shown
from sojourn.wire import CallEvent, Event, FinishEvent, ModelError, ModelRequest, TextEvent, Traits, UsageEvent

_PIECE = re.compile(r"[\s\S]{1,32}(?:\s+|$)|[\s\S]{1,32}")
"""A piece of streamed text: whole words where there are any."""


class Missed(msgspec.Struct, frozen=True):
    """An expectation of the script that was not met."""

    turn: int
    what: str


class Scripted:
    """A deterministic model: the same requests, the same answers. No network, no key, no language model.

    It counts its own answers, so that it goes on where it stood when a window has opened in the middle of a turn, and it
    begins a new turn at each new user message (also one that arrives in the middle of a turn). In a session that
    another process began it finds its place by what the first request shows. An answer that was not read to its end
    (cancelled) counts as not given.
    """

    def __init__(
        self, script: Script | None = None, *, limit: int = 128_000, on_body: Callable[[bytes], None] | None = None
    ) -> None:
        """``limit``: tokens of its window. ``on_body`` is told every body that leaves, as canonical bytes."""
        self._script = script or Looking()
        self._on_body = on_body
        self._provider = Provider()
        self._traits = Traits(
            name="scripted",
            provider="sojourn",
            protocol="chat",
            limit=limit,
            limit_source="catalogue",
            images=False,
            marks=0,
        )
        self._turn = 0
        """0 = nothing was asked yet."""
        self._prompt = Shown("", 0, (), 0, 0)
        self._answers = 0
        self._results: tuple[tuple[Result, ...], ...] = ()
        self._asked: tuple[str, ...] | None = None
        """Ids of the newest answer's calls, () = it ended the turn, None = it was another process's."""
        self.missed: tuple[Missed, ...] = ()
        """Expectations that were not met so far, in order."""

    @property
    def traits(self) -> Traits:
        return self._traits

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event]:
        """The next answer in pieces. Raises ModelError CONTEXT_OVERFLOW, with both numbers, for an input over the limit."""
        bill = self._provider.bill(request)
        if self._on_body is not None:
            self._on_body(bill.body)
        limit = self._traits.limit
        if bill.input > limit:
            message = f"the request holds {bill.input:,} tokens, the model's window {limit:,}"
            raise ModelError(ErrorKind.CONTEXT_OVERFLOW, message, limit=limit, used=bill.input)
        seen = shown(request)
        self._find_place(seen, request)
        results = self._results
        if self._asked:
            results = (*results[:-1], results_of(request, self._asked))
        answer = self._script.next(self._sight(request, results))
        for piece in _PIECE.findall(answer.say):
            yield TextEvent(piece)
            await asyncio.sleep(0)
        ids = tuple(f"call_{seen.newest}_{number}" for number in range(1, len(answer.calls) + 1))
        for call_id, call in zip(ids, answer.calls, strict=True):
            yield CallEvent(call_id, call.name, call.arguments)
        usage = Usage(fresh=bill.input - bill.cached, cached=bill.cached, output=answer_tokens(answer))
        yield UsageEvent(usage)
        self._given(answer, ids, results)
        yield FinishEvent(Finish.TOOL_CALLS if answer.calls else Finish.STOP, raw="tool_calls" if answer.calls else "stop")

    async def close(self) -> None:
        """There is nothing to give back."""

    def _find_place(self, seen: Shown, request: ModelRequest) -> None:
        if self._turn == 0:
            place = self._script.resume(seen.prompt, seen.calls, seen.answers, request_text(request))
            self._turn, self._answers, self._prompt = place.turn, place.answers, seen
            self._results = ((),) * place.answers
        elif seen.seq > self._prompt.seq or self._asked == ():
            self._turn += 1
            self._answers, self._results, self._asked = 0, (), None
            self._prompt = seen if seen.seq > self._prompt.seq else self._prompt

    def _sight(self, request: ModelRequest, results: tuple[tuple[Result, ...], ...]) -> Sight:
        tools = frozenset(tool.name for tool in request.tools)
        return Sight(self._turn, self._prompt.prompt, self._answers, results, request_text(request), tools)

    def _given(self, answer: Answer, ids: tuple[str, ...], results: tuple[tuple[Result, ...], ...]) -> None:
        self._answers += 1
        self._results = (*results, ())
        self._asked = ids
        if answer.missed:
            self.missed = (*self.missed, Missed(self._turn, answer.missed))
