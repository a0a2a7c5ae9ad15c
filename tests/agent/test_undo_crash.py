"""An undo that a crash cuts off is finished or put back (W-12)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent.undoable import Place, play, user
from sojourn.agent import undo_journal
from sojourn.agent.snapshot_types import Move, Unavailable
from sojourn.agent.undo_journal import Act, Journal
from sojourn.base import WorkFailed

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


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
