"""Gemini generateContent over google-genai (A-1).

The SDK's public methods build the body themselves, so this one goes a floor deeper: the SDK makes the request (address,
headers, key), gets our bytes as its data and sends it. Its reader of streams is not used: it takes a sign of life for an
answer that is broken. ``tests/models/test_clients.py`` holds both to it.
"""

import importlib
import re
from collections.abc import AsyncGenerator, Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from sojourn.base import ErrorKind
from sojourn.models import gemini
from sojourn.models.clients.answer import Answer
from sojourn.models.clients.failures import CONNECT, in_stream
from sojourn.models.clients.lines import json_events
from sojourn.models.clients.pages import no_page
from sojourn.models.clients.streaming import Body, Streaming
from sojourn.models.clients.usage import gemini_usage
from sojourn.wire import Event, ModelError, ModelRequest

_VERSION = re.compile(r"/(v\d\w*)$")


class _Connection(msgspec.Struct):
    api: Any
    """The SDK's."""
    http: Any
    """Ours: with our timeouts, and without the second stack that the SDK takes where it finds one."""
    unused: Any
    timeout: Any


class Client(Streaming):
    """Talks to a server that speaks generateContent."""

    sdk = "google.genai"
    extra = "gemini"

    def _body(self, request: ModelRequest) -> Body:
        return gemini.encode(request)

    def _connect(self, sdk: Any) -> Any:
        httpx = importlib.import_module("httpx2")
        timeout = httpx.Timeout(self._silence, connect=CONNECT)
        tls = httpx.create_ssl_context()
        http, unused = httpx.AsyncClient(verify=tls, timeout=timeout), httpx.Client(verify=tls)
        base_url = self._target.base_url.rstrip("/")
        version = _VERSION.search(base_url)
        options = sdk.types.HttpOptions(
            base_url=(base_url[: version.start()] if version else base_url) or None,
            api_version=version[1] if version else None,
            headers=dict(self._target.headers),
            httpx_client=unused,
            httpx_async_client=http,
        )
        client = sdk.Client(vertexai=False, api_key=self._key, http_options=options)
        return _Connection(client._api_client, http, unused, timeout)

    async def _events(self, connection: Any, body: Body) -> AsyncGenerator[Body, None]:
        path = f"models/{quote(body['model'].removeprefix('models/'), safe='')}:streamGenerateContent?alt=sse"
        sent = {name: value for name, value in body.items() if name != "model"}
        request = connection.api._build_request("post", path, {}, None)
        request.data, request.timeout = self._bytes(sent), connection.timeout
        response = await connection.api._async_request(request, None, stream=True)
        try:
            answer = response.response_stream
            async for event in no_page(json_events(answer.aiter_bytes()), answer):
                yield event
        finally:
            await response.response_stream.aclose()

    def _reader(self) -> "Reader":
        return Reader()

    async def _close(self, connection: Any) -> None:
        connection.unused.close()
        await connection.http.aclose()


class Reader:
    """Reads the chunks of one answer.

    A call's signature goes into ``CallEvent.extra``. The signature of a text is a ``ReasoningEvent``: with the thoughts
    that are open it becomes one block, since thinking goes back signed as a whole or not at all (Q-3).
    """

    def __init__(self) -> None:
        self._answer = Answer()
        self._given = 0

    def read(self, event: Body) -> Iterator[Event]:
        if event.get("error"):
            raise in_stream(event)
        self._answer.usage = gemini_usage(event.get("usageMetadata") or {}) or self._answer.usage
        blocked = (event.get("promptFeedback") or {}).get("blockReason")
        if blocked:
            raise ModelError(ErrorKind.REFUSED, f"the provider's filter refused the request ({blocked})")
        for candidate in (event.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                yield from self._part(part)
            self._answer.word = candidate.get("finishReason") or self._answer.word

    def end(self) -> Iterator[Event]:
        yield from self._answer.end()

    def _part(self, part: Body) -> Iterator[Event]:
        signature = part.get(gemini.SIGNATURE) or ""
        if call := part.get("functionCall"):
            extra = {gemini.SIGNATURE: signature} if signature else {}
            yield from self._answer.call(call.get("id") or f"call_{self._given}", call["name"], call.get("args") or {}, extra)
            self._given += 1
            return
        if part.get("thought"):
            yield from self._answer.thought(part.get("text") or "")
        else:
            yield from self._answer.text(part.get("text") or "", thinking=True)
        if signature:
            yield from self._answer.end_thought(signature)
