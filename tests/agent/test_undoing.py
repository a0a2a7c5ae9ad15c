"""Undo, redo and rewind of conversation and files (W-12, report 109)."""

import os
import shutil
from pathlib import Path

import pytest

from agent.kept_files import picture
from agent.undoable import Place, play
from engine.sessions import work
from sojourn.agent.snapshot_scan import FILE_MOST
from sojourn.agent.snapshot_types import Move
from sojourn.agent.undo_journal import Act, Journal
from sojourn.base import UserMistake, WorkFailed

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.design("W-12")
def test_undo_takes_back_a_turn_with_its_files_and_redo_puts_both_forward(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        place.write("kept", "mine")()
        place.write("changed", "1")()
        place.write("名 字/去.txt", "gone")()
        await place.turn("Look first.")

        def change() -> None:
            place.write("changed", "2")()
            shutil.rmtree(place.work / "名 字")
            place.write("new/deep/file", "n")()

        turn = await place.turn("Please rework   the names\nof everything in this project and say what you did.", change)
        before = await place.rows()
        done = await place.undo()
        assert done.kind == "turn"
        assert done.what == f"the turn at message {turn}"
        assert done.prompt == "Please rework the names of everything in this project and s…"
        assert len(done.prompt) == 60
        assert done.restored == ("changed", "名 字/去.txt")
        assert done.removed == ("new/deep/file",)
        assert (done.forced, done.left) == ((), ())
        assert sorted(picture(place.work)) == ["changed", "kept", "名 字", "名 字/去.txt"]
        assert place.text("changed") == "1"
        assert place.seqs == [1, 2, 3]
        rows = await place.rows()
        assert rows[:-1] == before
        assert (rows[-1].when, rows[-1].at_seq, rows[-1].tree) == ("before_undo", place.engine.head, before[-1].tree)
        again = await place.redo()
        assert again.prompt == done.prompt
        assert again.restored == ("changed", "new/deep/file")
        assert again.removed == ("名 字/去.txt",)
        assert place.text("changed") == "2"
        assert place.seqs == [1, 2, 3, 4, 5, 6]
        assert (await place.undo()).restored == done.restored
        assert list((place.snapshots().folder / "undone").rglob("*.json")) != []
        assert not (place.snapshots().folder / "pending.json").exists()

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_permissions_alone_go_back_and_forward_and_are_mended_after_a_crash(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        key = place.work / "key"
        place.write("key", "k")()
        key.chmod(0o600)
        await place.turn("Go.", lambda: key.chmod(0o666))
        assert (await place.undo()).restored == ("key",)
        assert key.stat().st_mode & 0o777 == 0o600
        assert (await place.redo()).restored == ("key",)
        assert key.stat().st_mode & 0o777 == 0o666
        found = (await place.snapshots().difference(*(row.tree for row in (await place.rows())[:2]))).changes[0]
        move = Move(b"key", found.after, found.before)
        undos = len(await place.engine.store.undos(place.engine.session_id))
        for bits, back, then in ((0o600, ("key",), 0o666), (0o666, (), 0o666), (0o640, (), 0o640)):
            Journal(place.snapshots()).begin(Act(place.engine.session_id, "undo", "t", undos, (move,)))
            key.chmod(bits)
            settled = await place.files.settle(place.engine)
            assert settled is not None
            assert (settled.put_back, settled.stuck) == (back, ())
            assert key.stat().st_mode & 0o777 == then

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_window_is_taken_back_without_any_file(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("Write.", place.write("a", "1"))
        await work(place.engine, 20)
        await place.engine.rebuild()
        done = await place.undo()
        assert (done.kind, done.what, done.prompt) == ("window", "window 2", "")
        assert (done.restored, done.removed) == ((), ())
        assert place.text("a") == "1"
        assert (await place.redo()).kind == "window"
        await place.undo()
        assert (await place.undo()).removed == ("a",)

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_nothing_to_undo_or_redo_is_a_mistake(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        with pytest.raises(UserMistake, match="nothing to undo"):
            await place.undo()
        with pytest.raises(UserMistake, match="no undo"):
            await place.redo()
        await place.turn("Write.", place.write("a", "1"))
        await place.undo()
        await place.turn("Another.", place.write("b", "1"))
        with pytest.raises(UserMistake, match="written since"):
            await place.redo()
        assert (place.text("a"), place.text("b")) == (None, "1")
        assert not list((place.snapshots().folder / "undone").rglob("*.json"))

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_file_that_was_changed_since_stops_everything_unless_forced(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        for name in "abc":
            place.write(name, "1")()
        await place.turn("Write.", lambda: [place.write(name, "2")() for name in "abc"])
        place.write("b", "mine")()
        place.write("untouched", "mine")()
        before = picture(place.work)
        with pytest.raises(WorkFailed, match=r"nothing was changed: these files have been changed since: b$") as caught:
            await place.undo()
        assert caught.value.next_step == "--force takes them back all the same, --no-files leaves files alone."
        assert picture(place.work) == before
        assert place.seqs == [1, 2, 3]
        assert await place.engine.store.undos(place.engine.session_id) == []
        done = await place.undo(force=True)
        assert (done.restored, done.forced) == (("a", "b", "c"), ("b",))
        assert [place.text(name) for name in ("a", "b", "c", "untouched")] == ["1", "1", "1", "mine"]
        await place.redo()
        assert [place.text(name) for name in "abc"] == ["2", "mine", "2"]  # not what the turn left: what was there

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_no_files_leaves_files_alone_and_the_next_undo_knows(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("Write.", place.write("a", "1"))
        await place.turn("Write more.", place.write("a", "2"))
        await place.undo(files=False)
        assert place.text("a") == "2"
        with pytest.raises(WorkFailed, match="changed since: a"):
            await place.undo()
        await place.redo()
        assert place.text("a") == "2"
        assert (await place.undo()).restored == ("a",)
        assert place.text("a") == "1"
        await place.redo(files=False)
        assert place.text("a") == "1"
        assert (await place.undo()).restored == ()  # it is so already
        assert (await place.undo()).removed == ("a",)

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_redo_over_a_change_stops_unless_forced(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        place.write("a", "1")()
        await place.turn("Write.", lambda: [place.write("a", "2")(), place.write("b", "2")()])
        await place.undo()
        place.write("b", "mine")()
        with pytest.raises(WorkFailed, match="since the undo: b"):
            await place.redo()
        assert (place.text("a"), place.text("b"), place.seqs) == ("1", "mine", [])
        done = await place.redo(force=True)
        assert done.forced == ("b",)
        assert (place.text("a"), place.text("b"), place.seqs) == ("2", "2", [1, 2, 3])
        mine = (await place.rows())[-1]
        assert mine.when == "before_undo"
        await place.snapshots().restore((await place.rows())[1].tree, mine.tree, [b"b"])
        assert place.text("b") == "mine"  # what was forced over can be found again

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_an_undo_after_new_work_takes_only_that(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("One.", place.write("a", "1"))
        await place.turn("Two.", place.write("a", "2"))
        await place.undo()
        await place.turn("Three.", place.write("b", "3"))
        done = await place.undo()
        assert (done.removed, place.text("a")) == (("b",), "1")
        done = await place.undo()
        assert (done.removed, done.prompt) == (("a",), "One.")

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_what_the_person_did_between_turns_stays(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("One.", place.write("a", "1"))
        place.write("a", "by hand")()
        place.write("own", "by hand")()
        await place.turn("Two.", lambda: [place.write("a", "2")(), place.write("b", "2")()])
        done = await place.undo()
        assert (done.restored, done.removed) == (("a",), ("b",))
        assert (place.text("a"), place.text("own")) == ("by hand", "by hand")
        with pytest.raises(WorkFailed, match=r"changed since: a$"):
            await place.undo()
        await place.undo(force=True)
        assert (place.text("a"), place.text("own")) == (None, "by hand")

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_what_the_person_edits_during_a_turn_of_edits_is_not_the_turns(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        def change() -> None:
            place.write("a", "agent")()
            place.write("hand", "person")()

        await place.turn("Edit a.", change, touches=["a"])
        done = await place.undo()
        assert done.removed == ("a",)
        assert place.text("hand") == "person"
        await place.turn("Run it.", change)  # a command may have written both
        assert (await place.undo()).restored == ("hand",) or place.text("hand") == "person"

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_files_that_no_snapshot_holds_are_named(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        (place.work / ".gitignore").write_text(".env\n")
        place.write(".env", "1")()
        outside = place.base / "outside.txt"
        (place.work / "big").touch()
        os.truncate(place.work / "big", FILE_MOST + 1)

        def change() -> None:
            place.write(".env", "2")()
            place.write("a", "2")()
            place.write("same", "s")()
            (place.work / "same").unlink()
            outside.write_text("2")
            with open(place.work / "big", "ab") as file:
                file.write(b"x")

        await place.turn("Go.", change, touches=[".env", "a", "same", "../outside.txt"], tool="bash")
        done = await place.undo()
        assert done.removed == ("a",)
        assert done.restored == ()
        assert done.left == (str(outside.resolve()), ".env", "big")
        assert (place.text(".env"), outside.read_text()) == ("2", "2")
        assert (place.work / "big").stat().st_size == FILE_MOST + 2

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_turn_that_was_cut_off_needs_a_word_from_the_person(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        place.write("a", "1")()
        await place.turn("Go.", place.write("a", "2"), ends=False)
        session_id = place.engine.session_id
        await place.close()
        await place.open(session_id)
        with pytest.raises(WorkFailed, match=r"the turn was cut off.*: a$"):
            await place.undo()
        assert (place.text("a"), place.seqs) == ("2", [1, 2])
        done = await place.undo(force=True)
        assert (done.restored, done.forced, place.text("a")) == (("a",), ("a",), "1")

    play(tmp_path, story)
