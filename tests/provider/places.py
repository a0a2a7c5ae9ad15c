"""Addresses, and the list of models."""

import re
from typing import Any

from provider.refusal import Refused
from provider.seen import Seen
from provider.terms import Terms

GOOGLE = re.compile(r"/v1(?:beta|alpha)?/models/([^/:]+):(?:g|streamG)enerateContent$")


def api_of(method: str, path: str) -> str:
    """Which protocol an address belongs to; empty = none."""
    if method == "GET":
        return "models" if path in ("/v1/models", "/v1beta/models") else ""
    if GOOGLE.match(path):
        return "gemini"
    known = {
        "/v1/messages": "anthropic",
        "/v1/chat/completions": "chat",
        "/v1/responses": "responses",
        "/v1/messages/count_tokens": "count",
    }
    return known.get(path, "")


def family(seen: Seen) -> str:
    """Whose words an answer without a model is in."""
    if seen.api in ("anthropic", "count") or "anthropic-version" in seen.headers:
        return "anthropic"
    google = seen.api == "gemini" or "x-goog-api-key" in seen.headers or seen.path.startswith("/v1beta/")
    return "gemini" if google else seen.api


def lost(seen: Seen) -> Refused:
    """An address where nothing is."""
    if family(seen) == "anthropic":
        return Refused("Not found", 404)
    return Refused(f"Invalid URL ({seen.method} {seen.path})", 404)


def models_list(seen: Seen, terms: Terms) -> Any:
    """The answer to GET /v1/models, in the shape that the headers ask for."""
    names = sorted(terms.models) if terms.models is not None else ["test-model"]
    limit, cap = terms.limit, terms.output_cap
    if family(seen) == "gemini":
        methods = ["generateContent", "countTokens"]
        return {
            "models": [
                {
                    "name": f"models/{name}",
                    "displayName": name,
                    "inputTokenLimit": limit,
                    "outputTokenLimit": cap,
                    "supportedGenerationMethods": methods,
                }
                for name in names
            ]
        }
    if "anthropic-version" in seen.headers:
        made = "2026-01-01T00:00:00Z"
        data: list[dict[str, Any]] = [
            {
                "type": "model",
                "id": name,
                "display_name": name,
                "created_at": made,
                "lifecycle": "active",
                "max_input_tokens": limit,
                "max_tokens": cap,
            }
            for name in names
        ]
        return {
            "data": data,
            "has_more": False,
            "first_id": names[0] if names else None,
            "last_id": names[-1] if names else None,
        }
    data = [{"id": name, "object": "model", "created": 1_790_000_000, "owned_by": "test"} for name in names]
    if terms.dialect == "llama.cpp":
        data = [{**one, "owned_by": "llamacpp", "meta": {"n_ctx_train": limit, "n_ctx": limit}} for one in data]
    return {"object": "list", "data": data}
