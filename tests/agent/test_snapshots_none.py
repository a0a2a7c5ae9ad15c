"""Where no snapshot can be taken there is a reason, and nothing waits (W-12)."""

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from agent.kept_files import names, snapshots, take
from sojourn.agent import snapshots as module
from sojourn.agent.snapshot_types import Unavailable
from sojourn.agent.snapshots import Snapshots

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def reason(shots: Snapshots) -> str:
    taken = asyncio.run(shots.take())
    assert isinstance(taken, Unavailable), taken
    return taken.reason


@pytest.mark.design("W-12")
def test_home_what_is_above_it_and_the_root_have_none(work: Path) -> None:
    (work / "home" / "project").mkdir(parents=True)
    (work / "home" / "project" / "a").write_text("a")
    environ = dict(os.environ) | {"HOME": str(work / "home")}
    data = work.parent / "data"
    assert reason(Snapshots(data, work / "home", environ=environ)) == "the folder is the home folder"
    assert reason(Snapshots(data, work, environ=environ)) == f"the folder {work} is too much of the system"
    assert reason(Snapshots(data, Path("/"), environ=environ)) == "the folder / is too much of the system"
    take(Snapshots(data, work / "home" / "project", environ=environ))
    assert reason(Snapshots(data, work / "not there")) == f"the folder {work / 'not there'} is gone"


@pytest.mark.design("W-12")
def test_without_git_there_is_none(work: Path, tmp_path: Path) -> None:
    assert reason(snapshots(work, environ={"PATH": str(tmp_path), "HOME": "/nowhere"})) == "git is not installed"


@pytest.mark.design("W-12")
def test_too_many_files_is_a_reason_from_one_more_on(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.FILES_MOST == 50_000
    monkeypatch.setattr(module, "FILES_MOST", 3)
    for name in "abc":
        (work / name).write_text(name)
    shots = snapshots(work)
    assert names(shots, take(shots).tree) == ["a", "b", "c"]
    (work / "d").write_text("d")
    assert reason(shots) == "the folder has more than 3 files that are not ignored"


@pytest.mark.design("W-12")
def test_too_many_bytes_is_a_reason_from_one_more_on(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOTAL_MOST", 6)
    (work / "a").write_bytes(b"123")
    (work / "b").write_bytes(b"123")
    shots = snapshots(work)
    take(shots)
    (work / "b").write_bytes(b"1234")
    assert reason(shots) == "the folder has more than 6 bytes that are not ignored"


@pytest.mark.design("W-12")
def test_a_deadline_is_kept(work: Path, tmp_path: Path) -> None:
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nsleep 30\n")
    (slow / "git").chmod(0o755)
    began = time.monotonic()
    assert module.SECONDS == 20
    environ = dict(os.environ) | {"PATH": f"{slow}:{os.environ['PATH']}"}
    assert reason(snapshots(work, environ=environ, seconds=0.3)) == "looking at the files took longer than 0.3 seconds"
    assert time.monotonic() - began < 5


@pytest.mark.design("W-12")
def test_data_that_cannot_be_written_is_a_reason(work: Path) -> None:
    (work.parent / "data").write_text("a file in its place")
    assert "cannot be written" in reason(snapshots(work))
