"""Requests as bytes: what no SDK would send goes out as it stands."""

import http.client
import json
from typing import Any

from provider.server import Provider

PATHS = {
    "anthropic": "/v1/messages",
    "count": "/v1/messages/count_tokens",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/test-model:generateContent",
}
"""Where each protocol is spoken to, without streaming."""


def heads(api: str, key: str | None = "test-key") -> dict[str, str]:
    """The headers a client of that protocol sends."""
    named = {"anthropic": "x-api-key", "count": "x-api-key", "gemini": "x-goog-api-key"}.get(api, "authorization")
    value = f"Bearer {key}" if named == "authorization" else key
    version = {"anthropic-version": "2023-06-01"} if api in ("anthropic", "count") else {}
    return {"content-type": "application/json", **version, **({named: str(value)} if key is not None else {})}


def post(
    provider: Provider, api: str, body: Any, *, headers: dict[str, str] | None = None, path: str = ""
) -> tuple[int, Any, dict[str, str]]:
    """Status, body (JSON, or bytes where it is none) and headers. ``body`` as bytes is sent as it stands."""
    connection = http.client.HTTPConnection("127.0.0.1", int(provider.url.rsplit(":", 1)[1]), timeout=10)
    try:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path or PATHS[api], data, heads(api) if headers is None else headers)
        answer = connection.getresponse()
        raw = answer.read()
        return answer.status, _decoded(raw), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def _decoded(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw


def refusal(provider: Provider, api: str, body: Any) -> str:
    """The message of a refused request; empty = it was accepted."""
    status, answer, _ = post(provider, api, body)
    return "" if status == 200 else str(answer["error"]["message"])
