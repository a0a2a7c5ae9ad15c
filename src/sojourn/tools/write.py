"""The ``write`` tool: a whole file (Y-5)."""

import asyncio
import os
from pathlib import Path
from typing import Any

from sojourn.record import Touch
from sojourn.tools.changes import change
from sojourn.tools.desk import Desk
from sojourn.tools.places import kind
from sojourn.tools.textfile import THREAD_FROM, WHOLE_MOST, TextFile, parse, save, unified
from sojourn.tools.texts import text
from sojourn.tools.types import Outcome, Tool, failed, said


async def _write(arguments: dict[str, Any], desk: Desk) -> Outcome:
    path, content = desk.path(arguments["path"]), arguments["content"]
    async with desk.lock(path):
        try:
            stat = path.stat()
        except FileNotFoundError:
            stat = None
        if max(len(content), stat.st_size if stat else 0) > THREAD_FROM:
            return await asyncio.to_thread(_write_file, path, stat, content, desk)
        return _write_file(path, stat, content, desk)


def _write_file(path: Path, stat: os.stat_result | None, content: str, desk: Desk) -> Outcome:
    name, lines = desk.shown(path), content.count("\n") + (content != "" and not content.endswith("\n"))
    touch = Touch(str(path), "write", (1, lines) if lines else None)
    counted = f"{lines} line{'s' if lines != 1 else ''}"
    if stat is None:
        new = content.encode()
        desk.seen.note(path, save(path, new, None), new)
        return said(f"Created {name}: {counted}", touch)
    if (what := kind(stat)) != "file":
        return failed(f"{name} is {what}.", "Name a file.")
    if stat.st_size and not desk.seen.knows(path):
        return failed(f"{name} exists and you have not read it: nothing was written.", "Read it first, or use edit.")
    old = path.read_bytes() if stat.st_size <= WHOLE_MOST else None
    if desk.seen.changed(path, stat, old):
        return failed(f"{name} changed on disk since you read it: nothing was written.", "Read it again first.")
    file = parse(old) if old else None
    raw, kept = _as_before(file, content)
    new = file.bytes(raw) if file else raw.encode()
    desk.seen.note(path, save(path, new, stat), new)
    made = f" (+{diff.added} -{diff.removed})" if file and (diff := change(file.view, unified(raw))) else ""
    return said(f"Wrote {name}: {counted}{made}{kept}", touch)


def _as_before(file: TextFile | None, content: str) -> tuple[str, str]:
    """The content with the line ends that the file had (a model sees and writes ``\\n`` only), and what to say of it."""
    if file is None:
        return content, ""
    kept = [] if file.codec == "utf-8" else [file.codec]
    newline = file.newline
    if newline != "\n" and "\r" not in content:
        content = content.replace("\n", newline)
        kept.append("CRLF" if newline == "\r\n" else "CR")
    return content, f", {' and '.join(kept)} kept" if kept else ""


WRITE = Tool(
    name="write",
    description=text("write"),
    schema={
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
    effect="edit",
    subject="path",
    run=_write,
)
