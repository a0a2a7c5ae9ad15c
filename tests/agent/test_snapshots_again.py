"""Snapshots taken again and again, by several at once, after a crash (W-12)."""

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from agent.kept_files import blob, held, kinds, snapshots, take
from sojourn.agent.snapshot_types import Taken, Unavailable

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.design("W-12")
def test_what_a_killed_git_left_does_not_stand_in_the_way(work: Path) -> None:
    (work / "a").write_text("a")
    shots = snapshots(work)
    first = take(shots)
    (shots.folder / "git" / "index.lock").write_text("")
    (work / "a").write_text("b")
    second = take(shots)
    assert kinds(shots, first.tree, second.tree) == {"a": "changed"}
    (shots.folder / "git" / "index").write_bytes(b"not an index")
    assert take(shots).tree == second.tree


@pytest.mark.design("W-12")
def test_a_making_that_was_cut_off_is_ended(work: Path) -> None:
    (work / ".gitattributes").write_text("* text eol=lf\n")
    (work / "a").write_bytes(b"a\r\n")
    shots = snapshots(work)
    (shots.folder / "git").mkdir(parents=True)
    (shots.folder / "git" / "HEAD").write_text("ref: refs/heads/x\n")
    assert held(shots, take(shots).tree)["a"].split()[1] == blob(b"a\r\n")


@pytest.mark.design("W-12")
def test_a_lock_is_waited_for_and_then_it_is_a_reason(work: Path) -> None:
    (work / "a").write_text("a")

    async def main() -> None:
        one, other = snapshots(work), snapshots(work, seconds=0.2)
        async with one.hold():
            late = await other.take()
            assert isinstance(late, Unavailable)
            assert "another session" in late.reason
            waiting = asyncio.create_task(snapshots(work).take())
            await asyncio.sleep(0.1)
            assert not waiting.done()
        assert isinstance(await waiting, Taken)

    asyncio.run(main())


@pytest.mark.design("W-12")
def test_a_cancel_ends_git_and_leaves_the_lock_free(work: Path, tmp_path: Path) -> None:
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nsleep 30\n")
    (slow / "git").chmod(0o755)
    environ = dict(os.environ) | {"PATH": f"{slow}:{os.environ['PATH']}"}

    async def main() -> None:
        task = asyncio.create_task(snapshots(work, environ=environ).take())
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert isinstance(await snapshots(work, seconds=5).take(), Taken)

    began = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - began < 10


@pytest.mark.design("W-12")
def test_takes_at_once_wait_for_each_other(work: Path) -> None:
    for n in range(50):
        (work / f"f{n}").write_text(str(n))

    async def main() -> None:
        taken = await asyncio.gather(*(snapshots(work).take() for _ in range(4)))
        assert len({one.tree for one in taken if isinstance(one, Taken)}) == 1
        assert all(isinstance(one, Taken) for one in taken)

    asyncio.run(main())
