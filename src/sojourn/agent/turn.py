"""One turn: the person's words, then steps (a model call with its tools) until the model has no more to ask for.

In each step, in this order: what the engine decides (C-6 to C-10), reminders checked against the view that is sent
(M-R8), the call's row (R-15), the answer as it streams in, the tools, their results. A turn that is cancelled, refused
or cut off leaves a record that the next turn goes on from.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from sojourn.agent.answer import Incoming, writes_calls
from sojourn.agent.calling import Done, Hands, interrupted, not_run, result_text
from sojourn.agent.notes import Notes
from sojourn.agent.pricing import Pricing
from sojourn.agent.types import (
    AgentEvent,
    Called,
    Metered,
    Retrying,
    Returned,
    Said,
    StepStarted,
    Thought,
    TurnEnded,
    TurnStarted,
)
from sojourn.base import ErrorKind, Finish, SojournError, Usage, finish_first
from sojourn.engine import Answer, Engine, Projected
from sojourn.record import Image, Message, Part, Text, ToolCall
from sojourn.wire import CallEvent, Model, ModelError, ReasoningEvent, RetryEvent, TextEvent

_log = logging.getLogger(__name__)
CONTINUATIONS = 3
"""A-8: how often an answer that was cut at the output limit is continued in one turn."""
_SETTLE_EVERY = 0.5
"""Seconds: parts that are complete are made durable while the answer still streams."""
_CURABLE = (ErrorKind.CONTEXT_OVERFLOW, ErrorKind.MALFORMED_REQUEST)


class Turn:
    """The state of one turn; made for it and thrown away."""

    def __init__(
        self, engine: Engine, model: Model, hands: Hands, notes: Notes, pricing: Pricing, emit: Callable[[AgentEvent], None]
    ) -> None:
        self._engine = engine
        self._model = model
        self._hands = hands
        self._notes = notes
        self._emit = emit
        self._pricing = pricing
        self._answer: Answer | None = None
        self._steps = 0
        self._continued = 0
        self._continuing = False
        """The answer that was cut is being continued: no reminders now (M-R8)."""
        self._usage = Usage()
        self._price: float | None = None
        self._text = ""

    async def run(self, prompt: str, images: tuple[Image, ...] = ()) -> TurnEnded:
        """The turn from the prompt to its end; never raises for what a model, a tool or a provider does."""
        try:
            await self._begin(prompt, images)
            finish = await self._steps_until_done()
            return self._ended(finish)
        except ModelError as error:
            return self._ended(Finish.ERROR, str(error), error.next_step)
        except SojournError as error:
            return self._ended(Finish.ERROR, str(error), error.next_step)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            return self._ended(Finish.INTERRUPTED)
        except Exception as error:  # noqa: BLE001 (the turn ends with a word, whatever broke; the log has the rest)
            _log.exception("the turn broke")
            return self._ended(Finish.ERROR, f"the turn broke: {type(error).__name__}: {error}", "Nothing is lost: go on.")

    async def _begin(self, prompt: str, images: tuple[Image, ...]) -> None:
        message = Message(id="", role="user", origin="user", parts=(Text(prompt), *images))
        await self._notes.look()
        await self._engine.prepare()
        stored = await self._engine.observe(*self._notes.at_turn_start(message))
        own = next(one for one in stored if one.origin == "user")
        self._notes.turn_began(own.seq)
        self._emit(TurnStarted(own.seq, prompt))
        self._notes.tell(stored)

    async def _steps_until_done(self) -> Finish:
        while True:
            incoming = await self._step()
            if incoming.calls:
                await self._run_tools(incoming)
            elif incoming.finish is Finish.LENGTH:
                if self._continued == CONTINUATIONS:
                    return Finish.LENGTH
                self._continued += 1
                self._continuing = True
                await self._observe(self._notes.continuation())
            elif not await self._more_to_read():
                return Finish.STOP

    async def _more_to_read(self) -> bool:
        """Whether somebody wrote while the last answer was made: then the turn goes on (M-R6)."""
        return bool(await self._engine.store.inbox(self._engine.session_id))

    async def _observe(self, messages: tuple[Message, ...]) -> None:
        if messages:
            self._notes.tell(await self._engine.observe(*messages))

    # --- a step ----------------------------------------------------------------------------------------------------

    async def _step(self) -> Incoming:
        projected = await self._request()
        while True:
            try:
                return await self._ask(projected)
            except ModelError as error:
                if error.kind not in _CURABLE:
                    raise
                projected = await self._engine.recover(error)
                due = self._notes.before_step(continuing=self._continuing)
                if due:  # a window that was opened to recover has none of what held in the one before
                    await self._observe(due)
                    projected = self._engine.prepared()

    async def _request(self) -> Projected:
        """The view, the reminders that are due in it, the request. What a reminder adds may open a window, in which others
        are due: looked at until nothing is."""
        while True:
            await self._engine.prepare()
            due = self._notes.before_step(continuing=self._continuing)
            if not due:
                return self._engine.prepared()
            await self._observe(due)

    async def _ask(self, projected: Projected) -> Incoming:
        """One call: its row, its answer, its end. Raises ModelError, or what else broke; the record is whole in any case."""
        incoming = Incoming(self._engine.traits)
        try:
            await finish_first(self._start(projected))
            await self._stream(projected, incoming)
        except asyncio.CancelledError:
            self._text = incoming.text
            await finish_first(self._cut_off(incoming, Finish.INTERRUPTED, ""))
            raise
        except Exception as error:  # whatever broke, what was said so far stands in the record
            kind = error.kind if isinstance(error, ModelError) else type(error).__name__
            await finish_first(self._cut_off(incoming, Finish.ERROR, f"{kind}: {error}"))
            raise
        if writes_calls(self._engine.traits):
            for call in incoming.take_written_calls(self._hands.names).values():
                self._emit(Called(call.call_id, call.name, call.arguments))
        finish = incoming.finish or Finish.STOP
        if finish is Finish.LENGTH:
            incoming.drop_calls(broken_only=True)  # its arguments end in the middle: nobody can run it
        await finish_first(self._end(incoming, finish))
        self._continuing = False
        self._notes.after_step()
        self._text = incoming.text
        return incoming

    async def _start(self, projected: Projected, *, again: bool = False) -> None:
        self._answer = await self._engine.start_answer(again=again)
        self._steps += not again
        self._started(projected)

    async def _cut_off(self, incoming: Incoming, finish: Finish, error: str) -> None:
        """The end of an answer that did not come to its own: calls that were settled already are told as not run."""
        if self._answer is None:
            return
        incoming.end()
        incoming.drop_calls()
        await self._end(incoming, finish, error=error)
        now = self._notes.now()
        await self._settle({index: Done(not_run(call, now)) for index, call in incoming.calls.items()})

    async def _stream(self, projected: Projected, incoming: Incoming) -> None:
        settled_at = time.monotonic()
        self._pricing.begin()
        stream = self._model.stream(projected.request)
        try:
            async for event in stream:
                match event:
                    case TextEvent(text):
                        self._emit(Said(text))
                    case ReasoningEvent(done=False):
                        self._emit(Thought(event.text))
                    case RetryEvent():
                        await self._again(projected, incoming, event)
                        continue
                    case CallEvent():
                        self._emit(Called(event.call_id, event.name, event.arguments))
                    case _:
                        pass
                incoming.take(event)
                if incoming.has_unsettled and time.monotonic() - settled_at > _SETTLE_EVERY:
                    assert self._answer is not None
                    await finish_first(self._engine.settle_parts(self._answer.message_id, incoming.unsettled()))
                    settled_at = time.monotonic()
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    async def _again(self, projected: Projected, incoming: Incoming, event: RetryEvent) -> None:
        """The provider is asked again: what came so far is void, but what is settled stays in the record (R-4)."""
        self._emit(Retrying(event.attempt, event.wait, event.error, event.message))
        if incoming.has_settled or incoming.usage is not None:
            await finish_first(self._begin_again(projected, incoming, f"{event.error}: {event.message}"))
        incoming.restart()

    async def _begin_again(self, projected: Projected, incoming: Incoming, error: str) -> None:
        """The attempt keeps its row, with what it cost; the next one has its own."""
        incoming.void()
        await self._cut_off(incoming, Finish.ERROR, error)
        await self._start(projected, again=True)

    def _started(self, projected: Projected) -> None:
        assert self._answer is not None
        self._emit(
            StepStarted(
                self._steps,
                self._answer.call_id,
                projected.level.tokens,
                projected.lines.trigger,
                projected.level.estimated,
                projected.window.number,
            )
        )

    async def _end(self, incoming: Incoming, finish: Finish, *, error: str = "") -> None:
        assert self._answer is not None
        usage = incoming.usage
        price = await self._pricing.of(usage) if usage is not None else None
        if self._pricing.relative is not None:
            self._engine.set_prices(self._pricing.relative)
        watched = await self._engine.end_answer(incoming.unsettled(), finish=finish, usage=usage, price=price, error=error)
        if usage is not None:
            self._usage = self._usage.plus(usage)
            if price is not None:
                self._price = (self._price or 0.0) + price
            self._emit(Metered(self._answer.call_id, usage, price, watched.verdict))
            self._notes.cache(watched)

    # --- tools -----------------------------------------------------------------------------------------------------

    async def _run_tools(self, incoming: Incoming) -> None:
        """Runs the calls; each result is durable before the next thing happens."""
        left = dict(incoming.calls)
        try:
            async for batch in self._hands.run(incoming.calls):
                left = {index: call for index, call in left.items() if index not in batch}
                await finish_first(self._settle(batch))
                self._notes.ran([done.call for done in batch.values()])
        except (asyncio.CancelledError, Exception):
            now = self._notes.now()
            await finish_first(self._settle({index: Done(interrupted(call, now)) for index, call in left.items()}))
            raise
        granted = tuple(str(rule) for rule in self._hands.charge.granted)
        if granted != self._engine.session.grants:
            await self._engine.set_grants(granted)

    async def _settle(self, batch: Mapping[int, Done]) -> None:
        assert self._answer is not None
        parts: dict[int, Part] = {index: done.call for index, done in batch.items()}
        if not parts:
            return
        stored = await self._engine.settle_parts(self._answer.message_id, parts)
        for index, done in batch.items():
            call = done.call
            kept = stored.parts[index] if stored is not None else call
            self._emit(
                Returned(
                    call.call_id,
                    call.name,
                    "denied" if done.denied else call.state,  # type: ignore[arg-type]
                    result_text(kept.result if isinstance(kept, ToolCall) else call.result),
                    (call.ended or 0) - (call.started or call.ended or 0),
                )
            )

    def _ended(self, finish: Finish, error: str = "", next_step: str = "") -> TurnEnded:
        self._notes.turn_ended()
        ended = TurnEnded(finish, self._steps, self._text, self._usage, self._price, error, next_step)
        self._emit(ended)
        return ended
