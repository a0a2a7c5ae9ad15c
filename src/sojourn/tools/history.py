"""The ``history`` tool: anything of the session that is no longer in view (R-13)."""

import json
import re
from typing import Any

from sojourn.tools.desk import Desk, History
from sojourn.tools.recalled import hit_lines, message_text, numbered_lines, page
from sojourn.tools.textfile import readable
from sojourn.tools.texts import text
from sojourn.tools.types import Outcome, Tool, failed, said

HITS = 20
MESSAGES_MOST = 200
"""Read in one call."""
PAGE = 24_000
"""Characters of one answer: under the cap of a result on all but small windows, so that it is not cut in turn."""
_ADDRESS_LEAST = 8
_RANGE = re.compile(r"(?:read\s+)?[m#]?(\d{1,12})(?:\s*(?:-|–|\.\.+|to)\s*[m#]?(\d{1,12}))?", re.IGNORECASE)
_BLOB = re.compile(r"(?:read\s+)?blob[:\s]\s*([0-9a-f]+)(?:\W.*)?", re.IGNORECASE)
_SEARCH = re.compile(r"search\s+", re.IGNORECASE)


async def _history(arguments: dict[str, Any], desk: Desk) -> Outcome:
    if desk.history is None:
        return failed("This session has no record to look into.", "Ask the user.")
    search, read = arguments.get("search", "").strip(), arguments.get("read", "").strip()
    if bool(search) == bool(read):
        return failed("Give either search or read.", 'For example {"search": "drain task"} or {"read": "m12"}.')
    if search:
        return await _search(_SEARCH.sub("", search, count=1) if _SEARCH.match(search) else search, desk.history)
    if blob := _BLOB.fullmatch(read):
        return await _blob(blob[1].lower(), arguments, desk.history)
    if span := _RANGE.fullmatch(read):
        return await _messages(int(span[1]), int(span[2] or span[1]), arguments, desk.history)
    return failed(f"{read!r} cannot be read.", "Give m12, m10-m20 or blob:<hex>; to find words use search.")


async def _search(words: str, history: History) -> Outcome:
    hits = await history.search(words, limit=HITS + 1)
    if not hits:
        return said("Nothing found. Every word must occur in one message: try fewer or other words.")
    lines = list(hit_lines(hits[:HITS]))
    if len(hits) > HITS:
        lines.append("[... more: add a word]")
    lines.append(f"[whole message: {_call(f'm{hits[0].seq}')}]")
    return said("\n".join(lines))


async def _messages(first: int, last: int, arguments: dict[str, Any], history: History) -> Outcome:
    if last < first:
        first, last = last, first
    upto = min(last, first + MESSAGES_MOST - 1)
    messages = await history.read(first - 1, upto)
    if not messages:
        return failed(f"There is no message m{first}{f' to m{last}' if last > first else ''}.", "Find one with search.")
    lines = numbered_lines("\n".join(map(message_text, messages)))
    rest = _call(f"m{upto + 1}-m{last}") if upto < last else ""
    return _page(lines, f"m{first}" if first == last else f"m{first}-m{upto}", arguments, rest)


async def _blob(address: str, arguments: dict[str, Any], history: History) -> Outcome:
    if len(address) < _ADDRESS_LEAST:
        return failed(f"blob:{address} is too short.", f"Give {_ADDRESS_LEAST} hex digits at least.")
    data = await history.blob(address)
    if data is None:
        return failed(f"There is no blob {address}.", "Copy its address from the line that names it.")
    found = readable(data)
    if found is None:
        return failed(f"blob:{address[:12]} is not text ({len(data):,} bytes).", "It cannot be shown here.")
    return _page(numbered_lines(found[0]), f"blob:{address[:12]}", arguments, "")


def _page(lines: Any, name: str, arguments: dict[str, Any], rest: str) -> Outcome:
    first, count = arguments.get("from", 1), arguments.get("lines")
    if first > len(lines):
        return failed(f"{name} has {len(lines):,} lines: {first:,} is behind its end.", "Take a smaller from.")
    shown = page(lines, first, count, PAGE)
    last = first + len(shown) - 1
    if last < len(lines):
        rest = _call(name, last + 1)
    head = [f"[{name}: lines {first}-{last} of {len(lines)}]"] if (first, last) != (1, len(lines)) else []
    return said("\n".join([*head, *shown, *([f"[read on: {rest}]"] if rest else [])]))


def _call(read: str, first: int = 1) -> str:
    arguments: dict[str, Any] = {"read": read} | ({"from": first} if first > 1 else {})
    return f"history {json.dumps(arguments)}"


HISTORY = Tool(
    name="history",
    description=text("history"),
    schema={
        "type": "object",
        "properties": {
            "search": {"type": "string", "description": "words"},
            "read": {"type": "string", "description": "m12, m10-m20 or blob:<hex>"},
            "from": {"type": "integer", "minimum": 1, "description": "first line"},
            "lines": {"type": "integer", "minimum": 1},
        },
    },
    effect="read",
    subject="",
    run=_history,
)
