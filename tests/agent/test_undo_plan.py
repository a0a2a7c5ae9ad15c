"""What an undo would do, worked out from rows alone (W-12)."""

import shutil
import time
from pathlib import Path

import msgspec
import pytest

from agent.undoable import Place, play, ran, user
from sojourn.agent import undo_journal
from sojourn.agent.snapshot_types import Changed, Difference, Entry
from sojourn.agent.snapshots import Snapshots
from sojourn.agent.undo_journal import Journal
from sojourn.agent.undo_plan import Line, Look, Pair, Plan, may_have_changed, overlapping, pairs_of, plan, touched
from sojourn.record import Snapshot, Touch

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


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
