"""Undo, redo and rewind: conversation and files, both or neither, whatever happens in between (W-12, report 109)."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from agent.test_snapshots import every_byte, git, nobody, picture
from engine.sessions import work
from sojourn.agent import undo_journal
from sojourn.agent.snapshot_care import Erased, erase_snapshots, prune_snapshots
from sojourn.agent.snapshot_scan import FILE_MOST
from sojourn.agent.snapshot_types import Changed, Difference, Entry, Move, Taken, Unavailable
from sojourn.agent.snapshots import Snapshots
from sojourn.agent.turn_snapshots import Files
from sojourn.agent.undo_journal import Act, Journal
from sojourn.agent.undo_plan import Line, Look, Pair, Plan, may_have_changed, overlapping, pairs_of, plan, touched
from sojourn.agent.undoing import UndoneTurn, redo, rewind, undo
from sojourn.base import Finish, SystemClock, UserMistake, WorkFailed
from sojourn.engine import Engine
from sojourn.record import Message, Session, Snapshot, Source, Text, ToolCall, Touch
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import Traits

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

TRAITS = Traits(name="test-model", limit=64_000, limit_source="test", protocol="anthropic")


def user(text: str) -> Message:
    return Message(id="", role="user", origin="user", parts=(Text(text),))


def ran(name: str = "bash", *, touches: Sequence[Touch] = (), state: str = "completed") -> Message:
    call = ToolCall(call_id="c", name=name, arguments={}, state=state, result=(Text("ok"),), touches=tuple(touches))  # type: ignore[arg-type]
    return Message(id="", role="assistant", origin="model", parts=(call,), finish=Finish.TOOL_CALLS)


def says(text: str) -> Message:
    return Message(id="", role="assistant", origin="model", parts=(Text(text),), finish=Finish.STOP)


class Place:
    """A folder, a store and a session at work in it, as the agent's turn would drive them."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.work = base / "work"
        self.data = base / "data"
        self.work.mkdir(exist_ok=True)
        self.engine: Engine
        self.files: Files

    async def open(self, session_id: str | None = None, *, store: SqliteStore | None = None, **fields: object) -> "Place":
        self.data.mkdir(exist_ok=True)
        opened = store or await SqliteStore.open(self.base / "record.db", clock=SystemClock())
        session = None if session_id else Session(id="", **fields)  # type: ignore[arg-type]
        self.engine = await Engine.open(store=opened, session_id=session_id, session=session, traits=TRAITS)
        self.files = Files(self.data, self.work.resolve())
        return self

    async def close(self) -> None:
        await self.engine.close(wait=0)
        await self.engine.store.close()

    async def turn(
        self,
        prompt: str,
        change: Callable[[], object] | None = None,
        *,
        touches: Sequence[str] | None = None,
        tool: str = "",
        ends: bool = True,
    ) -> int:
        """One turn that changes files by a command, or (``touches``) by edits; answers the seq of its prompt."""
        stored = await self.engine.observe(user(prompt))
        await self.engine.project()
        if change is not None:
            await self.files.before_turn(self.engine)
            change()
            touched = [Touch(str(self.work / path), "edit") for path in touches or ()]
            await self.engine.observe(ran(tool or ("bash" if touches is None else "edit"), touches=touched))
        else:
            await self.engine.observe(ran("read"))
        if ends:
            await self.engine.observe(says("Done."))
            await self.files.after_turn(self.engine)
        return stored[0].seq

    def write(self, name: str, text: str) -> Callable[[], object]:
        path = self.work / name
        return lambda: (path.parent.mkdir(parents=True, exist_ok=True), path.write_text(text))

    def text(self, name: str) -> str | None:
        path = self.work / name
        return path.read_text() if path.exists() else None

    async def undo(self, **options: bool) -> UndoneTurn:
        return await undo(self.engine, data=self.data, **options)

    async def redo(self, **options: bool) -> UndoneTurn:
        return await redo(self.engine, data=self.data, **options)

    async def rewind(self, seq: int, **options: bool) -> UndoneTurn:
        return await rewind(self.engine, seq, data=self.data, **options)

    @property
    def seqs(self) -> list[int]:
        return [message.seq for message in self.engine.in_view]

    async def rows(self) -> list[Snapshot]:
        return list(await self.engine.store.snapshots(self.engine.session_id))

    def snapshots(self) -> Snapshots:
        return Snapshots(self.data, self.work.resolve())


def play(base: Path, story: Callable[[Place], Awaitable[None]], **fields: object) -> None:
    async def main() -> None:
        place = await Place(base).open(**fields)
        try:
            await story(place)
        finally:
            await place.close()

    asyncio.run(main())


# --- the rows ----------------------------------------------------------------------------------------------------------


@pytest.mark.design("W-12")
def test_a_turn_that_only_reads_has_no_snapshot_one_that_changes_has_two(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("Look.")
        assert await place.rows() == []
        assert not (place.data / "snapshots").exists()
        first = await place.turn("Write.", place.write("a", "1"))
        rows = await place.rows()
        assert [(row.when, row.at_seq) for row in rows] == [("before_turn", first), ("after_turn", place.engine.head)]
        assert rows[0].tree != rows[1].tree
        assert {row.root for row in rows} == {str(place.work.resolve())}
        assert all(row.created for row in rows)
        await place.turn("Run the tests.", lambda: None)
        rows = await place.rows()
        assert rows[2].tree == rows[3].tree == rows[1].tree

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_one_snapshot_a_turn_however_many_calls(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.engine.observe(user("Go."))
        assert isinstance(await place.files.before_turn(place.engine), Taken)
        assert await place.files.before_turn(place.engine) is None
        await place.files.after_turn(place.engine)
        await place.files.after_turn(place.engine)
        assert [row.when for row in await place.rows()] == ["before_turn", "after_turn"]

    play(tmp_path, story)


@pytest.mark.design("W-12", "M-R6")
def test_what_is_said_while_a_turn_runs_can_be_taken_back_alone(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("First.", place.write("a", "1"), ends=False)
        await place.turn("And b, too.", place.write("b", "2"))
        whens = [row.when for row in await place.rows()]
        assert whens == ["before_turn", "after_turn", "before_turn", "after_turn"]
        done = await place.undo()
        assert done.removed == ("b",)
        assert place.text("a") == "1"
        done = await place.undo()
        assert done.removed == ("a",)

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_no_snapshot_is_no_error_for_the_turn_but_is_said_at_the_undo(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        environ = {"PATH": str(tmp_path), "HOME": "/nowhere"}
        place.files = Files(place.data, place.work.resolve(), environ=environ)
        await place.engine.observe(user("Go."))
        assert await place.files.before_turn(place.engine) == Unavailable("git is not installed")
        place.write("a", "1")()
        await place.engine.observe(ran(), says("Done."))
        await place.files.after_turn(place.engine)
        with pytest.raises(WorkFailed, match="message 1 changed: git is not installed") as caught:
            await place.undo()
        assert "--no-files" in caught.value.next_step
        assert place.seqs == [1, 2, 3]
        done = await place.undo(files=False)
        assert (done.restored, done.removed, place.seqs, place.text("a")) == ((), (), [], "1")

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_folder_that_is_too_slow_twice_is_not_tried_again(tmp_path: Path) -> None:
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text(f"#!/bin/sh\necho x >>{tmp_path}/called\nsleep 30\n")
    (slow / "git").chmod(0o755)

    async def story(place: Place) -> None:
        environ = dict(os.environ) | {"PATH": f"{slow}:{os.environ['PATH']}"}
        place.files = Files(place.data, place.work.resolve(), environ=environ, seconds=0.2)
        for _ in range(3):
            await place.turn("Go.", lambda: None)
        assert (tmp_path / "called").read_text() == "x\nx\n"
        rows = await place.rows()
        assert len(rows) == 6
        assert all(row.tree.startswith("none: looking at the files took") for row in rows)

    play(tmp_path, story)


# --- undo and redo -----------------------------------------------------------------------------------------------------


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


# --- both or neither ---------------------------------------------------------------------------------------------------


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


# --- a crash -----------------------------------------------------------------------------------------------------------


@pytest.mark.design("W-12", "R-12")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("act", ["undo", "redo"])
def test_killed_after_any_step_the_next_undo_finds_no_half_state(tmp_path: Path, act: str) -> None:
    tests = Path(__file__).resolve().parent.parent
    environ = dict(os.environ) | {"PYTHONPATH": os.pathsep.join([str(tests.parent / "src"), str(tests)])}
    command = [sys.executable, str(tests / "agent" / "undo_nursery.py"), str(tmp_path), act]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 11


@pytest.mark.design("W-12", "R-12")
def test_a_crash_after_the_row_is_an_undo_that_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(place: Place) -> None:
        await place.turn("One.", place.write("a", "1"))
        await place.turn("Two.", place.write("a", "2"))

        def dying(self: Journal, act: Act, undo_id: str) -> None:
            raise KeyError("the process ends here")

        with monkeypatch.context() as patch:
            patch.setattr(undo_journal.Journal, "done", dying)
            with pytest.raises(KeyError):
                await place.undo()
        assert (place.text("a"), len(place.seqs)) == ("1", 3)
        assert (place.snapshots().folder / "pending.json").exists()
        assert await place.files.settle(place.engine) is None
        assert place.text("a") == "1"
        await place.redo()
        assert (place.text("a"), len(place.seqs)) == ("2", 6)

    play(tmp_path, story)


@pytest.mark.design("W-12", "R-12")
def test_the_next_turn_begins_after_a_half_undo_was_put_back(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        place.write("a", "1")()
        place.write("b", "1")()
        await place.turn("One.", lambda: [place.write(name, "2")() for name in "ab"])
        journal, rows = Journal(place.snapshots()), await place.rows()
        found = await place.snapshots().difference(rows[0].tree, rows[1].tree)
        moves = tuple(Move(change.path, change.after, change.before) for change in found.changes)
        journal.begin(Act(place.engine.session_id, "undo", "t", 0, moves, (b"e", b"full")))
        for name in (".sojourn-undo-t", "e", "full"):
            (place.work / name).mkdir()
        place.write("full/x", "by the person")()
        place.write("a", "1")()  # done by the undo that was cut off
        place.write("b", "since")()  # by the person, since
        settled = await place.files.settle(place.engine)
        assert settled is not None
        assert (settled.put_back, settled.stuck) == (("a",), ("b",))
        assert sorted(path.name for path in place.work.iterdir()) == ["a", "b", "full"]
        assert (place.text("a"), place.text("b")) == ("2", "since")
        journal.begin(Act(place.engine.session_id, "undo", "t", 0, moves, (b"e", b"full")))
        place.write("a", "1")()
        await place.turn("Two.", lambda: None)
        assert place.text("a") == "2"
        assert await place.files.settle(place.engine) is None

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_a_damaged_journal_is_said_and_stops_no_turn(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("One.", place.write("a", "1"))
        (place.snapshots().folder / "pending.json").write_text("{")
        await place.engine.observe(user("Two."))
        found = await place.files.before_turn(place.engine)
        assert isinstance(found, Unavailable)
        assert "pending.json is damaged" in found.reason
        with pytest.raises(WorkFailed, match="damaged"):
            await place.undo()

    play(tmp_path, story)


# --- others ------------------------------------------------------------------------------------------------------------


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


# --- pure --------------------------------------------------------------------------------------------------------------


def _row(when: str, at_seq: int, tree: str, root: str = "/w") -> Snapshot:
    return Snapshot(id=f"{when}{at_seq}{tree}", at_seq=at_seq, tree=tree, root=root, when=when)  # type: ignore[arg-type]


@pytest.mark.design("W-12")
def test_pairs_are_found_by_the_turn_they_belong_to() -> None:
    rows = [
        _row("before_turn", 1, "b1"),
        _row("after_turn", 3, "a1"),
        _row("before_undo", 3, "u"),
        _row("before_turn", 4, "b2"),
        _row("before_undo", 5, "u"),
        _row("after_turn", 6, "a2"),
        _row("before_turn", 7, "b3"),
        _row("before_turn", 8, "none: no git"),
        _row("after_turn", 9, "a4"),
        _row("before_turn", 10, "b5"),
        _row("after_turn", 12, "none: late"),
        _row("before_turn", 13, "b6"),
    ]
    assert pairs_of(rows, 1) == (Pair("/w", "b1", "a1"),)
    assert pairs_of(rows, 3) == ()
    assert pairs_of(rows, 4) == (Pair("/w", "b2", "a2"),)
    assert pairs_of(rows, 7) == (Pair("/w", "b3", None),)
    assert pairs_of(rows, 13) == (Pair("/w", "b6", None),)
    assert [pair.missing for turn in (4, 7, 8, 10) for pair in pairs_of(rows, turn)] == ["", "", "no git", "late"]


def _entry(text: str) -> Entry:
    return Entry(0o100644, text)


def _difference(*changes: tuple[str, str, str], unkept: str = "") -> Difference:
    """Path, before, after; "" = not there."""
    made = [
        Changed(path.encode(), _entry(before) if before else None, _entry(after) if after else None)
        for path, before, after in changes
    ]
    return Difference(tuple(made), tuple(path.encode() for path in unkept.split()))


def _brief(found: Plan) -> tuple[list[str], list[str], list[str]]:
    moves = [
        f"{move.path.decode()}:{move.present.sha if move.present else ''}>{move.wanted.sha if move.wanted else ''}"
        for move in found.moves
    ]
    return moves, [path.decode() for path in found.conflicts], [path.decode() for path in found.unkept]


@pytest.mark.design("W-12")
def test_a_plan_goes_from_now_to_before_the_first_change() -> None:
    turn = _difference(("a", "1", "2"), ("b", "", "2"), ("c", "1", ""))
    assert _brief(plan([Look(turn, turn)])) == (["a:2>1", "b:2>", "c:>1"], [], [])
    assert plan([]) == Plan()
    # b is gone already, c was made anew as it was: nothing to do; a is somebody else's
    now = _difference(("a", "1", "3"))
    assert _brief(plan([Look(turn, now)])) == (["a:3>1"], ["a"], [])
    now = _difference(("a", "1", "2"), ("c", "1", "3"), ("b", "", "3"))
    assert _brief(plan([Look(turn, now)])) == (["a:2>1", "b:3>", "c:3>1"], ["b", "c"], [])


@pytest.mark.design("W-12")
def test_a_plan_over_several_turns_follows_each_path() -> None:
    first, second = _difference(("a", "1", "2"), ("x", "", "1")), _difference(("a", "2", "3"), ("b", "1", "2"))
    looks = [
        Look(first, _difference(("a", "1", "3"), ("x", "", "1"), ("b", "0", "2"))),
        Look(second, _difference(("a", "2", "3"), ("b", "1", "2"))),
    ]
    # b was changed by hand between the turns: it goes to what it was before the second
    assert _brief(plan(looks)) == (["a:3>1", "b:2>1", "x:1>"], [], [])
    parted = _difference(("a", "9", "3"), ("b", "1", "2"))
    assert _brief(plan([looks[0], Look(parted, parted)])) == (["a:3>1", "b:2>1", "x:1>"], ["a"], [])


@pytest.mark.design("W-12")
def test_a_plan_knows_what_is_the_turns_own_and_what_is_doubtful() -> None:
    turn = _difference(("a", "1", "2"), ("b", "1", "2"), unkept="big")
    assert _brief(plan([Look(turn, turn, only=frozenset([b"a"]))])) == (["a:2>1"], [], [])
    assert _brief(plan([Look(turn, turn, only=frozenset([b"a", b"big"]))])) == (["a:2>1"], [], ["big"])
    assert _brief(plan([Look(turn, turn, only=frozenset())])) == ([], [], [])
    assert _brief(plan([Look(turn, turn, doubtful=frozenset([b"b"]))])) == (["a:2>1", "b:2>1"], ["b"], ["big"])
    assert _brief(plan([Look(turn, turn, ended=False)])) == (["a:2>1", "b:2>1"], ["a", "b"], ["big"])
    now = _difference(("b", "1", "2"), unkept="a")
    assert _brief(plan([Look(turn, now)])) == (["b:2>1"], [], ["a", "big"])


@pytest.mark.design("W-12")
def test_what_a_turn_says_it_touched_is_all_only_if_nothing_else_ran() -> None:
    edit = ran("edit", touches=[Touch("/w/a", "edit"), Touch("/w/r", "read")])
    write = ran("write", touches=[Touch("/w/b", "write")])
    assert touched([edit, write, ran("read", touches=[Touch("/w/c", "read")])]) == (frozenset(["/w/a", "/w/b"]), True)
    assert touched([edit, ran("bash")]) == (frozenset(["/w/a"]), False)
    assert touched([edit, ran("their_tool")]) == (frozenset(["/w/a"]), False)
    assert touched([edit, ran("edit", state="interrupted")])[1] is False
    assert touched([edit, ran("bash", state="error")])[1] is True
    assert touched([ran("memory"), ran("task"), ran("skill"), ran("grep")]) == (frozenset(), True)
    assert not may_have_changed([ran("read"), ran("memory"), ran("bash", state="error"), user("x")])
    for state in ("completed", "interrupted", "running"):
        assert may_have_changed([ran("bash", state=state)])
    assert may_have_changed([ran("Edit")])


@pytest.mark.design("W-12")
def test_turns_of_other_sessions_overlap_by_the_order_of_snapshots() -> None:
    def line(text: str) -> Line:
        session, turn, when, tree = text.split()
        return Line(session, int(turn), {"b": "before_turn", "a": "after_turn"}[when], tree)

    lines = [
        line(text)
        for text in (
            "x 1 b x1", "x 1 a x2", "y 1 b y1", "me 5 b m1", "y 1 a y2", "z 1 b z1", "z 1 a z2", "v 1 b v1", "me 5 a m2",
            "v 1 a v2", "w 1 b w1", "w 1 a w2",
        )
    ]  # fmt: skip
    assert overlapping(lines, "me", 5) == {"y": [("y1", "y2")], "z": [("z1", "z2")], "v": [("v1", "v2")]}
    assert overlapping(lines[:-3], "me", 5)["v"] == [("v1", None)]
    assert overlapping(lines, "me", 6) == {}
    assert overlapping(lines, "w", 1) == {}
    assert overlapping([line("q 1 b q1"), *lines[3:4], *lines[8:9]], "me", 5) == {"q": [("q1", None)]}


@pytest.mark.design("W-12")
def test_the_log_of_snapshots_is_cut_from_its_old_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = Snapshots(tmp_path, tmp_path / "w")
    snapshots.folder.mkdir(parents=True)
    journal = Journal(snapshots)
    assert journal.lines() == []
    monkeypatch.setattr(undo_journal, "_LOG_MOST", 500)
    for n in range(30):
        journal.note(Line("s", n, "before_turn", "t"))
    lines = journal.lines()
    assert [line.turn for line in lines] == list(range(lines[0].turn, 30))
    assert len(lines) == 10  # at the 15th, 20th and 25th line the older half went
    with open(snapshots.folder / "taken.jsonl", "ab") as file:
        file.write(b'["s",1,')
    assert journal.lines() == lines


@pytest.mark.design("W-12")
def test_an_undo_is_told_in_plain_values(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        await place.turn("Go.", place.write("a\nb", "1"))
        told = msgspec.json.decode(msgspec.json.encode(await place.undo()))
        assert told["removed"] == ["a\\nb"]
        assert told["what"] == "the turn at message 1"

    play(tmp_path, story)


@pytest.mark.design("W-12")
def test_an_undo_of_a_small_turn_is_quick(tmp_path: Path) -> None:
    async def story(place: Place) -> None:
        for n in range(300):
            place.write(f"f{n}", str(n))()
        await place.turn("Go.", place.write("f1", "x"))
        began = time.monotonic()
        await place.undo()
        assert time.monotonic() - began < 10

    play(tmp_path, story)
