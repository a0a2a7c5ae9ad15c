"""Short ways to make rows, and a desk: a store with one session and its lease."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from sojourn.base import ManualClock
from sojourn.record import (
    AddMessage,
    AddUndo,
    AddWindow,
    Change,
    Checkpoint,
    Committed,
    Fence,
    Fenced,
    Lease,
    Message,
    PutTask,
    Session,
    TaskRow,
    Text,
    ToolCall,
    Undo,
    Window,
)
from sojourn.record.sqlite import SqliteStore

OWNER = "elsewhere:1:a"


class Desk:
    def __init__(self, store: SqliteStore, clock: ManualClock, lease: Lease) -> None:
        self.store, self.clock, self.lease = store, clock, lease
        self.sid = lease.session_id

    async def commit(self, *changes: Change, **fence: Any) -> Committed | Fenced:
        return await self.store.commit(self.sid, Fence(**{"epoch": self.lease.epoch, **fence}), changes)

    async def put(self, *changes: Change, **fence: Any) -> Committed:
        answer = await self.commit(*changes, **fence)
        assert isinstance(answer, Committed), answer
        return answer

    async def refused(self, *changes: Change, **fence: Any) -> str:
        """The reason; and nothing may have changed."""
        before = await self.store.session(self.sid)
        answer = await self.commit(*changes, **fence)
        assert isinstance(answer, Fenced), answer
        assert await self.store.session(self.sid) == before
        return answer.reason

    async def seqs(self, **how: Any) -> list[int]:
        return [message.seq for message in await self.store.messages(self.sid, **how)]

    async def talk(self, count: int, start: int = 1) -> None:
        for number in range(start, start + count):
            await self.put(user(f"msg_{self.sid}_{number}", f"text {number}"))


async def sit(path: Path | None, sid: str = "ses_1", *, store: SqliteStore | None = None, **fields: Any) -> Desk:
    clock = ManualClock()
    store = store or await SqliteStore.open(path, clock=clock)
    clock = store._clock  # type: ignore[assignment]
    await store.create(Session(id=sid, **fields))
    lease = await store.acquire(sid, OWNER)
    assert isinstance(lease, Lease)
    return Desk(store, clock, lease)


def at_desk(path: Path | None, story: Callable[[Desk], Awaitable[None]], **fields: Any) -> None:
    """Plays the story at a new desk; the store must be sound at its end."""

    async def main() -> None:
        desk = await sit(path, **fields)
        try:
            await story(desk)
            assert list(await desk.store.check()) == []
        finally:
            await desk.store.close()

    asyncio.run(main())


def user(name: str, text: str = "hello", **fields: Any) -> AddMessage:
    return AddMessage(Message(id=name, role="user", origin="user", parts=(Text(text),), **fields))


def model(name: str, *parts: Any, **fields: Any) -> AddMessage:
    return AddMessage(Message(id=name, role="assistant", origin="model", parts=parts, **fields))


def call(name: str = "read_file", state: Any = "pending", **fields: Any) -> ToolCall:
    return ToolCall(**{"call_id": "c1", "name": name, "state": state, **fields})


def window(name: str, opened_at: int = 0, **fields: Any) -> AddWindow:
    row = {"number": 99, "kind": "rebuild", "covered_seq": 0, "digest_seq": 0, **fields}
    return AddWindow(Window(id=name, opened_at_seq=opened_at, **row))


def checkpoint(name: str, covered: int, span: tuple[int, int] | None = None) -> Checkpoint:
    return Checkpoint(id=name, covered_seq=covered, items=(), items_sha="", writer="model", range=span or (0, covered))


def task(name: str, summary: str, at_seq: int = 0, **fields: Any) -> PutTask:
    return PutTask(TaskRow(name, summary, at_seq=at_seq, **fields))


def undo_turn(name: str, after: int, upto: int) -> AddUndo:
    return AddUndo(Undo(id=name, kind="turn", after_seq=after, upto_seq=upto))


def undo_window(name: str, window_id: str) -> AddUndo:
    return AddUndo(Undo(id=name, kind="window", window_id=window_id))


def redo(name: str, closes: str, kind: Any = "turn") -> AddUndo:
    return AddUndo(Undo(id=name, kind=kind, closes=closes))
