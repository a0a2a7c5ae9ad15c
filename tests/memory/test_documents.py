"""Documents as files: read again before each write, never half, never lost (Y-2, K-1, reports 79, 80, 81, 86)."""
# ruff: noqa: ASYNC240  (one test, one loop: nothing else waits)

import asyncio
import hashlib
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.shelf import (
    CHECKPOINT,
    GLOBAL,
    MEMORY,
    NOTES,
    OTHER,
    OTHER_PROJECT,
    OTHER_SESSION,
    OWN,
    PROGRESS,
    START,
    person,
    session,
)
from sojourn.base import ManualClock, SojournError, UserMistake, WorkFailed
from sojourn.memory import Belonging, LocalMemory, Locator, files, layout, locks, path_of, versions, writing


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.design("K-1", "Y-2")
def test_what_is_written_is_read_in_the_next_session(tmp_path: Path) -> None:
    async def main() -> None:
        written = await session(tmp_path).append(MEMORY, "\n\n- the port is 8437\n\n", who="agent")
        assert written.text == "- the port is 8437\n"
        assert written.sha == sha("- the port is 8437\n")
        assert written.path == str(path_of(tmp_path, MEMORY))
        assert Path(written.path).read_text() == written.text
        assert written.modified == Path(written.path).stat().st_mtime_ns // 1_000_000
        later = LocalMemory(tmp_path).gate(Belonging("ses_9", OWN.project_id))
        assert await later.read(MEMORY) == written
        assert await later.read(GLOBAL) is None

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.parametrize(
    ("before", "block", "after"),
    [
        (None, "a", "a\n"),
        ("", "a\n", "a\n"),
        ("\n\n", "a", "a\n"),
        ("a", "b", "a\n\nb\n"),
        ("a\n", "\nb\nc\n\n", "a\n\nb\nc\n"),
        ("a\n\n\n\n", "b", "a\n\nb\n"),
        ("a\r\nb\r\n", "c\r\nd", "a\nb\n\nc\nd\n"),
        ("a\n", "  b", "a\n\n  b\n"),
        ("a\n", "b \ud800", "a\n\nb \ufffd\n"),
    ],
)
def test_an_append_is_a_block_behind_one_blank_line(tmp_path: Path, before: str | None, block: str, after: str) -> None:
    async def main() -> None:
        path = path_of(tmp_path, NOTES)
        if before is not None:
            path.parent.mkdir(parents=True)
            path.write_bytes(before.encode())
        assert (await session(tmp_path).append(NOTES, block, who="agent")).text == after
        assert path.read_bytes() == after.encode()

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_files_are_private(tmp_path: Path) -> None:
    async def main() -> None:
        root = tmp_path / "memory"
        old = os.umask(0o022)
        try:
            store = session(root)
            await store.append(NOTES, "a", who="agent")
            await store.append(NOTES, "b", who="agent")
            await store.search("a", OWN)
        finally:
            os.umask(old)
        for folder, _, names in os.walk(root):
            assert mode(Path(folder)) == 0o700, folder
            assert [name for name in names if mode(Path(folder, name)) != 0o600] == []

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.parametrize(
    ("old", "new", "after", "why"),
    [
        ("two", "2", "one\n2\nthree 2-fold\n\n\n", ""),
        ("\ntwo\n", "\n", "one\nthree 2-fold\n\n\n", ""),
        ("one\ntwo\nthree 2-fold\n\n\n", "", "", ""),
        ("\n\n", "\n", "", "more than once"),
        ("four", "4", "", "does not stand there"),
        ("o", "0", "", "more than once"),
        ("", "x", "", "empty"),
    ],
)
def test_an_edit_needs_its_passage_once(tmp_path: Path, old: str, new: str, after: str, why: str) -> None:
    text = "one\ntwo\nthree 2-fold\n\n\n"

    async def main() -> None:
        store = session(tmp_path)
        await store.write(MEMORY, text, who="agent", expected=None)
        if why:
            with pytest.raises(UserMistake, match=why) as caught:
                await store.edit(MEMORY, old, new, who="agent")
            assert "MEMORY.md" in str(caught.value)
            assert caught.value.next_step
            after_all = text
        else:
            after_all = (await store.edit(MEMORY, old, new, who="agent")).text
            assert after_all == after
        document = await store.read(MEMORY)
        assert document is not None
        assert document.text == after_all

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_an_edit_of_nothing_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(UserMistake, match="no such document"):
            await session(tmp_path).edit(MEMORY, "a", "b", who="agent")
        with pytest.raises(UserMistake, match="nothing to append"):
            await session(tmp_path).append(MEMORY, " \n\n", who="agent")
        assert not path_of(tmp_path, MEMORY).exists()

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.report(79, 86)
def test_a_write_of_an_old_view_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        first = await store.write(MEMORY, "a", who="agent", expected=None)
        with pytest.raises(UserMistake, match="there is a document already"):
            await store.write(MEMORY, "b", who="agent", expected=None)
        path_of(tmp_path, MEMORY).write_text("a and the user's")
        with pytest.raises(UserMistake, match="changed since it was read"):
            await store.write(MEMORY, "b", who="agent", expected=first.sha)
        assert path_of(tmp_path, MEMORY).read_text() == "a and the user's"
        seen = await store.read(MEMORY)
        assert seen is not None
        assert (await store.write(MEMORY, "b", who="agent", expected=seen.sha)).text == "b"
        path_of(tmp_path, MEMORY).unlink()
        with pytest.raises(UserMistake, match="changed since it was read"):
            await store.write(MEMORY, "c", who="agent", expected=sha("b"))
        assert not path_of(tmp_path, MEMORY).exists()

    asyncio.run(main())


def _append_in_place(path: Path) -> None:
    with path.open("a") as file:
        file.write("- theirs\n")


def _rewrite_in_place(path: Path) -> None:
    text = path.read_text()
    path.write_text(f"{text}- theirs\n")


def _rename_over(path: Path) -> None:
    beside = path.with_name("4913")
    beside.write_text(f"{path.read_text()}- theirs\n")
    beside.replace(path)


@pytest.mark.design("Y-2")
@pytest.mark.report(79)
@pytest.mark.parametrize("editor", [_append_in_place, _rewrite_in_place, _rename_over])
def test_an_editor_between_read_and_write_loses_nothing(tmp_path: Path, editor: Callable[[Path], None]) -> None:
    async def main() -> None:
        store = session(tmp_path)
        await store.append(MEMORY, "- ours", who="agent")
        editor(path_of(tmp_path, MEMORY))
        assert (await store.append(MEMORY, "- more", who="agent")).text == "- ours\n- theirs\n\n- more\n"

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.report(79)
@pytest.mark.parametrize("editor", [_append_in_place, _rewrite_in_place, _rename_over])
@pytest.mark.parametrize("moment", ["before the rename", "after the check"])
def test_an_editor_in_the_very_moment_of_a_write(
    tmp_path: Path, editor: Callable[[Path], None], moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locks are unknown to editors: what one writes under the lock is found before or behind the rename."""

    async def main() -> None:
        store = session(tmp_path)
        await store.append(MEMORY, "- ours", who="agent")
        path = path_of(tmp_path, MEMORY)
        edits = iter([editor])
        real_keep, real_read = versions.keep, files.read

        def keep(*given: object, **more: object) -> Path:
            kept = real_keep(*given, **more)  # type: ignore[arg-type]
            for edit in edits:
                edit(path)
            return kept

        def checked(there: Path) -> files.Content | None:
            content = real_read(there)
            for edit in edits:
                edit(path)
            return content

        if moment == "before the rename":
            monkeypatch.setattr(versions, "keep", keep)
        else:
            monkeypatch.setattr(files, "read", checked)  # the last look in ``put``
        after = await store.append(MEMORY, "- more", who="agent")
        if moment == "after the check" and editor is _rename_over:
            assert after.text == "- ours\n\n- more\n"  # nothing can see this one: the file that the editor made has gone
        else:
            assert after.text == "- ours\n- theirs\n\n- more\n"

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.report(79, 86)
def test_an_edit_in_the_very_moment_wins_over_a_whole_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = session(tmp_path)
        first = await store.write(MEMORY, "- ours\n", who="agent", expected=None)
        path = path_of(tmp_path, MEMORY)
        real = files.read
        looks = []

        def read(there: Path) -> files.Content | None:
            content = real(there)
            looks.append(there)
            if len(looks) == 1:
                _append_in_place(path)
            return content

        monkeypatch.setattr(files, "read", read)
        with pytest.raises(UserMistake, match="changed since it was read"):
            await store.write(MEMORY, "- new\n", who="agent", expected=first.sha)
        assert path.read_text() == "- ours\n- theirs\n"
        assert [version.text for version in await store.versions(MEMORY)] == []  # the new text never held

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_a_file_that_never_keeps_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = session(tmp_path)
        await store.append(MEMORY, "- ours", who="agent")
        real = versions.keep

        def keep(*given: object, **more: object) -> Path:
            kept = real(*given, **more)  # type: ignore[arg-type]
            _rename_over(path_of(tmp_path, MEMORY))
            return kept

        monkeypatch.setattr(versions, "keep", keep)
        monkeypatch.setattr(writing, "_TRIES", 3)
        with pytest.raises(WorkFailed, match="does not keep still"):
            await store.append(MEMORY, "- more", who="agent")
        assert path_of(tmp_path, MEMORY).read_text() == "- ours\n" + 3 * "- theirs\n"
        assert await store.versions(MEMORY) == ()

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.report(80)
def test_many_tasks_append_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        stores = [session(tmp_path), session(tmp_path)]
        await asyncio.gather(*(stores[n % 2].append(NOTES, f"entry {n}", who="agent") for n in range(60)))
        blocks = path_of(tmp_path, NOTES).read_text().rstrip("\n").split("\n\n")
        assert sorted(blocks) == sorted(f"entry {n}" for n in range(60))

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_a_cancelled_append_is_there_or_not_but_ends(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        task = asyncio.create_task(store.append(NOTES, "a", who="agent"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        before = path_of(tmp_path, NOTES).exists()
        await asyncio.sleep(0.2)
        assert path_of(tmp_path, NOTES).exists() == before  # nothing goes on behind the caller's back

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_a_lock_that_is_not_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        name = "/".join(layout.parts_of(NOTES))
        monkeypatch.setattr(locks, "SECONDS", 0.1)
        with locks.held(tmp_path, name):
            with pytest.raises(WorkFailed, match=r"notes\.md is being written by another process"):
                await session(tmp_path).append(NOTES, "a", who="agent")
            assert await session(tmp_path).read(NOTES) is None  # readers do not wait
        await session(tmp_path).append(NOTES, "a", who="agent")
        assert len(list((tmp_path / ".locks").iterdir())) == 1

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.report(85)
def test_another_sessions_documents_are_out_of_reach(tmp_path: Path) -> None:
    async def main() -> None:
        theirs = person(tmp_path).gate(OTHER)
        await theirs.append(layout.notes(OTHER_SESSION), "their note", who="agent")
        await theirs.append(layout.project_memory(OTHER_PROJECT), "their fact", who="agent")
        ours = session(tmp_path)
        for locator in (layout.notes(OTHER_SESSION), layout.project_memory(OTHER_PROJECT)):
            with pytest.raises(UserMistake, match="belongs to another"):
                await ours.read(locator)
            with pytest.raises(UserMistake, match="belongs to another"):
                await ours.versions(locator)
            with pytest.raises(UserMistake, match="belongs to another"):
                await ours.append(locator, "x", who="agent")
        for belonging in (OTHER, Belonging(OWN.session_id, OTHER_PROJECT), Belonging(OTHER_SESSION, OWN.project_id)):
            with pytest.raises(UserMistake, match="another session or project"):
                await ours.search("fact", belonging)
            with pytest.raises(UserMistake, match="another session or project"):
                await ours.entries(belonging)
        assert await person(tmp_path).read(layout.project_memory(OTHER_PROJECT)) is not None
        with pytest.raises(UserMistake, match="no session"):
            await person(tmp_path).append(NOTES, "x", who="agent")

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_a_refusal_names_the_document_and_touches_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(UserMistake, match=r"sessions/ses_1/checkpoint\.md: it is a rendering"):
            await person(tmp_path).append(CHECKPOINT, "x", who="user")
        with pytest.raises(UserMistake, match=r"MEMORY\.md: a checkpoint writer only adds"):
            await session(tmp_path).write(MEMORY, "x", who="writer", expected=None)
        assert list(tmp_path.iterdir()) == []
        assert (await session(tmp_path, "T1").append(PROGRESS, "x", who="subagent")).text == "x\n"
        with pytest.raises(UserMistake, match="its own task only"):
            await session(tmp_path, "T2").append(PROGRESS, "x", who="subagent")

    asyncio.run(main())


@pytest.mark.design("K-1", "Y-2")
def test_a_checkpoint_file_is_read(tmp_path: Path) -> None:
    async def main() -> None:
        path = path_of(tmp_path, CHECKPOINT)
        path.parent.mkdir(parents=True)
        path.write_text("# Checkpoint\n")
        path.chmod(0o400)
        document = await session(tmp_path).read(CHECKPOINT)
        assert document is not None
        assert document.text == "# Checkpoint\n"

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_what_is_not_utf8_is_read_and_never_written_over(tmp_path: Path) -> None:
    async def main() -> None:
        path = path_of(tmp_path, NOTES)
        path.parent.mkdir(parents=True)
        path.write_bytes("## [turn 1, x]\nPort 8437 für\n".encode("latin-1"))
        store = session(tmp_path)
        document = await store.read(NOTES)
        assert document is not None
        assert document.text == "## [turn 1, x]\nPort 8437 f\ufffdr\n"
        for change in (
            store.append(NOTES, "x", who="agent"),
            store.edit(NOTES, "Port", "x", who="agent"),
            store.write(NOTES, "x", who="agent", expected=document.sha),
            store.take_out(NOTES, [sha("## [turn 1, x]\nPort 8437 f\ufffdr")], who="writer"),
        ):
            with pytest.raises(UserMistake, match="not UTF-8"):
                await change
        assert path.read_bytes() == "## [turn 1, x]\nPort 8437 für\n".encode("latin-1")

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_links_are_not_followed(tmp_path: Path) -> None:
    async def main() -> None:
        root, outside = tmp_path / "memory", tmp_path / "outside"
        outside.mkdir()
        (outside / "MEMORY.md").write_text("secret")
        (outside / "notes.md").write_text("secret")
        store = session(root)
        await store.append(GLOBAL, "a", who="agent")
        path_of(root, MEMORY).parent.parent.mkdir(parents=True)
        path_of(root, MEMORY).parent.symlink_to(outside)
        path_of(root, NOTES).parent.mkdir(parents=True)
        path_of(root, NOTES).symlink_to(outside / "notes.md")
        other = layout.project_memory("p")  # a link to another project, inside the root
        path_of(root, other).parent.symlink_to(path_of(root, GLOBAL).parent)
        for locator in (MEMORY, NOTES):
            with pytest.raises(UserMistake, match="link"):
                await store.read(locator)
            with pytest.raises(UserMistake, match="link"):
                await store.append(locator, "x", who="agent")
        with pytest.raises(UserMistake, match="link"):
            await person(root).read(other)
        assert await store.search("secret", OWN) == ()
        assert [entry.locator for entry in await store.entries(OWN)] == [GLOBAL]
        assert {path.read_text() for path in outside.iterdir()} == {"secret"}
        assert len(await person(root).unreadable()) == 3

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_a_link_to_the_root_itself_is_fine(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        store = session(tmp_path / "link")
        assert (await store.append(NOTES, "the port", who="agent")).path == str(path_of(tmp_path / "link", NOTES))
        assert len(await store.search("port", OWN)) == 1
        assert path_of(tmp_path / "real", NOTES).read_text() == "the port\n"

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_what_is_no_file_stands_in_the_way(tmp_path: Path) -> None:
    async def main() -> None:
        os.mkfifo(tmp_path / "pipe")
        path_of(tmp_path, NOTES).parent.mkdir(parents=True)
        (tmp_path / "pipe").rename(path_of(tmp_path, NOTES))
        path_of(tmp_path, GLOBAL).mkdir(parents=True)
        for locator in (NOTES, GLOBAL):
            with pytest.raises(UserMistake, match="no regular file"):
                await session(tmp_path).read(locator)
            with pytest.raises(UserMistake, match="no regular file"):
                await session(tmp_path).append(locator, "x", who="agent")
        assert await session(tmp_path).entries(OWN) == ()

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.parametrize("fails", ["fsync", "replace", "link"])
def test_a_full_disk_leaves_the_document_as_it_was(tmp_path: Path, fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = session(tmp_path)
        await store.append(NOTES, "a", who="agent")
        await store.append(NOTES, "b", who="agent")
        kept = await store.versions(NOTES)
        held = sorted(versions.folder_of(tmp_path, layout.parts_of(NOTES)).iterdir())

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            if fails == "replace":
                patch.setattr(Path, "replace", full)
            elif fails == "link":
                patch.setattr(os, "link", full)
                patch.setattr(shutil, "copyfile", full)
            else:
                patch.setattr(os, "fsync", full)
            with pytest.raises(WorkFailed, match=r"notes\.md could not be written: No space left") as caught:
                await store.append(NOTES, "c", who="agent")
        assert "as it was" in caught.value.next_step
        path = path_of(tmp_path, NOTES)
        assert path.read_text() == "a\n\nb\n"
        assert [one.name for one in path.parent.iterdir()] == ["notes.md"]
        assert [version.text for version in await store.versions(NOTES)] == [version.text for version in kept]
        if fails == "replace":
            assert sorted(versions.folder_of(tmp_path, layout.parts_of(NOTES)).iterdir()) == held
        assert (await store.append(NOTES, "c", who="agent")).text == "a\n\nb\n\nc\n"

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.report(80)
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not say what a handle stands for")
def test_it_returns_when_everything_is_on_disk(tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old text before the new one takes its place, the new one before its name, the name before the answer."""

    async def main() -> None:
        store = session(tmp_path)
        done: list[str] = []
        real_sync, real_replace = os.fsync, Path.replace

        def name(path: str) -> str:
            inner = str(Path(path).relative_to(tmp_path))
            return "temporary" if "/." in inner and inner.startswith("sessions") else inner

        def sync(handle: int) -> None:
            done.append(f"sync {name(os.readlink(f'/proc/self/fd/{handle}'))}")
            real_sync(handle)

        def replace(path: Path, to: Path) -> Path:
            done.append("rename")
            return real_replace(path, to)

        def no_links(*_: object, **__: object) -> None:
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(os, "fsync", sync)
        monkeypatch.setattr(Path, "replace", replace)
        if not links:
            monkeypatch.setattr(os, "link", no_links)
        await store.append(NOTES, "a", who="agent")
        folder, kept = "sessions/ses_1", ".versions/sessions/ses_1/notes"
        made = ["sync .", "sync .", "sync sessions"]  # .locks, sessions, sessions/ses_1
        assert done == [*made, "sync temporary", *([] if links else ["rename"]), f"sync {folder}"]
        await store.append(NOTES, "b", who="agent")
        done.clear()
        await store.append(NOTES, "c", who="agent")
        copied = [] if links else [f"sync {kept}/000002-{START}-agent.md"]
        assert done == [*copied, f"sync {kept}", "sync temporary", "rename", f"sync {folder}"]
        names = sorted(path.name for path in (tmp_path / kept).iterdir())
        assert names == [f"000001-{START}-agent.md", f"000002-{START}-agent.md"]

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list open handles")
def test_no_handle_is_left_open(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        for number in range(40):
            if number == 10:
                before = len(os.listdir("/proc/self/fd"))
            await store.append(NOTES, f"note {number}", who="agent")
            await store.search("note", OWN)
            await store.versions(NOTES)
        assert len(os.listdir("/proc/self/fd")) <= before + 5

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_what_does_not_change_is_not_written(tmp_path: Path) -> None:
    async def main() -> None:
        path = path_of(tmp_path, NOTES)
        path.parent.mkdir(parents=True)
        path.write_bytes(b"a\r\nb\r\n")
        store = session(tmp_path)
        document = await store.read(NOTES)
        assert document is not None
        assert document.text == "a\nb\n"
        await store.take_out(NOTES, [sha("x")], who="writer")
        await store.edit(NOTES, "a\n", "a\n", who="agent")
        await store.write(NOTES, "a\nb\n", who="agent", expected=document.sha)
        assert path.read_bytes() == b"a\r\nb\r\n"
        assert await store.versions(NOTES) == ()

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.report(79)
def test_two_editors_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One writes into the file as it is replaced; before its text is back in place, another one saves."""

    async def main() -> None:
        store = session(tmp_path)
        await store.append(MEMORY, "- ours", who="agent")
        path = path_of(tmp_path, MEMORY)
        real = files.read
        edits = iter([_append_in_place, lambda there: there.write_text("- the newest\n")])

        def read(there: Path) -> files.Content | None:
            content = real(there)
            for edit in edits:
                edit(path)
                break
            return content

        monkeypatch.setattr(files, "read", read)

        def keep(*given: object, **more: object) -> Path:
            kept = real_keep(*given, **more)  # type: ignore[arg-type]
            if path.read_text().endswith("- more\n"):
                for edit in edits:
                    edit(path)
            return kept

        real_keep = versions.keep
        monkeypatch.setattr(versions, "keep", keep)
        assert (await store.append(MEMORY, "- more", who="agent")).text == "- the newest\n\n- more\n"
        kept_texts = [version.text for version in await store.versions(MEMORY)]
        assert "- ours\n- theirs\n" in kept_texts

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_a_disk_without_links_keeps_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        def no_links(*_: object, **__: object) -> None:
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(os, "link", no_links)
        store = session(tmp_path)
        for text in ("a", "b", "c"):
            await store.append(NOTES, text, who="agent")
        assert [version.text for version in await store.versions(NOTES)] == ["a\n\nb\n", "a\n"]
        assert all(mode(path) == 0o600 for path in (tmp_path / ".versions").rglob("*.md"))
        with pytest.raises(UserMistake, match="already"):
            await store.write(NOTES, "x", who="agent", expected=None)

    asyncio.run(main())


@pytest.mark.design("Y-2")
def test_a_root_that_cannot_be_made(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "file").write_text("x")
        store = session(tmp_path / "file" / "memory")
        with pytest.raises(WorkFailed, match="cannot be written"):
            await store.append(NOTES, "a", who="agent")
        assert await store.read(NOTES) is None
        assert await store.search("a", OWN) == ()

    asyncio.run(main())


@pytest.mark.design("K-12", "Y-2")
def test_versions_keep_who_and_when(tmp_path: Path) -> None:
    async def main() -> None:
        clock = ManualClock(START)
        store = LocalMemory(tmp_path, clock=clock).gate(OWN)
        await store.append(MEMORY, "a", who="agent")
        clock.advance(5)
        await store.edit(MEMORY, "a", "b", who="writer")
        clock.advance(5)
        await store.append(MEMORY, "c", who="user")
        await store.edit(MEMORY, "c", "c", who="user")  # nothing changes: nothing is kept
        first, second = await store.versions(MEMORY)
        assert (first.text, first.who, first.replaced, first.sha) == ("b\n", "user", START + 10, sha("b\n"))
        assert (second.text, second.who, second.replaced, second.sha) == ("a\n", "writer", START + 5, sha("a\n"))
        assert await store.versions(NOTES) == ()
        for text in ("a", "b", "a"):
            document = await store.read(NOTES)
            await store.write(NOTES, text, who="agent", expected=document.sha if document else None)
        assert [version.text for version in await store.versions(NOTES)] == ["b", "a"]

    asyncio.run(main())


@pytest.mark.design("K-12", "Y-2")
def test_versions_are_bounded_to_the_newest(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        for number in range(53):
            document = await store.read(NOTES)
            await store.write(NOTES, str(number), who="agent", expected=document.sha if document else None)
        assert [version.text for version in await store.versions(NOTES)] == [str(number) for number in range(51, 1, -1)]
        assert len(list((tmp_path / ".versions/sessions/ses_1/notes").iterdir())) == 50

    asyncio.run(main())


@pytest.mark.design("K-12", "Y-2")
def test_a_version_that_was_never_replaced_is_not_shown(tmp_path: Path) -> None:
    """A crash between keeping the old text and putting the new one in place."""

    async def main() -> None:
        store = session(tmp_path)
        await store.append(NOTES, "a", who="agent")
        folder = versions.folder_of(tmp_path, layout.parts_of(NOTES))
        versions.keep(folder, path_of(tmp_path, NOTES), who="agent", now=START)
        assert await store.versions(NOTES) == ()
        await store.append(NOTES, "b", who="agent")
        assert [version.text for version in await store.versions(NOTES)] == ["a\n", "a\n"]
        path_of(tmp_path, NOTES).unlink()
        assert [version.text for version in await store.versions(NOTES)] == ["a\n", "a\n"]

    asyncio.run(main())


@pytest.mark.design("K-13", "Y-2")
def test_only_notes_are_taken_out(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        await store.append(MEMORY, "- a", who="agent")
        with pytest.raises(UserMistake, match="only notes"):
            await store.take_out(MEMORY, [sha("- a")], who="user")
        assert await store.take_out(NOTES, [sha("x")], who="writer") is None
        assert not path_of(tmp_path, NOTES).exists()

    asyncio.run(main())


@pytest.mark.design("Y-2")
@pytest.mark.report(83)
def test_files_out_of_place_are_a_visible_fault(tmp_path: Path) -> None:
    async def main() -> None:
        root = tmp_path / "memory"
        store = session(root)
        assert await store.unreadable() == ()
        await store.append(MEMORY, "a", who="agent")
        await store.append(NOTES, "a", who="agent")
        await store.search("a", OWN)
        assert await person(root).unreadable() == ()
        (root / "projects" / "stray.md").write_text("x")
        (root / "notes.md").write_text("x")
        (root / "sessions" / "ses_1" / "plan.md").write_text("x")
        (root / "sessions" / "ses_1" / ".DS_Store").write_text("x")
        (root / "sessions" / "ses_2").mkdir()
        (root / "sessions" / "ses_2" / "notes.md").write_bytes(b"\xff")
        (root / "global").mkdir()
        os.mkfifo(root / "global" / "MEMORY.md")
        outside = "outside the layout of memory: it is never read"
        assert await person(root).unreadable() == (
            f"{root / 'global' / 'MEMORY.md'}: is no regular file",
            f"{root / 'notes.md'}: {outside}",
            f"{root / 'projects' / 'stray.md'}: {outside}",
            f"{root / 'sessions' / 'ses_1' / 'plan.md'}: {outside}",
            f"{root / 'sessions' / 'ses_2' / 'notes.md'}: not UTF-8: it is read with replacement characters and never"
            " written over",
        )
        assert await store.unreadable() == (
            f"{root / 'global' / 'MEMORY.md'}: is no regular file",
            f"{root / 'sessions' / 'ses_1' / 'plan.md'}: {outside}",
        )

    asyncio.run(main())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.text("ab \n我", max_size=6), st.just("")),
        st.tuples(st.just("edit"), st.text("ab\n", max_size=2), st.text("abc\n", max_size=3)),
        st.tuples(st.just("write"), st.text("ab\r\n", max_size=6), st.just("")),
        st.tuples(st.just("outside"), st.text("xy\n", max_size=4), st.just("")),
    ),
    max_size=6,
)


@pytest.mark.design("Y-2")
@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_no_text_is_ever_lost(steps: list[tuple[str, str, str]]) -> None:
    """Every text that stood there when we changed it is among the versions, whatever was done."""
    import tempfile

    async def step(store: LocalMemory, act: str, one: str, two: str) -> None:
        document = await store.read(GLOBAL)
        match act:
            case "append":
                await store.append(GLOBAL, one, who="agent")
            case "edit":
                await store.edit(GLOBAL, one, two, who="agent")
            case "write":
                await store.write(GLOBAL, one, who="agent", expected=document.sha if document else None)
            case _:
                path_of(store.root, GLOBAL).parent.mkdir(parents=True, exist_ok=True)
                path_of(store.root, GLOBAL).write_text(one, newline="")

    async def main(root: Path) -> None:
        store = session(root)
        expected: list[str] = []
        for act, one, two in steps:
            before = await store.read(GLOBAL)
            try:
                await step(store, act, one, two)
            except SojournError:
                assert await store.read(GLOBAL) == before
                continue
            after = await store.read(GLOBAL)
            assert after is not None
            if act != "outside" and before is not None and before.text != after.text:
                expected.append(before.text)
        present = await store.read(GLOBAL)
        shown = [version.text for version in await store.versions(GLOBAL)]
        while expected and present and expected[-1] == present.text:
            expected.pop()  # put back by hand: it stands there
        assert shown == expected[::-1]

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))


def test_a_locator_that_is_none_is_refused_everywhere(tmp_path: Path) -> None:
    async def main() -> None:
        odd = Locator("project", "..", "MEMORY")
        for store in (person(tmp_path), session(tmp_path)):
            for work in (store.read(odd), store.versions(odd), store.append(odd, "x", who="user")):
                with pytest.raises(UserMistake):
                    await work

    asyncio.run(main())
