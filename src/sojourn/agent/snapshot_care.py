"""What no session's record names any more leaves the snapshots (R-16, W-12)."""

import asyncio
import shutil
import time
from collections import defaultdict
from pathlib import Path

from sojourn.agent.snapshot_lock import held
from sojourn.agent.snapshot_types import NONE_TAKEN
from sojourn.agent.snapshots import SECONDS, Snapshots
from sojourn.record import Store


async def prune_snapshots(data: Path, store: Store, *, at_once: bool = False) -> int:
    """Prunes the snapshots of every folder; those of a folder that no session has any of go whole. Answers the bytes freed.

    What is younger than two hours stays, unless ``at_once`` (a person erases): no session may be at work then. Raises
    WorkFailed.
    """
    trees: dict[Path, set[str]] = defaultdict(set)
    for session in await store.sessions():
        for row in await store.snapshots(session.id):
            kept = trees[Path(row.root)]
            if not row.tree.startswith(NONE_TAKEN):
                kept.add(row.tree)
    freed = 0
    known: set[Path] = set()
    for root, keep in trees.items():
        snapshots = Snapshots(data, root)
        known.add(snapshots.folder)
        if await asyncio.to_thread(snapshots.folder.exists):
            freed += await snapshots.prune(keep, at_once=at_once)
    for folder in await asyncio.to_thread(_folders, data):
        if folder not in known and (at_once or not await asyncio.to_thread(_fresh, folder)):
            async with held(folder / "lock", SECONDS):
                freed += await asyncio.to_thread(_erase, folder)
    return freed


def _folders(data: Path) -> list[Path]:
    place = data / "snapshots"
    return sorted(path for path in place.iterdir() if path.is_dir()) if place.is_dir() else []


def _fresh(folder: Path) -> bool:
    """A session that has just begun may have taken its first, whose row is on its way."""
    newest = max((path.stat().st_mtime for path in (folder / "taken.jsonl", folder / "lock") if path.exists()), default=0.0)
    return time.time() - newest < 2 * 3_600


def _erase(folder: Path) -> int:
    """All but the lock, which somebody may wait for."""
    size = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lock":
            path.unlink()
    return size
