"""Servers on this machine: found by asking, quickly, and without a key but the one that was given for them (A-5)."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

import msgspec

PATIENCE = 0.3
"""Seconds in which all servers together must have answered."""
PORTS = {"ollama": 11434, "lmstudio": 1234, "llamacpp": 8080, "vllm": 8000}
"""Where each kind of server usually listens."""
_MOST = 2_000_000
"""Bytes of an answer that are read."""


class LocalModel(msgspec.Struct, frozen=True):
    name: str
    limit: int | None = None
    """Tokens of the window that it was loaded with; None = the server does not say."""


class Server(msgspec.Struct, frozen=True):
    """An OpenAI-compatible server that answered."""

    kind: str
    """``ollama``, ``lmstudio``, ``llamacpp`` or ``vllm``; empty = unknown."""
    base_url: str
    models: tuple[LocalModel, ...]


Probe = Callable[[], tuple[Server, ...]]


def probe(ports: dict[str, int] = PORTS, patience: float = PATIENCE) -> tuple[Server, ...]:
    """The servers on their usual ports that answer in time, in the order of ``ports``. Asked at the same time."""
    return _asked(((kind, f"http://127.0.0.1:{port}/v1") for kind, port in ports.items()), patience)


def look(base_url: str, kind: str = "", key: str = "", patience: float = PATIENCE) -> Server | None:
    """The server at a base URL, if it answers in time. ``key``: what the person gave for exactly this address; empty = none."""
    return next(iter(_asked([(kind, base_url)], patience, key)), None)


def _asked(places: Iterable[tuple[str, str]], patience: float, key: str = "") -> tuple[Server, ...]:
    until = time.monotonic() + patience
    found: dict[str, Server] = {}

    def ask(kind: str, base_url: str) -> None:
        models = _models(kind, base_url, until, key)
        if models is not None:
            found[base_url] = Server(kind, base_url, models)

    threads = {url: threading.Thread(target=ask, args=(kind, url), daemon=True) for kind, url in places}
    for thread in threads.values():
        thread.start()
    for thread in threads.values():
        thread.join(max(0.0, until - time.monotonic()))
    return tuple(found[url] for url in threads if url in found)


def _models(kind: str, base_url: str, until: float, key: str) -> tuple[LocalModel, ...] | None:
    """None = nothing there that lists models. Embedding models are left out: they cannot talk."""
    listed = _entries(_get(base_url, "/models", until, key), "data")
    if listed is None:
        return None
    names = [one["id"] for one in listed if isinstance(one.get("id"), str) and "embed" not in one["id"].lower()]
    limits = {one["id"]: _number(one, "max_model_len", "context_length") for one in listed if isinstance(one.get("id"), str)}
    limits |= {name: limit for name, limit in _loaded(kind, base_url, names, until, key).items() if limit}
    return tuple(LocalModel(name, limits[name]) for name in names)


def _loaded(kind: str, base_url: str, names: list[str], until: float, key: str) -> dict[str, int | None]:
    """The windows that a server tells elsewhere, each kind in its own way."""
    root = base_url.removesuffix("/v1")
    match kind:
        case "llamacpp":
            settings = (_get(root, "/props", until, key) or {}).get("default_generation_settings")
            limit = _number(settings, "n_ctx") if isinstance(settings, dict) else None
            return dict.fromkeys(names, limit)
        case "ollama":
            loaded = _entries(_get(root, "/api/ps", until, key), "models") or []
            return {one["name"]: _number(one, "context_length") for one in loaded if one.get("name") in names}
        case "lmstudio":
            loaded = _entries(_get(root, "/api/v0/models", until, key), "data") or []
            return {one["id"]: _number(one, "loaded_context_length") for one in loaded if one.get("id") in names}
        case _:
            return {}


def _entries(answer: dict[str, Any] | None, key: str) -> list[dict[str, Any]] | None:
    entries = answer.get(key) if answer is not None else None
    return [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else None


def _number(entry: dict[str, Any], *keys: str) -> int | None:
    return next((entry[key] for key in keys if isinstance(entry.get(key), int) and entry[key] > 0), None)


def _get(base_url: str, path: str, until: float, key: str) -> dict[str, Any] | None:
    """The JSON object that a plain GET gives; None for everything else."""
    parts = urlsplit(base_url)
    patience = until - time.monotonic()
    if patience <= 0 or parts.hostname is None:
        return None
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=patience)
    try:
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        connection.request("GET", parts.path.rstrip("/") + path, headers=headers)
        response = connection.getresponse()
        body = response.read(_MOST)
        answer = json.loads(body) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return None
    finally:
        connection.close()
    return answer if isinstance(answer, dict) else None
