"""What a provider's refusal means, in all dialects (A-2).

``AUTH_FAILED`` stands for all that a person must change and no repetition or repaired history cures: the key, the
account (no credit, a quota used up without a word on when it returns), the address, the name of the model. A quota
that says when it returns is ``RATE_LIMITED`` with that ``retry_after``.
"""

import re
from collections.abc import Mapping

from sojourn.base import ErrorKind
from sojourn.models.error_text import Said, read, wait_named
from sojourn.wire import ModelError

_MODELS = "`sojourn models` lists what is usable; --model names one."
KEY_STEP = "Check the key and what it may use; `sojourn models` tells where each was found."
_ACCOUNT = "Look at the account's credit and plan at the provider, or use another model (`sojourn models`)."
_ADDRESS = "Check --base-url (with or without /v1) and --api."
_NO_SERVICE = "there is no such service at this address"
_SMALLER = "A new window makes the request smaller."
_WAIT = "Wait a little, or use another model (`sojourn models`)."
_SERVER = "Look whether the provider is up, or use another model (`sojourn models`)."
_WORDING = "Another wording, or another model, may pass."


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_OVERFLOW_CODES = frozenset({
    "context_length_exceeded", "exceed_context_size_error", "model_max_prompt_tokens_exceeded", "1261", "request_too_large",
    "context_window_exceeded", "model_context_window_exceeded",
    "invalid_request_prompt_too_long",
})  # fmt: skip
_OVERFLOW = _any(
    r"prompt is too long",
    r"prompt too long",
    r"input is too long",
    r"(?:input|prompt|request|message)s? (?:is|are) too (?:long|large) (?:for|to process)",
    r"exceeds? (?:the )?(?:model'?s? )?(?:max(?:imum)? )?context (?:length|limit|window|size)",
    r"exceeds? the (?:available )?context (?:size|window|length)",
    r"exceeds? the (?:input )?token limit",
    r"maximum (?:context|prompt) length",
    r"input token count .{0,60}(?:exceeds|only supports)",
    r"input tokens exceed the configured limit",
    r"token count of \d+ exceeds",
    r"exceeded model token limit",
    r"maximum context length",
    r"context (?:length|window|size) (?:has been |was )?exceed",
    r"context length of only",
    r"context shift is disabled",
    r"context window exceeds limit",
    r"greater than the context length",
    r"range of input length should be",
    r"`inputs` tokens \+ `max_new_tokens` must be",
    r"`inputs` must have less than",
    r"too many tokens: ",
    r"prompt exceeds max",
    r"prompt 超长",
    r"reduce the length of the (?:messages|input|prompt)",
    r"long context beta is not",
    r"extra usage is required for long context",
    r"request (?:exceeds the maximum (?:allowed )?(?:number of bytes|size)|entity too large|body too large)",
    r"payload too large",
    r"exceeds? the maximum number of tokens allowed",
)
_TOO_BIG_FOR_MINUTE = _any(r"request too large", r"tokens? per min")
_LONG_STRING = re.compile(r"string too long.{0,40}maximum length (\d+)")
_ACCOUNT_CODES = frozenset({
    "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "exceeded_current_quota_error", "arrearage",
    "insufficient_balance", "insufficientbalance", "1113", "1304", "1308", "1309", "1310", "1008", "billing_error",
    "account_deactivated", "creditserror", "allocationquota.freetieronly",
})  # fmt: skip
_ACCOUNT_WORDS = _any(
    r"credit balance is too low",
    r"insufficient (?:balance|credit|quota|funds)",
    r"requires more credits",
    r"exceeded your (?:monthly|current) (?:spend|quota)",
    r"(?:used|exhausted|consumed) (?:all|your).{0,40}(?:credit|quota|balance)",
    r"quota (?:has been )?exhausted",
    r"usage limit",
    r"monthly (?:spending )?limit",
    r"payment required",
    r"余额不足",
    r"overdue.payment",
    r"account is (?:suspended|deactivated|disabled|not active)",
    r"too many tokens per day",
    r"(?:requests?|tokens?|models?)[- ]per[- ]day",
)
_PER_DAY = re.compile(r"per.?day|daily")
_AUTH_CODES = frozenset({
    "authentication_error", "permission_error", "invalid_api_key", "invalidapikey", "unauthenticated", "permission_denied",
    "invalid_authentication_error", "accessdeniedexception", "unrecognizedclientexception", "expiredtokenexception",
    "unsupported_country_region_territory", "api_key_invalid",
    "incorrect_api_key_error", "access_terminated_error",
})  # fmt: skip
_AUTH = _any(r"api key (?:not valid|expired)", r"(?:invalid|incorrect|missing|no) (?:x-)?api[- ]?key", r"user not found\b")
_REFUSED_CODES = frozenset({
    "content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed",
    "datainspectionfailed", "1301", "invalid_prompt", "moderation_blocked", "cyber_policy", "prohibited_content",
})  # fmt: skip
_REFUSED = _any(
    r"content[- _](?:filter|management|policy)",
    r"content exists risk",
    r"violat\w+ (?:our |the |xai'?s? )?(?:usage|safety|content)",
    r"considered high risk",
    r"flagged (?:for|as)",
    r"prohibited[ _]content",
    r"blocked by (?:a )?guardrail",
    r"不安全|敏感内容",
)
_OVERLOADED_CODES = frozenset({
    "overloaded_error", "engine_overloaded_error", "server_overloaded", "overloaded", "slow_down", "1305", "1312",
    "modelnotreadyexception", "capacity_exceeded", "service_tier_capacity_exceeded",
})  # fmt: skip
_OVERLOADED = _any(r"overload", r"(?:at|over|no) capacity", r"server (?:is )?busy", r"loading model", r"high (?:demand|load)")
_RATE_CODES = frozenset({
    "rate_limit_error", "rate_limit_exceeded", "rate_limit_reached_error", "resource_exhausted", "throttlingexception",
    "throttling.ratequota", "throttling.allocationquota", "throttling", "limit_requests", "1302", "1303",
    "tokens", "requests", "toomanyrequests",
})  # fmt: skip
_RATE = _any(r"rate.?limit", r"too many (?:requests|tokens)", r"throttl", r"requests per (?:min|sec)", r"quota exceeded")
_MODEL_CODES = frozenset(
    {"model_not_found", "1211", "modelnotfound", "deploymentnotfound", "resourcenotfoundexception", "model_not_exist"}
)
_MODEL = _any(
    r"model:?\s+[`'\"]?[\w.:/@-]{1,100}[`'\"]?,? (?:was |is |does |has been )?"
    r"(?:not (?:found|exist|supported|available)|decommissioned)",
    r"models/\S{1,120} is not found",
    r"(?:unknown|invalid|unsupported) model\b",
    r"not a valid model",
    r"model not (?:exist|found)",
    r"no (?:endpoints found|models? loaded)",
    r"^\W*model: ",
    r"invalid model (?:name|identifier)",
    r"the provided model identifier is invalid",
)
_CALL_LOST = _any(
    r"tool_use_failed", r"failed to call a function", r"error parsing tool call", r"failed to parse (?:input|tool)"
)
_MALFORMED_CODES = frozenset(
    {"invalid_request_error", "invalid_argument", "badrequesterror", "validationexception", "invalid_request"}
)
_HISTORY = _any(
    r"roles? must alternate",
    r"only user(?: and|,) assistant",
    r"no user query found",
    r"tool_use[`' ]* ids were found without",
    r"tool_calls?' must be followed",
    r"must be a response to a prec",
    r"no tool output found",
    r"tool_use_id",
    r"function (?:call|response)",
    r"thought_signature",
    r"`?thinking`? or `?redacted_thinking`?",
    r"signature.{0,20}thinking",
    r"reasoning_content",
    r"without its required following item",
    r"must be non-empty",
    r"non-whitespace",
    r"cache_control",
    r"jinja|chat template|template error",
    r"expected last role",
    r"assistant message prefill",
    r"image|media|picture",
)
_WHERE = re.compile(r"\b((?:messages|input|contents|system|tools)(?:[.\[]\d+\]?)(?:[.\[]\w+\]?)*)", re.I)
_PICTURE = re.compile(r"image|media|picture", re.I)


def classify(*, status: int | None, body: str, headers: Mapping[str, str] = {}) -> ModelError:
    """What the refusal means and what to do about it.

    ``status``: of the HTTP answer; None = no answer came (``body`` is then what the connection's error says), or an error
    in the middle of a stream. Never raises. The message is one line without keys and markup.
    """
    said = read(body)
    if said.status is not None and (status is None or status < 400):
        status = said.status
    if status is not None and 200 <= status < 300 and said.codes:
        status = None  # an answer that holds an error is one in the middle of a stream
    kind, what, next_step = _meaning(status, said)
    wait = wait_named(headers, said.words) if kind in _WAITING else None
    overflow = kind is ErrorKind.CONTEXT_OVERFLOW
    message = f"{what}: {said.text}" if said.text else what
    return ModelError(
        kind,
        message,
        limit=said.limit if overflow else None,
        used=said.used if overflow else None,
        retry_after=wait,
        next_step=next_step,
    )


def no_service(url: str, kind: str) -> ModelError:
    """For an answer without an error that is no stream: ``kind`` is its content type, such as ``text/html``."""
    return ModelError(
        ErrorKind.AUTH_FAILED,
        f"{_NO_SERVICE}: it answers with {kind}, not with a stream",
        next_step=f"{_ADDRESS} What was asked is {url}.",
    )


_WAITING = (ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED, ErrorKind.UNAVAILABLE)
_Meaning = tuple[ErrorKind, str, str]


def _meaning(status: int | None, said: Said) -> _Meaning:
    """The first that fits, from the surest sign to the weakest."""
    for rule in (_overflow, _account, _refused, _wrong_name, _auth, _busy):
        meaning = rule(status, said)
        if meaning is not None:
            return meaning
    return _by_status(status, said)


def _overflow(status: int | None, said: Said) -> _Meaning | None:
    """Also where it hides in 400, 413, 422, 429 or 500 (C-10)."""
    if status == 402 or said.html:
        return (ErrorKind.CONTEXT_OVERFLOW, "the request has too many bytes", _SMALLER) if status == 413 else None
    found = bool(said.codes & _OVERFLOW_CODES) or _OVERFLOW.search(said.words) is not None
    if not found and status in (400, 413) and not said.words.strip():
        found = True  # some hosts refuse an overlong prompt with nothing but the status
    if not found and status == 413:
        found = _PICTURE.search(said.text) is None
    if not found and (long := _LONG_STRING.search(said.words)):
        found = int(long[1]) >= 100_000
    if not found and _TOO_BIG_FOR_MINUTE.search(said.words):
        # More at once than a minute's allowance: waiting never helps.
        found = bool(said.limit and said.used and said.used > said.limit)
    if not found:
        return None
    numbers = ""
    if said.limit:
        numbers = f" ({said.used:,} of {said.limit:,} tokens)" if said.used else f" ({said.limit:,} tokens)"
    return ErrorKind.CONTEXT_OVERFLOW, f"the request is too big for the model's window{numbers}", _SMALLER


def _account(status: int | None, said: Said) -> _Meaning | None:
    """Money and quotas. One that is back at a named time is left to ``_busy``, a day's one that names seconds is not."""
    if status not in (None, 400, 402, 403, 429):
        return None
    told = wait_named({}, said.words) is not None
    daily = any(_PER_DAY.search(code) for code in said.codes)
    if status == 402 or said.codes & _ACCOUNT_CODES or daily or (_ACCOUNT_WORDS.search(said.words) and not told):
        if "resource_exhausted" in said.codes and not daily:
            return None  # this one says "check your plan and billing" for every limit by the minute
        return ErrorKind.AUTH_FAILED, "the account has no credit or quota left", _ACCOUNT
    return None


def _refused(status: int | None, said: Said) -> _Meaning | None:
    if status in (401, 429) or (status is not None and status >= 500):
        return None
    if said.codes & _REFUSED_CODES or _REFUSED.search(said.words):
        return ErrorKind.REFUSED, "the provider's filter refused the request", _WORDING
    return None


def _wrong_name(status: int | None, said: Said) -> _Meaning | None:
    if status in (404, 405) or (said.html and (status is None or status < 400)):
        named = said.codes & _MODEL_CODES or _MODEL.search(said.words)
        if named:
            return ErrorKind.AUTH_FAILED, "the provider does not know this model", _MODELS
        return ErrorKind.AUTH_FAILED, _NO_SERVICE, _ADDRESS
    if status is not None and 300 <= status < 400:
        return ErrorKind.AUTH_FAILED, "the address leads elsewhere", _ADDRESS
    if status in (400, 403, 422) and (said.codes & _MODEL_CODES or _MODEL.search(said.text.lower())):
        return ErrorKind.AUTH_FAILED, "the provider does not know this model", _MODELS
    return None


def _auth(status: int | None, said: Said) -> _Meaning | None:
    if status in (401, 403):
        return ErrorKind.AUTH_FAILED, "the provider refused the key" if status == 401 else "the provider forbids this", KEY_STEP
    if (status is None or 400 <= status < 500) and (said.codes & _AUTH_CODES or _AUTH.search(said.words)):
        return ErrorKind.AUTH_FAILED, "the provider refused the key", KEY_STEP
    return None


def _busy(status: int | None, said: Said) -> _Meaning | None:
    overloaded = bool(said.codes & _OVERLOADED_CODES)
    if overloaded or status == 529 or (status in (None, 429, 498, 503) and _OVERLOADED.search(said.words)):
        return ErrorKind.OVERLOADED, "the provider is overloaded", _WAIT
    limited = bool(said.codes & _RATE_CODES) or _RATE.search(said.words) is not None
    if status == 429 or (limited and (status is None or status in (400, 403, 503))):
        return ErrorKind.RATE_LIMITED, "the provider's rate limit is reached", _WAIT
    return None


def _by_status(status: int | None, said: Said) -> _Meaning:
    if _CALL_LOST.search(said.words):
        return ErrorKind.UNAVAILABLE, "the provider could not read the call that the model made", _SERVER
    if status is None:
        if said.codes & _MALFORMED_CODES:
            return _malformed(said)
        return ErrorKind.UNAVAILABLE, "the connection to the provider failed", _SERVER
    if status == 501:
        return ErrorKind.AUTH_FAILED, _NO_SERVICE, _ADDRESS
    if status >= 500 or status in (408, 409, 425, 499):
        if status == 500 and not said.html and _HISTORY.search(said.text.lower()):
            return _malformed(said)  # servers that render a chat template answer so when it refuses
        return ErrorKind.UNAVAILABLE, f"the provider failed (status {status})", _SERVER
    if status < 400:
        return ErrorKind.UNAVAILABLE, f"the provider's answer cannot be read (status {status})", _SERVER
    return _malformed(said)


def _malformed(said: Said) -> _Meaning:
    where = _WHERE.search(said.text)
    culprit = f" at {where[1]}" if where else ""
    if _PICTURE.search(said.text):
        return (
            ErrorKind.MALFORMED_REQUEST,
            f"the provider does not take a picture{culprit}",
            "Leave the picture out, or send it smaller.",
        )
    return ErrorKind.MALFORMED_REQUEST, f"the provider does not take the request{culprit}", ""
