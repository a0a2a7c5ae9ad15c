"""Refusals: the words and the shape of each protocol.

Wordings were taken from published error reports of the real services where there are any; the few that are guesses say so
beside their rule.
"""

from dataclasses import dataclass, field
from typing import Any

from provider.reply import Fault
from provider.terms import Terms

Body = dict[str, Any]

_ANTHROPIC_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 503: "api_error", 529: "overloaded_error",
}  # fmt: skip
_OPENAI_TYPES = {429: "requests", 500: "server_error", 503: "server_error", 529: "server_error"}
_GOOGLE_STATUS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 529: "UNAVAILABLE",
}  # fmt: skip


@dataclass
class Refused(Exception):
    """Raised by a rule. ``param`` and ``code`` are OpenAI's; ``extra`` goes into the error object."""

    message: str
    status: int = 400
    param: str | None = None
    code: str | None = None
    kind: str = ""
    extra: Body = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def body(self, api: str, number: int) -> Body:
        """The error as that protocol sends it."""
        if self.extra.get("n_ctx"):  # llama.cpp says this alike on all its addresses
            return {"error": {"code": self.status, "message": self.message, "type": self.kind, **self.extra}}
        if api in ("anthropic", "count"):
            kind = self.kind or _ANTHROPIC_TYPES[self.status]
            error = {"type": kind, "message": self.message, **self.extra}
            return {"type": "error", "error": error, "request_id": f"req_{number:06d}"}
        if api == "gemini":
            return {
                "error": {
                    "code": self.status,
                    "message": self.message,
                    "status": self.kind or _GOOGLE_STATUS[self.status],
                    **self.extra,
                }
            }
        kind = self.kind or _OPENAI_TYPES.get(self.status, "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code, **self.extra}}


def refusal_of(fault: Fault, api: str, terms: Terms, used: int) -> Refused:
    """What a fault that is a status says, in the words of that protocol."""
    if fault.kind == "overflow":
        refused = overflow(api, terms, max(used, terms.limit + 1))
    else:
        refused = _WORDS[api if api in _WORDS else "chat"][fault.kind]()
    if fault.message:
        refused.message = fault.message
    if fault.code:
        refused.code = fault.code
    if fault.retry_after is not None:
        refused.headers = {"retry-after": f"{fault.retry_after:g}"}
        if api == "gemini":
            delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{fault.retry_after:g}s"}
            refused.extra = {"details": [delay]}
    return refused


def overflow(api: str, terms: Terms, used: int) -> Refused:
    """The request is longer than the model's window."""
    limit = terms.limit
    if terms.dialect == "llama.cpp":
        return Refused(
            f"request ({used} tokens) exceeds the available context size ({limit} tokens), try increasing it",
            kind="exceed_context_size_error",
            extra={"n_prompt_tokens": used, "n_ctx": limit},
        )
    if api in ("anthropic", "count"):
        return Refused(f"prompt is too long: {used} tokens > {limit} maximum")
    if api == "gemini":
        return Refused(f"The input token count ({used}) exceeds the maximum number of tokens allowed ({limit}).")
    if api == "responses":
        return Refused(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            param="input",
            code="context_length_exceeded",
        )
    return Refused(
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {used} tokens. "
        "Please reduce the length of the messages.",
        param="messages",
        code="context_length_exceeded",
    )


_ANTHROPIC_QUOTA = (
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
)
_OPENAI_QUOTA = "You exceeded your current quota, please check your plan and billing details."
_OPENAI_RATE = (
    "Rate limit reached for test-model on tokens per min (TPM): Limit 30000, Used 29500, Requested 1200. Please try again "
    "in 1.4s."
)
_OPENAI_500 = "The server had an error while processing your request. Sorry about that!"
_GOOGLE_500 = (
    "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"
)

_WORDS: dict[str, dict[str, Any]] = {
    "anthropic": {
        "401": lambda: Refused("invalid x-api-key", 401),
        "403": lambda: Refused("Your API key does not have permission to use the specified resource.", 403),
        "404": lambda: Refused("model: test-model", 404),
        "413": lambda: Refused("Request exceeds the maximum size", 413),
        "429": lambda: Refused(
            "This request would exceed your organization's rate limit of 30,000 input tokens per minute.", 429
        ),
        "500": lambda: Refused("Internal server error", 500),
        "503": lambda: Refused("Service temporarily unavailable", 503),
        "529": lambda: Refused("Overloaded", 529),
        "quota": lambda: Refused(_ANTHROPIC_QUOTA, 400),
    },
    "chat": {
        "401": lambda: Refused("Incorrect API key provided: test-*****-key.", 401, code="invalid_api_key"),
        "403": lambda: Refused("You are not allowed to sample from this model", 403, code="model_forbidden"),
        "404": lambda: Refused(
            "The model `test-model` does not exist or you do not have access to it.", 404, code="model_not_found"
        ),
        "413": lambda: Refused("Request too large.", 413, code="request_too_large"),
        "429": lambda: Refused(_OPENAI_RATE, 429, kind="tokens", code="rate_limit_exceeded"),
        "500": lambda: Refused(_OPENAI_500, 500),
        "503": lambda: Refused("The engine is currently overloaded, please try again later", 503, kind="service_unavailable"),
        "529": lambda: Refused("Overloaded", 529),
        "quota": lambda: Refused(_OPENAI_QUOTA, 429, kind="insufficient_quota", code="insufficient_quota"),
    },
    "gemini": {
        "401": lambda: Refused("Request had invalid authentication credentials.", 401),
        "403": lambda: Refused("The caller does not have permission", 403),
        "404": lambda: Refused("models/test-model is not found for API version v1beta.", 404),
        "413": lambda: Refused("Request payload size exceeds the limit: 20971520 bytes.", 413),
        "429": lambda: Refused("Resource has been exhausted (e.g. check quota).", 429),
        "500": lambda: Refused(_GOOGLE_500, 500),
        "503": lambda: Refused("The model is overloaded. Please try again later.", 503),
        "529": lambda: Refused("The model is overloaded. Please try again later.", 529),
        "quota": lambda: Refused("You exceeded your current quota, please check your plan and billing details.", 429),
    },
}
_WORDS["responses"] = _WORDS["chat"]
_WORDS["count"] = _WORDS["anthropic"]

GATEWAY_PAGE = (
    b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n"
    b"<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)
