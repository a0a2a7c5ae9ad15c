"""What a provider's refusal says: its own words, codes, numbers of tokens, how long to wait. No judgement (A-2)."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

_READ = 20_000
"""Characters of a body that are looked at."""
_SHOWN = 400
"""Characters of a provider's own words that a person sees."""
_DEEP = 6
_HTML = re.compile(
    r"\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype|html|head|body|\?xml[^>]{0,200}>\s*<(?:!doctype|html))", re.I | re.S
)
_TAG_TITLE = re.compile(r"<title[^>]{0,100}>([^<]{1,200})", re.I)
_SECRET = re.compile(
    r"\b(?:sk|pk|rk|xai|gsk|key|tgp|nvapi|hf|AIza|AKIA)[-_A-Za-z0-9*.]{8,}|\b[Bb]earer\s+[^\s\"',]{6,}|"
    r"\b[A-Za-z0-9_-]{4,}\*{4,}[A-Za-z0-9_-]*|\b[0-9a-f]{32}(?:\.[A-Za-z0-9]{8,})?\b"
)
_N = r"(\d[\d,_]{0,14}(?:\.\d{1,3})?\s?[kKmM]?)\b"

_LIMITS = tuple(
    re.compile(one, re.I)
    for one in (
        rf"> {_N}\s*(?:tokens?\s+)?maximum",
        rf"exceed context limit: [\d,]+ \+ [\d,]+ > {_N}",
        rf"maximum (?:context|prompt|input|sequence) length (?:is|of) (?:only )?{_N}",
        rf"with {_N} maximum context length",
        rf"context length of (?:only )?{_N}",
        rf"context (?:window|limit|length) (?:is|of|=|:) ?(?:only |up to )?{_N}",
        rf"tokens? allowed \(?{_N}",
        rf"supports? up to {_N}",
        rf"configured limit of {_N}",
        rf"token limit: {_N}",
        rf"exceeds the limit of {_N}",
        rf"available context size \({_N} tokens",
        rf"must be <= {_N}",
        rf"input length should be \[\d+, ?{_N}",
        rf"used [\d.,]+\s?[km]? (?:tokens )?of {_N}",
        rf"\b[\d.,]+\s?[km]? of (?:the )?{_N} tokens",
        rf"tokens per (?:min|minute|day)[^.]{{0,40}}limit:? {_N}",
    )
)
_USED = tuple(
    re.compile(one, re.I)
    for one in (
        rf"too long: {_N}",
        rf"exceed context limit: {_N} \+",
        rf"\({_N} (?:in the messages|of text input|in the prompt|in your prompt)",
        rf"(?:request has|messages have|(?:request|prompt|input) contains(?: at least)?|resulted in) {_N} (?:input )?tokens",
        rf"token count \(?(?:is |of )?{_N}",
        rf"requested:? (?:about |a total of )?{_N}",
        rf"request \({_N} tokens",
        rf"keep the first {_N} tokens",
        rf"given: {_N} `?inputs",
        rf"used {_N} (?:tokens )?of \d",
        rf"\b{_N} of (?:the )?\d[\d.,]*\s?[km]? tokens",
    )
)
_UNIT = r"(?:ms|milliseconds?|hours?|h|minutes?|mins?|m|seconds?|secs?|s)"
_WAITS = re.compile(
    r"(?:(?:try|retry) again (?:in|after)|retry (?:in|after)|available (?:again )?in|wait(?: for)?|resets? (?:in|after)|"
    rf"retrydelay\"?:\s*\"?)\s*(?:about )?((?:\d+(?:\.\d+)?\s*{_UNIT}(?![a-z])\s*)+)",
    re.I,
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milli|h|m|s)", re.I)
_SCALE = {"ms": 0.001, "milli": 0.001, "h": 3600.0, "m": 60.0, "s": 1.0}


class Said(msgspec.Struct, frozen=True):
    """A refusal, read."""

    text: str
    """The provider's own words for a person: one line, at most 400 characters, keys and markup taken out; may be empty."""
    words: str
    """Everything it said, lower case: what patterns are looked for in."""
    codes: frozenset[str]
    """Its codes, types and statuses, lower case."""
    status: int | None
    """A status that the body names itself (errors in the middle of a stream, of a gateway)."""
    html: bool
    limit: int | None
    """Tokens that fit."""
    used: int | None
    """Tokens that were sent: the input alone where it is named apart, else input and output."""


def read(body: str) -> Said:
    """What the body says, whatever it is: JSON of any dialect, plain text, a page, nothing. Never raises."""
    body = body[:_READ]
    html = _HTML.match(body) is not None
    if html:
        title = _TAG_TITLE.search(body)
        text = " ".join(title[1].split()) if title else ""
        return Said(_shown(text), text.lower(), frozenset(), None, True, None, None)
    found = [pair for one in _documents(body) for pair in _fields(one, 0)]
    texts = [value for key, value in found if key in _TEXT_KEYS and isinstance(value, str) and value.strip()]
    # A gateway's own words ("Provider returned error") say less than what it passes on, which comes later.
    text = next((one for one in texts if one.lower() not in _EMPTY_WORDS), texts[0] if texts else "" if found else body)
    codes = frozenset(
        str(value).lower() for key, value in found if key in _CODE_KEYS and isinstance(value, str | int) and value
    )
    status = next((int(code) for code in sorted(codes) if code.isdigit() and 400 <= int(code) < 600), None)
    named = {key: value for key, value in found if isinstance(value, int) and not isinstance(value, bool)}
    words = " ".join(texts) if texts else body
    return Said(
        text=_shown(text),
        words=f"{words} {body}".lower() if found else body.lower(),
        codes=codes,
        status=status,
        html=False,
        limit=_tokens(named.get("n_ctx")) or _number(_LIMITS, words),
        used=_tokens(named.get("n_prompt_tokens")) or _number(_USED, words),
    )


_TEXT_KEYS = frozenset({"message", "error", "detail", "msg", "status_msg", "raw", "reason", "error_description", "title"})
_CODE_KEYS = frozenset({"code", "type", "status", "reason", "error_type", "__type", "status_code", "quotaid"})
_EMPTY_WORDS = frozenset({"provider returned error", "error", "bad request", "upstream error", "provider error"})


def _documents(body: str) -> Iterator[Any]:
    """The JSON values of the body: the whole of it, or what stands from its first brace on."""
    start = body.find("{")
    if start < 0:
        return
    decoder = json.JSONDecoder(strict=False)
    for begin in (0, start) if start else (0,):
        try:
            yield decoder.raw_decode(body, begin)[0]
        except (ValueError, RecursionError):
            continue
        return


def _fields(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Names and plain values, outermost first; JSON inside a string is opened as well."""
    if depth > _DEEP:
        return
    if isinstance(value, list):
        for one in value[:50]:
            yield from _fields(one, depth + 1)
        return
    if not isinstance(value, dict):
        return
    nested: list[Any] = []
    for key, one in value.items():
        if isinstance(one, dict | list):
            nested.append(one)
        elif isinstance(one, str) and one.lstrip().startswith("{") and (inside := list(_documents(one))):
            nested += inside
        else:
            yield str(key).lower(), one
    for one in nested:
        yield from _fields(one, depth + 1)


def _shown(text: str) -> str:
    line = _SECRET.sub("[key]", " ".join(text.split()))
    return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."


def _number(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    return next((_tokens(match[1]) for one in patterns if (match := one.search(text))), None)


def _tokens(value: str | int | None) -> int | None:
    """Tokens from ``128,000`` or ``270k``; None where the number cannot be one."""
    if value is None:
        return None
    if isinstance(value, str):
        digits = value.replace(",", "").replace("_", "").strip().lower()
        scale = {"k": 1_000, "m": 1_000_000}.get(digits[-1:], 1)
        value = round(float(digits.rstrip("km ")) * scale)
    return value if 0 < value <= 100_000_000 else None


# --- how long to wait ---------------------------------------------------------------------------------------------


def wait_named(headers: Mapping[str, str], text: str) -> float | None:
    """Seconds until one may ask again: from ``retry-after-ms``, ``retry-after`` (seconds or a date), else from the words.

    None where nothing is said or what is said cannot be read.
    """
    lower = {key.lower(): value for key, value in headers.items()}
    milliseconds = _float(lower.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    named = lower.get("retry-after", "").strip()
    seconds = _float(named)
    if seconds is not None:
        return seconds
    if named:
        until, now = _moment(named), _moment(lower.get("date", ""))
        if until is not None:
            return max(0.0, until - (time.time() if now is None else now))
    match = _WAITS.search(text)
    if match is None:
        return None
    spans = _SPAN.findall(match[1])
    return sum(float(number) * _SCALE[unit.lower()] for number, unit in spans) if spans else None


def _float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < 10**9 else None


def _moment(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
