"""Our own lines: nothing is lost on the way out and in."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.small import BLOBS, CHECKPOINT, MESSAGE, SESSION, SOURCE, TASK, UNDO, WINDOW, answer, user
from sojourn.exporters import to_jsonl
from sojourn.importers import Counts, Done, Imported, SessionStart, SkippedLine, detect, read, read_rows
from sojourn.record import Image, Message, Session, Text, ToolCall
from sojourn.record.journal import BlobRow, CheckpointRow, Header, MessageRow, TaskStateRow, UndoRow, WindowRow, read_line


@pytest.mark.design("R-14")
@pytest.mark.report(67)
@settings(max_examples=100, deadline=None)
@given(session=SESSION, messages=st.lists(MESSAGE, max_size=4))
def test_round_trip_is_lossless(session: Session, messages: list[Message]) -> None:
    more = {"windows": [WINDOW], "checkpoints": [CHECKPOINT], "tasks": [TASK, TASK], "undos": [UNDO]}
    chunks = list(to_jsonl(session, messages, BLOBS.get, **more))  # type: ignore[arg-type]
    assert all(chunk.endswith("\n") and chunk.count("\n") == 1 for chunk in chunks)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        path.write_bytes("".join(chunks).encode())
        rows = list(read_rows(str(path)))
        assert detect(str(path)).name == "sojourn-jsonl"
        records = list(read(str(path)))
    assert rows[0] == Header(1, session)
    assert [row.message for row in rows if isinstance(row, MessageRow)] == messages
    states = [TaskStateRow(TASK)] * 2
    assert rows[-5:] == [WindowRow(WINDOW), CheckpointRow(CHECKPOINT), *states, UndoRow(UNDO)]
    blobs = [row for row in rows if isinstance(row, BlobRow)]
    assert len({row.sha for row in blobs}) == len(blobs)
    assert all(BLOBS[row.sha] == row.data for row in blobs)
    assert [record.message for record in records if isinstance(record, Imported)] == messages
    assert {record.foreign_id for record in records if isinstance(record, (Imported, SessionStart))} == {"ses_1"}


@pytest.mark.design("R-14", "R-8")
def test_order_of_lines_and_what_the_importer_gives(tmp_path: Path) -> None:
    picture = Image("aa", "image/png", 6)
    call = ToolCall("t1", "shot", state="completed", result=(picture, Image("gone", "image/png", 1)))
    session = Session("ses_9", title="T", source=SOURCE, parent_id="ses_8", model="m", cwd="/r", agent="explore")
    messages = [user("one"), Message("p", "user", "user", (picture,)), answer(call, ToolCall("t2", "x", state="interrupted"))]
    text = "".join(
        to_jsonl(session, messages, BLOBS.get, windows=[WINDOW], checkpoints=[CHECKPOINT], tasks=[TASK], undos=[UNDO])
    )
    kinds = [json.loads(line).get("row", "header") for line in text.split("\n")[:-1]]
    assert kinds == ["header", "message", "blob", "message", "message", "window", "checkpoint", "task", "undo"]
    path = tmp_path / "x.jsonl"
    path.write_bytes((text + "garbage\n" + '{"row":"other"}\n').encode())
    records = list(read(str(path)))
    assert records[0] == SessionStart("ses_9", "T", "/r", "m", parent_foreign_id="ses_8", agent="explore")
    assert [record.blobs for record in records if isinstance(record, Imported)] == [{}, {"aa": BLOBS["aa"]}, {}]
    assert [(r.skipped.line, r.skipped.reason) for r in records if isinstance(r, SkippedLine)] == [
        (6, "bookkeeping: window"), (7, "bookkeeping: checkpoint"), (8, "bookkeeping: task"), (9, "bookkeeping: undo"),
        (10, "not JSON from column 1: Expecting value"), (11, "no row of a Sojourn export"),
    ]  # fmt: skip
    assert records[-1] == Done(Counts(3, 2, 1), 11, path.stat().st_size)
    assert len(list(read_rows(str(path)))) == 9


@pytest.mark.design("R-14")
def test_a_newer_form_is_not_taken_for_ours() -> None:
    assert read_line(b'{"sojourn": 2, "session": {"id": "s"}}') is None
    assert read_line(b'{"sojourn": 1, "session": {"id": "s"}}') == Header(1, Session("s"))
    assert read_line(b'{"row": "message", "message": {"id": "m"}}') is None


@pytest.mark.design("R-14")
def test_messages_without_a_header_still_have_a_session(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    lines = "".join(to_jsonl(Session("s"), [user("one")], BLOBS.get)).split("\n")
    path.write_text(lines[0][:-4] + "\n" + lines[1] + "\n")
    records = list(read(str(path)))
    assert [record.foreign_id for record in records if isinstance(record, SessionStart)] == ["cut"]
    (imported,) = [record for record in records if isinstance(record, Imported)]
    assert imported.message.parts == (Text("one"),)
