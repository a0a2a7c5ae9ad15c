"""The ``edit`` tool: exact replacements in one file, together or not at all (Y-5)."""

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec

from sojourn.record import Touch
from sojourn.tools.changes import Change, change
from sojourn.tools.desk import Desk
from sojourn.tools.matching import NoMatch, find
from sojourn.tools.places import kind, missing
from sojourn.tools.textfile import THREAD_FROM, WHOLE_MOST, Offsets, TextFile, newline_of, parse, save, unified
from sojourn.tools.texts import text
from sojourn.tools.types import Outcome, Tool, failed, said


class _Edited(msgspec.Struct, frozen=True):
    raw: str
    places: int
    tolerant: tuple[int, ...]
    """Edits (from 1) that matched up to white space only."""


async def _edit(arguments: dict[str, Any], desk: Desk) -> Outcome:
    path = desk.path(arguments["path"])
    name = desk.shown(path)
    edits = arguments["edits"]
    if not edits:
        return failed("edits is empty.", "Give one edit at least.")
    async with desk.lock(path):
        try:
            stat = path.stat()
        except FileNotFoundError:
            return failed(f"There is no {name}.", f"{missing(desk.root, path)}\nNew files are made with write.")
        if (what := kind(stat)) != "file":
            return failed(f"{name} is {what}.", "Name a file.")
        if stat.st_size > WHOLE_MOST:
            return failed(f"{name} has {stat.st_size:,} bytes: too large to edit here.", "Use a program in bash (sed).")
        if stat.st_size > THREAD_FROM:
            return await asyncio.to_thread(_edit_file, path, stat, edits, desk)
        return _edit_file(path, stat, edits, desk)


def _edit_file(path: Path, stat: os.stat_result, edits: list[dict[str, Any]], desk: Desk) -> Outcome:
    name = desk.shown(path)
    data = path.read_bytes()
    if desk.seen.changed(path, stat, data):
        return failed(f"{name} changed on disk since you read it: nothing was edited.", "Read it again, then edit.")
    file = parse(data)
    if file is None:
        return failed(f"{name} is not text that could be written back as it is.", "Use a program in bash.")
    edited = _applied(file, edits)
    if isinstance(edited, NoMatch):
        return failed(f"{name}: {edited.reason} Nothing was edited.", edited.next_step)
    new = file.bytes(edited.raw)
    desk.seen.note(path, save(path, new, stat), new)
    return _told(name, path, change(file.view, unified(edited.raw)), edited)


def _told(name: str, path: Path, made: Change, edited: _Edited) -> Outcome:
    places = f"{edited.places} place{'s' if edited.places != 1 else ''}"
    head = f"Edited {name}: {places}, +{made.added} -{made.removed} lines"
    if edited.tolerant:
        which = ", ".join(map(str, edited.tolerant))
        head += f"\nEdit {which} matched only up to white space: look at what was replaced."
    return said(f"{head}\n{made.excerpt}" if made.excerpt else head, Touch(str(path), "edit", made.lines))


def _applied(file: TextFile, edits: list[dict[str, Any]]) -> _Edited | NoMatch:
    """The text after all edits, each on what the ones before it made."""
    raw, places, tolerant = file.raw, 0, []
    for number, one in enumerate(edits, 1):
        which = f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        old, new = unified(one["old"]), unified(one["new"])
        if not old:
            return NoMatch(f"{which}old is empty.", "Take the lines before and after the place into old and new.")
        if old == new:
            return NoMatch(f"{which}old and new are the same.", "Leave that edit out.")
        found = find(unified(raw), old, new, everywhere=one.get("all", False))
        if isinstance(found, NoMatch):
            return msgspec.structs.replace(found, reason=f"{which}{found.reason}")
        raw = _replaced(raw, found.spans, found.new)
        places += len(found.spans)
        if found.tolerant:
            tolerant.append(number)
    return _Edited(raw, places, tuple(tolerant))


def _replaced(raw: str, spans: tuple[tuple[int, int], ...], new: str) -> str:
    """``spans`` are of the text with ``\\n`` line ends; what goes in gets the line ends of what it replaces."""
    if "\r" not in raw:
        pieces, at = [], 0
        for start, end in spans:
            pieces += [raw[at:start], new]
            at = end
        return "".join([*pieces, raw[at:]])
    offsets, common = Offsets(raw), newline_of(raw)
    pieces, at = [], 0
    for start, end in spans:
        here, there = offsets.raw(start), offsets.raw(end)
        gone = raw[here:there]
        newline = newline_of(gone) if "\n" in gone or "\r" in gone else common
        pieces += [raw[at:here], new.replace("\n", newline)]
        at = there
    return "".join([*pieces, raw[at:]])


EDIT = Tool(
    name="edit",
    description=text("edit"),
    schema={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "old": {"type": "string"},
                        "new": {"type": "string"},
                        "all": {"type": "boolean", "description": "every occurrence"},
                    },
                    "required": ["old", "new"],
                },
            },
        },
        "required": ["path", "edits"],
    },
    effect="edit",
    subject="path",
    run=_edit,
)
