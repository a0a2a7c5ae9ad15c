"""Transcripts into the record: repeatable, grown files, odd files (R-14)."""

import asyncio
import json
from pathlib import Path

import pytest

from sojourn.base import CountingIds, ManualClock, UserMistake
from sojourn.engine.ingest import Ingested, ingest
from sojourn.importers import detect
from sojourn.record import Held, Message, Store, Text, ToolCall
from sojourn.record.sqlite import SqliteStore


def line(kind: str, number: int, content: object, **more: object) -> str:
    """One line of a Claude Code file."""
    message: dict[str, object] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg_{number}", "model": "claude-x", "stop_reason": None}
    entry = {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "5e551011-0000-4000-8000-000000000001",
        "timestamp": f"2026-11-29T10:00:{number % 60:02d}.000Z",
        "cwd": "/project",
        "message": message,
        **more,
    }
    return json.dumps(entry, ensure_ascii=False)


def call(number: int, path: str) -> str:
    return line("assistant", number, [{"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": path}}])


def result(number: int, of: int, text: str) -> str:
    return line("user", number, [{"type": "tool_result", "tool_use_id": f"t{of}", "content": text}])


async def bring_in(store: Store, path: Path) -> Ingested:
    importer = detect(str(path))
    return await ingest(store, path, importer.name, importer.read(str(path)), clock=ManualClock(), ids=CountingIds())


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def told(messages: object) -> list[str]:
    return [
        part.text if isinstance(part, Text) else f"{part.name}:{part.state}"
        for message in messages  # type: ignore[attr-defined]
        for part in message.parts
        if isinstance(part, Text | ToolCall)
    ]


@pytest.mark.design("R-14", "R-1")
def test_a_grown_file_adds_only_what_is_new_and_settles_open_calls(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "s.db", clock=ManualClock())
        first = [line("user", 0, "Read the gauge."), call(1, "/project/gauge.py")]
        path = write(tmp_path / "a.jsonl", *first)
        done = await bring_in(store, path)
        session = done.sessions[0]
        assert (session.added, session.total) == (2, 2)
        assert told(await store.messages(session.session_id)) == ["Read the gauge.", "Read:pending"]
        again = await bring_in(store, path)
        assert (again.sessions[0].session_id, again.sessions[0].added, again.sessions[0].total) == (session.session_id, 0, 2)
        write(path, *first, result(2, 1, "OFFSET = 273"), line("assistant", 3, [{"type": "text", "text": "It is 273."}]))
        grown = await bring_in(store, path)
        assert (grown.sessions[0].session_id, grown.sessions[0].added, grown.sessions[0].total) == (session.session_id, 1, 3)
        messages = await store.messages(session.session_id)
        assert told(messages) == ["Read the gauge.", "Read:completed", "It is 273."]
        assert messages[1].parts[0].result[0].text == "OFFSET = 273"  # type: ignore[union-attr]
        stored = await store.session(session.session_id)
        assert stored is not None
        assert stored.source is not None
        assert (stored.source.lines, stored.source.bytes) == (4, path.stat().st_size)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14")
def test_a_file_changed_before_its_end_is_refused_with_a_next_step(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=ManualClock())
        path = write(tmp_path / "a.jsonl", line("user", 0, "One."), line("user", 1, "Two."))
        session = (await bring_in(store, path)).sessions[0]
        write(path, line("user", 0, "Other."), line("user", 1, "Two."), line("user", 2, "Three."))
        with pytest.raises(UserMistake, match="changed since") as refused:
            await bring_in(store, path)
        assert session.session_id in refused.value.next_step
        assert told(await store.messages(session.session_id)) == ["One.", "Two."]
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14", "R-11")
def test_a_session_that_runs_elsewhere_is_not_written_to(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=ManualClock())
        path = write(tmp_path / "a.jsonl", line("user", 0, "One."))
        session = (await bring_in(store, path)).sessions[0]
        lease = await store.acquire(session.session_id, "elsewhere:1:x")
        assert not isinstance(lease, Held)
        write(path, line("user", 0, "One."), line("user", 1, "Two."))
        with pytest.raises(UserMistake, match="process 1 on elsewhere"):
            await bring_in(store, path)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14")
def test_an_import_cut_short_goes_on_where_it_stopped(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "s.db", clock=ManualClock())
        lines = [line("user", n, f"Message {n}.") for n in range(900)]
        path = write(tmp_path / "a.jsonl", *lines)
        importer = detect(str(path))

        def broken() -> object:
            for count, record in enumerate(importer.read(str(path))):
                if count == 700:
                    raise KeyboardInterrupt
                yield record

        with pytest.raises(KeyboardInterrupt):
            await ingest(store, path, importer.name, broken(), clock=ManualClock(), ids=CountingIds())  # type: ignore[arg-type]
        done = await bring_in(store, path)
        messages = await store.messages(done.sessions[0].session_id)
        assert told(messages) == [f"Message {n}." for n in range(900)]
        assert done.sessions[0].added == 900 - 699
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-1", "R-14")
def test_two_sessions_in_one_file_become_two(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=ManualClock())
        other = "5e551011-0000-4000-8000-000000000002"
        lines = [line("user", 0, "A1."), line("user", 1, "B1.", sessionId=other), line("user", 2, "A2.")]
        done = await bring_in(store, write(tmp_path / "a.jsonl", *lines))
        assert [told(await store.messages(one.session_id)) for one in done.sessions] == [["A1.", "A2."], ["B1."]]
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-8", "R-14")
@pytest.mark.report(68)
def test_a_result_of_megabytes_lies_beside_the_database(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "s.db", clock=ManualClock())
        huge = "x = 1\n" * 500_000
        path = write(tmp_path / "a.jsonl", line("user", 0, "Read it."), call(1, "/project/huge.py"), result(2, 1, huge))
        done = await bring_in(store, path)
        messages: list[Message] = list(await store.messages(done.sessions[0].session_id))
        part = messages[1].parts[0]
        assert isinstance(part, ToolCall)
        assert await store.blob(part.result[0].blob) == huge.encode()  # type: ignore[union-attr]
        assert (tmp_path / "s.db").stat().st_size < 500_000
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14", "R-4")
def test_our_own_export_brings_windows_checkpoints_and_undos_along(tmp_path: Path) -> None:
    async def main() -> None:
        from engine.sessions import reads, user, work
        from sojourn import exporters
        from sojourn.engine import Engine
        from sojourn.record import Session
        from sojourn.wire import Traits

        store = await SqliteStore.open(None, clock=ManualClock())
        traits = Traits(name="test-model", limit=32_000)
        async with await Engine.open(store=store, session=Session(id="ses_old"), traits=traits) as engine:
            await engine.observe(user("Go."))
            await work(engine, 40)
            await engine.observe(user("Never mind this."), reads("gone.py", "gone"))
            await engine.undo()
            before = await engine.project()
        rows = {
            "windows": await store.windows("ses_old", include_undone=True),
            "checkpoints": await store.checkpoints("ses_old", include_undone=True),
            "undos": await store.undos("ses_old"),
        }
        session = await store.session("ses_old")
        assert session is not None
        messages = await store.messages("ses_old", include_undone=True)
        blobs: dict[str, bytes] = {}
        path = tmp_path / "export.jsonl"
        path.write_text("".join(exporters.to_jsonl(session, messages, blobs.get, **rows)), "utf-8")
        other = await SqliteStore.open(None, clock=ManualClock())
        done = await bring_in(other, path)
        new = done.sessions[0].session_id
        assert [m.parts for m in await other.messages(new)] == [m.parts for m in await store.messages("ses_old")]
        for name, old in rows.items():
            kept = await (other.undos(new) if name == "undos" else getattr(other, name)(new, include_undone=True))
            assert len(kept) == len(old)
        async with await Engine.open(store=other, session_id=new, traits=traits) as engine:
            after = await engine.project()
            assert after.request.messages == before.request.messages
            assert after.window.number == before.window.number
        await other.close()
        await store.close()

    asyncio.run(main())
