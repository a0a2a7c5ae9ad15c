"""Bytes to JSON values, one line at a time: LF-only, constant memory, no line is ever fatal (R-14)."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import msgspec

MAX_LINE = 256 * 1024 * 1024
"""Bytes; a longer line is skipped, not held in memory."""

_BLANK = b"\0 \t\r\n"
_GAP = re.compile("[\0 \t\r\n]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_RESYNC_LIMIT = 1024 * 1024  # a longer broken line is not searched for a whole record at its end
_RESYNC_TRIES = 32
_LOOSE = json.JSONDecoder(strict=False)


class Line(NamedTuple):
    number: int
    """From 1."""
    raw: bytes
    size: int
    """Bytes with the line end."""
    ended: bool
    """Whether a line end followed: without one the line may be cut."""
    too_long: bool = False


class Decoded(NamedTuple):
    values: list[Any]
    problems: list[str]
    """Why something in the line was left out, or how it was repaired (``repaired: ...``)."""


def lines(file: BinaryIO) -> Iterator[Line]:
    """Every line of the file; only LF ends a line, so U+2028, U+0085 and form feeds stay inside."""
    number = 0
    while raw := file.readline(MAX_LINE):
        number += 1
        ended = raw.endswith(b"\n")
        size = len(raw)
        if ended or size < MAX_LINE:
            yield Line(number, raw, size, ended)
            continue
        while rest := file.readline(MAX_LINE):
            size += len(rest)
            if rest.endswith(b"\n"):
                ended = True
                break
        yield Line(number, b"", size, ended, too_long=True)


def is_blank(line: Line) -> bool:
    """Nothing but white space: not counted as a record of any kind."""
    return not line.too_long and not line.raw.strip()


def decode(line: Line, decoder: msgspec.json.Decoder[Any]) -> Decoded:
    """The JSON values of a line, with what had to be left out or repaired. Never raises for bad content."""
    if line.too_long:
        return Decoded([], [f"line of {line.size:,} bytes: longer than {MAX_LINE:,} bytes"])
    try:
        return Decoded([decoder.decode(line.raw)], [])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _decode_odd(line)


def decode_text(text: str) -> Any:
    """One JSON value with what JSON does not allow put right; ValueError where it is none."""
    return _mend(_LOOSE.decode(text), [])


def _decode_odd(line: Line) -> Decoded:
    problems: list[str] = []
    body = line.raw.strip(_BLANK).removeprefix(b"\xef\xbb\xbf")
    if not body:
        return Decoded([], [f"{line.raw.count(0):,} NUL bytes and nothing else"])
    edges = line.raw.count(0) - body.count(0)
    if edges:
        problems.append(f"repaired: {edges:,} NUL bytes left out")
    text = _text(body, problems)
    values: list[Any] = []
    at = 0
    while at < len(text):
        try:
            value, at = _LOOSE.raw_decode(text, at)
            values.append(_mend(value, problems))
        except (ValueError, RecursionError) as error:
            tail = _whole_tail(text, at, problems)
            problems.append(_why(error, line, at))
            if tail is not None:
                values.append(tail)
            break
        gap = _GAP.match(text, at)
        at = gap.end() if gap else at
    return Decoded(values, problems)


def _text(body: bytes, problems: list[str]) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        cut = error.end == len(body) and error.reason == "unexpected end of data"
        what = "cut inside a character" if cut else "bytes that are not UTF-8"
        problems.append(f"repaired: {what}, replaced by U+FFFD")
        return body.decode(errors="replace")


def _why(error: Exception, line: Line, at: int) -> str:
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    place = getattr(error, "pos", at) + 1
    if not line.ended:
        return f"cut last line: JSON ends at column {place:,}"
    return f"not JSON from column {place:,}: {getattr(error, 'msg', error)}"


def _whole_tail(text: str, start: int, problems: list[str]) -> Any:
    """The whole object that ends a broken line: a writer died inside a record and the next one was glued to it."""
    if len(text) - start > _RESYNC_LIMIT:
        return None
    at = start
    for _ in range(_RESYNC_TRIES):
        at = text.find('{"', at + 1)
        if at < 0:
            return None
        try:
            value, end = _LOOSE.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if end == len(text):
            return _mend(value, problems)
    return None


def _mend(value: Any, problems: list[str]) -> Any:
    """The value with half surrogate pairs and numbers that JSON does not know put right."""
    odd = [False, False]
    mended = _mended(value, odd)
    if odd[0]:
        problems.append("repaired: half a surrogate pair, replaced by U+FFFD")
    if odd[1]:
        problems.append("repaired: a number that JSON does not know, kept as text")
    return mended


def _mended(value: Any, odd: list[bool]) -> Any:
    if isinstance(value, str):
        if not _SURROGATE.search(value):
            return value
        odd[0] = True
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {_mended(key, odd): _mended(item, odd) for key, item in value.items()}
    if isinstance(value, list):
        return [_mended(item, odd) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        odd[1] = True
        return str(value)
    return value
