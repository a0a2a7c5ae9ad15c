"""Anthropic Messages over its SDK (A-1)."""

from collections.abc import AsyncGenerator, Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec

from sojourn.models import anthropic
from sojourn.models.clients.answer import Answer
from sojourn.models.clients.failures import CONNECT, in_stream
from sojourn.models.clients.pages import no_page
from sojourn.models.clients.streaming import Body, Streaming
from sojourn.models.clients.usage import anthropic_usage
from sojourn.wire import Event, ModelRequest

_HOST = "api.anthropic.com"


class Client(Streaming):
    """Talks to a server that speaks Anthropic Messages."""

    sdk = "anthropic"
    extra = "anthropic"

    def _body(self, request: ModelRequest) -> Body:
        return anthropic.encode(request) | {"stream": True}

    def _connect(self, sdk: Any) -> Any:
        base_url = self._target.base_url.rstrip("/").removesuffix("/v1") or None
        headers = dict(self._target.headers)
        if base_url and urlsplit(base_url).hostname != _HOST:
            # Compatible servers read the older of the two headers.
            headers = {"X-Api-Key": self._key} | headers
        return sdk.AsyncAnthropic(
            api_key=self._key,
            base_url=base_url,
            default_headers=headers,
            timeout=sdk.Timeout(self._silence, connect=CONNECT),
            max_retries=0,
            open_telemetry=False,
        )

    async def _events(self, connection: Any, body: Body) -> AsyncGenerator[Body, None]:
        content, kind = self._bytes(body), self._sdk.AsyncStream[object]
        stream = await connection.post("/v1/messages", content=content, cast_to=object, stream=True, stream_cls=kind)
        try:
            async for event in no_page(stream, stream.response):
                yield event
        finally:
            await stream.close()

    def _reader(self) -> "Reader":
        return Reader()

    async def _close(self, connection: Any) -> None:
        await connection.close()


class _Block(msgspec.Struct):
    """A content block that is not closed yet."""

    kind: str
    start: Body
    pieces: list[str] = msgspec.field(default_factory=list)
    """Of a call's JSON."""
    signature: str = ""


class Reader:
    """Reads the events of one answer."""

    def __init__(self) -> None:
        self._answer = Answer()
        self._blocks: dict[int, _Block] = {}
        self._counts: Body = {}

    def read(self, event: Body) -> Iterator[Event]:
        match event.get("type"):
            case "message_start":
                self._count(event["message"].get("usage"))
            case "content_block_start":
                yield from self._open(event.get("index", 0), event["content_block"])
            case "content_block_delta":
                yield from self._grow(self._blocks[event.get("index", 0)], event["delta"])
            case "content_block_stop":
                yield from self._close(event.get("index", 0))
            case "message_delta":
                self._answer.word = event["delta"].get("stop_reason") or self._answer.word
                self._count(event.get("usage"))
            case "error":
                raise in_stream(event)

    def end(self) -> Iterator[Event]:
        if self._answer.word is not None:
            for index in list(self._blocks):
                yield from self._close(index)
        self._answer.usage = anthropic_usage(self._counts)
        yield from self._answer.end()

    def _open(self, index: int, block: Body) -> Iterator[Event]:
        self._blocks[index] = _Block(block["type"], block, signature=block.get("signature") or "")
        match block["type"]:
            case "text":
                yield from self._answer.text(block.get("text") or "")
            case "thinking":
                yield from self._answer.thought(block.get("thinking") or "")

    def _grow(self, block: _Block, delta: Body) -> Iterator[Event]:
        match delta["type"]:
            case "text_delta":
                yield from self._answer.text(delta["text"])
            case "thinking_delta":
                yield from self._answer.thought(delta["thinking"])
            case "signature_delta":
                block.signature = delta["signature"]
            case "input_json_delta":
                block.pieces.append(delta["partial_json"])

    def _close(self, index: int) -> Iterator[Event]:
        block = self._blocks.pop(index)
        match block.kind:
            case "thinking":
                yield from self._answer.end_thought(block.signature)
            case "redacted_thinking":
                yield from self._answer.end_thought(redacted=block.start["data"])
            case "tool_use":
                raw = "".join(block.pieces)
                given = block.start.get("input") or {}
                yield from self._answer.call(block.start["id"], block.start["name"], raw if raw.strip() else given)

    def _count(self, usage: Body | None) -> None:
        """Counts are cumulative; compatible servers give them at the start or at the end, and 0 where they do not."""
        for name, value in (usage or {}).items():
            known = self._counts.get(name)
            if isinstance(value, int) and isinstance(known, int):
                self._counts[name] = max(value, known)
            elif value is not None:
                self._counts[name] = value
