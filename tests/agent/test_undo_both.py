"""Conversation and files are taken back both or neither, with the reason (W-12)."""

import asyncio
import shutil
from pathlib import Path

import pytest

from agent.kept_files import every_byte, git, nobody, picture
from agent.undoable import Place, play
from engine.sessions import work
from sojourn.base import UserMistake, WorkFailed
from sojourn.engine import Engine

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.design("W-12")
@pytest.mark.report(109)
def test_rewind_past_a_boundary_takes_conversation_and_files(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        git(place.work, "init", "-q")
        place.write("src/a.py", "1\n")()
        (place.work / "data.bin").write_bytes(b"\0\xff" * 100)
        git(place.work, "add", ".")
        git(place.work, "commit", "-qm", "one")
        theirs = every_byte(place.work / ".git")
        before = picture(place.work)

        def first() -> None:
            place.write("src/a.py", "2\n")()
            (place.work / "data.bin").write_bytes(b"\1")
            place.write("src/new.py", "n\n")()

        turn = await place.turn("Edit it.", first)
        await work(place.engine, 20)
        await place.engine.rebuild()
        await place.turn("More.", place.write("src/a.py", "3\n"))
        await place.turn("Only look.")
        await work(place.engine, 20)
        await place.engine.rebuild()
        await place.turn("Still more.", lambda: ((place.work / "src/new.py").unlink(), place.write("x", "x")()))
        after = picture(place.work)
        windows = len(await place.engine.store.windows(place.engine.session_id, include_undone=True))
        assert windows == 3

        done = await place.rewind(turn)
        assert done.kind == "turns"
        assert done.what == f"4 turns, back to before message {turn}"
        assert done.prompt == "Edit it."
        assert done.restored == ("data.bin", "src/a.py")
        assert done.removed == ("src/new.py", "x")
        assert picture(place.work) == before
        assert place.seqs == []
        assert place.engine.window.number in (0, 1)
        assert every_byte(place.work / ".git") == theirs
        for _ in done.steps:
            await place.redo()
        assert picture(place.work) == after
        assert len(place.seqs) == len({*place.seqs}) > 0

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_rewind_goes_as_far_as_it_is_told(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        seqs = [await place.turn(f"Turn {n}.", place.write("a", str(n))) for n in range(4)]
        with pytest.raises(UserMistake, match=f"begins with message {seqs[2] + 1}") as caught:
            await place.rewind(seqs[2] + 1)
        assert caught.value.next_step == f"The next turn begins with message {seqs[3]}."
        with pytest.raises(UserMistake):
            await place.rewind(99)
        assert place.text("a") == "3"
        done = await place.rewind(seqs[2])
        assert (place.text("a"), len(done.steps), done.what) == ("1", 2, f"2 turns, back to before message {seqs[2]}")
        with pytest.raises(UserMistake):
            await place.rewind(seqs[2])
        assert (await place.rewind(seqs[1])).what == f"1 turn, back to before message {seqs[1]}"
        assert place.text("a") == "0"

    play(tmp_path, story)


@pytest.mark.design("W-12")
@pytest.mark.report(109)
def test_a_rewind_that_meets_a_change_does_nothing_at_all(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        first = await place.turn("One.", place.write("a", "1"))
        await place.turn("Two.", place.write("b", "2"))
        await place.turn("Three.", place.write("c", "3"))
        place.write("a", "mine")()
        before, seqs = picture(place.work), place.seqs
        with pytest.raises(WorkFailed, match=r"changed since: a$"):
            await place.rewind(first)
        assert (picture(place.work), place.seqs) == (before, seqs)
        assert await place.engine.store.undos(place.engine.session_id) == []
        await place.rewind(first, files=False)
        assert (picture(place.work), place.seqs) == (before, [])

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_change_between_two_turns_on_one_file_is_seen_by_a_rewind(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        first = await place.turn("One.", place.write("a", "1"))
        place.write("a", "by hand")()
        await place.turn("Two.", place.write("a", "2"))
        with pytest.raises(WorkFailed, match=r"changed since: a$"):
            await place.rewind(first)
        assert (place.text("a"), len(place.seqs)) == ("2", 6)
        done = await place.rewind(first, force=True)
        assert (done.removed, done.forced, place.text("a")) == (("a",), ("a",), None)

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_row_that_cannot_be_written_puts_the_files_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(place: Place) -> None:
        first = await place.turn("One.", place.write("a", "1"))
        await place.turn("Two.", place.write("a", "2"))
        before, seqs = picture(place.work), place.seqs
        real, calls = Engine.undo, 0

        async def failing(self: Engine) -> object:
            nonlocal calls
            calls += 1
            if calls in (1, 3):
                raise WorkFailed("the disk is full")
            return await real(self)

        monkeypatch.setattr(Engine, "undo", failing)
        with pytest.raises(WorkFailed, match="the disk is full"):
            await place.undo()
        assert (picture(place.work), place.seqs) == (before, seqs)
        with pytest.raises(WorkFailed, match="the disk is full"):
            await place.rewind(first)  # its second undo fails: the first is taken back
        assert calls == 3
        assert (picture(place.work), place.seqs) == (before, seqs)
        assert not (place.snapshots().folder / "pending.json").exists()
        await place.undo()
        monkeypatch.setattr(Engine, "redo", failing)
        calls = 0
        with pytest.raises(WorkFailed, match="the disk is full"):
            await place.redo()
        assert (place.text("a"), len(place.seqs)) == ("1", 3)

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_folder_that_may_not_be_written_undoes_nothing_and_says_why(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        (place.work / "d").mkdir()
        place.write("a", "1")()
        place.write("d/f", "1")()

        def change() -> None:
            place.write("a", "2")()
            place.write("d/f", "2")()

        await place.turn("Go.", change)
        (place.work / "d").chmod(0o555)
        with nobody(tmp_path):
            with pytest.raises(WorkFailed, match=r"nothing was changed: Permission denied.*d/f"):
                await place.undo()
            assert (place.text("a"), place.text("d/f"), place.seqs) == ("2", "2", [1, 2, 3])
        (place.work / "d").chmod(0o755)
        assert (await place.undo()).restored == ("a", "d/f")

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_cancel_in_the_middle_is_heard_when_both_are_done(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("One.", place.write("a", "1"))
        task = asyncio.create_task(place.undo())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (place.text("a"), place.seqs) == (None, [])

    play(tmp_path, story)
