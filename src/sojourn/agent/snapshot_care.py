"""What no session's record names any more leaves the snapshots (R-16, W-12)."""

import asyncio
import shutil
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sojourn.agent.snapshot_lock import held
from sojourn.agent.snapshot_types import NONE_TAKEN
from sojourn.agent.snapshots import SECONDS, Snapshots
from sojourn.agent.undo_journal import Journal
from sojourn.base import WorkFailed
from sojourn.record import Session, Store


class Erased(NamedTuple):
    freed: int
    """Bytes."""
    at_once: bool
    """False: a session may be at work in the folder, so what is younger than two hours stayed."""


async def prune_snapshots(data: Path, store: Store) -> int:
    """Prunes the snapshots of every folder; those of a folder that no session has any of go whole. What is younger than two
    hours stays. Answers the bytes freed. Raises WorkFailed."""
    freed = 0
    known: set[Path] = set()
    for root, keep in (await _trees(store)).items():
        snapshots = Snapshots(data, root)
        known.add(snapshots.folder)
        if await asyncio.to_thread(snapshots.folder.exists):
            async with snapshots.hold():
                freed += await snapshots.prune(keep)  # what was taken since is younger
    for folder in await asyncio.to_thread(_folders, data):
        if folder not in known:
            async with held(folder / "lock", SECONDS):
                if not await asyncio.to_thread(_fresh, folder):
                    freed += await asyncio.to_thread(_erase, folder)
    return freed


async def erase_snapshots(data: Path, store: Store, root: Path, erased: Sequence[str]) -> Erased:
    """What only the ``erased`` sessions (ids; they are gone from the record) had kept of this folder's files, and what they
    could redo. Other folders' snapshots are not looked at. Raises WorkFailed.

    It goes whatever its age where no session is at work in the folder. Looked at under the folder's lock: who begins
    afterwards waits, and then finds nothing that he had counted on, because the list of files last seen goes too. Else what
    is younger than two hours stays: a snapshot just taken is named by no row until its session has written one.
    """
    snapshots = Snapshots(data, root)
    if not await asyncio.to_thread(snapshots.folder.exists):
        return Erased(0, True)
    async with snapshots.hold():
        for session_id in erased:
            await asyncio.to_thread(Journal(snapshots).forget, session_id)
        at_once = not await _at_work(store, root)
        trees = await _trees(store)
        if root in trees or not at_once:
            return Erased(await snapshots.prune(trees[root], at_once=at_once), at_once)
        return Erased(await asyncio.to_thread(_erase, snapshots.folder), True)


async def _trees(store: Store) -> defaultdict[Path, set[str]]:
    """Of every folder that a session has snapshots of, or could not take any of."""
    trees: defaultdict[Path, set[str]] = defaultdict(set)
    for session in await store.sessions():
        for row in await store.snapshots(session.id):
            kept = trees[Path(row.root)]
            if not row.tree.startswith(NONE_TAKEN):
                kept.add(row.tree)
    return trees


async def _at_work(store: Store, root: Path) -> bool:
    """Whether a session that may keep files of this folder is held by anybody now."""
    for session in await store.sessions():
        if await store.holder(session.id) is not None and await asyncio.to_thread(_may_be_in, session, root):
            return True
    return False


def _may_be_in(session: Session, root: Path) -> bool:
    """A session goes on in another folder than its own only where that is gone."""
    return not session.cwd or Path(session.cwd) == root or not Path(session.cwd).is_dir()


def _folders(data: Path) -> list[Path]:
    place = data / "snapshots"
    return sorted(path for path in place.iterdir() if path.is_dir()) if place.is_dir() else []


def _fresh(folder: Path) -> bool:
    """A session that has just begun may have taken its first, whose row is on its way."""
    newest = max((path.stat().st_mtime for path in (folder / "taken.jsonl", folder / "lock") if path.exists()), default=0.0)
    return time.time() - newest < 2 * 3_600


def _erase(folder: Path) -> int:
    """All but the lock, which somebody may wait for. Raises WorkFailed."""
    try:
        size = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "lock":
                path.unlink()
    except OSError as error:
        raise WorkFailed(f"{error.filename or folder} cannot be removed: {error.strerror or error}") from error
    return size
