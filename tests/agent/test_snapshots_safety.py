"""A snapshot runs nothing of the repository, changes nothing in it, and is for its owner alone (W-12)."""

import asyncio
import os
import shutil
import stat
from pathlib import Path

import pytest

from agent.kept_files import every_byte, git, names, prune, snapshots, take
from sojourn.agent.snapshots import Snapshots

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.design("W-12")
def test_the_users_repository_is_untouched_to_the_byte(work: Path) -> None:
    git(work, "init", "-q")
    (work / "a").write_text("a")
    git(work, "add", ".")
    git(work, "commit", "-qm", "one")
    (work / "a").write_text("b")
    before = every_byte(work / ".git")
    shots = snapshots(work)
    first = take(shots)
    (work / "a").write_text("c")
    (work / "n").write_text("n")
    second = take(shots)
    asyncio.run(shots.restore(second.tree, first.tree))
    asyncio.run(prune(shots, [first.tree]))
    assert (work / "a").read_text() == "b"
    assert not (work / "n").exists()
    assert every_byte(work / ".git") == before


@pytest.mark.design("W-12")
def test_a_hostile_repository_and_environment_run_nothing(work: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\necho run >>{tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    git(work, "init", "-q")
    hooks = work / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "pre-commit", "fsmonitor-watchman", "pre-auto-gc", "reference-transaction"):
        shutil.copy(trap, hooks / name)
    config = tmp_path / "hostile"
    config.write_text(
        f"[core]\n\tfsmonitor = {trap}\n\thooksPath = {hooks}\n\tpager = {trap}\n\tattributesFile = {tmp_path}/attributes\n"
        f"\texcludesFile = {tmp_path}/excludes\n"
        f'[filter "trap"]\n\tclean = {trap}\n\tsmudge = {trap}\n\tprocess = {trap}\n\trequired = true\n'
        f'[diff "trap"]\n\ttextconv = {trap}\n\tcommand = {trap}\n[alias]\n\tls-files = !{trap}\n'
    )
    (tmp_path / "attributes").write_text("* filter=trap diff=trap\n")
    (tmp_path / "excludes").write_text("*\n")
    with open(work / ".git" / "config", "a") as file:
        file.write(config.read_text())
    (work / ".gitattributes").write_text("* filter=trap diff=trap\n[attr]binary filter=trap\n")
    (work / "a").write_text("a")
    environ = dict(os.environ) | {
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_SYSTEM": str(config),
        "GIT_EXTERNAL_DIFF": str(trap),
        "GIT_DIR": str(work / ".git"),
        "GIT_INDEX_FILE": str(work / ".git" / "index"),
        "GIT_EXEC_PATH": "/nowhere",
        "GIT_TRACE": str(tmp_path / "sprung"),
    }
    before = every_byte(work / ".git")
    shots = snapshots(work, environ=environ)
    first = take(shots)
    (work / "a").write_text("b")
    second = take(shots)
    assert names(shots, first.tree) == [".gitattributes", "a"]
    asyncio.run(shots.restore(second.tree, first.tree))
    asyncio.run(prune(shots, []))
    assert (work / "a").read_text() == "a"
    assert not (tmp_path / "sprung").exists()
    assert every_byte(work / ".git") == before


@pytest.mark.design("W-12")
def test_the_store_is_for_its_owner_alone_and_one_for_each_folder(work: Path) -> None:
    (work / "a").write_text("a")
    shots = snapshots(work)
    take(shots)
    assert stat.S_IMODE(shots.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((shots.folder / "git").stat().st_mode) == 0o700
    assert shots.folder.parent == work.parent / "data" / "snapshots"
    others = {
        Snapshots(work.parent / "data", work.parent / name).folder.name for name in ("work", "Work", "w ork", "文", "x" * 99)
    }
    assert len(others) == 5
    assert shots.folder.name in others
    assert all(len(name) <= 57 and name.isascii() for name in others)
