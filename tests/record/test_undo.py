"""Undo and redo: what leaves the view, what comes back (R-4)."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from record.rows import Desk, at_desk, checkpoint, redo, undo_turn, undo_window, window
from sojourn.record import AddCheckpoint, AddUndo, Undo
from sojourn.record.undo import Cover, Span, open_undo, touched_since

Where = Path | None


async def windows(desk: Desk) -> list[str]:
    return [row.id for row in await desk.store.windows(desk.sid)]


async def newest(desk: Desk) -> str | None:
    row = await desk.store.newest_window(desk.sid)
    return row.id if row else None


@pytest.mark.design("R-4", "W-12")
@pytest.mark.report(108)
def test_undoing_a_window_brings_back_the_exact_earlier_one_and_keeps_what_was_written(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(window("w1"))
        await desk.talk(2)
        await desk.put(window("w2", 2))
        await desk.talk(2, 3)
        await desk.put(window("w3", 4))
        before = await desk.store.window("w1")
        await desk.put(undo_window("u1", "w3"))
        assert await newest(desk) == "w2"
        await desk.put(undo_window("u2", "w2"))
        assert await desk.store.newest_window(desk.sid) == before
        assert await desk.seqs() == [1, 2, 3, 4]
        assert [row.id for row in await desk.store.windows(desk.sid, include_undone=True)] == ["w1", "w2", "w3"]
        assert await desk.refused(undo_window("u3", "w2")) == "undo"  # undone already
        await desk.put(redo("r1", "u2", "window"))
        assert await newest(desk) == "w2"
        await desk.put(redo("r2", "u1", "window"))
        assert await newest(desk) == "w3"
        await desk.put(undo_window("u4", "w3"), window("w4", 4))
        rows = await desk.store.windows(desk.sid)
        assert [(row.id, row.number) for row in rows] == [("w1", 1), ("w2", 2), ("w4", 4)]  # 3 is never used again

    at_desk(where, story)


@pytest.mark.design("R-4")
def test_undoing_a_turn_covers_its_range_and_nothing_beside_it(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(8)
        for at in range(9):
            await desk.put(window(f"w{at}", at), AddCheckpoint(checkpoint(f"k{at}", at)))
        await desk.put(undo_turn("u1", 3, 6))
        assert await desk.seqs() == [1, 2, 3, 7, 8]
        assert await desk.seqs(include_undone=True) == [1, 2, 3, 4, 5, 6, 7, 8]
        assert await desk.seqs(after=2, upto=7) == [3, 7]
        assert await desk.seqs(limit=4) == [1, 2, 3, 7]
        assert await desk.seqs(newest_first=True, limit=3) == [8, 7, 3]
        assert await windows(desk) == ["w0", "w1", "w2", "w3", "w7", "w8"]
        assert [row.covered_seq for row in await desk.store.checkpoints(desk.sid)] == [0, 1, 2, 3, 7, 8]
        assert len(await desk.store.checkpoints(desk.sid, include_undone=True)) == 9
        assert await desk.store.message(desk.sid, "msg_ses_1_5") is not None
        await desk.put(undo_turn("u2", 6, 8))
        assert await desk.seqs() == [1, 2, 3]
        assert await newest(desk) == "w3"
        mark = await desk.store.newest_checkpoint(desk.sid)
        assert mark is not None
        assert mark.covered_seq == 3
        assert [undo.id for undo in await desk.store.undos(desk.sid)] == ["u1", "u2"]
        await desk.put(redo("r1", "u1"))
        assert await desk.seqs() == [1, 2, 3, 4, 5, 6]
        await desk.talk(1, 9)
        assert await desk.seqs() == [1, 2, 3, 4, 5, 6, 9]

    at_desk(where, story)


@pytest.mark.design("R-4", "W-12")
def test_a_window_or_mark_made_after_an_undo_is_not_covered_by_it(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(window("w1"))
        await desk.talk(4)
        await desk.put(undo_turn("u1", 2, 4), window("w2", 4))  # it opens at the head, inside the range
        assert await newest(desk) == "w2"
        await desk.put(AddCheckpoint(checkpoint("k1", 4)))
        assert (await desk.store.newest_checkpoint(desk.sid)) == checkpoint("k1", 4)
        await desk.put(undo_turn("u2", 2, 4))
        assert await newest(desk) == "w1"
        assert await desk.store.newest_checkpoint(desk.sid) is None

    at_desk(where, story)


@pytest.mark.design("R-4")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (undo_turn("u", 3, 3), "undo"),
        (undo_turn("u", 3, 2), "undo"),
        (undo_turn("u", -1, 2), "undo"),
        (undo_turn("u", 1, 5), "undo"),  # past the head: it would swallow what comes
        (AddUndo(Undo("u", "window")), "undo"),
        (undo_window("u", "w9"), "missing"),
        (redo("u", "u9"), "undo"),
    ],
)
def test_an_undo_that_means_nothing_is_refused(where: Where, change: AddUndo, reason: str) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(4)
        assert await desk.refused(change) == reason
        await desk.put(undo_turn("ok", 0, 4))

    at_desk(where, story)


@pytest.mark.design("R-4")
def test_an_undo_is_closed_once_and_a_redo_is_not_undone(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(2)
        await desk.put(undo_turn("u1", 0, 1))
        await desk.put(redo("r1", "u1"))
        assert await desk.refused(redo("r2", "u1")) == "undo"
        assert await desk.refused(redo("r2", "r1")) == "undo"
        assert await desk.seqs() == [1, 2]

    at_desk(where, story)


@pytest.mark.design("K-7")
@pytest.mark.parametrize(
    ("after", "upto", "refused"),
    [(0, 2, False), (0, 3, True), (2, 3, True), (4, 5, True), (5, 6, False), (0, 6, True), (3, 4, True)],
)
def test_a_checkpoint_is_refused_if_its_range_was_undone_meanwhile(where: Where, after: int, upto: int, refused: bool) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(6)
        await desk.put(undo_turn("u0", 2, 3))  # known when the writer began
        await desk.put(undo_turn("u1", after, upto))
        late = AddCheckpoint(checkpoint("k", 5, (2, 5)))
        if refused:
            assert await desk.refused(late, undo_revision=1) == "undo"
            assert await desk.store.newest_checkpoint(desk.sid) is None
        else:
            await desk.put(late, undo_revision=1)
        await desk.put(AddCheckpoint(checkpoint("k2", 5, (2, 5))), undo_revision=2)
        await desk.put(AddCheckpoint(checkpoint("k3", 5, (2, 5))))

    at_desk(where, story)


@pytest.mark.design("K-7")
def test_what_a_redo_brought_back_was_not_read_by_the_writer(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(6)
        await desk.put(window("w1", 6), undo_turn("u1", 2, 3), undo_window("u2", "w1"))
        await desk.put(redo("r2", "u2", "window"))
        await desk.put(AddCheckpoint(checkpoint("k1", 5, (2, 5))), undo_revision=2)
        await desk.put(redo("r1", "u1"))
        assert await desk.refused(AddCheckpoint(checkpoint("k2", 5, (2, 5))), undo_revision=3) == "undo"
        await desk.put(AddCheckpoint(checkpoint("k3", 5, (3, 5))), undo_revision=3)

    at_desk(where, story)


_SPANS = st.tuples(st.integers(0, 20), st.integers(1, 6)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@pytest.mark.design("R-4")
@settings(max_examples=100, deadline=None)
@given(st.lists(_SPANS, max_size=6), st.sets(st.integers(0, 5)), st.integers(0, 25), st.integers(0, 28))
def test_the_gaps_are_what_no_standing_undo_covers(
    spans: list[tuple[int, int]], closed: set[int], after: int, upto: int
) -> None:
    undos = [Undo(f"u{at}", "turn", after_seq=low, upto_seq=high) for at, (low, high) in enumerate(spans)]
    undos += [Undo(f"r{at}", "turn", closes=f"u{at}") for at in sorted(closed) if at < len(spans)]
    standing = [span for at, span in enumerate(spans) if at not in closed]
    cover = Cover(undos)
    visible = [seq for span in cover.gaps(after, upto) for seq in range(span.after + 1, span.upto + 1)]
    hidden = {seq for low, high in standing for seq in range(low + 1, high + 1)}
    assert visible == [seq for seq in range(after + 1, upto + 1) if seq not in hidden]
    assert all(cover.message(seq) == (seq in hidden) for seq in range(30))
    assert all(open_undo(undos, f"u{at}") == (at not in closed) for at in range(len(spans)))


def test_touched_since_names_the_first_row() -> None:
    undos = [
        Undo("u0", "turn", after_seq=0, upto_seq=9),
        Undo("u1", "turn", after_seq=4, upto_seq=6),
        Undo("w", "window", window_id="w"),
    ]
    assert touched_since(undos, 0, 5, 6) is undos[0]
    assert touched_since(undos, 1, 5, 6) is undos[1]
    assert touched_since(undos, 1, 6, 7) is None
    assert touched_since(undos, 2, 0, 9) is None
    assert Cover(undos).spans == (Span(0, 9), Span(4, 6))
