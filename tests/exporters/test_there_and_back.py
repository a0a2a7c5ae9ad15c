"""A session out of one store and into another: what is in view, what was undone, and what a redo brings back (R-14)."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.small import CHECKPOINT, WINDOW
from sojourn.base import CountingIds, ManualClock
from sojourn.engine.restoring import restore_rows
from sojourn.exporters import to_jsonl
from sojourn.record import (
    AddCheckpoint,
    AddMessage,
    AddUndo,
    AddWindow,
    Change,
    Committed,
    Fence,
    ForkOf,
    Lease,
    Message,
    PutSnapshot,
    PutTask,
    Session,
    SetSession,
    Snapshot,
    TaskRow,
    Text,
    Undo,
)
from sojourn.record.journal import CheckpointRow, Header, MessageRow, Row, TaskStateRow, WindowRow, read_line
from sojourn.record.sqlite import SqliteStore


class Writer:
    """A session that is written step by step, each a millisecond after the one before."""

    def __init__(self, store: SqliteStore, clock: ManualClock, lease: Lease, head: int = 0) -> None:
        self.store, self.clock, self.lease, self.head = store, clock, lease, head
        self.undos: list[str] = []
        self.count = 0

    async def put(self, *changes: Change) -> None:
        self.clock.advance(1)
        answer = await self.store.commit(self.lease.session_id, Fence(self.lease.epoch), changes)
        assert isinstance(answer, Committed), answer
        self.head = answer.head

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}_{self.lease.session_id}_{self.count}"

    async def say(self) -> None:
        await self.put(AddMessage(Message(self.name("msg"), "user", "user", (Text("words"),))))

    async def task(self, name: str) -> None:
        self.clock.advance(1)
        await self.put(PutTask(TaskRow(name, self.name("state"), at_seq=self.head, updated=self.clock.now())))

    async def undo(self, after: int) -> None:
        self.clock.advance(1)
        self.undos.append(self.name("undo"))
        await self.put(AddUndo(Undo(self.undos[-1], "turn", after_seq=after, upto_seq=self.head, created=self.clock.now())))

    async def redo(self) -> None:
        self.clock.advance(1)
        await self.put(AddUndo(Undo(self.name("redo"), "turn", closes=self.undos.pop(), created=self.clock.now())))


async def begin(store: SqliteStore, clock: ManualClock, session: Session) -> Writer:
    made = await store.create(session)
    lease = await store.acquire(session.id, "elsewhere:1:a")
    assert isinstance(lease, Lease)
    return Writer(store, clock, lease, made.head)


async def rows_of(store: SqliteStore, sid: str) -> list[Header | Row]:
    session = await store.session(sid)
    assert session is not None
    lines = to_jsonl(
        session,
        await store.messages(sid, include_undone=True),
        {}.get,
        windows=await store.windows(sid, include_undone=True),
        checkpoints=await store.checkpoints(sid, include_undone=True),
        tasks=await store.tasks(sid, every_state=True),
        undos=await store.undos(sid),
    )
    rows = [read_line(line.encode()) for line in lines]
    return [row for row in rows if row is not None]


async def bring_back(rows: list[Header | Row]) -> tuple[SqliteStore, Writer, int]:
    """Another store with the session in it, and how many changes were restored."""
    clock = ManualClock()
    store = await SqliteStore.open(None, clock=clock)
    writer = await begin(store, clock, Session(id="ses_new"))
    for row in rows:
        if isinstance(row, MessageRow):
            await writer.put(AddMessage(row.message))
    restored = await restore_rows(store, writer.lease, rows, CountingIds())
    return store, writer, restored


def played(story: Callable[[Writer], Awaitable[None]]) -> None:
    async def main() -> None:
        clock = ManualClock()
        writer = await begin(await SqliteStore.open(None, clock=clock), clock, Session(id="ses_old"))
        await story(writer)
        await writer.store.close()

    asyncio.run(main())


@pytest.mark.design("R-14", "Y-3", "W-9")
def test_tasks_plan_and_the_facts_of_windows_and_checkpoints_come_back() -> None:
    async def story(old: Writer) -> None:
        for _ in range(6):
            await old.say()
        await old.put(
            AddWindow(WINDOW), AddCheckpoint(CHECKPOINT), SetSession(plan_seq=2),
            PutSnapshot(Snapshot("s1", 2, "tree", "/r", "before_turn")),
        )  # fmt: skip
        await old.task("T1")
        whole = TaskRow("T1.1", "half \ud83d", "blocked", "T1", "ses_2", "wait", 6, 4, old.clock.now())
        await old.put(PutTask(whole))
        rows = await rows_of(old.store, "ses_old")
        kinds = [type(row) for row in rows if not isinstance(row, MessageRow)]
        assert kinds == [Header, WindowRow, CheckpointRow, TaskStateRow, TaskStateRow]  # no snapshot
        store, _, restored = await bring_back(rows)
        assert restored == 5
        session = await store.session("ses_new")
        assert session is not None
        assert session.plan_seq == 2
        assert await store.tasks("ses_new") == await old.store.tasks("ses_old")
        assert (await store.tasks("ses_new"))[1] == whole
        assert list(await store.snapshots("ses_new")) == []
        window, mark = await store.newest_window("ses_new"), await store.newest_checkpoint("ses_new")
        assert window is not None
        assert mark is not None
        assert (window.measured, window.files) == (WINDOW.measured, WINDOW.files)
        found = (mark.mode, mark.calls, mark.added, mark.closed, mark.checked, mark.promoted, mark.notes)
        assert found == ("fork", ("call_1",), ("i1",), ("i2",), ("i3",), ("i4",), ("ff",))
        await store.close()

    played(story)


@pytest.mark.design("R-14")
def test_a_session_without_a_plan_has_none_afterwards() -> None:
    async def story(old: Writer) -> None:
        await old.say()
        store, _, restored = await bring_back(await rows_of(old.store, "ses_old"))
        assert restored == 0
        session = await store.session("ses_new")
        assert session is not None
        assert (session.plan_seq, session.revision) == (0, 1)
        await store.close()

    played(story)


@pytest.mark.design("R-14", "R-4")
def test_a_clock_that_was_set_back_does_not_reorder_a_tasks_states() -> None:
    async def story(old: Writer) -> None:
        await old.say()
        for updated in (900, 100, 500):
            await old.put(PutTask(TaskRow("T1", f"at {updated}", at_seq=1, updated=updated)))
        store, _, _ = await bring_back(await rows_of(old.store, "ses_old"))
        assert [row.summary for row in await store.tasks("ses_new")] == ["at 500"]
        every = await store.tasks("ses_new", every_state=True)
        assert [row.summary for row in every] == ["at 900", "at 100", "at 500"]
        await store.close()

    played(story)


@pytest.mark.design("R-14", "R-4")
def test_a_fork_comes_back_whole() -> None:
    async def story(parent: Writer) -> None:
        await parent.say()
        await parent.task("T1")
        await parent.undo(0)
        await parent.task("T2")
        child = await begin(parent.store, parent.clock, Session(id="ses_f", fork_of=ForkOf("ses_old", None, 1), plan_seq=1))
        await parent.task("T3")
        await child.say()
        await child.task("T2")
        await child.task("T4")
        store, _, _ = await bring_back(await rows_of(child.store, "ses_f"))
        assert [row.id for row in await store.tasks("ses_new")] == ["T2", "T4"]
        assert await store.tasks("ses_new") == await child.store.tasks("ses_f")
        await store.close()

    played(story)


_STEP = st.tuples(st.sampled_from(["say", "task", "task", "undo", "redo"]), st.integers(0, 9))


@pytest.mark.design("R-14", "R-4", "Y-3")
@settings(max_examples=80, deadline=None)
@given(st.lists(_STEP, max_size=20), st.integers(0, 9))
def test_the_tasks_in_view_are_the_same_and_so_are_those_that_an_undo_or_redo_leaves(
    steps: list[tuple[str, int]], last: int
) -> None:
    async def story(old: Writer) -> None:
        for verb, number in steps:
            if verb == "say":
                await old.say()
            elif verb == "task":
                await old.task(f"T{number % 3}")
            elif verb == "undo" and old.head:
                await old.undo(number % old.head)
            elif verb == "redo" and old.undos:
                await old.redo()
        rows = await rows_of(old.store, "ses_old")
        store, new, _ = await bring_back(rows)
        new.clock.advance(10_000)
        standing = [row.id for row in await store.undos("ses_new") if row.closes is None]
        closed = {row.closes for row in await store.undos("ses_new")}
        new.undos = [name for name in standing if name not in closed]
        assert len(new.undos) == len(old.undos)
        for every_state in (False, True):
            assert await store.tasks("ses_new", every_state=every_state) == await old.store.tasks(
                "ses_old", every_state=every_state
            )
        for writer in (old, new):
            if writer.undos:
                await writer.redo()
        assert await store.tasks("ses_new") == await old.store.tasks("ses_old")
        for writer in (old, new):
            if writer.head:
                await writer.undo(last % writer.head)
        assert await store.tasks("ses_new") == await old.store.tasks("ses_old")
        await store.close()

    played(story)
