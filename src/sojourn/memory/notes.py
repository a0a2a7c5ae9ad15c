"""``notes.md``: entries under ``## [turn N, ISO UTC]``, each known by its hash (K-13)."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from itertools import pairwise

from sojourn.base import UserMistake
from sojourn.memory import layout
from sojourn.memory.files import sha_of
from sojourn.memory.types import Document, MemoryStore, Who

_HEAD = re.compile(r"^## \[turn \d+, [^\]\n]+\][ \t]*$", re.MULTILINE)
_TITLE = re.compile(r"\s*# [^\n]*(?:\n|\Z)")


def entries(text: str) -> tuple[tuple[str, str], ...]:
    """(sha, text) of each entry, in order: from its heading to the next, without blank lines around it.

    What a person wrote above the first heading is an entry too; a title (``# ...``) is none.
    """
    return tuple((sha_of(entry), entry) for _, _, entry in _spans(text))


def without(text: str, seen: Collection[str]) -> str:
    """The text without the entries whose sha is among ``seen``; every other one stays byte for byte."""
    spans = _spans(text)
    gone = [(start, end) for start, end, entry in spans if sha_of(entry) in seen]
    kept = []
    at = 0
    for start, end in gone:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]]) if gone else text


async def append_note(store: MemoryStore, session_id: str, text: str, *, turn: int, now: int, who: Who = "agent") -> Document:
    """Adds an entry at the end, durably; nothing where an entry says the same already. ``now``: milliseconds.

    Raises UserMistake for an empty text, and what ``MemoryStore.append`` raises.
    """
    body = text.strip()
    if not body:
        raise UserMistake("the note is empty", next_step="Give it a text.")
    locator = layout.notes(session_id)
    present = await store.read(locator)
    if present is not None and any(body == _body(entry) for _, entry in entries(present.text)):
        return present
    when = datetime.fromtimestamp(now / 1000, UTC)
    return await store.append(locator, f"## [turn {turn}, {when:%Y-%m-%dT%H:%M:%SZ}]\n{body}", who=who)


def _body(entry: str) -> str:
    found = _HEAD.match(entry)
    return entry[found.end() :].strip() if found else entry


def _spans(text: str) -> list[tuple[int, int, str]]:
    """(start, end, text without blank lines around) of each entry; spans touch, so that nothing lies between them."""
    title = _TITLE.match(text)
    begin = title.end() if title else 0
    marks = [begin, *(found.start() for found in _HEAD.finditer(text, begin)), len(text)]
    spans = [(start, end, text[start:end].strip("\n")) for start, end in pairwise(marks)]
    return [(start, end, entry) for start, end, entry in spans if entry.strip()]
