"""The writer that asks a model: once, in the live request or in one of its own (K-3, K-4, K-8)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from sojourn.base import ErrorKind, ItemStatus, SojournError, Usage, open_items
from sojourn.checkpoint.applying import apply, unheard
from sojourn.checkpoint.asking import Answer, Asking
from sojourn.checkpoint.check import add_what_is_sure
from sojourn.checkpoint.extract import done_by_record, sure
from sojourn.checkpoint.looking import find_quotations, look_up
from sojourn.checkpoint.operations import LookUp, Operation, Read, Refused, Search, parse
from sojourn.checkpoint.prompt import delta_request, fork_message, found_message
from sojourn.checkpoint.transcript import Told, batches, tell, tokens_of, transcript
from sojourn.checkpoint.writer import WriterFailed, WriterInput, Written
from sojourn.record import Message
from sojourn.wire import About, Model, ModelError, ModelRequest, TextPart, WireMessage

LOOK_UPS = 3
"""Rounds in which the model may look something up (K-3)."""
SPARE = 8_000
"""Tokens of the model's window that a request leaves free: the answer, and what the estimate may be wrong by."""
_LEAST_ROOM = 1_000
_TINY = 20
"""Characters under which an answer is none (K-8)."""
_AGAIN = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED, ErrorKind.UNAVAILABLE, ErrorKind.OUTPUT_TRUNCATED})
"""What another try may get past."""


class _Reply(msgspec.Struct, frozen=True):
    """What a model has said in the end."""

    answer: Answer
    lines: tuple[Operation | LookUp | Refused, ...]
    beside: tuple[Message, ...]
    """What it has looked up."""


class ModelWriter:
    """Asks ``model`` to bring the items up to date, judges each operation, and adds what extraction is sure of (K-10).

    ``price`` tells what an answer cost; ``forks`` whether the model is the session's own, so that the live request is a
    cache read for it.
    """

    name: Literal["model", "extractive"] = "model"

    def __init__(
        self, model: Model, *, price: Callable[[Usage], Awaitable[float | None]] | None = None, forks: bool = True
    ) -> None:
        self.forks = forks
        self._model = model
        self._price = price
        self._garbled: int | None = None
        """Where the stretch begins for which the newest answer held no operation."""

    async def write(self, run: WriterInput) -> Written | WriterFailed:
        """The whole new list, or why there is none; what was spent either way. Only a cancel is raised."""
        asking = Asking(self._model, run.ledger, self._price)
        try:
            done = await self._written(run, asking)
        except ModelError as error:
            kind: Literal["retryable", "deterministic"] = "retryable" if error.kind in _AGAIN else "deterministic"
            done = WriterFailed(kind, f"{error.kind.value}: {error}")
        except SojournError as error:
            done = WriterFailed("retryable", str(error))  # the record could not be written or read
        except Exception as error:  # noqa: BLE001 (whatever a model's adapter raises: what was spent has to be told)
            done = WriterFailed("deterministic", f"{type(error).__name__}: {error}")
        return msgspec.structs.replace(done, usage=asking.usage, calls=tuple(asking.calls))

    async def _written(self, run: WriterInput, asking: Asking) -> Written | WriterFailed:
        limit = self._model.traits.limit
        if run.fork is not None and self.forks:
            try:
                reply = await _converse(run.fork(fork_message(run)), run, asking)
                return await self._judged(reply, run, "fork")
            except ModelError as error:
                if error.kind is not ErrorKind.CONTEXT_OVERFLOW:
                    raise
                limit = min(limit, error.limit or limit)
        return await self._delta(run, asking, limit)

    async def _delta(self, run: WriterInput, asking: Asking, limit: int) -> Written | WriterFailed:
        """From the record, in as many requests as it takes; each builds on the items of the one before (report 29)."""
        told = tell(run.messages)
        if not told and not run.notes:
            return Written(items=run.items)
        done: list[Written] = []
        rest = msgspec.structs.replace(run, messages=(), original=(), fork=None)
        while told or not done:
            room = max(_LEAST_ROOM, limit - min(SPARE, limit // 2) - _fixed(rest, self._model))
            batch = next(batches(told, room), ())
            told = told[len(batch) :]
            part = msgspec.structs.replace(rest, messages=tuple(one.message for one in batch))
            reply = await self._ask_delta(part, batch, room, asking)
            written = await self._judged(reply, part, "delta")
            if isinstance(written, WriterFailed):
                return written
            done.append(written)
            rest = msgspec.structs.replace(rest, items=open_items(written.items), notes=())
        return _joined(done)

    async def _ask_delta(self, part: WriterInput, batch: Sequence[Told], room: int, asking: Asking) -> _Reply:
        """Shrunk once, to half, where the model says that it is too long (K-8)."""
        record = transcript(batch, room)
        traits = self._model.traits
        try:
            return await _converse(delta_request(part, record, traits), part, asking)
        except ModelError as error:
            if error.kind is not ErrorKind.CONTEXT_OVERFLOW:
                raise
        return await _converse(delta_request(part, transcript(batch, tokens_of(record) // 2), traits), part, asking)

    async def _judged(self, reply: _Reply, run: WriterInput, mode: Literal["fork", "delta"]) -> Written | WriterFailed:
        said = reply.answer.text.strip()
        if not said:
            return WriterFailed("retryable", "tool calls instead of an answer" if reply.answer.calls else "empty answer")
        if len(said) < _TINY:
            return WriterFailed("retryable", f"an answer of {len(said)} characters")
        beside = reply.beside
        if run.lookup is not None and (quotes := unheard(reply.lines, run, beside=beside)):
            beside = (*beside, *await find_quotations(quotes, run.lookup, run.range[1]))
        applied = apply(reply.lines, run, beside=beside)
        if not applied.valid:
            return self._garbage(run, applied.written.refused)
        self._garbled = None
        done = done_by_record(run)
        ended = tuple(item.id for item in open_items(applied.written.items) if item.id in done)
        items = tuple(
            msgspec.structs.replace(item, status=done[item.id]) if item.id in ended else item for item in applied.written.items
        )
        items, checked = add_what_is_sure(items, sure(run), run)
        closed = (*applied.written.closed, *ended)
        return msgspec.structs.replace(applied.written, items=items, checked=checked, closed=closed, mode=mode)

    def _garbage(self, run: WriterInput, refused: Sequence[str]) -> WriterFailed:
        """No operation in the answer: worth one more try for the same stretch, not two."""
        again = self._garbled == run.range[0]
        self._garbled = run.range[0]
        reason = f"no operation in the answer{f' ({refused[0]})' if refused else ''}"
        return WriterFailed("deterministic" if again else "retryable", reason)


async def _converse(request: ModelRequest, run: WriterInput, asking: Asking) -> _Reply:
    """The answer; a model that only asks gets what it asked for, at most three times, at the end of the same request."""
    beside: tuple[Message, ...] = ()
    for left in range(LOOK_UPS, -1, -1):
        answer = await asking.ask(request)
        lines = parse(answer.text, whole=answer.whole)
        questions = [one for one in lines if isinstance(one, Read | Search)]
        if left == 0 or not questions or len(questions) < len([one for one in lines if not isinstance(one, Refused)]):
            break
        found = await look_up(questions, run.lookup, run.range[1])
        beside = (*beside, *found.messages)
        more = (_message("assistant", answer.text), _message("user", found_message(found.shown, left - 1)))
        request = msgspec.structs.replace(request, messages=(*request.messages, *more))
    return _Reply(answer, lines, beside)


def _message(role: Literal["user", "assistant"], text: str) -> WireMessage:
    return WireMessage(role, (TextPart(text, About("writer")),))


def _fixed(run: WriterInput, model: Model) -> int:
    """Tokens of a request of the writer's own without its part of the record."""
    request = delta_request(run, "", model.traits)
    texts = [block.text for block in request.system]
    texts += [part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)]
    return sum(map(tokens_of, texts))


def _joined(done: Sequence[Written]) -> Written:
    """What several requests came to together: the newest items, with everything that left on the way."""
    last = done[-1]
    live = {item.id for item in open_items(last.items)}
    left = {item.id: item for one in done for item in one.items if item.status is not ItemStatus.OPEN}
    return msgspec.structs.replace(
        last,
        items=(*open_items(last.items), *(item for item in left.values() if item.id not in live)),
        refused=tuple(line for one in done for line in one.refused),
        added=tuple(dict.fromkeys(item for one in done for item in one.added if item in live)),
        closed=tuple(dict.fromkeys(item for one in done for item in one.closed if item not in live)),
        checked=tuple(dict.fromkeys(item for one in done for item in one.checked if item in live)),
        promoted=tuple(dict.fromkeys(item for one in done for item in one.promoted if item in live)),
    )
