"""Snapshots of a working folder: what they hold, what they leave alone, what they compare to, what they put back (W-12)."""

import asyncio
import contextlib
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha1, sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.agent import snapshots as module
from sojourn.agent.putting_back import Differs, NotPut
from sojourn.agent.snapshot_scan import FILE_MOST
from sojourn.agent.snapshot_types import Facts, Taken, Unavailable, decode_facts, encode_facts, shown
from sojourn.agent.snapshots import Snapshots
from sojourn.base import WorkFailed

QUIET = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, env=QUIET, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder.resolve()


def snapshots(work: Path, **options: object) -> Snapshots:
    return Snapshots(work.parent / "data", work, **options)  # type: ignore[arg-type]


def take(shots: Snapshots) -> Taken:
    taken = asyncio.run(shots.take())
    assert isinstance(taken, Taken), taken
    return taken


async def prune(shots: Snapshots, keep: list[str]) -> int:
    async with shots.hold():
        return await shots.prune(keep)


def reason(shots: Snapshots) -> str:
    taken = asyncio.run(shots.take())
    assert isinstance(taken, Unavailable), taken
    return taken.reason


def held(shots: Snapshots, tree: str) -> dict[str, str]:
    """Mode and content by path."""
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "-z", f"{tree}:files"],
        env=QUIET | {"GIT_DIR": str(shots.folder / "git")},
        check=True,
        capture_output=True,
    ).stdout
    found = {}
    for line in listed.split(b"\0")[:-1]:
        head, path = line.split(b"\t", 1)
        mode, _, sha = head.decode().split()
        found[os.fsdecode(path)] = f"{mode} {sha}"
    return found


def names(shots: Snapshots, tree: str) -> list[str]:
    return sorted(held(shots, tree))


def kinds(shots: Snapshots, before: str, after: str) -> dict[str, str]:
    found = asyncio.run(shots.difference(before, after))
    return {shown(change.path): change.kind for change in found.changes}


def picture(folder: Path) -> dict[str, tuple[str, int, bytes]]:
    """Everything below the folder but repositories: kind, permissions, content."""
    found: dict[str, tuple[str, int, bytes]] = {}
    for base, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one != ".git"]
        for name in (*files, *folders):
            path = Path(base, name)
            bits = stat.S_IMODE(path.lstat().st_mode)
            key = str(path.relative_to(folder))
            if path.is_symlink():
                found[key] = ("link", 0, os.fsencode(os.readlink(path)))
            elif path.is_dir():
                found[key] = ("folder", 0, b"")
            else:
                found[key] = ("file", bits, path.read_bytes())
    return found


def every_byte(folder: Path) -> str:
    """Of all that lies below, names, times and permissions included."""
    digest = sha256()
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        digest.update(f"{path} {info.st_mode} {info.st_mtime_ns} {info.st_ino} {info.st_size}\n".encode())
        if path.is_file() and not path.is_symlink():
            digest.update(path.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def nobody(folder: Path) -> Iterator[None]:
    """As somebody whom permissions hold; the folder and all in it are theirs."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, 65_534, 65_534)
    for parent in folder.parents:
        if parent.stat().st_mode & 0o1 == 0 and parent.stat().st_uid == 0:
            parent.chmod(parent.stat().st_mode | 0o011)
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


# --- what is in it ---------------------------------------------------------------------------------------------------


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


# --- safety ------------------------------------------------------------------------------------------------------------


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


# --- when there is none ------------------------------------------------------------------------------------------------


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


# --- again and again ---------------------------------------------------------------------------------------------------


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


def blob(data: bytes) -> str:
    return sha1(b"blob %d\0" % len(data) + data).hexdigest()


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


# --- comparing and putting back ----------------------------------------------------------------------------------------


@pytest.mark.design("W-12")
def test_every_kind_of_change_is_seen_and_put_back(work: Path) -> None:
    (work / "text.txt").write_text("one\n")
    (work / "binary").write_bytes(bytes(range(256)) * 10)
    (work / "gone 名.txt").write_text("gone")
    (work / "old name").write_text("renamed")
    (work / "tool").write_text("#!/bin/sh\n")
    (work / "tool").chmod(0o755)
    (work / "link").symlink_to("text.txt")
    (work / "was-file").write_text("f")
    (work / "was-folder" / "deep").mkdir(parents=True)
    (work / "was-folder" / "deep" / "x").write_text("x")
    (work / "becomes-link").write_text("b")
    (work / "private").write_text("p")
    (work / "private").chmod(0o600)
    shots = snapshots(work)
    first, before = take(shots), picture(work)

    (work / "text.txt").write_text("two\n")
    (work / "binary").write_bytes(b"\0\0")
    (work / "gone 名.txt").unlink()
    (work / "old name").rename(work / "new name")
    (work / "tool").chmod(0o644)
    (work / "link").unlink()
    (work / "link").symlink_to("/etc/passwd")
    (work / "was-file").unlink()
    (work / "was-file" / "inside").mkdir(parents=True)
    (work / "was-file" / "inside" / "y").write_text("y")
    shutil.rmtree(work / "was-folder")
    (work / "was-folder").write_text("now a file")
    (work / "becomes-link").unlink()
    (work / "becomes-link").symlink_to("binary")
    (work / "private").unlink()
    (work / "new" / "folder").mkdir(parents=True)
    (work / "new" / "folder" / "n").write_text("n")
    second, after = take(shots), picture(work)
    assert kinds(shots, first.tree, second.tree) == {
        "text.txt": "changed",
        "binary": "changed",
        "gone 名.txt": "removed",
        "old name": "removed",
        "new name": "added",
        "tool": "changed",
        "link": "changed",
        "was-file": "removed",
        "was-file/inside/y": "added",
        "was-folder/deep/x": "removed",
        "was-folder": "added",
        "becomes-link": "changed",
        "private": "removed",
        "new/folder/n": "added",
    }
    done = asyncio.run(shots.restore(second.tree, first.tree))
    assert len(done.changes) == 14
    assert picture(work) == before
    assert take(shots).tree == first.tree
    asyncio.run(shots.restore(first.tree, second.tree))
    assert picture(work) == after


@pytest.mark.design("W-12")
def test_permissions_alone_are_a_change(work: Path) -> None:
    for name in ("key", "other", "run", "z"):
        (work / name).write_text(name)
    (work / "run").chmod(0o755)
    shots = snapshots(work)
    first, before = take(shots), picture(work)
    (work / "key").chmod(0o600)
    (work / "run").chmod(0o700)
    second, middle = take(shots), picture(work)
    assert kinds(shots, first.tree, second.tree) == {"key": "changed", "run": "changed"}
    for name in ("key", "other", "z"):  # now 0600 is what most files have
        (work / name).chmod(0o600)
    third = take(shots)
    assert kinds(shots, first.tree, third.tree) == {"key": "changed", "other": "changed", "run": "changed", "z": "changed"}
    assert kinds(shots, second.tree, third.tree) == {"other": "changed", "z": "changed"}
    asyncio.run(shots.restore(third.tree, second.tree))
    assert picture(work) == middle
    asyncio.run(shots.restore(second.tree, first.tree))
    assert picture(work) == before


@pytest.mark.design("W-12")
def test_only_the_named_paths_are_put_back(work: Path) -> None:
    (work / "a").write_text("1")
    (work / "b").write_text("1")
    shots = snapshots(work)
    first = take(shots)
    (work / "a").write_text("2")
    (work / "b").write_text("2")
    second = take(shots)
    asyncio.run(shots.restore(second.tree, first.tree, [b"b"]))
    assert ((work / "a").read_text(), (work / "b").read_text()) == ("2", "1")


@pytest.mark.design("W-12")
def test_a_folder_with_something_else_in_it_stays(work: Path) -> None:
    (work / ".gitignore").write_text("*.o\n")
    shots = snapshots(work)
    first = take(shots)
    (work / "out" / "empty").mkdir(parents=True)
    (work / "out" / "a.c").write_text("c")
    (work / "out" / "a.o").write_text("o")
    (work / "all").mkdir()
    (work / "all" / "b.c").write_text("c")
    second = take(shots)
    asyncio.run(shots.restore(second.tree, first.tree))
    assert sorted(picture(work)) == [".gitignore", "out", "out/a.o", "out/empty"]


@pytest.mark.design("W-12")
def test_one_file_that_is_not_what_it_should_be_stops_everything(work: Path) -> None:
    for name in "abc":
        (work / name).write_text("1")
    shots = snapshots(work)
    first = take(shots)
    for name in "abc":
        (work / name).write_text("2")
    second = take(shots)
    (work / "b").write_text("mine")
    (work / "c").unlink()
    before = every_byte(work)
    with pytest.raises(Differs) as caught:
        asyncio.run(shots.restore(second.tree, first.tree))
    assert caught.value.paths == (b"b", b"c")
    assert every_byte(work) == before


@pytest.mark.design("W-12")
def test_a_file_in_the_place_of_one_that_was_removed_is_not_overwritten(work: Path) -> None:
    (work / "a").write_text("1")
    shots = snapshots(work)
    first = take(shots)
    (work / "a").unlink()
    second = take(shots)
    (work / "a").write_text("mine")
    with pytest.raises(Differs):
        asyncio.run(shots.restore(second.tree, first.tree))
    assert (work / "a").read_text() == "mine"


@pytest.mark.design("W-12")
@pytest.mark.parametrize("after", ["link to a folder outside", "link to the same content"])
def test_links_are_never_followed(work: Path, tmp_path: Path, after: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("2")
    (work / "d").mkdir()
    (work / "d" / "f").write_text("1")
    shots = snapshots(work)
    first = take(shots)
    (work / "d" / "f").write_text("2")
    second = take(shots)
    if after == "link to a folder outside":
        shutil.rmtree(work / "d")
        (work / "d").symlink_to(outside)
    else:
        (work / "d" / "f").unlink()
        (work / "d" / "f").symlink_to(outside / "f")
    with pytest.raises(Differs):
        asyncio.run(shots.restore(second.tree, first.tree))
    assert (outside / "f").read_text() == "2"
    assert [path.name for path in outside.iterdir()] == ["f"]


@pytest.mark.design("W-12")
def test_a_folder_that_became_a_link_gets_nothing_new(work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (work / "d").mkdir()
    (work / "d" / "f").write_text("1")
    shots = snapshots(work)
    first = take(shots)
    (work / "d" / "f").unlink()
    second = take(shots)
    (work / "d").rmdir()
    (work / "d").symlink_to(outside)
    with pytest.raises(Differs):
        asyncio.run(shots.restore(second.tree, first.tree))
    assert list(outside.iterdir()) == []
    assert sorted(path.name for path in work.iterdir()) == ["d"]


@pytest.mark.design("W-12")
def test_a_folder_that_may_not_be_written_leaves_everything_as_it_was_with_the_reason(work: Path) -> None:
    for folder in ("a", "locked", "z"):
        (work / folder).mkdir()
        (work / folder / "f").write_text("1")
    shots = snapshots(work)
    with nobody(work.parent):
        first = take(shots)
        for folder in ("a", "locked", "z"):
            (work / folder / "f").write_text("2")
            (work / folder / "f").chmod(0o755)
        second = take(shots)
        (work / "locked").chmod(0o555)
        before, inode = picture(work), (work / "a" / "f").stat().st_ino
        try:
            with pytest.raises(NotPut, match=r"Permission denied.*locked/f"):
                asyncio.run(shots.restore(second.tree, first.tree))
            assert picture(work) == before
            assert (work / "a" / "f").stat().st_ino == inode
        finally:
            (work / "locked").chmod(0o755)
        asyncio.run(shots.restore(second.tree, first.tree))
        assert (work / "locked" / "f").read_text() == "1"


@pytest.mark.design("W-12")
def test_a_root_that_may_not_be_written_too(work: Path) -> None:
    (work / "a").write_text("1")
    shots = snapshots(work)
    with nobody(work.parent):
        first = take(shots)
        (work / "a").write_text("2")
        second = take(shots)
        work.chmod(0o555)
        try:
            with pytest.raises(NotPut, match="Permission denied"):
                asyncio.run(shots.restore(second.tree, first.tree))
        finally:
            work.chmod(0o755)
        assert (work / "a").read_text() == "2"


@pytest.mark.design("W-12")
@pytest.mark.parametrize("at", range(8))
def test_whatever_fails_in_the_middle_all_is_as_it_was(work: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    (work / "a").write_text("1")
    (work / "d" / "deep").mkdir(parents=True)
    (work / "d" / "deep").chmod(0o750)
    (work / "d" / "deep" / "x").write_text("1")
    (work / "swap").write_text("f")
    (work / "link").symlink_to("a")
    shots = snapshots(work)
    first = take(shots)
    (work / "a").write_text("2")
    (work / "swap").unlink()
    (work / "swap").mkdir()
    (work / "swap" / "in").write_text("in")
    (work / "link").unlink()
    (work / "new" / "n").mkdir(parents=True)
    (work / "new" / "n" / "f").write_text("n")
    shutil.rmtree(work / "d")
    second, before = take(shots), picture(work)

    done: list[str] = []
    inside, aside = os.fsencode(work) + b"/", b"/.sojourn-undo-"
    for name in ("replace", "unlink", "mkdir"):
        real = getattr(os, name)

        def failing(*given: object, real: object = real, name: str = name, **more: object) -> object:
            target = given[-1] if name == "replace" else given[0]
            if isinstance(target, bytes) and target.startswith(inside) and aside not in target and len(done) <= at:
                done.append(name)
                if len(done) > at:
                    raise OSError(28, "No space left on device", target)
            return real(*given, **more)  # type: ignore[operator]

        monkeypatch.setattr(os, name, failing)
    with pytest.raises(NotPut, match="No space left"):
        asyncio.run(shots.restore(second.tree, first.tree))
    assert done == ["unlink", "unlink", "replace", "mkdir", "mkdir", "replace", "replace", "replace"][: at + 1]
    assert picture(work) == before
    monkeypatch.undo()
    asyncio.run(shots.restore(second.tree, first.tree))
    assert take(shots).tree == first.tree


@pytest.mark.design("W-12")
def test_a_missing_content_is_said_before_anything_changes(work: Path) -> None:
    (work / "a").write_text("1")
    (work / "b").write_text("1b")
    shots = snapshots(work)
    first = take(shots)
    (work / "a").write_text("2")
    (work / "b").write_text("2")
    second = take(shots)
    lost = blob(b"1b")
    (shots.folder / "git" / "objects" / lost[:2] / lost[2:]).unlink()
    with pytest.raises(NotPut, match=lost):
        asyncio.run(shots.restore(second.tree, first.tree))
    assert (work / "a").read_text() == "2"
    assert sorted(path.name for path in work.iterdir()) == ["a", "b"]


@pytest.mark.design("W-12")
def test_a_tree_that_is_not_there_is_said(work: Path) -> None:
    (work / "a").write_text("1")
    shots = snapshots(work)
    first = take(shots)
    with pytest.raises(WorkFailed, match="not there any more"):
        asyncio.run(shots.difference("0" * 40, first.tree))


@pytest.mark.design("W-12")
def test_many_files_are_put_back_at_once(work: Path) -> None:
    for n in range(450):
        (work / f"f{n}").write_bytes(os.urandom(3_000))
    shots = snapshots(work)
    first, before = take(shots), picture(work)
    for n in range(450):
        (work / f"f{n}").unlink()
    second = take(shots)
    asyncio.run(shots.restore(second.tree, first.tree))
    assert picture(work) == before


# --- pruning -----------------------------------------------------------------------------------------------------------


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


# --- always ------------------------------------------------------------------------------------------------------------

_PATHS = st.sampled_from(["a", "b", "c d", "d/a", "d/e/f", "d/e", "名/字", "名", "-x"])
_STATES = st.dictionaries(
    _PATHS,
    st.one_of(
        st.tuples(st.just("file"), st.binary(max_size=20), st.sampled_from([0o644, 0o755, 0o600])),
        st.tuples(st.just("link"), st.sampled_from([b"a", b"/etc/passwd", b"../x"]), st.just(0)),
    ),
    max_size=7,
)


def _make(work: Path, wanted: dict[str, tuple[str, bytes, int]]) -> None:
    for entry in work.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    for name, (kind, content, bits) in sorted(wanted.items()):
        path = work / name
        if any(parent.is_symlink() or parent.is_file() for parent in path.parents) or os.path.lexists(path):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            path.symlink_to(os.fsdecode(content))
        else:
            path.write_bytes(content)
            path.chmod(bits)


@pytest.mark.design("W-12")
@given(one=_STATES, two=_STATES)
@settings(max_examples=40, deadline=None)
def test_from_any_state_to_any_other_and_back(tmp_path_factory: pytest.TempPathFactory, one: dict, two: dict) -> None:
    work = tmp_path_factory.mktemp("any") / "work"
    work.mkdir()
    shots = snapshots(work.resolve())
    _make(work, one)
    first, before = take(shots), picture(work)
    _make(work, two)
    second, after = take(shots), picture(work)
    asyncio.run(shots.restore(second.tree, first.tree))
    assert picture(work) == before
    asyncio.run(shots.restore(first.tree, second.tree))
    assert picture(work) == after


@pytest.mark.design("W-12")
@given(
    st.dictionaries(st.binary(min_size=1, max_size=8).filter(lambda b: b"\0" not in b), st.integers(0, 0o777)),
    st.dictionaries(
        st.binary(min_size=1, max_size=8).filter(lambda b: b"\0" not in b), st.tuples(st.integers(0), st.integers())
    ),
)
@settings(max_examples=100, deadline=None)
def test_facts_come_back_as_they_went(bits: dict[bytes, int], left: dict[bytes, tuple[int, int]]) -> None:
    facts = Facts(0o664, 0o775, bits, left)
    assert decode_facts(encode_facts(facts)) == facts


def test_a_path_is_shown_so_that_it_can_be_read() -> None:
    assert shown("名 字.txt".encode()) == "名 字.txt"
    assert shown(b"a\nb\x1b[31m\xff") == "a\\nb\\x1b[31m\\udcff"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_nothing_is_left_beside_the_files(work: Path) -> None:
    (work / "a").write_text("1")
    shots = snapshots(work)
    first = take(shots)
    (work / "a").write_text("2")
    second = take(shots)
    asyncio.run(shots.restore(second.tree, first.tree))
    assert [path.name for path in work.iterdir()] == ["a"]
