"""The ``glob`` tool: files by name, the newest first (Y-5)."""

import asyncio
import os
from pathlib import Path
from typing import Any

from sojourn.tools.desk import Desk
from sojourn.tools.globs import matcher
from sojourn.tools.places import missing
from sojourn.tools.texts import text
from sojourn.tools.types import Outcome, Tool, failed, said
from sojourn.tools.walk import walk

LIMIT = 200


async def _glob(arguments: dict[str, Any], desk: Desk) -> Outcome:
    folder = desk.path(arguments.get("path", "."))
    if not folder.is_dir():
        if folder.exists():
            return failed(f"{desk.shown(folder)} is a file.", "Give a folder as path.")
        return failed(f"There is no {desk.shown(folder)}.", missing(desk.root, folder))
    pattern = matcher(arguments["pattern"])
    found = await asyncio.to_thread(_found, folder, pattern.fullmatch)
    if not found:
        return said("No file matches. Files that .gitignore names are left out.")
    lines = [desk.shown(folder / name) for name in found[:LIMIT]]
    if len(found) > LIMIT:
        lines.append(f"[... {len(found) - LIMIT:,} more, older ones]")
    return said("\n".join(lines))


def _found(folder: Path, wanted: Any) -> list[str]:
    """Newest first; of one age by name."""
    names = [name for name in walk(folder) if wanted(name)]
    return sorted(names, key=lambda name: (-_modified(folder / name), name))


def _modified(path: Path) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


GLOB = Tool(
    name="glob",
    description=text("glob"),
    schema={
        "type": "object",
        "properties": {"pattern": {"type": "string"}, "path": {"type": "string", "description": "folder"}},
        "required": ["pattern"],
    },
    effect="read",
    subject="path",
    run=_glob,
)
