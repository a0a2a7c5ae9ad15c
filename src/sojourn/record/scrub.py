"""Scrubbing: taking a text out of every row and blob, a person's act only (R-16)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from sojourn.base import UserMistake
from sojourn.record import index
from sojourn.record.blobs import Blobs
from sojourn.record.care import refuse_shared
from sojourn.record.codec import decode, encode, needle
from sojourn.record.erase import rewrite
from sojourn.record.schema import immediate
from sojourn.record.types import (
    Call,
    Checkpoint,
    File,
    Image,
    InboxRow,
    Message,
    Part,
    PinRow,
    PrefixSnapshot,
    Reasoning,
    Session,
    Snapshot,
    TaskRow,
    Window,
)

_T = TypeVar("_T")

_TABLES: dict[str, tuple[str, Any]] = {
    "sessions": ("pk", Session),
    "windows": ("sid", Window),
    "checkpoints": ("sid", Checkpoint),
    "calls": ("sid", Call),
    "pins": ("sid", PinRow),
    "tasks": ("sid", TaskRow),
    "snapshots": ("sid", Snapshot),
    "inbox": ("sid", InboxRow),
    "messages": ("sid", Message),
    "prefixes": ("NULL", PrefixSnapshot),
}
"""Tables whose bodies hold text, with the column that names the session. Parts are seen to apart."""

_NAMES = (
    "id session_id parent_id project_id window_id prefix_id checkpoint_id previous_id message_id call_id foreign_id blob sha"
    " items_sha unit_hashes media_type format role origin kind state form writer purpose policy section reason outcome mode"
    " agent model provider by status owner tree when calls added closed checked promoted notes measured"
)
_FIXED = frozenset(_NAMES.split())
"""Fields that name a row or are one of a few words: not text."""


class Scrubber:
    """Replaces a text, as it is and as JSON would write it inside a string, and counts the places."""

    def __init__(self, text: str, marker: str) -> None:
        self.spellings = {text: marker}
        for ascii_only in (False, True):
            spelling = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
            self.spellings.setdefault(spelling, json.dumps(marker, ensure_ascii=ascii_only)[1:-1])
        self.count = 0
        self.moved: dict[str, tuple[str, int]] = {}
        """Blobs that held the text: their new address and size in bytes."""

    def text(self, value: str) -> str:
        for spelling, marker in self.spellings.items():
            self.count += value.count(spelling)
            value = value.replace(spelling, marker)
        return value

    def data(self, value: bytes) -> bytes:
        for spelling, marker in self.spellings.items():
            wanted = spelling.encode("utf-8", "surrogatepass")
            self.count += value.count(wanted)
            value = value.replace(wanted, marker.encode("utf-8", "surrogatepass"))
        return value

    def value(self, value: _T) -> _T:
        """The value with the text replaced in every string that is text."""
        result: Any = value
        if type(value) is str:
            result = self.text(str(value))
        elif isinstance(value, msgspec.Struct):
            result = self._struct(value)
        elif isinstance(value, tuple | list):
            result = type(value)([self.value(item) for item in value])
        elif isinstance(value, dict):
            result = {self.value(name): self.value(item) for name, item in value.items()}
        return result  # type: ignore[no-any-return]

    def _struct(self, value: msgspec.Struct) -> msgspec.Struct:
        fields = {name: getattr(value, name) for name in value.__struct_fields__ if name not in _FIXED}
        changes = {name: new for name, old in fields.items() if (new := self.value(old)) != old}
        if isinstance(value, Reasoning) and changes:
            changes |= {"signature": "", "redacted": ""}  # a signature over another text would be refused
        if isinstance(value, Image | File) and value.blob in self.moved:
            changes["blob"], changes["size"] = self.moved[value.blob]
        return msgspec.structs.replace(value, **changes)


def scrub(db: apsw.Connection, path: Path | None, blobs: Blobs, text: str, marker: str) -> int:
    """Replaces the text everywhere; the number of places. Seqs stay; blobs that held it get a new address.

    Raises UserMistake for an empty text, and where two databases share the blobs.
    """
    if not text:
        raise UserMistake("the text to scrub is empty", next_step="Give the text that must go.")
    refuse_shared(path)
    scrubber = Scrubber(text, marker)
    with immediate(db):
        for stored in list(blobs.all()):
            data = blobs.get(stored.sha) or b""
            clean = scrubber.data(data)
            if clean != data:
                scrubber.moved[stored.sha] = (blobs.put(clean), len(clean))
        touched = {sid for table in _TABLES for sid in _scrub_table(db, table, scrubber)}
        touched.update(_scrub_parts(db, scrubber))
        db.executemany("UPDATE sessions SET revision = revision + 1 WHERE pk = ?", ((sid,) for sid in touched))
    for sha in scrubber.moved:
        blobs.remove(sha)
    rewrite(db)
    return scrubber.count


def _holding(scrubber: Scrubber) -> tuple[str, list[bytes]]:
    """A condition that bodies with the text meet, before they are decoded."""
    needles = [needle(spelling) for spelling in scrubber.spellings] + [sha.encode() for sha in scrubber.moved]
    return " OR ".join(["substr(body, 1, 1) = x'20'", *(["instr(body, ?) > 0"] * len(needles))]), needles


def _scrub_table(db: apsw.Connection, table: str, scrubber: Scrubber) -> Iterator[int | None]:
    column, kind = _TABLES[table]
    condition, needles = _holding(scrubber)
    rows: list[Any] = db.execute(f"SELECT rowid, {column}, body FROM {table} WHERE {condition}", needles).fetchall()  # noqa: S608
    for rowid, sid, body in rows:
        old = decode(body, kind)
        new = scrubber.value(old)
        if new != old:
            db.execute(f"UPDATE {table} SET body = ? WHERE rowid = ?", (encode(new), rowid))  # noqa: S608
            yield sid


def _scrub_parts(db: apsw.Connection, scrubber: Scrubber) -> Iterator[int]:
    condition, needles = _holding(scrubber)
    rows: list[Any] = db.execute(f"SELECT message, idx, body FROM parts WHERE {condition}", needles).fetchall()  # noqa: S608
    changed: set[int] = set()
    for pk, idx, body in rows:
        old: Part = decode(body, Part)  # type: ignore[arg-type]
        new = scrubber.value(old)
        if new != old:
            db.execute("UPDATE parts SET body = ? WHERE message = ? AND idx = ?", (encode(new), pk, idx))
            changed.add(pk)
    for old_sha, (new_sha, _) in scrubber.moved.items():
        db.execute("UPDATE OR REPLACE blob_uses SET sha = ? WHERE sha = ?", (new_sha, old_sha))
    for pk in sorted(changed):
        sid, project_id, origin = db.execute(
            "SELECT s.pk, s.project_id, m.origin FROM messages m JOIN sessions s ON s.pk = m.sid WHERE m.pk = ?", (pk,)
        ).fetchone() or (0, "", "")
        if origin in index.INDEXED_ORIGINS:
            index.reindex(db, pk, index.scope(sid, project_id))
        yield sid
