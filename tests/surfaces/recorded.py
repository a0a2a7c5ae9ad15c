"""Rows put straight into the record of a test's home: messages, windows, calls, checkpoints."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sojourn.base import Item, Section, SystemClock, Usage
from sojourn.checkpoint import items_sha
from sojourn.record import (
    AddCheckpoint,
    AddMessage,
    AddWindow,
    Block,
    Call,
    Change,
    Checkpoint,
    CloseCall,
    Committed,
    Fence,
    Lease,
    Message,
    OpenCall,
    Session,
    Text,
    ToolCall,
    Touch,
    Window,
)
from sojourn.record.sqlite import SqliteStore

T = TypeVar("T")

MODEL = "claude-sonnet-4-5"
"""Three dollars a million in, 3.75 written, 0.30 read, 15 out."""


def with_store(home: Path, work: Callable[[SqliteStore], Coroutine[Any, Any, T]]) -> T:
    """What the work answers, over the record of this home."""

    async def main() -> T:
        (home / "data").mkdir(parents=True, mode=0o700, exist_ok=True)
        store = await SqliteStore.open(home / "data" / "sojourn.db", clock=SystemClock())
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(main())


def keep(home: Path, session: Session, *changes: Change) -> None:
    """The session with these changes, each in a commit of its own."""

    async def work(store: SqliteStore) -> None:
        await store.create(session)
        lease = await store.acquire(session.id, "test:0:0")
        assert isinstance(lease, Lease)
        for change in changes:
            done = await store.commit(session.id, Fence(lease.epoch), [change])
            assert isinstance(done, Committed), done
        await store.release(lease)

    with_store(home, work)


def said(text: str, number: int) -> AddMessage:
    return AddMessage(Message(id=f"u{number}", role="user", origin="user", parts=(Text(text),)))


def answered(text: str, number: int) -> AddMessage:
    return AddMessage(Message(id=f"a{number}", role="assistant", origin="model", parts=(Text(text),)))


def read(path: str, number: int, tokens: int = 100, kind: str = "read") -> AddMessage:
    call = ToolCall(
        call_id=f"t{number}",
        name="read",
        state="completed",
        result=(Text("x", tokens={"code": tokens}),),
        touches=(Touch(path, kind),),  # type: ignore[arg-type]
    )
    return AddMessage(Message(id=f"r{number}", role="assistant", origin="model", parts=(call,)))


def window(number: int, opened: int, *, digest: int = 0, before: int = 0, after: int = 0, kind: str = "rebuild") -> AddWindow:
    row = Window(
        id=f"win_{number}",
        number=number,
        kind=kind,  # type: ignore[arg-type]
        covered_seq=digest,
        digest_seq=digest,
        opened_at_seq=opened,
        opening=(Block("label", "opened"),),
        meter_before=before,
        meter_after=after,
    )
    return AddWindow(row)


def call(
    id: str,
    usage: Usage | None,
    purpose: str = "main",
    *,
    window_id: str | None = None,
    model: str = MODEL,
    limit: int = 0,
    price: float | None = None,
    error: str = "",
    started: int = 1_000,
) -> tuple[OpenCall, CloseCall]:
    settings = {"traits": {"limit": limit}} if limit else {}
    row = Call(
        id=id, purpose=purpose, upto_seq=1, model=model, window_id=window_id, settings=settings, started=started  # type: ignore[arg-type]
    )  # fmt: skip
    return OpenCall(row), CloseCall(id, usage=usage, price=price, error=error)


def items(*texts: str, by: str = "model", sources: Sequence[int] = (1,)) -> tuple[Item, ...]:
    return tuple(
        Item(id=f"kn-{text.split()[0]}", section=Section.KNOWLEDGE, text=f"fact {text}", sources=tuple(sources), by=by)  # type: ignore[arg-type]
        for text in texts
    )


def checkpoint(id: str, held: tuple[Item, ...], upto: int, **fields: Any) -> AddCheckpoint:
    row = {"writer": "model", "range": (0, upto), "created": 1_700_000_000_000, **fields}
    return AddCheckpoint(Checkpoint(id=id, covered_seq=upto, items=held, items_sha=items_sha(held), **row))
