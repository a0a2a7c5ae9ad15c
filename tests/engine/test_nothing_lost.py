"""Whatever is over a limit is read in pieces or stands in the record, whole (R-4, R-8, Y-5)."""

import asyncio
from bisect import bisect_right

import msgspec
import pytest

from engine.holding import NO_TIERS, text_of
from engine.sessions import engine_for, prose, reads, says, user, work
from sojourn.base import Finish, Item, Section
from sojourn.checkpoint import WriterFailed, WriterInput, Written
from sojourn.engine import EngineEvent, summarising
from sojourn.engine.intake import result_cap
from sojourn.exporters import to_jsonl
from sojourn.meter import estimate_text, total
from sojourn.record import (
    Checkpoint,
    File,
    Message,
    Session,
    Text,
    ToolCall,
)


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
