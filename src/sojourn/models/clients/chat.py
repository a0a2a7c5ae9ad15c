"""OpenAI-compatible Chat Completions over the OpenAI SDK (A-1)."""

from collections.abc import Iterator
from typing import Any

import msgspec

from sojourn.models import chat
from sojourn.models.clients.answer import Answer
from sojourn.models.clients.failures import in_stream
from sojourn.models.clients.openai import OpenAI, is_official
from sojourn.models.clients.streaming import Body
from sojourn.models.clients.usage import chat_usage
from sojourn.models.types import SILENCE, Blobs, Target
from sojourn.wire import Event, ModelRequest

_REPLAYED = "extra_content"


class Client(OpenAI):
    """Talks to a server that speaks Chat Completions.

    ``official``: whether it takes what only OpenAI's own does: ``prompt_cache_key``, and ``max_completion_tokens``
    instead of ``max_tokens``. None = told by the address.
    """

    path = "/chat/completions"

    def __init__(
        self, target: Target, blobs: Blobs | None = None, *, silence: float = SILENCE, official: bool | None = None
    ) -> None:
        super().__init__(target, blobs, silence=silence)
        self._official = is_official(target.base_url) if official is None else official

    def _body(self, request: ModelRequest) -> Body:
        body = chat.encode(request)
        if self._official:
            body = {"max_completion_tokens" if name == "max_tokens" else name: value for name, value in body.items()}
            if request.settings.cache_key:
                body["prompt_cache_key"] = request.settings.cache_key
        return body | {"stream": True, "stream_options": {"include_usage": True}}

    def _reader(self) -> "Reader":
        return Reader()


class _Call(msgspec.Struct):
    """A call that is being written."""

    call_id: str
    name: str
    pieces: list[str]
    extra: Body
    whole: Body | None = None
    """Arguments that came as an object."""


class Reader:
    """Reads the chunks of one answer.

    Servers differ: some number the calls, some give each its id only, some give whole calls under one number.
    """

    def __init__(self) -> None:
        self._answer = Answer()
        self._calls: list[_Call] = []
        self._numbered: dict[int, _Call] = {}
        """The newest of each of the server's numbers."""

    def read(self, event: Body) -> Iterator[Event]:
        if event.get("error"):
            raise in_stream(event)
        self._answer.usage = chat_usage(event.get("usage") or {}) or self._answer.usage
        for choice in (event.get("choices") or ())[:1]:
            self._answer.usage = chat_usage(choice.get("usage") or {}) or self._answer.usage
            yield from self._grow(choice.get("delta") or choice.get("message") or {})
            if word := choice.get("finish_reason"):
                self._answer.word = word

    def end(self) -> Iterator[Event]:
        if self._answer.word is not None:
            for number, call in enumerate(self._calls):
                raw = "".join(call.pieces) if call.whole is None else call.whole
                yield from self._answer.call(call.call_id or f"call_{number}", call.name, raw, call.extra)
        yield from self._answer.end()

    def _grow(self, delta: Body) -> Iterator[Event]:
        yield from self._answer.thought(delta.get("reasoning_content") or delta.get("reasoning") or "")
        content = delta.get("content") or ""
        for piece in [content] if isinstance(content, str) else content:
            yield from self._block(piece)
        self._answer.refusal += delta.get("refusal") or ""
        for number, piece in enumerate(delta.get("tool_calls") or ()):
            self._write(number, piece)

    def _block(self, piece: str | Body) -> Iterator[Event]:
        """Content is text, or (Mistral) a list of blocks with thinking among them."""
        if isinstance(piece, str):
            yield from self._answer.text(piece)
        elif piece["type"] == "thinking":
            inner = piece["thinking"]
            for one in [{"text": inner}] if isinstance(inner, str) else inner:
                yield from self._answer.thought(one.get("text") or "")
        else:
            yield from self._answer.text(piece.get("text") or "")

    def _write(self, place: int, piece: Body) -> None:
        index = piece.get("index")
        number: int = place if index is None else index
        function = piece.get("function") or {}
        call_id, name = piece.get("id") or "", function.get("name") or ""
        call = self._numbered.get(number)
        if call is None or (call_id and call.call_id and call_id != call.call_id) or (index is None and name):
            call = self._numbered[number] = _Call("", "", [], {})
            self._calls.append(call)
        call.call_id = call.call_id or call_id
        call.name = call.name or name
        arguments: Any = function.get("arguments")
        if isinstance(arguments, dict):
            call.whole = arguments
        elif arguments:
            call.pieces.append(arguments)
        if piece.get(_REPLAYED):
            call.extra = {_REPLAYED: piece[_REPLAYED]}
