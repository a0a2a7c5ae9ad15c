"""Forks: a view of the parent up to a point, nothing copied, nothing shared after it (R-4)."""

import asyncio
from pathlib import Path

import pytest

from record.rows import Desk, at_desk, checkpoint, redo, sit, undo_turn, undo_window, user, window
from sojourn.base import UserMistake
from sojourn.record import AddCheckpoint, AddTrims, ConsumeTiers, ForkOf, Pin, PinRow, Session, SetTrigger, Trim

Where = Path | None


async def fork(desk: Desk, name: str, seq: int, window_id: str | None = None) -> Desk:
    return await sit(None, name, store=desk.store, fork_of=ForkOf(desk.sid, window_id, seq))


async def windows(desk: Desk) -> list[tuple[str, int]]:
    return [(row.id, row.number) for row in await desk.store.windows(desk.sid)]


@pytest.mark.design("R-4")
def test_a_fork_reads_its_parent_up_to_the_fork_and_goes_on_from_there(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(5)
        child = await fork(desk, "ses_f", 3)
        session = await desk.store.session("ses_f")
        assert session is not None
        assert (session.head, session.fork_of) == (3, ForkOf("ses_1", None, 3))
        assert await child.seqs() == [1, 2, 3]
        assert (await child.put(user("f4", "own"), head=3)).seqs == (4,)
        await child.talk(1, 5)
        rows = await desk.store.messages("ses_f")
        assert [(row.seq, row.session_id) for row in rows] == [
            (1, "ses_1"),
            (2, "ses_1"),
            (3, "ses_1"),
            (4, "ses_f"),
            (5, "ses_f"),
        ]
        assert await child.seqs(after=2, upto=4) == [3, 4]
        assert await child.seqs(after=1, limit=3) == [2, 3, 4]
        assert await child.seqs(newest_first=True, limit=3) == [5, 4, 3]
        assert await child.seqs(newest_first=True, limit=2) == [5, 4]
        assert [message.seq async for message in desk.store.stream("ses_f", batch=2)] == [1, 2, 3, 4, 5]
        assert await desk.seqs() == [1, 2, 3, 4, 5]
        assert (await desk.store.message("ses_f", "msg_ses_1_3")).seq == 3  # type: ignore[union-attr]
        assert await desk.store.message("ses_f", "msg_ses_1_4") is None
        assert await desk.store.message("ses_1", "f4") is None

    at_desk(where, story)


@pytest.mark.design("R-4")
def test_a_fork_of_a_fork_follows_the_whole_chain(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(4)
        child = await fork(desk, "ses_f", 3)
        await child.talk(3, 4)
        late, early = await fork(child, "ses_g", 5), await fork(child, "ses_h", 2)
        await late.talk(1, 6)
        await early.talk(1, 3)
        assert [row.session_id for row in await desk.store.messages("ses_g")] == ["ses_1"] * 3 + ["ses_f"] * 2 + ["ses_g"]
        assert [row.session_id for row in await desk.store.messages("ses_h")] == ["ses_1"] * 2 + ["ses_h"]
        assert await late.seqs(newest_first=True, limit=4) == [6, 5, 4, 3]

    at_desk(where, story)


@pytest.mark.design("R-4", "R-5")
def test_a_fork_starts_with_its_parents_window_and_state_and_changes_neither(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(window("w1"))
        await desk.talk(4)
        await desk.put(ConsumeTiers("w1", (10,), 5), AddTrims("w1", (Trim(1, 0, 1, 1),)))
        child = await fork(desk, "ses_f", 4)
        await desk.put(ConsumeTiers("w1", (20,)), AddTrims("w1", (Trim(5, 0, 1, 1),)))  # after the fork: not the fork's
        row = await desk.store.newest_window("ses_f")
        assert row is not None
        assert (row.id, row.tiers, row.gate, row.trims) == ("w1", (10,), 5, (Trim(1, 0, 1, 1),))
        await child.put(ConsumeTiers("w1", (30,), 9))
        row = await desk.store.newest_window("ses_f")
        assert row is not None
        assert (row.tiers, row.gate) == ((10, 30), 9)
        row = await desk.store.newest_window("ses_1")
        assert row is not None
        assert (row.tiers, row.gate, len(row.trims)) == ((10, 20), None, 2)
        assert await desk.store.window("w1") == row
        await desk.put(window("w2", 4))  # at the same seq, but after the fork
        assert await windows(child) == [("w1", 1)]
        await child.put(window("f2", 4))
        assert await windows(child) == [("w1", 1), ("f2", 2)]
        grandchild = await fork(child, "ses_g", 4)
        await grandchild.put(window("g3", 4))
        assert await windows(grandchild) == [("w1", 1), ("f2", 2), ("g3", 3)]

    at_desk(where, story)


@pytest.mark.design("R-4")
def test_a_fork_from_an_older_window_does_not_see_newer_ones(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(window("w1"))
        await desk.talk(2)
        await desk.put(window("w2", 2), AddCheckpoint(checkpoint("k2", 2)))
        await desk.talk(2, 3)
        await desk.put(window("w3", 4), AddCheckpoint(checkpoint("k4", 4)))
        assert await windows(await fork(desk, "ses_a", 4, "w1")) == [("w1", 1)]
        assert await windows(await fork(desk, "ses_b", 4, "w2")) == [("w1", 1), ("w2", 2)]
        assert await windows(await fork(desk, "ses_c", 3)) == [("w1", 1), ("w2", 2)]
        assert await windows(await fork(desk, "ses_d", 4)) == [("w1", 1), ("w2", 2), ("w3", 3)]
        assert (await desk.store.newest_checkpoint("ses_c")) == checkpoint("k2", 2)
        assert [row.id for row in await desk.store.checkpoints("ses_d")] == ["k2", "k4"]
        child = await fork(desk, "ses_e", 4)
        await child.put(window("e4", 4))
        assert await windows(await fork(child, "ses_g", 4, "w2")) == [("w1", 1), ("w2", 2)]
        assert await windows(await fork(child, "ses_h", 4, "w3")) == [("w1", 1), ("w2", 2), ("w3", 3)]

    at_desk(where, story)


@pytest.mark.design("R-4")
def test_pins_and_checkpoints_made_in_the_parent_later_are_not_the_forks(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(3)
        await desk.put(Pin(PinRow("p1", "one")), Pin(PinRow("p2", "two")))
        child = await fork(desk, "ses_f", 3)
        await desk.put(Pin(PinRow("p1", "one", removed=True)), Pin(PinRow("p3", "three")), AddCheckpoint(checkpoint("k", 2)))
        assert [pin.id for pin in await desk.store.pins("ses_f")] == ["p1", "p2"]
        assert await desk.store.newest_checkpoint("ses_f") is None
        await child.put(Pin(PinRow("p2", "two", removed=True)))
        assert [pin.id for pin in await desk.store.pins("ses_f")] == ["p1"]
        assert [pin.id for pin in await desk.store.pins("ses_1")] == ["p2", "p3"]

    at_desk(where, story)


@pytest.mark.design("R-4")
def test_a_fork_that_ends_earlier_has_no_undo_of_what_came_later(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(9)
        await desk.put(undo_turn("u1", 1, 2), undo_turn("u2", 5, 7), undo_turn("u3", 4, 9), redo("r3", "u3"))
        child = await fork(desk, "ses_f", 5)
        assert [(row.id, row.after_seq, row.upto_seq, row.closes) for row in await desk.store.undos("ses_f")] == [
            ("u1", 1, 2, None),
            ("u2", 5, 5, "u2"),
            ("u3", 4, 5, None),
            ("r3", 0, 0, "u3"),
        ]
        await child.talk(4, 6)
        assert await child.seqs() == [1, 3, 4, 5, 6, 7, 8, 9]
        assert await child.refused(redo("f1", "u2")) == "undo"
        await child.put(redo("f2", "u1"))
        assert await child.seqs() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
        assert await desk.seqs() == [1, 3, 4, 5, 8, 9]
        same = await fork(desk, "ses_g", 7)
        await same.talk(1, 8)
        assert await same.seqs() == [1, 3, 4, 5, 8]
        assert await (await fork(same, "ses_h", 6)).seqs() == [1, 3, 4, 5]

    at_desk(where, story)


@pytest.mark.design("R-4")
def test_a_later_checkpoint_of_an_early_mark_leaves_a_forks_view_with_its_turn(where: Where) -> None:
    """What the fork inherits was numbered by the parent's undos, those that the fork does not see too."""

    async def story(desk: Desk) -> None:
        await desk.talk(9)
        await desk.put(undo_turn("u1", 7, 8), redo("r1", "u1"), AddCheckpoint(checkpoint("k", 4)))
        child = await fork(desk, "ses_f", 5)
        assert [row.id for row in await desk.store.checkpoints("ses_f")] == ["k"]
        await child.put(undo_turn("f1", 3, 5))
        assert [row.id for row in await desk.store.checkpoints("ses_f")] == []

    at_desk(where, story)


@pytest.mark.design("R-4", "R-5")
def test_a_fork_that_ends_earlier_has_not_come_as_far_in_its_window(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(window("w1"))
        await desk.talk(6)
        trims = (Trim(4, 0, 1, 1), Trim(5, 0, 1, 1))
        await desk.put(ConsumeTiers("w1", (10, 20), 5), AddTrims("w1", trims), SetTrigger("w1", 77))
        row = await (await fork(desk, "ses_f", 4)).store.newest_window("ses_f")
        assert row is not None
        assert (row.tiers, row.gate, row.trims, row.trigger) == ((), None, trims[:1], 77)
        row = await (await fork(desk, "ses_g", 6)).store.newest_window("ses_g")
        assert row is not None
        assert (row.tiers, row.gate, row.trims, row.trigger) == ((10, 20), 5, trims, 77)

    at_desk(where, story)


@pytest.mark.design("R-4", "R-15")
def test_a_fork_that_ends_earlier_has_the_pins_of_its_time(where: Where) -> None:
    def pin(name: str, created: int, **fields: bool) -> Pin:
        return Pin(PinRow(name, name, created=created, **fields))

    async def story(desk: Desk) -> None:
        await desk.put(user("a", created=100), user("b", created=200), pin("early", 150), user("c", created=300))
        await desk.put(pin("then", 300), pin("early", 400, removed=True), pin("late", 500))
        for seq, expected in ((0, []), (1, ["early"]), (2, ["early"]), (3, ["then", "late"])):
            child = await fork(desk, f"ses_f{seq}", seq)
            assert [row.id for row in await child.store.pins(child.sid)] == expected, seq
            grandchild = await fork(child, f"ses_g{seq}", seq)
            assert [row.id for row in await child.store.pins(grandchild.sid)] == expected, seq

    at_desk(where, story)


@pytest.mark.design("R-4")
def test_where_nobody_knows_when_a_message_came_pins_stay(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(2)
        await desk.put(Pin(PinRow("p", "p", created=5)))
        await fork(desk, "ses_f", 1)
        assert [row.id for row in await desk.store.pins("ses_f")] == ["p"]

    at_desk(where, story)


@pytest.mark.design("R-4")
def test_undos_before_the_fork_hold_in_it_and_later_ones_are_each_sessions_own(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(window("w1"))
        await desk.talk(6)
        await desk.put(window("w2", 6), undo_turn("u1", 2, 3))
        child = await fork(desk, "ses_f", 6)
        await desk.put(undo_turn("u2", 4, 5), redo("r1", "u1"))
        assert await desk.seqs() == [1, 2, 3, 4, 6]
        assert await child.seqs() == [1, 2, 4, 5, 6]
        await child.put(undo_turn("f1", 0, 1), undo_window("f2", "w2"))
        assert await child.seqs() == [2, 4, 5, 6]
        assert (await desk.store.newest_window("ses_f")).id == "w1"  # type: ignore[union-attr]
        assert (await desk.store.newest_window("ses_1")).id == "w2"  # type: ignore[union-attr]
        assert await desk.seqs() == [1, 2, 3, 4, 6]
        assert [row.id for row in await desk.store.undos("ses_f")] == ["u1", "f1", "f2"]
        await child.put(redo("f3", "u1"))
        assert await child.seqs() == [2, 3, 4, 5, 6]
        assert await child.refused(AddCheckpoint(checkpoint("k", 3, (0, 3))), undo_revision=3) == "undo"
        await child.put(AddCheckpoint(checkpoint("k", 3, (0, 3))), undo_revision=4)

    at_desk(where, story)


@pytest.mark.design("R-4", "R-13")
def test_search_in_a_fork_reaches_its_parent_up_to_the_fork(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(*(user(f"m{seq}", f"needle number{seq}") for seq in range(1, 5)))
        child = await fork(desk, "ses_f", 3)
        await child.put(user("f4", "needle own"), undo_turn("u", 0, 1))
        hits = await desk.store.search("needle", session_id="ses_f")
        assert [(hit.session_id, hit.seq) for hit in hits] == [("ses_f", 4), ("ses_1", 3), ("ses_1", 2)]
        assert [hit.seq for hit in await desk.store.search("needle", session_id="ses_1")] == [4, 3, 2, 1]
        assert len(await desk.store.search("needle")) == 5

    at_desk(where, story)


def test_turns_of_a_fork_begin_in_its_parent(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(4)
        child = await fork(desk, "ses_f", 2)
        await child.talk(1, 3)
        assert [turn.message.id for turn in await desk.store.turns("ses_f", upto=9)] == [
            "msg_ses_f_3",
            "msg_ses_1_2",
            "msg_ses_1_1",
        ]

    at_desk(where, story)


@pytest.mark.design("R-4")
def test_a_fork_of_what_is_not_there_is_a_mistake(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(3)
        await desk.put(window("w1", 3))
        for wrong in (ForkOf("ses_9", None, 0), ForkOf("ses_1", None, 4), ForkOf("ses_1", None, -1), ForkOf("ses_1", "w9", 1)):
            with pytest.raises(UserMistake):
                await desk.store.create(Session(id="ses_f", fork_of=wrong))
        assert await desk.store.session("ses_f") is None
        await desk.store.create(Session(id="ses_f", fork_of=ForkOf("ses_1", "w1", 3)))
        await desk.store.create(Session(id="ses_0", fork_of=ForkOf("ses_1", None, 0)))
        assert list(await desk.store.messages("ses_0")) == []

    at_desk(where, story)


def test_a_fork_outlives_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "d" / "sojourn.db"
        desk = await sit(path)
        await desk.talk(3)
        await (await fork(desk, "ses_f", 2)).talk(1, 3)
        await desk.store.close()
        again = await sit(path, "ses_f")
        assert await again.seqs() == [1, 2, 3]
        await again.store.close()

    asyncio.run(main())
