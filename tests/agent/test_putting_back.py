"""Two snapshots compared, and files put back: all of them or none (W-12)."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from agent.kept_files import blob, every_byte, kinds, nobody, picture, snapshots, take
from sojourn.agent.putting_back import Differs, NotPut
from sojourn.base import WorkFailed

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


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
