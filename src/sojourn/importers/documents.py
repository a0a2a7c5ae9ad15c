"""Files that are one JSON document: the records in it, also where the document is cut or damaged."""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from sojourn.importers.drive import opened
from sojourn.importers.fields import mapping
from sojourn.importers.lines import decode_text

_LOOSE = json.JSONDecoder(strict=False)
_START = re.compile(r'\{\s*"')
_MAX_FAILURES = 1_000


class Document(NamedTuple):
    fields: dict[str, Any]
    """The top-level fields without the records; empty for a bare list."""
    records: list[Any]
    problems: list[str]
    lines: int
    bytes: int


def document(path: str, key: str, is_record: Callable[[Any], bool]) -> Document:
    """A list, or the list under ``key`` of an object. What can be read of a damaged one, and what is wrong with it."""
    with opened(path) as file:
        data: bytes = file.read()
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    problems: list[str] = []
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        value = _odd(data, problems)
    if value is None:
        return Document({}, _salvage(data, key, is_record, problems), problems, lines, len(data))
    fields = mapping(value)
    records = fields.get(key) if fields else value
    rest = {name: item for name, item in fields.items() if name != key}
    if not isinstance(records, list):
        problems.append("the document holds no list of messages")
        records = []
    return Document(rest, records, problems, lines, len(data))


def _odd(data: bytes, problems: list[str]) -> Any:
    text = data.decode(errors="replace").lstrip("\ufeff").strip("\0 \t\r\n")
    try:
        value = decode_text(text)
    except (ValueError, RecursionError):
        return None
    problems.append("repaired: characters or numbers that JSON does not allow")
    return value


def _salvage(data: bytes, key: str, is_record: Callable[[Any], bool], problems: list[str]) -> list[Any]:
    """The records that are whole, one by one."""
    text = data.decode(errors="replace")
    found = re.search(rf'"{key}"\s*:\s*\[', text)
    at = found.end() if found else 0
    records: list[Any] = []
    failures = 0
    while failures < _MAX_FAILURES and (start := _START.search(text, at)) is not None:
        try:
            value, end = _LOOSE.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            value, end = None, 0
        if is_record(value):
            records.append(decode_text(text[start.start() : end]))
            at = end
        else:
            failures += 1
            at = start.start() + 1
    problems.append(f"the JSON document is cut or damaged: {len(records):,} whole messages read, the rest left out")
    return records
