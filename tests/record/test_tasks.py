"""Tasks and snapshots: rows that follow an undo, and rows that do not (Y-3, W-12)."""

import asyncio
from pathlib import Path

import pytest

from record.rows import Desk, at_desk, redo, sit, task, undo_turn, undo_window, window
from sojourn.record import Fence, Fenced, ForkOf, PutSnapshot, Snapshot, TaskRow
from sojourn.record.sqlite import SqliteStore

Where = Path | None


async def states(desk: Desk, *, every_state: bool = False) -> list[str]:
    """``id:summary`` of each."""
    return [f"{row.id}:{row.summary}" for row in await desk.store.tasks(desk.sid, every_state=every_state)]


def shot(name: str, at_seq: int = 0) -> PutSnapshot:
    return PutSnapshot(Snapshot(name, at_seq, f"tree of {name}", "/r", "before_turn", 5))


async def fork(desk: Desk, name: str, seq: int) -> Desk:
    return await sit(None, name, store=desk.store, fork_of=ForkOf(desk.sid, None, seq))


@pytest.mark.design("Y-3")
def test_the_newest_state_of_a_task_stands_where_the_task_was_made(where: Where) -> None:
    async def story(desk: Desk) -> None:
        assert list(await desk.store.tasks(desk.sid)) == []
        whole = TaskRow("T1.1", "write", "blocked", "T1", "ses_2", "wait for review", 0, 7, 8)
        await desk.put(task("T2", "second"), task("T1", "first"))
        await desk.put(task("T1.1", "x", parent_id="T1"), task("T2", "second, done", status="done"))
        await desk.put(task("T1.1", "write", **{name: getattr(whole, name) for name in TaskRow.__struct_fields__[2:]}))
        assert await desk.store.tasks(desk.sid) == [
            TaskRow("T2", "second, done", "done"), TaskRow("T1", "first"), whole,
        ]  # fmt: skip
        assert await states(desk, every_state=True) == ["T2:second", "T1:first", "T1.1:x", "T2:second, done", "T1.1:write"]
        assert list(await desk.store.tasks("ses_9")) == []

    at_desk(where, story)


@pytest.mark.design("Y-3", "R-4")
@pytest.mark.report(108)
def test_undoing_a_turn_takes_back_exactly_what_was_set_in_it(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(6)
        for at in range(7):
            await desk.put(task(f"T{at}", "made", at))
        await desk.put(task("T0", "changed", 4), task("T0", "changed again", 5), task("T6", "changed", 6))
        await desk.put(undo_turn("u1", 3, 5))
        assert await states(desk) == ["T0:made", "T1:made", "T2:made", "T3:made", "T6:changed"]
        assert len(await states(desk, every_state=True)) == 10
        await desk.put(redo("r1", "u1"))
        assert await states(desk) == [
            "T0:changed again", "T1:made", "T2:made", "T3:made", "T4:made", "T5:made", "T6:changed",
        ]  # fmt: skip

    at_desk(where, story)


@pytest.mark.design("Y-3", "R-4")
def test_what_is_set_after_an_undo_stays_though_the_head_is_the_same(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(2)
        await desk.put(task("T1", "before", 2))
        await desk.talk(2, 3)
        await desk.put(task("T1", "in the turn", 4), task("T2", "in the turn", 4))
        await desk.put(undo_turn("u1", 2, 4), task("T3", "after", 4))  # one commit: the order in it counts
        await desk.put(task("T2", "after", 4))
        assert await states(desk) == ["T1:before", "T3:after", "T2:after"]
        await desk.put(redo("r1", "u1"))
        assert await states(desk) == ["T1:in the turn", "T2:after", "T3:after"]
        await desk.put(undo_turn("u2", 2, 4))
        assert await states(desk) == ["T1:before"]
        await desk.put(undo_turn("u3", 0, 2), task("T1", "anew", 4))
        assert await states(desk) == ["T1:anew"]

    at_desk(where, story)


@pytest.mark.design("Y-3", "W-12")
def test_undoing_a_window_leaves_tasks_alone(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(2)
        await desk.put(window("w1", 2), task("T1", "kept", 2), undo_window("u1", "w1"))
        assert await states(desk) == ["T1:kept"]
        await desk.put(redo("r1", "u1", "window"))
        assert await states(desk) == ["T1:kept"]

    at_desk(where, story)


@pytest.mark.design("Y-3", "R-4")
def test_a_fork_has_its_parents_tasks_as_they_were_and_goes_its_own_way(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(3)
        await desk.put(task("T1", "one", 1), task("T2", "two", 2), task("T1", "uno", 3))
        child, early = await fork(desk, "ses_f", 3), await fork(desk, "ses_e", 2)
        await desk.put(task("T2", "later", 3), task("T3", "later", 2), task("T4", "later", 0))  # after the forks
        assert await states(child) == ["T1:uno", "T2:two"]
        assert await states(early) == ["T1:one", "T2:two"]
        await child.put(task("T2", "own", 3), task("T5", "own", 3))
        assert await states(child) == ["T1:uno", "T2:own", "T5:own"]
        assert await states(child, every_state=True) == ["T1:one", "T2:two", "T1:uno", "T2:own", "T5:own"]
        assert await states(early) == ["T1:one", "T2:two"]
        assert await states(desk) == ["T1:uno", "T2:later", "T3:later", "T4:later"]
        grandchild = await fork(child, "ses_g", 3)
        await child.put(task("T1", "later", 3))
        assert await states(grandchild) == ["T1:uno", "T2:own", "T5:own"]
        assert await states(await fork(child, "ses_h", 2)) == ["T1:one", "T2:two"]

    at_desk(where, story)


@pytest.mark.design("Y-3", "R-4")
def test_undos_before_a_fork_hold_for_its_tasks_and_later_ones_are_each_sessions_own(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(4)
        await desk.put(task("T1", "one", 1), task("T1", "undone", 3), undo_turn("u1", 2, 3), task("T2", "after", 4))
        child = await fork(desk, "ses_f", 4)
        assert await states(child) == ["T1:one", "T2:after"]
        await desk.put(redo("r1", "u1"), undo_turn("u2", 3, 4))
        assert await states(desk) == ["T1:undone"]
        assert await states(child) == ["T1:one", "T2:after"]
        await child.put(task("T1", "own", 4), undo_turn("f1", 3, 4), task("T3", "own", 4))
        assert await states(child) == ["T1:one", "T3:own"]
        await child.put(undo_turn("f2", 0, 1))
        assert await states(child) == ["T3:own"]
        assert await states(desk) == ["T1:undone"]
        await desk.put(redo("r2", "u2"))
        assert await states(desk) == ["T1:undone", "T2:after"]

    at_desk(where, story)


@pytest.mark.design("W-12")
def test_snapshots_are_the_sessions_own_and_no_undo_covers_them(where: Where) -> None:
    async def story(desk: Desk) -> None:
        assert list(await desk.store.snapshots(desk.sid)) == []
        await desk.talk(2)
        await desk.put(shot("s2", 1), shot("s1", 2))
        await desk.put(undo_turn("u1", 0, 2), shot("s3", 2))
        child = await fork(desk, "ses_f", 2)
        assert list(await desk.store.snapshots("ses_f")) == []
        await child.put(shot("f1", 2))
        kept = [Snapshot(name, at, f"tree of {name}", "/r", "before_turn", 5) for name, at in (("s2", 1), ("s1", 2), ("s3", 2))]
        assert await desk.store.snapshots(desk.sid) == kept
        assert [row.id for row in await desk.store.snapshots("ses_f")] == ["f1"]
        assert list(await desk.store.snapshots("ses_9")) == []
        assert await child.refused(shot("s1")) == "settled"
        assert (await desk.put(shot("s1", 2))).repeated
        assert await desk.store.snapshots(desk.sid) == kept

    at_desk(where, story)


@pytest.mark.design("R-9", "R-11")
def test_tasks_and_snapshots_are_the_lease_holders_to_write(where: Where) -> None:
    async def story(desk: Desk) -> None:
        revision = await desk.store.revision(desk.sid)
        assert (await desk.put(task("T1", "x"))).revision == revision + 1
        for change in (task("T1", "y"), shot("s1")):
            stale = await desk.store.commit(desk.sid, Fence(desk.lease.epoch - 1), [change])
            assert isinstance(stale, Fenced)
            assert stale.reason == "epoch"
        await desk.store.release(desk.lease)
        for change in (task("T1", "y"), shot("s1")):
            assert await desk.refused(change) == "no_lease"
        assert await states(desk) == ["T1:x"]
        assert list(await desk.store.snapshots(desk.sid)) == []

    at_desk(where, story)


def test_tasks_and_snapshots_outlive_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "d" / "sojourn.db"
        desk = await sit(path)
        await desk.talk(1)
        await desk.put(task("T1", "one", 1), shot("s1"), undo_turn("u1", 0, 1), task("T2", "two", 1))
        await (await fork(desk, "ses_f", 1)).put(task("T3", "three", 1))
        await desk.store.close()
        store = await SqliteStore.open(path, clock=desk.clock)
        assert [row.id for row in await store.tasks("ses_1")] == ["T2"]
        assert [row.id for row in await store.tasks("ses_f")] == ["T2", "T3"]
        assert [row.id for row in await store.snapshots("ses_1")] == ["s1"]
        await store.close()

    asyncio.run(main())
