"""The ``read`` tool: a file as a model can use it.

Text comes without line numbers. Measured over this package's own source (o200k), ``12<tab>`` before each line costs 12%
more tokens and right-aligned numbers 31% more, in the results that fill a session most; and text without numbers can be
copied into ``edit`` as it stands. Lines are cited from grep, or counted from the header of a part.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

from sojourn.record import Image, Text, Touch
from sojourn.tools.bigfile import part_of_big_file
from sojourn.tools.desk import Desk
from sojourn.tools.notebook import notebook_text
from sojourn.tools.pdf import pdf_text
from sojourn.tools.pictures import picture_type, prepare
from sojourn.tools.places import kind, missing
from sojourn.tools.textfile import readable
from sojourn.tools.texts import text
from sojourn.tools.types import Outcome, Tool, failed, said

READ_MOST = 1 << 20
"""Bytes of a text that are shown at once; a longer file is never in memory whole."""
_LOAD_MOST = 64 << 20
"""Bytes of a picture or notebook."""
_PDF_MARK = b"%PDF-"
_ENTRIES_MOST = 100


async def _read(arguments: dict[str, Any], desk: Desk) -> Outcome:
    path = desk.path(arguments["path"])
    try:
        stat = path.stat()
    except FileNotFoundError:
        return failed(f"There is no {desk.shown(path)}.", missing(desk.root, path))
    what = kind(stat)
    if what == "a folder":
        return said(_listing(path, desk))
    if what != "file":
        return failed(f"{desk.shown(path)} is {what}.", "Use bash where it has to be read.")
    with path.open("rb") as file:
        # Some files (/proc) say that they are empty and are not: what is there counts, not what the size says.
        data = file.read(READ_MOST + 1)
    offset, limit = arguments.get("offset"), arguments.get("limit")
    if (media := picture_type(data)) is not None:
        return await _picture(path, stat, data, media, desk)
    if _PDF_MARK in data[:1024]:
        desk.seen.note(path, stat)
        return await pdf_text(path, stat.st_size, desk.shown(path), (offset or 1, limit))
    if path.suffix == ".ipynb" and stat.st_size <= _LOAD_MOST:
        whole = data if len(data) <= READ_MOST else await asyncio.to_thread(path.read_bytes)
        rendered = notebook_text(whole)
        if rendered is not None:
            desk.seen.note(path, stat, whole)
            return _text(rendered, "notebook; edit and grep see its JSON", path, (offset, limit), desk)
    if len(data) > READ_MOST:
        return await _big(path, stat, (offset or 1, limit), desk)
    found = readable(data)
    if found is None:
        return _binary(path, stat, desk)
    desk.seen.note(path, stat, data)
    return _text(*found, path, (offset, limit), desk)


def _text(shown: str, note: str, path: Path, part: tuple[int | None, int | None], desk: Desk) -> Outcome:
    """The whole text, or the lines asked for under a header that says which they are."""
    count = shown.count("\n") + (shown != "" and not shown.endswith("\n"))
    first, limit = part[0] or 1, part[1] or count
    if first > max(1, count):
        return failed(f"{desk.shown(path)} has {count:,} lines: {first:,} is behind its end.", "Take a smaller offset.")
    last = min(count, first + limit - 1)
    touch = Touch(str(path), "read", (first, last) if count else None)
    if count == 0:
        return said(f"[{desk.shown(path)} is empty]", touch)
    head = [f"lines {first}-{last} of {count}"] if (first, last) != (1, count) else []
    if head:
        shown = "\n".join(shown.split("\n")[first - 1 : last])
    if note:
        head.append(note)
    return said(f"[{desk.shown(path)}: {'; '.join(head)}]\n{shown}" if head else shown, touch)


async def _big(path: Path, stat: os.stat_result, part: tuple[int, int | None], desk: Desk) -> Outcome:
    found = await asyncio.to_thread(part_of_big_file, path, part[0], part[1], READ_MOST)
    if found is None:
        return _binary(path, stat, desk)
    desk.seen.note(path, stat)
    name = desk.shown(path)
    if found.count == 0:
        return failed(f"{name} has {found.passed:,} lines: {part[0]:,} is behind its end.", "Take a smaller offset.")
    last = part[0] + found.count - 1
    head = f"{name}: lines {part[0]}-{last} of a file of {stat.st_size:,} bytes"
    if found.cut:
        head += f"; line {last} is cut after {READ_MOST:,} bytes"
    if found.more:
        head += f"; read on with offset {last + 1}"
    if found.note:
        head += f"; {found.note}"
    return said(f"[{head}]\n{found.text}", Touch(str(path), "read", (part[0], last)))


async def _picture(path: Path, stat: os.stat_result, data: bytes, media: str, desk: Desk) -> Outcome:
    name = desk.shown(path)
    if desk.put_blob is None:
        return failed(f"{name} is a picture, and pictures cannot be kept here.", "Ask the user what it shows.")
    if stat.st_size > _LOAD_MOST:
        return failed(f"{name} is a picture of {stat.st_size:,} bytes: too large.", "Scale it down with a program first.")
    if len(data) > READ_MOST:
        data = await asyncio.to_thread(path.read_bytes)
    ready = await prepare(data, media, name)
    blob = await desk.put_blob(ready.data)
    desk.seen.note(path, stat, data)
    image = Image(blob, ready.media_type, len(ready.data), ready.pixels, name=path.name)
    line = f"{name}: picture, {ready.pixels[0]}x{ready.pixels[1]}"
    if ready.was != ready.pixels:
        line += f", scaled down from {ready.was[0]}x{ready.was[1]}"
    return Outcome((Text(f"[{line}]"), image), touches=(Touch(str(path), "read"),))


def _binary(path: Path, stat: os.stat_result, desk: Desk) -> Outcome:
    name = desk.shown(path)
    return failed(f"{name} is not text ({stat.st_size:,} bytes).", f"Look at it with bash: file {name}; xxd {name} | head")


def _listing(path: Path, desk: Desk) -> str:
    with os.scandir(path) as entries:
        names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in entries)
    kept = names[:_ENTRIES_MOST]
    if len(names) > len(kept):
        kept.append(f"[... {len(names) - len(kept):,} more: use glob]")
    return "\n".join([f"[{desk.shown(path)} is a folder]", *(kept or ["(nothing in it)"])])


READ = Tool(
    name="read",
    description=text("read"),
    schema={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "offset": {"type": "integer", "minimum": 1, "description": "first line (PDF: page)"},
            "limit": {"type": "integer", "minimum": 1, "description": "lines (PDF: pages)"},
        },
        "required": ["path"],
    },
    effect="read",
    subject="path",
    run=_read,
)
