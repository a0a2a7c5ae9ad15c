"""Undo beside others: other sessions, forks, folders and people at work on the same files (W-12)."""

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from agent.kept_files import every_byte
from agent.undoable import Place, play, ran, says, user
from sojourn.agent.snapshot_care import Erased, erase_snapshots, prune_snapshots
from sojourn.agent.snapshot_types import Taken
from sojourn.agent.snapshots import Snapshots
from sojourn.agent.turn_snapshots import Files
from sojourn.agent.undoing import undo
from sojourn.base import WorkFailed
from sojourn.record import Message, Snapshot, Source, Touch

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


async def _second(place: Place) -> Place:
    return await Place(place.base).open(store=place.engine.store)  # type: ignore[arg-type]


@pytest.mark.design("W-12")
def test_two_sessions_in_one_folder_take_back_their_own(tmp_path: Path) -> None:
    async def story(one: Place) -> None:
        two = await _second(one)
        await one.turn("One.", one.write("a", "one"))
        await two.turn("Two.", two.write("b", "two"))
        await one.turn("One again.", one.write("c", "one"))
        assert (await one.undo()).removed == ("c",)
        assert (await one.undo()).removed == ("a",)
        assert one.text("b") == "two"
        assert (await two.undo()).removed == ("b",)
        await two.engine.close(wait=0)

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_file_that_the_other_session_changed_later_is_a_conflict(tmp_path: Path) -> None:
    async def story(one: Place) -> None:
        two = await _second(one)
        await one.turn("One.", one.write("a", "one"))
        await two.turn("Two.", two.write("a", "two"))
        with pytest.raises(WorkFailed, match=r"changed since: a$"):
            await one.undo()
        assert (await two.undo()).restored == ("a",)
        assert (await one.undo()).removed == ("a",)
        await two.engine.close(wait=0)

    play(tmp_path, story)


@pytest.mark.design("W-12")
@pytest.mark.parametrize("ended", [True, False])
def test_turns_at_the_same_time_do_not_take_back_each_others_files(tmp_path: Path, ended: bool) -> None:
    async def story(one: Place) -> None:
        two = await _second(one)

        async def begin(place: Place, prompt: str) -> None:
            await place.engine.observe(user(prompt))
            await place.files.before_turn(place.engine)

        async def end(place: Place, call: Message) -> None:
            await place.engine.observe(call, says("Done."))
            await place.files.after_turn(place.engine)

        await begin(one, "One.")
        one.write("early", "one")()
        await begin(two, "Two.")
        one.write("a", "one")()
        two.write("b", "two")()
        await end(one, ran())
        if ended:
            await end(two, ran("edit", touches=[Touch(str(two.work / "b"), "edit")]))
        with pytest.raises(WorkFailed, match=r"another session worked .*: a, b$"):
            await one.undo()
        assert (one.text("early"), one.text("a"), one.text("b")) == ("one", "one", "two")
        if ended:
            assert (await two.undo()).removed == ("b",)  # its edits say what is theirs
            assert one.text("a") == "one"
            done = await one.undo(force=True)
            assert (done.removed, done.forced) == (("a", "early"), ("a",))
        else:
            await two.engine.close(wait=0)  # as after a crash: nobody knows how far it went
            assert (await one.undo()).removed == ("a", "b", "early")
        await two.engine.close(wait=0)

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_what_its_actors_change_is_the_turns_own_work(tmp_path: Path) -> None:
    async def story(one: Place) -> None:
        await one.engine.observe(user("One."))
        await one.files.before_turn(one.engine)
        child = await Place(one.base).open(store=one.engine.store, parent_id=one.engine.session_id)  # type: ignore[arg-type]
        grandchild = await Place(one.base).open(store=one.engine.store, parent_id=child.engine.session_id)  # type: ignore[arg-type]
        await child.turn("Do a part.", child.write("a", "child"))
        await grandchild.turn("Do a part.", child.write("b", "grandchild"))
        await one.engine.observe(ran("spawn"), says("Done."))
        await one.files.after_turn(one.engine)
        assert (await one.undo()).removed == ("a", "b")
        await one.redo()
        with pytest.raises(WorkFailed, match="another session worked"):
            await child.undo()  # the parent's turn ran on meanwhile
        for place in (child, grandchild):
            await place.engine.close(wait=0)

    play(tmp_path, story)


@pytest.mark.design("W-12", "R-4")
def test_a_fork_takes_back_its_own_turns_and_says_so_of_its_parents(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("Look.")
        await place.turn("Parent.", place.write("a", "1"))
        forked = await place.engine.fork()
        await place.engine.close(wait=0)
        child = await Place(place.base).open(forked.id, store=place.engine.store)  # type: ignore[arg-type]
        await child.turn("Child.", child.write("b", "1"))
        assert (await child.undo()).removed == ("b",)
        if (await child.engine.store.newest_window(child.engine.session_id)) is not None:
            with pytest.raises(WorkFailed, match="before this session was forked"):
                await child.undo()
        assert child.text("a") == "1"
        await child.undo(files=False)
        assert child.text("a") == "1"
        assert (await child.undo()).prompt == "Look."  # it changed nothing: nothing to know
        await child.engine.close(wait=0)

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_turn_of_another_program_is_taken_back_without_files_only(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.engine.observe(user("Look."), ran("read"), says("Done."))
        await place.engine.observe(user("Go."), ran("Bash"), says("Done."))
        with pytest.raises(WorkFailed, match="message 4 changed: another program made it"):
            await place.undo()
        await place.undo(files=False)
        assert (await place.undo()).prompt == "Look."

    play(tmp_path, story, source=Source(format="claude-code", foreign_id="x"))


@pytest.mark.design("W-12")
def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("Go.", place.write("a", "1"))
        place.work.rename(place.base / "elsewhere")
        with pytest.raises(WorkFailed, match=r"work is gone"):
            await place.undo()
        assert place.seqs == [1, 2, 3]

    play(tmp_path, story)


def _age(shots: Snapshots) -> None:
    """Three hours pass."""
    then = time.time() - 3 * 3_600
    for path in shots.folder.rglob("*"):
        os.utime(path, (then, then))


async def _elsewhere(base: Path, place: Place) -> Place:
    """A session of the same record in another folder."""
    await asyncio.to_thread(base.mkdir)
    other = await Place(base).open(store=place.engine.store, cwd=str(base / "work"))  # type: ignore[arg-type]
    other.data, other.files = place.data, Files(place.data, other.work.resolve())
    return other


async def _erased(*places: Place) -> None:
    for place in places:
        await place.engine.close(wait=0)
        await place.engine.store.delete(place.engine.session_id)


async def _erase(place: Place) -> Erased:
    return await erase_snapshots(place.data, place.engine.store, place.work.resolve(), [place.engine.session_id])


@pytest.mark.design("W-12", "R-16")
def test_what_no_session_names_any_more_is_pruned_when_it_is_two_hours_old(tmp_path: Path) -> None:
    async def story(one: Place) -> None:
        one.write("secret", os.urandom(20_000).hex())()
        await one.turn("Go.", (one.work / "secret").unlink)
        two = await _second(one)
        await two.turn("Go on.", two.write("b", "2"))
        other = await _elsewhere(tmp_path / "other", one)
        await other.turn("Go.", other.write("c", "3"))
        rows, store = await one.rows(), one.engine.store
        await _erased(one, other)
        assert await prune_snapshots(one.data, store) == 0  # all of it is fresh
        found = await one.snapshots().difference(rows[0].tree, rows[1].tree)
        assert [change.path for change in found.changes] == [b"secret"]
        _age(one.snapshots())
        assert await prune_snapshots(one.data, store) > 0
        with pytest.raises(WorkFailed, match="not there any more"):
            await one.snapshots().difference(rows[0].tree, rows[1].tree)
        assert (other.snapshots().folder / "git").is_dir()
        _age(other.snapshots())
        assert await prune_snapshots(one.data, store) > 0
        assert [path.name for path in other.snapshots().folder.iterdir()] == ["lock"]
        assert (await two.undo()).removed == ("b",)
        await two.engine.close(wait=0)

    play(tmp_path, story)


@pytest.mark.design("W-12", "R-16")
def test_what_a_person_erases_goes_at_once_and_nothing_of_another_session_or_folder(tmp_path: Path) -> None:
    async def story(one: Place) -> None:
        two = await _second(one)
        await two.turn("Mine.", two.write("b", "2"))
        one.write("secret", os.urandom(20_000).hex())()
        await one.turn("Go.", (one.work / "secret").unlink)
        await one.undo()
        other = await _elsewhere(tmp_path / "other", one)
        await other.turn("Go.", other.write("c", "3"))
        rows, kept = await one.rows(), await two.rows()
        await other.turn("Go.", other.write("c", "4"))
        gone = await Place(other.base).open(store=one.engine.store, cwd=str(other.work))  # type: ignore[arg-type]
        gone.data, gone.files = one.data, Files(one.data, other.work.resolve())
        await gone.turn("Go.", gone.write("d", "4"))
        await _erased(one, gone)
        await two.engine.close(wait=0)
        untouched = every_byte(other.snapshots().folder)
        assert (one.snapshots().folder / "undone" / one.engine.session_id).is_dir()
        done = await _erase(one)  # another folder's session is at work all the while
        assert (done.freed > 0, done.at_once) == (True, True)
        assert not (one.snapshots().folder / "undone" / one.engine.session_id).exists()
        with pytest.raises(WorkFailed, match="not there any more"):
            await one.snapshots().difference(rows[0].tree, rows[1].tree)
        found = await two.snapshots().difference(kept[0].tree, kept[1].tree)
        assert [change.path for change in found.changes] == [b"b"]
        assert every_byte(other.snapshots().folder) == untouched
        await other.engine.close(wait=0)

    play(tmp_path, story)


@pytest.mark.design("W-12", "R-16")
@pytest.mark.parametrize("place", ["", "there", "gone"])
def test_where_a_session_may_be_at_work_what_is_fresh_stays(tmp_path: Path, place: str) -> None:
    """A snapshot that it has just taken is named by no row yet."""

    async def story(one: Place) -> None:
        one.write("secret", os.urandom(20_000).hex())()
        await one.turn("Go.", (one.work / "secret").unlink)
        cwd = {"": "", "there": str(one.work.resolve()), "gone": str(tmp_path / "gone")}[place]
        two = await Place(one.base).open(store=one.engine.store, cwd=cwd)  # type: ignore[arg-type]
        two.write("new", "n")()
        taken = await two.snapshots().take()
        assert isinstance(taken, Taken)
        rows = await one.rows()
        await _erased(one)
        assert await _erase(one) == Erased(0, False)
        for tree in (rows[0].tree, taken.tree):
            await one.snapshots().difference(tree, taken.tree)
        _age(one.snapshots())
        two.write("newer", "n")()
        taken = await two.snapshots().take()
        assert isinstance(taken, Taken)
        done = await _erase(one)
        assert (done.freed > 15_000, done.at_once) == (True, False)
        await one.snapshots().difference(taken.tree, taken.tree)
        with pytest.raises(WorkFailed, match="not there any more"):
            await one.snapshots().difference(rows[0].tree, rows[0].tree)
        await two.engine.close(wait=0)
        assert (await _erase(one)).at_once
        assert [path.name for path in one.snapshots().folder.iterdir()] == ["lock"]

    play(tmp_path, story)


@pytest.mark.design("W-12", "R-16")
def test_what_to_keep_is_looked_up_when_nobody_else_can_take_any(tmp_path: Path) -> None:
    async def story(one: Place) -> None:
        await one.turn("Go.", one.write("a", "1"))
        two = await _second(one)
        two.write("new", "2")()
        taken = await two.snapshots().take()
        assert isinstance(taken, Taken)
        await _erased(one)
        root = str(two.work.resolve())
        async with two.snapshots().hold():
            erasing = asyncio.create_task(_erase(one))
            await asyncio.sleep(0.1)
            row = Snapshot(id="snap_1", at_seq=0, tree=taken.tree, root=root, when="before_turn", created=1)
            await two.engine.put_snapshot(row)
            await two.engine.close(wait=0)
        assert (await erasing).at_once
        await two.snapshots().difference(taken.tree, taken.tree)

    play(tmp_path, story)


@pytest.mark.design("R-16")
def test_a_folder_without_snapshots_is_left_alone(tmp_path: Path) -> None:
    async def story(one: Place) -> None:
        assert await _erase(one) == Erased(0, True)
        assert not one.snapshots().folder.exists()

    play(tmp_path, story)


@pytest.mark.design("R-16")
def test_snapshots_that_cannot_be_removed_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(one: Place) -> None:
        await one.turn("Go.", one.write("a", "1"))
        await _erased(one)

        def refuse(path: Path, ignore_errors: bool = False) -> None:
            if not ignore_errors:
                raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(shutil, "rmtree", refuse)
        with pytest.raises(WorkFailed, match=r"/git cannot be removed: Permission denied"):
            await _erase(one)

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_session_of_another_machine_is_undone_without_a_trace(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("Go.", place.write("a", "1"))
        await place.turn("Look.")
        elsewhere = tmp_path / "elsewhere"
        assert (await undo(place.engine, data=elsewhere)).prompt == "Look."
        assert not elsewhere.exists()

    play(tmp_path, story)
