"""Calls that a model wrote badly, repaired where nothing has to be guessed (A-6).

Only a model's own answer is ever given to these functions: never a file, never a tool's result.
"""

import ast
import json
import re
import warnings
from typing import Any, NoReturn

import msgspec

from sojourn.models.arguments import check_arguments, coerced

__all__ = ["WrittenCall", "check_arguments", "coerced", "find_calls", "parse_arguments"]

_MOST = 4_000_000
"""Characters of arguments that are looked at."""
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)\n?\s*```", re.S)
_TRIES = 8
"""Openers that are tried for one block: its own text may hold what looks like one."""


class WrittenCall(msgspec.Struct, frozen=True):
    """A call that stood in the answer's text."""

    name: str
    arguments: dict[str, Any]


class _Guess(ValueError):
    """What stands there has no one meaning."""


# --- arguments ----------------------------------------------------------------------------------------------------


def parse_arguments(raw: str) -> tuple[dict[str, Any], str]:
    """The arguments of a call, and ``raw`` again where they are no JSON object (else an empty string).

    Nothing is guessed. Repaired are: nothing at all (no arguments), a code fence around, control characters inside
    strings, a comma before a closing bracket, closing brackets that are missing behind a value that is whole or are too
    many at the end, a Python literal, an object that was encoded twice.
    """
    value = _value(raw, doubled=True)
    return (value, "") if value is not None else ({}, raw)


def _value(raw: str, *, doubled: bool) -> dict[str, Any] | None:
    text = raw.strip()
    if len(text) > _MOST:
        return None
    if text in ("", "null"):
        return {}
    if fence := _FENCE.fullmatch(text):
        text = fence[1].strip()
    for reading in (_json, _mended, _python):
        try:
            value = reading(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, dict):
            return value
        return _value(value, doubled=False) if isinstance(value, str) and doubled and value.strip() else None
    return None


def _json(text: str) -> Any:
    return json.loads(text, strict=False, parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise _Guess(name)  # NaN and Infinity are no JSON: no tool could be told


def _mended(text: str) -> Any:
    """JSON with its brackets put right."""
    return _json(_brackets(text))


def _brackets(text: str) -> str:
    kept: list[str] = []
    opened: list[str] = []
    position, comma = 0, False
    for match in _PIECE.finditer(text):
        between, piece = text[position : match.start()], match[0]
        if between.strip():
            comma = False
        kept.append(between)
        position = match.end()
        if piece[0] == '"' and not match[1]:
            raise _Guess("a string does not end")
        if piece in "{[":
            opened.append("}" if piece == "{" else "]")
        elif piece in "}]":
            if not opened and not text[match.start() :].strip("}] \t\r\n"):
                return "".join(kept)  # one closing bracket too many
            if not opened or opened.pop() != piece:
                raise _Guess("brackets cross")
            if comma:
                kept.pop(-2)
        comma = piece == ","
        kept.append(piece)
    kept.append(text[position:])
    if opened and not _WHOLE.search(text):
        raise _Guess("cut inside a value")
    return "".join(kept) + "".join(reversed(opened))


_PIECE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\],]', re.S)
_WHOLE = re.compile(r'(?:["}\]]|\b(?:true|false|null))\s*\Z')


def _python(text: str) -> Any:
    """A dict as Python prints it."""
    if not text.startswith("{"):
        raise _Guess("no dict")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a backslash that means nothing: two readings
        value = ast.literal_eval(text)
    return json.loads(msgspec.json.encode(_plain(value)))


def _plain(value: Any) -> Any:
    """The value, if it is one that JSON has as well."""
    match value:
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise _Guess("keys that are no strings")
            return {key: _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case str() | bool() | int() | float() | None:
            return value
        case _:
            raise _Guess(type(value).__name__)


# --- calls as text ------------------------------------------------------------------------------------------------

_OPENERS = (("</tool_call>", "<tool_call>"), ("</function>", "<function="))
_FUNCTION = re.compile(r"<function=([^>\s]{1,128})>(.*)</function>", re.S)
_PARAMETER = re.compile(r"\s*<parameter=([^>\s]{1,128})>(.*?)</parameter>", re.S)
_PAIR = re.compile(r"\s*<arg_key>\s*([^<\s]{1,128})\s*</arg_key>\s*<arg_value>(.*?)</arg_value>", re.S)
_NAME_LINE = re.compile(r"\s*([^\s<{]{1,128})\s*(?=<arg_key>|\Z)")


def find_calls(text: str, names: frozenset[str]) -> tuple[str, tuple[WrittenCall, ...]]:
    """The answer without the calls at its end, and those calls; the whole text and nothing where there are none.

    ``text`` is a model's answer that came without calls of the protocol. It must end with one or more blocks of one of the
    known forms (``<tool_call>``, ``<function=name>``), outside of any open code fence and of any quotation, and each must
    name a tool of ``names``: anything else is only talk about calls. A fence of JSON is how people are shown one.
    """
    found: list[WrittenCall] = []
    end = len(text.rstrip())
    while block := _last_block(text, end):
        start, call = block
        if call.name not in names:
            return text, ()
        found.append(call)
        end = len(text[:start].rstrip())
    if not found or len(_FENCE_LINE.findall(text, 0, end)) % 2:
        return text, ()
    return text[:end], tuple(reversed(found))


_FENCE_LINE = re.compile(r"^ {0,3}(?:```|~~~)", re.M)


def _last_block(text: str, end: int) -> tuple[int, WrittenCall] | None:
    """Where the block that ends at ``end`` begins, and its call."""
    for closer, opener in _OPENERS:
        if not text.endswith(closer, 0, end):
            continue
        start = end
        for _ in range(_TRIES):
            start = text.rfind(opener, 0, start)
            if start < 0:
                break
            line = text[text.rfind("\n", 0, start) + 1 : start]
            call = None if line.strip().startswith((">", "|", "#")) else _block_call(text[start:end], opener)
            if call is not None:
                return start, call
    return None


def _block_call(block: str, opener: str) -> WrittenCall | None:
    if opener == "<function=":
        return _function(block)
    inner = block[len("<tool_call>") : -len("</tool_call>")].strip()
    return _function(inner) or _pairs(inner) if not inner.startswith("{") else _named(inner)


def _named(text: str) -> WrittenCall | None:
    """``{"name": ..., "arguments": ...}`` and nothing else."""
    value, raw = parse_arguments(text)
    if raw or not isinstance(name := value.get("name"), str):
        return None
    if set(value) - {"id", "type"} not in ({"name", "arguments"}, {"name", "parameters"}):
        return None
    given = value.get("arguments", value.get("parameters"))
    if isinstance(given, str):
        given, raw = parse_arguments(given)
    return WrittenCall(name, given) if isinstance(given, dict) and not raw else None


def _function(text: str) -> WrittenCall | None:
    match = _FUNCTION.fullmatch(text.strip())
    if match is None:
        return None
    body = match[2].strip()
    if body.startswith("{"):
        arguments, raw = parse_arguments(body)
        return None if raw else WrittenCall(match[1], arguments)
    return _tagged(match[1], body, _PARAMETER)


def _pairs(text: str) -> WrittenCall | None:
    match = _NAME_LINE.match(text)
    return _tagged(match[1], text[match.end() :], _PAIR) if match else None


def _tagged(name: str, body: str, one: re.Pattern[str]) -> WrittenCall | None:
    """Arguments as tags: all are text, one line end at each side taken off; ``coerced`` makes numbers of them."""
    arguments: dict[str, Any] = {}
    position = 0
    while match := one.match(body, position):
        if match[1] in arguments:
            return None
        arguments[match[1]] = match[2].removeprefix("\n").removesuffix("\n")
        position = match.end()
    return None if body[position:].strip() else WrittenCall(name, arguments)
