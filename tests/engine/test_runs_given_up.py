"""A run that is given up, at whatever point, leaves items, mark, windows and requests as they were (K-8, C-17)."""

import asyncio
import inspect

import pytest

from engine.holding import NO_TIERS, sent, text_of
from engine.sessions import engine_for, prose, reads, says, user, work
from sojourn.base import Item, Section, SystemClock
from sojourn.checkpoint import WriterFailed, WriterInput, Written
from sojourn.cycle import ladder
from sojourn.engine import Engine, EngineEvent, writing
from sojourn.record import (
    Checkpoint,
    Fence,
    InboxRow,
    PutInbox,
)
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import TextPart, Traits


class HeldWriter:
    """A model writer that answers when it is let go, and notes what it was handed."""

    name = "model"
    forks = False

    def __init__(self, *, held: bool = True) -> None:
        self.runs: list[WriterInput] = []
        self.started = asyncio.Event()
        self.go = asyncio.Event()
        if not held:
            self.go.set()

    async def write(self, run: WriterInput) -> Written | WriterFailed:
        self.runs.append(run)
        self.started.set()
        await self.go.wait()
        fact = Item(
            f"k{len(self.runs)}",
            Section.KNOWLEDGE,
            f"fact {len(self.runs)} of the gauge",
            (run.range[1],),
            written_seq=run.range[1],
        )
        return Written((*run.items, fact))


async def state_of(engine: Engine) -> tuple[object, ...]:
    """All that an abandoned run must leave as it was; the slot's generation may grow."""
    store, session_id = engine.store, engine.session_id
    slot = await store.slot(session_id)
    return (
        await store.newest_checkpoint(session_id),
        list(await store.windows(session_id)),
        list(await store.messages(session_id)),
        slot.running,
        engine.level(),
    )


async def fill(engine: Engine, *, start: int = 0) -> int:
    """Takes in results until the level is at the trigger; no request in between."""
    trigger = (await engine.context()).lines.trigger
    step = start
    while engine.level().tokens < trigger:
        await engine.observe(reads(f"src/part_{step}.py", prose(1_000, step)))
        step += 1
    return step


def keys(events: list[EngineEvent]) -> list[str]:
    return [event.detail["key"] for event in events if event.kind == "notice"]


@pytest.mark.design("K-7", "K-8", "K-9")
@pytest.mark.report(28)
def test_a_run_cancelled_in_the_middle_leaves_all_as_it_was_and_the_next_one_works() -> None:
    async def main() -> None:
        writer = HeldWriter(held=False)
        async with await engine_for(64_000, writer=writer, settings=NO_TIERS) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            first = await engine.write_checkpoint()
            assert isinstance(first, Checkpoint)
            await work(engine, 15, start=20)
            before, generation = await state_of(engine), (await engine.store.slot(engine.session_id)).generation
            request = sent(await engine.project())
            writer.go.clear()
            writer.started.clear()
            abandoned = asyncio.create_task(engine.write_checkpoint())
            await writer.started.wait()
            assert (await engine.store.slot(engine.session_id)).running
            abandoned.cancel()
            with pytest.raises(asyncio.CancelledError):
                await abandoned
            assert await state_of(engine) == before
            assert (await engine.store.slot(engine.session_id)).generation == generation + 1
            assert sent(await engine.project()) == request
            writer.go.set()
            again = await engine.write_checkpoint()
            assert isinstance(again, Checkpoint)
            assert again.previous_id == first.id
            assert again.range == (first.covered_seq, again.covered_seq)
            assert writer.runs[-1].items == first.items

    asyncio.run(main())


@pytest.mark.design("C-9", "W-1")
@pytest.mark.report(28)
def test_a_rebuild_cancelled_while_it_waits_opens_nothing_and_the_next_request_gets_there() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        writer = HeldWriter()
        async with await engine_for(64_000, writer=writer, settings=NO_TIERS, events=events) as engine:
            await engine.observe(user("Go."))
            await engine.project()
            await fill(engine)
            windows = list(await engine.store.windows(engine.session_id))
            waiting = asyncio.create_task(engine.project())
            await writer.started.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert list(await engine.store.windows(engine.session_id)) == windows
            assert await engine.store.newest_checkpoint(engine.session_id) is None
            assert (await engine.store.slot(engine.session_id)).running, "giving up the wait does not stop the writer"
            asyncio.get_running_loop().call_soon(writer.go.set)
            projected = await engine.project()
            assert len(writer.runs) == 1
            assert projected.window.outcome in ("started", "rebuilt")
            assert projected.window.number == 2
            assert "fact 1 of the gauge" in str(projected.request.messages[0])
            assert projected.level.tokens < projected.lines.trigger

    asyncio.run(main())


@pytest.mark.design("C-9", "K-8")
@pytest.mark.report(33)
def test_a_slow_writer_is_waited_for_visibly_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (ladder.AUTOMATIC_WAIT, ladder.MANUAL_WAIT) == (180_000, 300_000)
    monkeypatch.setattr(ladder, "AUTOMATIC_WAIT", 20)

    async def main() -> None:
        events: list[EngineEvent] = []
        writer = HeldWriter()
        engine = await engine_for(64_000, writer=writer, settings=NO_TIERS, events=events)
        await engine.observe(user("Go."))
        await engine.project()
        await fill(engine)
        projected = await asyncio.wait_for(engine.project(), 10)
        assert keys(events) == ["waiting_for_writer", "wait_expired"]
        assert projected.window.outcome == "extracted"
        assert projected.level.tokens < projected.lines.trigger
        assert (await engine.store.slot(engine.session_id)).running
        assert len(writer.runs) == 1
        await engine.observe(says("Going on."))
        writer.go.set()
        assert await engine.close() is True
        assert [event.detail["checkpoint"].writer for event in events if event.kind == "checkpoint_written"] == ["model"]

    asyncio.run(main())


@pytest.mark.design("C-17", "K-8", "K-9")
@pytest.mark.report(28)
def test_a_session_that_ends_waits_for_its_writer_as_long_as_it_is_told() -> None:
    assert inspect.signature(Engine.close).parameters["wait"].default == 30_000

    async def ended(wait: int, *, lets_go: bool) -> tuple[bool, list[str], Checkpoint | None]:
        events: list[EngineEvent] = []
        store, writer = await SqliteStore.open(None, clock=SystemClock()), HeldWriter()
        engine = await engine_for(64_000, writer=writer, events=events, store=store)
        await engine.observe(user("Go."))
        await work(engine, 14)
        await writer.started.wait()
        if lets_go:
            asyncio.get_running_loop().call_later(0.02, writer.go.set)
        done = await asyncio.wait_for(engine.close(wait=wait), 15)
        assert not (await store.slot(engine.session_id)).running
        assert await store.holder(engine.session_id) is None
        found = await store.newest_checkpoint(engine.session_id)
        window = await store.newest_window(engine.session_id)
        assert window is not None
        assert window.tiers == (11_520,)
        async with await Engine.open(store=store, session_id=engine.session_id, traits=Traits(limit=64_000)) as again:
            assert (await again.project()).upto_seq == 15
            row = await store.newest_checkpoint(engine.session_id)  # its tier has fired again, if the writer was cut short
            assert isinstance(row, Checkpoint)
            assert (row.writer == "model") is lets_go
            assert lets_go or row.range[0] == (found.covered_seq if found else 0)
        await store.close()
        return done, keys(events), found

    async def main() -> None:
        assert await ended(0, lets_go=False) == (False, [], None)
        assert await ended(20, lets_go=False) == (False, ["waiting_for_writer"], None)
        done, told, found = await ended(20_000, lets_go=True)
        assert (done, told) == (True, ["waiting_for_writer"])
        assert found is not None
        assert found.writer == "model"
        idle = await engine_for(64_000)
        assert await idle.close(wait=0) is True

    asyncio.run(main())


class Says:
    """A model writer that answers or raises as it is told."""

    name = "model"
    forks = False

    def __init__(self, answer: Written | Exception | None) -> None:
        self.answer = answer

    async def write(self, run: WriterInput) -> Written | WriterFailed:
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            await asyncio.sleep(60)
        return self.answer or Written(())


@pytest.mark.design("K-8")
@pytest.mark.report(71)
@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        (Written(()), WriterFailed("retryable", "empty answer")),
        (RuntimeError("no connection"), WriterFailed("deterministic", "RuntimeError: no connection")),
        (None, WriterFailed("retryable", "no answer within 0.02 s")),
    ],
)
def test_what_a_writer_does_wrong_is_a_failure_of_that_run_only(
    answer: Written | Exception | None, failed: WriterFailed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert writing.DEADLINE_SECONDS == 300
    monkeypatch.setattr(writing, "DEADLINE_SECONDS", 0.02)

    async def main() -> None:
        writer = Says(answer)
        async with await engine_for(64_000, writer=writer, settings=NO_TIERS) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            before = await state_of(engine)
            assert await engine.write_checkpoint() == failed
            assert await state_of(engine) == before
            writer.answer = Written((Item("k1", Section.KNOWLEDGE, "the gauge is in millimetres", (3,)),))
            assert isinstance(await engine.write_checkpoint(), Checkpoint)

    asyncio.run(main())


@pytest.mark.design("K-9")
def test_a_tier_crossed_while_a_writer_runs_fires_when_that_has_settled() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        writer = HeldWriter()
        async with await engine_for(64_000, writer=writer, events=events) as engine:
            await engine.observe(user("Go."))
            await work(engine, 24)
            window = await engine.store.newest_window(engine.session_id)
            assert window is not None
            assert window.tiers == (11_520,), "the second tier is crossed and not consumed"
            assert len(writer.runs) == 1
            writer.go.set()
            await work(engine, 2, start=24)
            assert len(writer.runs) == 2
            window = await engine.store.newest_window(engine.session_id)
            assert window is not None
            assert window.tiers == (11_520, 23_040)

    asyncio.run(main())


@pytest.mark.design("R-9", "C-13")
@pytest.mark.report(104)
def test_text_sent_while_a_writer_or_a_rebuild_runs_is_delivered_once_in_order() -> None:
    async def send(engine: Engine, number: int) -> None:
        row = InboxRow(id=f"in{number}", text=f"Sent meanwhile: {number}.", created=number)
        await engine.store.commit(engine.session_id, Fence(epoch=0), [PutInbox(row)])

    async def main() -> None:
        writer = HeldWriter()
        async with await engine_for(64_000, writer=writer, settings=NO_TIERS) as engine:
            await engine.observe(user("Go."))
            await engine.project()
            await fill(engine)
            await send(engine, 1)
            waiting = asyncio.create_task(engine.project())
            await writer.started.wait()
            await send(engine, 2)
            await send(engine, 3)
            writer.go.set()
            rebuilt = await waiting
            assert rebuilt.window.number == 2
            assert "Sent meanwhile: 1." in str(rebuilt.request)
            assert len(await engine.store.inbox(engine.session_id)) == 2
            await engine.observe(says("Done with the first."))
            last = (await engine.project()).request.messages[-1]
            assert [part.text for part in last.parts if isinstance(part, TextPart)] == [f"Sent meanwhile: {n}." for n in (2, 3)]
            await engine.project()
            assert not await engine.store.inbox(engine.session_id)
            said = [text_of(m) for m in await engine.store.messages(engine.session_id) if m.role == "user"]
            assert said == ["Go.", *(f"Sent meanwhile: {n}." for n in (1, 2, 3))]

    asyncio.run(main())
