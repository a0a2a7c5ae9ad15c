"""Transcripts into the record: in commits, whole or told (R-14)."""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.sessions import prose, reads, user
from engine.telling import NOW, memory
from sojourn.base import CountingIds, Finish, ManualClock, UserMistake, WorkFailed
from sojourn.engine.ingest import ingest
from sojourn.importers import Counts, Done, Imported, ImportRecord, Progress, SessionStart, Skipped, SkippedLine
from sojourn.meter import total
from sojourn.record import (
    Change,
    Fence,
    Fenced,
    Image,
    Message,
    Store,
    Text,
    ToolCall,
)


class Committing:
    """A store that notes the size of each commit."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.sizes: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, session_id: str, fence: Fence, changes: Sequence[Change]) -> object:
        self.sizes.append(len(changes))
        return await self._store.commit(session_id, fence, changes)


def import_of(path: Path, *records: ImportRecord, store: Store) -> Any:
    return ingest(store, path, "pi", records, clock=ManualClock(), ids=CountingIds())


@pytest.mark.design("R-14", "R-1")
def test_an_import_goes_in_by_batches_of_four_hundred_with_its_source_in_the_last(tmp_path: Path) -> None:
    async def main() -> None:
        store = await memory()
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"0123456789")
        start = SessionStart("f1", title="Title", cwd="/c", model="m", created=77, agent="helper")
        messages = [Imported("f1", user(f"Message {n}.")) for n in range(900)]
        counts = Counts(messages=900)
        end = Done(counts=counts, lines=12, bytes=7)
        told: list[int] = []
        watched = Committing(store)
        skipped = Skipped(3, "not JSON")
        records: list[ImportRecord] = [start, Progress(4), *messages, SkippedLine(skipped), Progress(9), end]
        done = await ingest(
            watched,  # type: ignore[arg-type]
            path,
            "pi",
            records,
            clock=ManualClock(),
            ids=CountingIds(),
            on_progress=told.append,
        )
        assert watched.sizes == [400, 400, 101]
        assert (told, done.skipped, done.counts, done.format) == ([4, 9], (skipped,), counts, "pi")
        assert [(one.foreign_id, one.title, one.added, one.total, one.parent_id) for one in done.sessions] == [
            ("f1", "Title", 900, 900, None)
        ]
        row = await store.session(done.sessions[0].session_id)
        assert row is not None
        assert row.source is not None
        assert (row.title, row.cwd, row.project_id, row.model, row.created, row.agent) == (
            "Title",
            "/c",
            "/c",
            "m",
            77,
            "helper",
        )
        assert (row.source.format, row.source.foreign_id, row.source.lines, row.source.bytes) == ("pi", "f1", 12, 7)
        assert row.source.sha == hashlib.sha256(b"0123456").hexdigest()
        assert row.id.startswith("ses_")
        assert await store.holder(row.id) is None
        stored = await store.messages(row.id)
        assert len({message.id for message in stored}) == 900
        assert all(message.id.startswith("msg_") and len(message.id) == 30 for message in stored)
        watched.sizes.clear()
        again = await import_of(path, start, *messages, Imported("f1", user("New.")), end, store=watched)  # type: ignore[arg-type]
        assert (watched.sizes, again.sessions[0].added, again.sessions[0].total) == ([2], 1, 901)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14")
def test_a_file_that_was_not_read_to_its_end_keeps_no_mark_of_its_length(tmp_path: Path) -> None:
    async def main() -> None:
        store = await memory()
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"0123456789")
        done = await import_of(path, SessionStart("f1"), Imported("f1", user("One.")), store=store)
        row = await store.session(done.sessions[0].session_id)
        assert row is not None
        assert row.source is not None
        assert (row.source.lines, row.source.bytes, row.source.sha, row.created) == (0, 0, "", NOW)
        assert await store.holder(row.id) is None
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14", "R-8", "Y-5")
def test_an_import_keeps_pictures_caps_results_and_settles_late_ones_where_they_are(tmp_path: Path) -> None:
    async def main() -> None:
        store = await memory()
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"0123456789")
        sha = hashlib.sha256(b"png").hexdigest()
        pictured = Message(id="", role="user", origin="user", parts=(Text("See."), Image(sha, "image/png", 3)))

        def called(*states: str) -> Message:
            calls = tuple(
                ToolCall(f"c{n}", "bash", state=state, result=(Text(f"R{n}"),) if state in ("completed", "error") else ())  # type: ignore[arg-type]
                for n, state in enumerate(states)
            )
            return Message(id="", role="assistant", origin="model", parts=(Text("Calls."), *calls), finish=Finish.TOOL_CALLS)

        large = reads("p.log", prose(20_000))
        first: list[ImportRecord] = [SessionStart("f1"), Imported("f1", pictured, {sha: b"png"}), Imported("f1", large)]
        open_calls = Imported("f1", called("completed", "interrupted", "interrupted"))
        done = await import_of(path, *first, open_calls, Done(counts=Counts(), lines=1, bytes=1), store=store)
        session_id = done.sessions[0].session_id
        stored = await store.messages(session_id)
        assert await store.blob(sha) == b"png"
        assert 14_000 < total(stored[1].parts[0].result[0].tokens) <= 16_000  # type: ignore[union-attr]
        assert [part.state for part in stored[2].parts[1:]] == ["completed", "pending", "pending"]  # type: ignore[union-attr]
        late = Imported("f1", called("completed", "interrupted", "error"))
        again = await import_of(path, *first, late, Done(counts=Counts(), lines=2, bytes=2), store=store)
        assert (again.sessions[0].added, again.sessions[0].total) == (0, 3)
        parts = (await store.messages(session_id))[2].parts[1:]
        assert [part.state for part in parts] == ["completed", "pending", "error"]  # type: ignore[union-attr]
        assert parts[2].result[0].text == "R2"  # type: ignore[union-attr]
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14", "R-1")
def test_a_helpers_session_is_its_parents_child_and_is_not_checked_against_the_file(tmp_path: Path) -> None:
    async def main() -> None:
        store = await memory()
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"0123456789")
        records: list[ImportRecord] = [
            SessionStart("p"),
            Imported("p", user("One.")),
            SessionStart("p"),
            SessionStart("c", parent_foreign_id="p"),
            Imported("c", user("Find it.")),
            Imported("p", user("Two.")),
            Done(counts=Counts(), lines=1, bytes=5),
        ]
        done = await import_of(path, *records, store=store)
        parent, child = done.sessions
        assert (child.parent_id, parent.parent_id) == (parent.session_id, None)
        assert (parent.added, child.added) == (2, 1)
        path.write_bytes(b"01234xxxxxxxx")
        again = await import_of(path, *records, store=store)
        assert [one.added for one in again.sessions] == [0, 0]
        path.write_bytes(b"x1234xxxxxxxx")
        with pytest.raises(UserMistake, match="imported before"):
            await import_of(path, *records, store=store)
        # The lease went back all the same.
        assert await store.holder(parent.session_id) is None
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-14", "R-9")
def test_an_import_that_is_overtaken_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        store = await memory()
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"0123456789")
        done = await import_of(path, SessionStart("f1"), Imported("f1", user("One.")), store=store)
        session_id = done.sessions[0].session_id
        overtaken = Committing(store)

        async def refuse(*_: object) -> Fenced:
            return Fenced("epoch")

        overtaken.commit = refuse  # type: ignore[method-assign,assignment]
        records = [SessionStart("f1"), Imported("f1", user("One.")), Imported("f1", user("Two."))]
        with pytest.raises(WorkFailed, match=rf"import into {session_id} was overtaken \(epoch\)") as stop:
            await import_of(path, *records, store=overtaken)  # type: ignore[arg-type]
        assert stop.value.next_step == "Import again."
        assert len(await store.messages(session_id)) == 1
        await store.close()

    asyncio.run(main())
