"""The rows that turns leave of their files (W-12)."""

import os
import shutil
from pathlib import Path

import pytest

from agent.undoable import Place, play, ran, says, user
from sojourn.agent.snapshot_types import Taken, Unavailable
from sojourn.agent.turn_snapshots import Files
from sojourn.base import WorkFailed

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


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
