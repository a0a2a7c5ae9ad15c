"""Snapshots that nothing names go, and what is fresh stays (W-12, R-16)."""

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from agent.kept_files import kinds, names, prune, snapshots, take
from sojourn.agent.snapshots import Snapshots
from sojourn.base import WorkFailed

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def _age(shots: Snapshots) -> None:
    """Three hours pass."""
    for path in (shots.folder / "git").rglob("*"):
        then = time.time() - 3 * 3_600
        os.utime(path, (then, then))


@pytest.mark.design("W-12", "R-16")
def test_prune_keeps_what_is_named_and_what_is_fresh(work: Path) -> None:
    shots = snapshots(work)
    trees = []
    for n in range(4):
        (work / "a").write_bytes(os.urandom(50_000))
        (work / "only").write_text(str(n))
        trees.append(take(shots).tree)
    asyncio.run(prune(shots, [trees[1]]))
    for tree in trees:
        assert names(shots, tree) == ["a", "only"]  # all of it is fresh
    _age(shots)
    freed = asyncio.run(prune(shots, [trees[1], "0" * 40]))
    assert freed > 90_000
    assert kinds(shots, trees[1], trees[1]) == {}
    for tree in (trees[0], trees[2]):
        with pytest.raises(WorkFailed):
            asyncio.run(shots.difference(tree, trees[1]))
    now = take(shots)
    assert now.tree == trees[3]
    asyncio.run(shots.restore(trees[3], trees[1]))
    assert (work / "only").read_text() == "1"
    _age(shots)
    asyncio.run(prune(shots, [trees[3]]))
    with pytest.raises(WorkFailed):
        asyncio.run(shots.difference(trees[1], trees[3]))
