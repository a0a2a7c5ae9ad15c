"""A server on a loopback socket that answers with what a test gives it, and the four clients that talk to it."""

import asyncio
import importlib
import json
from typing import Any

from sojourn.models.types import Target
from sojourn.wire import About, ModelError, ModelRequest, RequestSettings, TextPart, Traits, WireMessage

PROTOCOLS = ("anthropic", "chat", "responses", "gemini")
HELD = object()
"""Stands among the pieces of an answer: from here on the server says nothing more, and keeps the connection."""
CUT = object()
"""The same: here the server drops the connection."""


class Seen:
    def __init__(self, head: bytes, body: bytes) -> None:
        lines = head.decode().split("\r\n")
        self.path = lines[0].split(" ")[1]
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:] if line)}
        self.body = body


class Server:
    """Answers the n-th request with the n-th of ``answers`` (the last one again and again)."""

    def __init__(self, *answers: "Answer") -> None:
        self._answers = answers
        self._server: asyncio.Server | None = None
        self.seen: list[Seen] = []
        self.connections = 0
        self.asked = asyncio.Event()
        """Set by the first request."""
        self.gone = asyncio.Event()
        """Set when a client closes its connection while an answer is held."""
        self._open: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> "Server":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 22)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._open):
            writer.close()
        for _turn in range(3):
            await asyncio.sleep(0.01)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                seen = Seen(head, b"")
                seen.body = await reader.readexactly(int(seen.headers.get("content-length", 0)))
                self.seen.append(seen)
                self.asked.set()
                if not await self._answers[min(len(self.seen), len(self._answers)) - 1].write(reader, writer):
                    self.gone.set()
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()


class Answer:
    def __init__(self, *pieces: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._pieces = pieces
        self._status = status
        self._headers = {"Content-Type": "text/event-stream"} | (headers or {})

    async def write(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        lines = [f"HTTP/1.1 {self._status} X", *(f"{name}: {value}" for name, value in self._headers.items())]
        writer.write("\r\n".join([*lines, "Transfer-Encoding: chunked", "", ""]).encode())
        for piece in self._pieces:
            if piece is HELD:
                await writer.drain()
                await reader.read()
                return False
            if piece is CUT:
                return False
            data = piece if isinstance(piece, bytes) else piece.encode()
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


def events(*said: dict[str, Any] | str) -> list[str]:
    """Server-sent events; each with its type as its name, as Anthropic and Responses send it."""
    pieces = []
    for one in said:
        data = one if isinstance(one, str) else json.dumps(one)
        name = f"event: {one['type']}\n" if isinstance(one, dict) and "type" in one else ""
        pieces.append(f"{name}data: {data}\n\n")
    return pieces


HELLO: dict[str, list[dict[str, Any] | str]] = {
    "anthropic": [
        {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hel"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ],
    "chat": [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
        {"choices": [{"index": 0, "delta": {"content": "hel"}}]},
        {"choices": [{"index": 0, "delta": {"content": "lo"}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
        "[DONE]",
    ],
    "responses": [
        {"type": "response.created", "response": {"status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "content": []}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "hel"},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "lo"},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {"type": "message", "content": [{"type": "output_text", "text": "hello"}]},
        },
        {"type": "response.completed", "response": {"status": "completed", "usage": {"input_tokens": 7, "output_tokens": 3}}},
    ],
    "gemini": [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "hel"}]}}]},
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": "lo"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3},
        },
    ],
}
WORDS = {"anthropic": "end_turn", "chat": "stop", "responses": "completed", "gemini": "STOP"}
ASK = ModelRequest((), (), (WireMessage("user", (TextPart("hi", About("user")),)),), RequestSettings("m"))


def client(
    protocol: str, url: str, blobs: Any = None, headers: dict[str, str] | None = None, key: str = "the-key", **more: Any
) -> Any:
    """The client of a protocol for a server at the address."""
    module = importlib.import_module(f"sojourn.models.clients.{protocol}")
    base_url = f"{url}/v1" if protocol in ("chat", "responses") else url
    traits = Traits(name="m", protocol=protocol)  # type: ignore[arg-type]
    return module.Client(Target(traits, base_url, key, "--api-key", headers or {}), blobs, **more)


async def answers(protocol: str, *pieces: Any, status: int = 200, headers: dict[str, str] | None = None, **more: Any) -> Any:
    """The events of one answer, and the server's view: a list of Seen."""
    async with Server(Answer(*pieces, status=status, headers=headers)) as server:
        one = client(protocol, server.url, **more)
        try:
            return [event async for event in one.stream(ASK)], server.seen
        finally:
            await one.close()


def fails(protocol: str, *pieces: Any, **more: Any) -> ModelError:
    """The error of one answer."""
    try:
        got, _ = asyncio.run(answers(protocol, *pieces, **more))
    except ModelError as error:
        return error
    raise AssertionError(f"no error, but {got}")
