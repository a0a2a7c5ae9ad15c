"""Promises that hold between the parts: cancelled runs, one commit, one cap, nothing lost, nothing sent changes."""

import asyncio
import inspect
from bisect import bisect_right
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.sessions import engine_for, prose, reads, says, user, work
from sojourn.base import ErrorKind, Finish, Item, Section, SystemClock, Usage, WorkFailed
from sojourn.checkpoint import WriterFailed, WriterInput, Written
from sojourn.config import CheckpointSettings, Compaction, Settings
from sojourn.cycle import Economics, economic_trigger, ladder
from sojourn.engine import Engine, EngineEvent, Projected, summarising, writing
from sojourn.engine.intake import result_cap
from sojourn.exporters import to_jsonl
from sojourn.meter import estimate_text, total
from sojourn.models import ENCODERS
from sojourn.prefix import build, section
from sojourn.record import (
    AddCheckpoint,
    AddWindow,
    Change,
    Checkpoint,
    Fence,
    File,
    InboxRow,
    Message,
    PutInbox,
    Reasoning,
    Reminder,
    Session,
    SetSlot,
    Text,
    ToolCall,
)
from sojourn.record.sqlite import SqliteStore
from sojourn.request import units
from sojourn.window import budgets
from sojourn.wire import ModelError, ReasoningPart, TextPart, Traits

encode = ENCODERS["anthropic"]
NO_TIERS = Settings(checkpoint=CheckpointSettings(thresholds=()))


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


def opened(events: list[EngineEvent]) -> list[EngineEvent]:
    return [event for event in events if event.kind == "window_opened" and event.detail["window"].kind != "start"]


def keys(events: list[EngineEvent]) -> list[str]:
    return [event.detail["key"] for event in events if event.kind == "notice"]


def sent(projected: Projected) -> list[bytes]:
    return units(projected.request, encode)


def text_of(message: Message) -> str:
    """What its first part says: a text, or a call's result."""
    part = message.parts[0]
    if isinstance(part, ToolCall):
        (part,) = part.result
    assert isinstance(part, Text)
    return part.text


# --- runs that are given up ------------------------------------------------------------------------------------------


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


# --- one commit ------------------------------------------------------------------------------------------------------


class BreakingStore:
    """A store whose disk fails at the commit of a checkpoint or window, before or just after it is written."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.breaks: type | None = None
        self.after = False
        self.seen: list[list[Change]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def commit(self, session_id: str, fence: Fence, changes: Sequence[Change]) -> object:
        broken = self.breaks is not None and any(isinstance(change, self.breaks) for change in changes)
        if broken:
            self.seen.append(list(changes))
        done = None if broken and not self.after else await self._store.commit(session_id, fence, changes)
        if broken:
            self.breaks = None
            raise WorkFailed("the disk failed")
        return done


@pytest.mark.design("N2", "K-7", "R-6")
@pytest.mark.report(28)
@pytest.mark.parametrize("after", [False, True])
def test_items_and_mark_of_a_checkpoint_go_in_together_or_not_at_all(after: bool, tmp_path: object) -> None:
    async def main() -> None:
        store = BreakingStore(await SqliteStore.open(None, clock=SystemClock()))
        async with await engine_for(64_000, store=store, settings=NO_TIERS, documents=tmp_path) as engine:
            await engine.observe(user("Store every time in UTC. Never edit anything under db/migrations."))
            await work(engine, 20)
            first = await engine.write_checkpoint()
            assert isinstance(first, Checkpoint)
            await engine.observe(user("Always name the tables in lower case."))
            await work(engine, 15, start=20)
            store.breaks, store.after = AddCheckpoint, after
            failed = await engine.write_checkpoint()  # a failure of that run: the session goes on
            assert isinstance(failed, WriterFailed)
            assert "the disk failed" in failed.reason
            (changes,) = store.seen
            (row,) = [change.checkpoint for change in changes if isinstance(change, AddCheckpoint)]
            assert [change.slot.running for change in changes if isinstance(change, SetSlot)] == [False]
            assert row.covered_seq > first.covered_seq
            assert row.items != first.items
            kept = await store._store.newest_checkpoint(engine.session_id)
            assert kept == (row if after else first)
            assert not (await store._store.slot(engine.session_id)).running
            again = await engine.write_checkpoint()
            if after:
                assert again is None  # the whole run is there: nothing new is left to write
            else:
                assert isinstance(again, Checkpoint)
                assert (again.items, again.range) == (row.items, row.range)

    asyncio.run(main())


@pytest.mark.design("R-5")
@pytest.mark.report(28)
@pytest.mark.parametrize("after", [False, True])
def test_a_window_is_there_whole_or_not_at_all(after: bool) -> None:
    async def main() -> None:
        store = BreakingStore(await SqliteStore.open(None, clock=SystemClock()))
        engine = await engine_for(64_000, store=store, settings=NO_TIERS)
        await engine.observe(user("Go."))
        await work(engine, 30)
        request = sent(await engine.project())
        store.breaks, store.after = AddWindow, after
        with pytest.raises(WorkFailed, match="the disk failed"):
            await engine.rebuild()
        await engine.close()
        async with await Engine.open(
            store=store,  # type: ignore[arg-type]
            session_id=engine.session_id,
            traits=Traits("test-model", limit=64_000),
        ) as again:
            projected = await again.project()
            assert projected.window.number == (2 if after else 1)
            if after:
                assert projected.window.opening
            else:
                assert sent(projected) == request
            assert (await again.rebuild()).window is not None or after

    asyncio.run(main())


# --- nothing that was sent changes ------------------------------------------------------------------------------------


class Burst(msgspec.Struct, frozen=True):
    """One step: the sizes in tokens of its results, what a person or the host adds, whether the turn ends."""

    results: tuple[int, ...]
    said: int = 0
    listed: str = ""
    ends: bool = False


bursts = st.builds(
    Burst,
    st.lists(st.sampled_from([5, 400, 1_500, 4_000]), min_size=1, max_size=6).map(tuple),
    st.sampled_from([0, 0, 20, 3_000, 30_000]),
    st.sampled_from(["", "todo: one", "todo: two, three"]),
    st.booleans(),
)


async def play(engine: Engine, history: Sequence[Burst]) -> tuple[int, int]:
    """Requests seen to extend the one before, and cut messages."""
    last: Projected | None = None
    extended, cut = 0, 0
    await engine.observe(user("Begin."))
    for number, burst in enumerate(history):
        calls = tuple(
            ToolCall(
                f"c{number}_{i}", "read_file", {"path": f"{i}"}, state="completed", result=(Text(prose(size, number + i)),)
            )
            for i, size in enumerate(burst.results)
        )
        answer = Message(id="", role="assistant", origin="model", parts=calls, finish=Finish.TOOL_CALLS)
        for message in (answer, says("Done.") if burst.ends else None, burst.said, burst.listed):
            if isinstance(message, int):
                message = user(prose(message, number)) if message else None  # noqa: PLW2901
            elif isinstance(message, str):
                note = Message(id="", role="user", origin="engine", source="todo", parts=(Reminder("todo", message),))
                message = note if message else None  # noqa: PLW2901
            if message is not None:
                await engine.observe(message)
            try:
                projected = await engine.project()
            except WorkFailed as stop:
                assert "stopped" in str(stop)
                return extended, cut
            if last is not None and last.window.number == projected.window.number:
                before = sent(last)
                assert sent(projected)[: len(before)] == before
                extended += 1
                trims = (await engine.store.window(projected.window.id)).trims  # type: ignore[union-attr]
                assert trims[: len(last.window.trims)] == last.window.trims
                assert all(trim.seq > last.upto_seq for trim in trims[len(last.window.trims) :]), "what was sent is not cut"
            last = projected
            cut = max(cut, len(projected.window.trims))
    return extended, cut


@pytest.mark.design("W-8", "Q-2", "N6")
@pytest.mark.report(52, 53)
@settings(max_examples=50, deadline=None, print_blob=False)
@given(st.lists(bursts, min_size=2, max_size=14), st.sampled_from([12_000, 24_000, 64_000]))
def test_nothing_that_was_sent_changes_inside_a_window_whatever_comes_in(history: list[Burst], limit: int) -> None:
    async def main() -> None:
        async with await engine_for(limit) as engine:
            await play(engine, history)

    asyncio.run(main())


@pytest.mark.design("W-8", "C-6")
@pytest.mark.report(52, 53)
def test_what_is_cut_is_cut_before_it_is_first_sent_and_stays_so() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(24_000, events=events) as engine:
            await engine.observe(user("Begin."))
            await work(engine, 12)
            await engine.rebuild()
            before = await engine.project()
            await engine.observe(user(prose(30_000)))
            cut = await engine.project()
            assert [event.detail["messages"] for event in events if event.kind == "incoming_cut"] == [[engine.head]]
            assert sent(cut)[: len(sent(before))] == sent(before)
            await engine.observe(says("Read."), user("And now?"))
            later = await engine.project()
            assert later.window.id == cut.window.id
            assert sent(later)[: len(sent(cut))] == sent(cut)
            stored = await engine.read(engine.head - 3, engine.head - 2)
            assert text_of(stored[0]) == prose(30_000)
        async with await engine_for(64_000) as engine:
            history = [Burst((1_500, 4_000), said=20, listed=f"todo: {n}", ends=n % 3 == 0) for n in range(12)]
            extended, _ = await play(engine, history)
            assert extended > 30

    asyncio.run(main())


@pytest.mark.design("P-7", "Q-5", "W-9")
@pytest.mark.report(56)
@pytest.mark.parametrize("protocol", ["anthropic", "chat"])
def test_system_tools_and_rules_are_the_same_bytes_in_every_window_with_a_mark_at_their_end(protocol: str) -> None:
    snapshot = build(
        [
            section("role", "test", "system", "stable", "You keep tide gauges."),
            section("clock", "test", "system", "dynamic", "Today is a Tuesday."),
            section("rules", "test", "context", "stable", "# Rules\nStore every time in UTC."),
        ],
        [
            {"name": name, "description": f"{name} it", "schema": {"type": "object", "properties": {}}}
            for name in ("write", "read")
        ],
    )

    def fixed(projected: Projected) -> list[bytes]:
        body = units(projected.request, ENCODERS[protocol])  # type: ignore[index]
        opening_at = next(n for n, unit in enumerate(body) if b"[sojourn]" in unit or b"Begin." in unit)
        return body[:opening_at]

    async def main() -> None:
        async with await engine_for(64_000, prefix=snapshot, fixed=None, protocol=protocol) as engine:  # type: ignore[arg-type]
            await engine.observe(user("Begin."))
            await work(engine, 30)
            seen = [await engine.project()]
            for turn in range(3):
                await (engine.compact() if turn == 1 else engine.rebuild())
                await engine.observe(user(f"Turn {turn}."))
                await work(engine, 15, start=40 + 20 * turn)
                seen.append(await engine.project())
            assert [one.window.number for one in seen] == [1, 2, 3, 4]
            assert len({tuple(fixed(one)) for one in seen}) == 1
            text = b"\n".join(fixed(seen[0]))
            for piece in (b"tide gauges", b"a Tuesday", b"every time in UTC", b"write it", b"read it"):
                assert piece in text
            if protocol == "anthropic":
                stable = {tuple(block.mark for block in one.request.system) for one in seen}
                assert stable == {("stable", None)}

    asyncio.run(main())


# --- nothing is lost --------------------------------------------------------------------------------------------------


@pytest.mark.design("N1", "R-4", "R-5")
@pytest.mark.report(7, 124)
def test_a_boundary_deletes_nothing_is_told_can_be_read_searched_exported_and_taken_back() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, events=events) as engine:
            told = await engine.observe(user("Remember kv-17 in the ledger."), says("kv-17 it is."))
            await work(engine, 60)
            await engine.compact()
            await work(engine, 60, start=60)
            stored = await engine.store.messages(engine.session_id)
            assert [message.seq for message in stored] == list(range(1, 123))
            assert tuple(stored[:2]) == told
            assert [text_of(m) for m in stored[2:]] == [prose(1_000, step) for step in range(120)]
            windows = await engine.store.windows(engine.session_id)
            shown = [event.detail["window"] for event in events if event.kind == "window_opened"]
            assert [window.id for window in windows] == [window.id for window in shown]
            assert len(windows) >= 4
            assert {window.reason for window in windows} == {"start", "usage", "manual"}
            assert {hit.seq for hit in await engine.search("kv-17")} == {1, 2}
            assert tuple(await engine.read(0, 2)) == told
            session = await engine.store.session(engine.session_id)
            assert session is not None
            lines = list(to_jsonl(session, stored, lambda sha: None, windows=windows))
            assert len(lines) == 1 + 122 + len(windows)
            assert "Remember kv-17 in the ledger." in lines[1]
            undone = await engine.undo()
            assert undone.what == f"window {windows[-1].number}"
            assert (await engine.project()).window.id != windows[-1].id

    asyncio.run(main())


class Reads:
    """The extractive writer's place, noting which messages each run was handed."""

    name = "model"
    forks = False

    def __init__(self) -> None:
        self.runs: list[WriterInput] = []

    async def write(self, run: WriterInput) -> Written | WriterFailed:
        self.runs.append(run)
        seq = run.range[1]
        return Written((*run.items, Item(f"k{len(self.runs)}", Section.KNOWLEDGE, f"upto {seq}", (seq,), written_seq=seq)))


@pytest.mark.design("K-5", "K-7", "R-6")
@pytest.mark.report(124)
def test_runs_join_without_a_gap_and_each_has_read_exactly_what_it_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    compactions: list[WriterInput] = []

    def extract(run: WriterInput) -> tuple[Item, ...]:
        compactions.append(run)
        return (*run.items, Item(f"c{len(compactions)}", Section.KNOWLEDGE, f"compacted {len(compactions)}", run.range))

    async def main() -> None:
        writer = Reads()
        async with await engine_for(64_000, writer=writer) as engine:
            await engine.observe(user("Go."))
            await work(engine, 130)
            rows = await engine.store.checkpoints(engine.session_id)
            assert len(rows) == len(writer.runs) >= 6
            after = 0
            for row, run in zip(rows, writer.runs, strict=True):
                assert row.range == run.range == (after, row.covered_seq)
                assert [message.seq for message in run.messages] == list(range(after + 1, row.covered_seq + 1))
                after = row.covered_seq
            assert len(rows[-1].items) == len(rows)
        monkeypatch.setattr(summarising, "extract", extract)
        async with await engine_for(32_000, session=Session(id="", parent_id="ses_parent")) as engine:
            await engine.observe(user("Find it."))
            await work(engine, 70)
            windows = [w for w in await engine.store.windows(engine.session_id) if w.kind == "compaction"]
            assert len(windows) == len(compactions) >= 2
            after = 0
            for window, run in zip(windows, compactions, strict=True):
                assert run.range == (after, window.covered_seq)
                assert [message.seq for message in run.messages] == list(range(after + 1, window.covered_seq + 1))
                after = window.covered_seq
            assert [item.id for item in windows[-1].items] == [f"c{n}" for n in range(1, len(compactions) + 1)]

    asyncio.run(main())


@pytest.mark.design("K-10", "C-9")
@pytest.mark.report(29)
def test_a_history_far_over_what_a_writer_takes_is_read_in_pieces_that_build_on_each_other() -> None:
    async def main() -> None:
        writer = Reads()
        async with await engine_for(256_000, writer=writer, settings=NO_TIERS) as engine:
            for turn in range(12):
                await engine.observe(user(f"Turn {turn}."), says(prose(45_000, turn)))
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            assert row.range == writer.runs[-1].range
            sizes = [sum(total(estimate_text(text_of(m))) for m in run.messages) for run in writer.runs]
            assert len(sizes) >= 3
            assert sum(sizes) > 2 * 200_000
            assert max(sizes) < 250_000, "no piece is more than one message over 200,000"
            assert [run.range[0] for run in writer.runs] == [0, *(run.range[1] for run in writer.runs[:-1])]
            assert [len(run.items) for run in writer.runs] == list(range(len(sizes)))
            read = [message.seq for run in writer.runs for message in run.messages]
            assert read == list(range(1, row.covered_seq + 1))
        child = Session(id="", parent_id="ses_parent")
        async with await engine_for(32_000, session=child) as engine:
            await engine.observe(user("Find the offset."))
            await engine.project()
            for step in range(80):
                await engine.observe(reads(f"p{step}.py", prose(1_000, step)))
            assert engine.level().tokens > 2 * 32_000
            projected = await engine.project()
            assert projected.window.kind == "compaction"
            assert projected.level.tokens < projected.lines.trigger

    asyncio.run(main())


@pytest.mark.design("Y-5", "R-8")
@pytest.mark.report(31)
@pytest.mark.parametrize("name", ["read_file", "bash", "mcp__web__fetch", "task", "", "工具"])
@pytest.mark.parametrize(("limit", "trigger", "cap"), [(8_000, 6_976, 1_046), (64_000, 57_600, 8_640)])
def test_one_cap_for_every_tools_result_whatever_its_name_and_way_in(name: str, limit: int, trigger: int, cap: int) -> None:
    assert result_cap(trigger) == cap
    assert (result_cap(106_666), result_cap(106_667), result_cap(900_000)) == (15_999, 16_000, 16_000)
    words = prose(cap + 3_000)
    length = bisect_right(range(len(words)), cap, key=lambda end: total(estimate_text(words[:end]))) - 1
    fits, over = words[:length], words[: length + 1]
    assert total(estimate_text(over)) > cap >= total(estimate_text(fits))

    async def main() -> None:
        async with await engine_for(limit) as engine:
            for text in (fits, over):
                done = ToolCall("c1", name, {}, state="completed", result=(Text(text),))
                failed = msgspec.structs.replace(done, call_id="c2", state="error")
                running = msgspec.structs.replace(done, call_id="c3", state="running", result=())
                (message,) = await engine.observe(
                    Message(id="", role="assistant", origin="model", parts=(done, failed, running), finish=Finish.TOOL_CALLS)
                )
                await engine.settle(message.id, 2, msgspec.structs.replace(done, call_id="c3"))
                stored = await engine.store.message(engine.session_id, message.id)
                assert stored is not None
                for part in stored.parts:
                    assert isinstance(part, ToolCall)
                    (result,) = part.result
                    shown = result.excerpt if isinstance(result, File) else result.text  # type: ignore[union-attr]
                    assert (shown == text) is (text is fits)
                    assert isinstance(result, File) is (text is over or len(text) > 32 * 1024)
                    assert total(estimate_text(shown)) <= cap
                    if text is over:
                        assert shown[:100] == text[:100]
                        assert shown[-100:] == text[-100:]
                        assert "left out here" in shown
                        assert await engine.store.blob(result.blob) == text.encode()  # type: ignore[union-attr]

    asyncio.run(main())


# --- who speaks -------------------------------------------------------------------------------------------------------


@pytest.mark.design("R-2", "W-1")
@pytest.mark.report(18, 91)
def test_nothing_of_the_engines_becomes_a_message_or_is_quoted_as_the_users() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            said = ["Keep heights in millimetres.", "Now the second batch.\n[sojourn] is our name too"]
            await engine.observe(user(said[0]))
            note = Message(id="", role="user", origin="engine", source="todo", parts=(Text("NOTE OF THE ENGINE"),))
            await engine.observe(note)
            await work(engine, 60)
            await engine.observe(says("First batch done."), user(said[1]))
            await work(engine, 60, start=60)
            await engine.compact()
            await engine.rebuild()
            projected = await engine.project()
            windows = await engine.store.windows(engine.session_id)
            assert len(windows) >= 4
            stored = await engine.store.messages(engine.session_id)
            assert len(stored) == engine.head == 124, "only what was observed is a message"
            assert [m.origin for m in stored].count("user") == 2
            assert [turn.message.seq for turn in await engine.store.turns(engine.session_id, upto=engine.head)] == [64, 1]
            whole = {line for text in said for line in text.split("\n")}
            for window in windows[1:]:
                blocks = "".join(block.text for block in window.opening)
                quoted = [line[2:] for line in blocks.split("\n") if line.startswith("> ")]
                assert quoted
                assert set(quoted) <= whole
                assert "NOTE OF THE ENGINE" not in blocks
                assert blocks.count("This message opens a new context window") == 1, "no opening stands in the next one"
            own = {text_of(message) for message in stored if message.origin == "user"}
            for wire in projected.request.messages:
                for part in wire.parts:
                    if wire.role == "user" and isinstance(part, TextPart) and part.about.kind not in ("opening", "context"):
                        assert part.text in own

    asyncio.run(main())


@pytest.mark.design("W-12", "R-2")
@pytest.mark.report(65)
def test_undo_lists_and_titles_look_at_what_the_user_said_only() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            engine_note = Message(id="", role="user", origin="engine", source="todo", parts=(Text("Engine text."),))
            foreign = Message(id="", role="user", origin="import", source="summary", parts=(Text("SUMMARY of it all"),))
            await engine.observe(engine_note, foreign, user("Rename the drain task."), says("Renamed."))
            await engine.observe(engine_note, foreign)
            await work(engine, 30)
            await engine.rebuild()
            await engine.observe(engine_note)
            session = await engine.store.session(engine.session_id)
            assert session is not None
            assert session.title == "Rename the drain task."
            turns = await engine.store.turns(engine.session_id, upto=engine.head)
            assert [turn.message.seq for turn in turns] == [3]
            assert (await engine.undo()).what == "window 2"
            assert (await engine.undo()).what == "the turn at message 3"
            with pytest.raises(Exception, match="nothing to undo"):
                await engine.undo()

    asyncio.run(main())


@pytest.mark.design("Q-3", "R-3")
@pytest.mark.report(60, 62)
def test_thinking_goes_back_byte_for_byte_to_the_model_that_signed_it_and_to_no_other() -> None:
    thought = "  Hm…\t基准 \r\n\n trailing  "

    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        tide = Traits("tide-1", limit=64_000, thinking=True)

        def thinking(projected: Projected) -> list[tuple[str, str, str]]:
            parts = [part for message in projected.request.messages for part in message.parts]
            return [(part.text, part.signature, part.redacted) for part in parts if isinstance(part, ReasoningPart)]

        async with await Engine.open(store=store, session=Session(id=""), traits=tide) as engine:
            signed = Reasoning(thought, "anthropic", "tide-1", "c2ln=")
            hidden = Reasoning("", "anthropic", "tide-1", redacted="cmVk==")
            parts = (signed, hidden, Text("Fine."))
            await engine.observe(user("Go."))
            await engine.observe(
                Message(id="", role="assistant", origin="model", model="tide-1", parts=parts, finish=Finish.STOP)
            )
            await engine.observe(user("On."))
            mixed = (signed, Reasoning("other", "anthropic", "ebb-2", "sig"), Text("Half."))
            await engine.observe(Message(id="", role="assistant", origin="model", parts=mixed, finish=Finish.STOP), user("On."))
            first = await engine.project()
            assert thinking(first) == [(thought, "c2ln=", ""), ("", "", "cmVk==")], "of the mixed message none goes"
            body = encode(first.request)
            assert [b for b in body["messages"][1]["content"] if b["type"] == "thinking"] == [
                {"type": "thinking", "thinking": thought, "signature": "c2ln="}
            ]
        for other in (Traits("ebb-2", limit=64_000, thinking=True), Traits("tide-1", limit=64_000, thinking=False)):
            async with await Engine.open(store=store, session_id=engine.session_id, traits=other) as again:
                projected = await again.project()
                assert thinking(projected) == []
                assert "Fine." in str(projected.request)
                assert "Half." in str(projected.request)
        async with await Engine.open(store=store, session_id=engine.session_id, traits=tide) as again:
            assert sent(await again.project()) == sent(first)
        await store.close()

    asyncio.run(main())


# --- one meter, one budget, one trigger, one table of errors ----------------------------------------------------------


@pytest.mark.design("N5", "M-2", "M-4", "C-8")
@pytest.mark.report(36)
def test_display_parts_and_trigger_are_one_number_at_every_step() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, events=events, fixed=900) as engine:
            await engine.observe(user("Go."))
            for step in range(75):
                level, boundaries = engine.level().tokens, len(opened(events))
                context = await engine.context()
                assert level == context.level == sum(context.categories.values())
                projected = await engine.project()
                assert (len(opened(events)) > boundaries) is (level >= context.lines.trigger)
                assert projected.level == engine.level()
                await engine.observe(reads(f"p{step}.py", prose(1_000, step)))
                if step % 3 == 0:
                    await engine.observe_usage(Usage(fresh=projected.level.tokens * 11 // 10, output=40))
            assert len(opened(events)) >= 2

    asyncio.run(main())


@pytest.mark.design("N4", "W-4", "K-2")
@pytest.mark.parametrize("limit", [16_000, 32_000, 64_000, 200_000, 1_000_000])
def test_one_rule_makes_the_opening_from_16k_to_1m(limit: int) -> None:
    async def main() -> None:
        async with await engine_for(limit) as engine:
            for turn in range(60):
                await engine.observe(user(f"Request {turn}: keep kv-{1000 + turn} as it is. {prose(120, turn)}"))
                await engine.observe(reads(f"src/part_{turn}.py", prose(limit // 100, turn)), says(f"Seen {turn}."))
            await engine.observe(user("The newest request."))
            done = await engine.rebuild()
            assert done.window is not None
            trigger = limit * 9 // 10
            tail = 20  # the newest request and its frame, at most
            tokens = sum(block.tokens for block in done.window.opening)
            assert 0 < tokens <= trigger * 40 // 100
            assert done.level_after <= trigger * 60 // 100 + tail
            assert sum(budgets(trigger).values()) <= trigger
            assert "The newest request." in str((await engine.project()).request.messages[-1])

    asyncio.run(main())


@pytest.mark.design("N11", "C-18")
def test_the_trigger_of_a_window_follows_the_measured_growth_and_the_policy() -> None:
    async def opens(policy: str) -> tuple[int, int, int]:
        config = Settings(compaction=Compaction(policy=policy))  # type: ignore[arg-type]
        async with await engine_for(200_000, settings=config) as engine:
            await engine.observe(*(user(f"Request {n}: keep part {n} as it is. {prose(350, n)}") for n in range(40)))
            await engine.project()
            first = (await engine.context()).lines.trigger
            await work(engine, 11, tokens=3_000)
            done = await engine.rebuild()
            assert done.window is not None
            measured = done.window.measured
            assert measured["steps"] == 11
            assert 2_000 < measured["growth"] < 6_000
            steps = Economics(
                growth=measured["growth"],
                steps=11,
                opening_level=done.level_after,
                opening_written=done.level_after,  # the fixed part is empty: the opening and the live tail
                writer_cost=measured["writer"],
                reread_cost=measured["reread"],
                written_price=engine._state.prices.written,
            )
            expected = economic_trigger(180_000, policy, steps)  # type: ignore[arg-type]
            assert done.window.trigger == pytest.approx(expected, rel=0.02)
            assert (await engine.context()).lines.trigger == done.window.trigger
            return first, done.window.trigger, (await engine.context()).lines.full_trigger

    async def main() -> None:
        full, balanced, economy = [await opens(policy) for policy in ("full", "balanced", "economy")]
        assert full == (180_000, 180_000, 180_000)
        assert (balanced[0], economy[0]) == (180_000, 180_000), "before five measured steps it is T"
        assert 45_000 <= economy[1] < balanced[1] < 180_000

    asyncio.run(main())


@pytest.mark.design("A-2", "C-10")
@pytest.mark.report(32)
@pytest.mark.parametrize("kind", list(ErrorKind))
def test_each_kind_of_refusal_is_recovered_from_or_passed_on(kind: ErrorKind) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, events=events) as engine:
            await engine.observe(user("Go."))
            await work(engine, 30)
            before = await engine.project()
            error = ModelError(kind, "the provider's own words", limit=60_000, used=61_000)
            assert (error.kind, error.limit, error.used, str(error)) == (kind, 60_000, 61_000, "the provider's own words")
            if kind in (ErrorKind.CONTEXT_OVERFLOW, ErrorKind.MALFORMED_REQUEST):
                again = await engine.recover(error)
                assert sent(again) != sent(before)
                reason = "overflow" if kind is ErrorKind.CONTEXT_OVERFLOW else "malformed"
                assert [event.detail["window"].reason for event in opened(events)] == [reason]
                return
            with pytest.raises(WorkFailed, match=f"the provider's own words.*{kind}"):
                await engine.recover(error)
            assert not opened(events)
            assert sent(await engine.project()) == sent(before)

    asyncio.run(main())


@pytest.mark.design("M-2")
def test_the_ratio_is_learned_again_from_the_newest_calls_when_a_session_is_opened() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        engine = await engine_for(64_000, store=store)
        await engine.observe(user("Go."))
        for step in range(8):
            projected = await engine.project()
            await engine.observe(reads(f"p{step}.py", prose(1_000, step)))
            await engine.observe_usage(Usage(fresh=max(1, projected.level.tokens) * 3 // 2, output=30))
        await engine.observe(user(prose(2_000)))
        level = engine.level()
        await engine.close()
        plain = await Engine.open(traits=Traits("test-model", limit=64_000))
        await plain.observe(user(prose(2_000)))
        async with await Engine.open(
            store=store, session_id=engine.session_id, traits=Traits("test-model", limit=64_000)
        ) as again:
            assert again.level().source == level.source == "usage"
            assert again.level().tokens == pytest.approx(level.tokens, rel=0.05)
            after = again.level().tokens
            await again.observe(user(prose(2_000)))
            assert again.level().tokens - after > 1.2 * plain.level().tokens
        await plain.close()
        await store.close()

    asyncio.run(main())
