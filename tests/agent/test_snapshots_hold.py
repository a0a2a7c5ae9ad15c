"""What a snapshot holds, and what it leaves out and names (W-12)."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from agent.kept_files import every_byte, git, held, kinds, names, nobody, snapshots, take
from sojourn.agent.snapshot_scan import FILE_MOST
from sojourn.agent.snapshot_types import shown
from sojourn.agent.snapshots import Snapshots

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.design("W-12")
def test_it_holds_what_git_would_track_and_what_nobody_ignores(work: Path) -> None:
    git(work, "init", "-q")
    (work / "src").mkdir()
    (work / "src" / "main.py").write_text("print(1)\n")
    (work / "名 字.txt").write_text("文字\n")
    (work / "two\nlines").write_text("x")
    (work / ".gitignore").write_text("build/\n*.log\n")
    (work / ".git" / "info" / "exclude").write_text("private.txt\n")
    (work / "private.txt").write_text("mine")
    (work / "build").mkdir()
    (work / "build" / "out.o").write_bytes(b"\0\1")
    (work / "noise.log").write_text("n")
    (work / "kept.log").write_text("k")
    git(work, "add", "-f", "kept.log")
    (work / "link").symlink_to("/etc/passwd")
    (work / "run.sh").write_text("#!/bin/sh\n")
    (work / "run.sh").chmod(0o755)
    os.mkfifo(work / "pipe")
    shots = snapshots(work)
    taken = take(shots)
    assert names(shots, taken.tree) == [".gitignore", "kept.log", "link", "run.sh", "src/main.py", "two\nlines", "名 字.txt"]
    modes = {path: entry.split()[0] for path, entry in held(shots, taken.tree).items()}
    assert modes["link"] == "120000"
    assert modes["run.sh"] == "100755"
    assert modes["src/main.py"] == "100644"
    assert taken.left_out == ()


@pytest.mark.design("W-12")
def test_a_folder_without_a_repository_is_as_good(work: Path) -> None:
    (work / "a").write_text("a")
    (work / "skip").write_text("s")
    (work / ".gitignore").write_text("skip\n")
    shots = snapshots(work)
    assert names(shots, take(shots).tree) == [".gitignore", "a"]
    assert not (work / ".git").exists()


@pytest.mark.design("W-12")
def test_an_empty_folder_has_a_snapshot(work: Path) -> None:
    shots = snapshots(work)
    empty = take(shots)
    assert names(shots, empty.tree) == []
    (work / "a").write_text("a")
    full = take(shots)
    assert kinds(shots, empty.tree, full.tree) == {"a": "added"}
    (work / "a").unlink()
    assert take(shots).tree == empty.tree


@pytest.mark.design("W-12")
def test_a_subfolder_heeds_what_its_repository_ignores_above_it(work: Path) -> None:
    git(work, "init", "-q")
    (work / ".gitignore").write_text("node_modules/\n/pkg/only-here\n")
    pkg = work / "pkg"
    (pkg / "node_modules").mkdir(parents=True)
    (pkg / "node_modules" / "big.js").write_text("x")
    (pkg / "only-here").write_text("x")
    (pkg / "a.js").write_text("a")
    (work / "outside.js").write_text("o")
    shots = Snapshots(work.parent / "data", pkg)
    assert names(shots, take(shots).tree) == ["a.js"]


@pytest.mark.design("W-12")
def test_a_folder_that_its_repository_ignores_is_looked_at_for_itself(work: Path) -> None:
    git(work, "init", "-q")
    (work / ".gitignore").write_text("scratch/\n")
    scratch = work / "scratch"
    scratch.mkdir()
    (scratch / "a").write_text("a")
    shots = Snapshots(work.parent / "data", scratch)
    assert names(shots, take(shots).tree) == ["a"]


@pytest.mark.design("W-12")
def test_a_worktree_uses_the_index_and_excludes_of_its_own(work: Path, tmp_path: Path) -> None:
    git(work, "init", "-q")
    (work / "a").write_text("a")
    git(work, "add", ".")
    git(work, "commit", "-qm", "one")
    (work / ".git" / "info" / "exclude").write_text("secret\n")
    tree = tmp_path / "tree"
    git(work, "worktree", "add", "-q", str(tree))
    (tree / "secret").write_text("s")
    (tree / "x.tmp").write_text("x")
    git(tree, "add", "x.tmp")
    (tree / ".gitignore").write_text("*.tmp\n")
    shots = Snapshots(tmp_path / "data", tree.resolve())
    assert names(shots, take(shots).tree) == [".gitignore", "a", "x.tmp"]


@pytest.mark.design("W-12")
def test_nested_repositories_are_left_alone_with_commits_or_without(work: Path) -> None:
    git(work, "init", "-q")
    for name in ("with", "without"):
        (work / name).mkdir()
        git(work / name, "init", "-q")
        (work / name / "f").write_text("f")
    git(work / "with", "add", ".")
    git(work / "with", "commit", "-qm", "one")
    (work / "a").write_text("a")
    shots = snapshots(work)
    before = every_byte(work / "with")
    assert names(shots, take(shots).tree) == ["a"]
    (work / "later").mkdir()
    (work / "later" / "f").write_text("f")
    (work / "later.txt").write_text("t")
    assert names(shots, take(shots).tree) == ["a", "later.txt", "later/f"]
    git(work / "later", "init", "-q")
    assert names(shots, take(shots).tree) == ["a", "later.txt"]
    assert every_byte(work / "with") == before


@pytest.mark.design("W-12")
def test_a_file_is_left_out_from_one_byte_over_ten_megabytes_on_and_named(work: Path) -> None:
    assert FILE_MOST == 10 * 1024 * 1024
    with open(work / "fits", "wb") as file:
        file.truncate(FILE_MOST)
    with open(work / "大.bin", "wb") as file:
        file.truncate(FILE_MOST + 1)
    shots = snapshots(work)
    first = take(shots)
    assert names(shots, first.tree) == ["fits"]
    assert first.left_out == ("大.bin",)
    with open(work / "大.bin", "ab") as file:
        file.write(b"more")
    second = take(shots)
    found = asyncio.run(shots.difference(first.tree, second.tree))
    assert found.changes == ()
    assert [shown(path) for path in found.unkept] == ["大.bin"]
    (work / "大.bin").write_bytes(b"small now")
    third = take(shots)
    found = asyncio.run(shots.difference(second.tree, third.tree))
    assert found.changes == ()
    assert [shown(path) for path in found.unkept] == ["大.bin"]
    assert asyncio.run(shots.difference(third.tree, third.tree)).unkept == ()


@pytest.mark.design("W-12")
def test_what_cannot_be_read_is_left_out_and_named(work: Path) -> None:
    (work / "a").write_text("a")
    (work / "closed").write_text("c")
    (work / "closed").chmod(0)
    with nobody(work.parent):
        shots = snapshots(work)
        taken = take(shots)
        assert names(shots, taken.tree) == ["a"]
        assert taken.left_out == ("closed",)


@pytest.mark.design("W-12")
def test_a_file_that_comes_to_be_ignored_is_still_followed(work: Path) -> None:
    (work / "a").write_text("1")
    shots = snapshots(work)
    first = take(shots)
    (work / ".gitignore").write_text("a\n")
    (work / "a").write_text("2")
    second = take(shots)
    assert kinds(shots, first.tree, second.tree) == {".gitignore": "added", "a": "changed"}


@pytest.mark.design("W-12")
def test_our_own_data_below_the_folder_is_not_in_it(work: Path) -> None:
    (work / "a").write_text("a")
    (work / ".data").mkdir()
    (work / ".data" / "record.db").write_text("db")
    (work / ".data-of-theirs").write_text("x")
    shots = Snapshots(work / ".data", work)
    assert names(shots, take(shots).tree) == [".data-of-theirs", "a"]


@pytest.mark.design("W-12")
def test_line_ends_and_attributes_change_no_byte(work: Path) -> None:
    (work / ".gitattributes").write_text("* text=auto eol=crlf ident working-tree-encoding=UTF-16 filter=lfs\n")
    content = b"a\r\nb\n$Id$\n\xff\xfe"
    (work / "t").write_bytes(content)
    shots = snapshots(work)
    first = take(shots)
    (work / "t").write_bytes(b"")
    second = take(shots)
    asyncio.run(shots.restore(second.tree, first.tree))
    assert (work / "t").read_bytes() == content
