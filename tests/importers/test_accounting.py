# ruff: noqa: E501 - rows of data read better whole
"""What must always hold: no bytes make an import raise, and every line is used or told with its reason."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from importers.small import READERS, Result, as_bytes, assistant, call, import_file, result, text, user
from sojourn.importers import Done, SessionStart
from sojourn.record import ToolCall

STAMP = "2026-01-02T03:04:05Z"


def codex(type: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": STAMP, "type": type, "payload": payload}


SEEDS: dict[str, list[Any]] = {
    "claude-code": [
        user("grüße", "u1"), assistant(text("hm"), call("t1", file_path="/a"), usage={"input_tokens": 1}),
        user([result("t1")], "u2"), {"type": "progress", "sessionId": "s1", "data": {"type": "agent_progress", "agentId": "x", "message": user("t")}},
        assistant(text("done"), id="m2", isSidechain=True), {"type": "file-history-snapshot", "messageId": "m"},
    ],
    "codex": [
        codex("session_meta", id="c1", cwd="/r"), {"timestamp": STAMP, "type": "response_item", "payload": {
            "type": "message", "role": "user", "content": [{"type": "input_text", "text": "los"}]}},
        {"timestamp": STAMP, "type": "event_msg", "payload": {"type": "user_message", "message": "los"}},
        {"timestamp": STAMP, "type": "response_item", "payload": {"type": "function_call", "name": "shell", "call_id": "k", "arguments": "{}"}},
        {"timestamp": STAMP, "type": "response_item", "payload": {"type": "function_call_output", "call_id": "k", "output": "ö"}},
        {"timestamp": STAMP, "type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 5}}}},
    ],
    "pi": [
        {"type": "session", "version": 3, "id": "p1", "timestamp": STAMP, "cwd": "/r"},
        {"type": "message", "id": "a", "message": {"role": "user", "content": "los"}},
        {"type": "message", "id": "b", "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "t", "name": "read", "arguments": {}}]}},
        {"type": "message", "id": "c", "message": {"role": "toolResult", "toolCallId": "t", "content": [{"type": "text", "text": "ü"}]}},
        {"type": "compaction", "id": "d", "summary": "so far"},
    ],
    "gemini": [
        {"sessionId": "g1", "projectHash": "h", "startTime": STAMP},
        {"id": "u1", "type": "user", "content": "los"}, {"$set": {"messages": [{"id": "u1", "type": "user", "content": "é"}]}},
        {"id": "a1", "type": "gemini", "content": "ja", "toolCalls": [{"id": "t", "name": "n", "args": {}, "result": []}]},
        {"$rewindTo": "a1"}, {"id": "u2", "type": "user", "content": "mehr"},
    ],
    "openai-messages": [
        {"role": "user", "content": "grüße"}, {"role": "assistant", "tool_calls": [{"id": "t", "function": {"name": "n", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "t", "content": "ok"},
    ],
    "anthropic-messages": [
        {"role": "user", "content": "grüße"}, {"role": "assistant", "content": [call("t"), {"type": "thinking", "thinking": "x"}]},
        {"role": "user", "content": [result("t")]},
    ],
    "sojourn-jsonl": [
        {"sojourn": 1, "session": {"id": "s1", "title": "T"}}, {"row": "blob", "sha": "ab", "data": "aGk="},
        {"row": "message", "message": {"id": "m1", "role": "user", "origin": "user", "parts": [{"type": "text", "text": "ä"}]}},
        {"row": "undo", "undo": {"id": "u", "kind": "turn"}},
    ],
}  # fmt: skip


def broken(data: bytes, edits: list[tuple[str, float, bytes]]) -> bytes:
    for kind, where, piece in edits:
        at = int(where * len(data))
        if kind == "cut":
            data = data[:at]
        elif kind == "insert":
            data = data[:at] + piece + data[at:]
        elif kind == "replace":
            data = data[:at] + piece + data[at + len(piece) :]
        else:
            data = data[:at] + data[at + 7 :]
    return data


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "replace", "drop", "cut"]),
        st.floats(0, 1, exclude_max=True),
        st.one_of(st.binary(max_size=6), st.sampled_from([b"\n", b"\0\0\0", b"{", b"}", b'"', b"[]", b"null", b"\\ud800", b"1e999", b"\xe2\x80"])),
    ),
    max_size=6,
)  # fmt: skip


def check(found: Result, data: bytes, *, by_line: bool) -> None:
    assert isinstance(found.records[-1], Done)
    assert sum(isinstance(record, Done) for record in found.records) == 1
    assert found.done.bytes == len(data)
    pieces = data.split(b"\n")
    assert found.done.lines == len(pieces) - (pieces[-1] == b"")
    assert all(skipped.reason for skipped in found.skipped)
    if by_line:
        lines = {number for number, line in enumerate(pieces, 1) if line.strip()}
        assert found.used | {skipped.line for skipped in found.skipped} == lines
    begun = set()
    for record in found.records:
        if isinstance(record, SessionStart):
            assert record.foreign_id not in begun
            begun.add(record.foreign_id)
    assert {record.foreign_id for record in found.imported} <= begun
    for message in found.messages:
        assert message.parts or message.id
        json.dumps([str(part) for part in message.parts]).encode()
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        assert all(part.call_id for part in calls)
        assert {part.state for part in calls} <= {"completed", "error", "interrupted"}


@pytest.mark.design("R-14", "T-5")
@pytest.mark.report(107)
@pytest.mark.parametrize("format", sorted(READERS))
@settings(max_examples=100, deadline=None)
@given(edits=EDITS)
def test_no_bytes_make_an_import_raise_and_every_line_is_told(format: str, edits: list[tuple[str, float, bytes]]) -> None:
    data = broken(b"".join(as_bytes(json.dumps(line, ensure_ascii=False)) + b"\n" for line in SEEDS[format]), edits)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s1.jsonl"
        path.write_bytes(data)
        first = data.lstrip()[:1]
        by_line = format not in ("openai-messages", "anthropic-messages") and first != b"["
        found = import_file(path, format)
        by_line = by_line and not (format == "gemini" and b'"messages"' in data.split(b"\n")[0])
        check(found, data, by_line=by_line)
        again = import_file(path, format)
    assert again.records == found.records


@pytest.mark.design("R-14")
@pytest.mark.parametrize("format", ["openai-messages", "anthropic-messages", "gemini"])
@settings(max_examples=60, deadline=None)
@given(edits=EDITS)
def test_no_bytes_make_a_document_import_raise(format: str, edits: list[tuple[str, float, bytes]]) -> None:
    if format == "gemini":
        document: Any = {**SEEDS[format][0], "messages": [line for line in SEEDS[format] if "id" in line]}
    else:
        document = {"messages": SEEDS[format]}
    data = broken(json.dumps(document, ensure_ascii=False, indent=1).encode(), edits)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s1.json"
        path.write_bytes(data)
        check(import_file(path, format), data, by_line=False)


@pytest.mark.design("R-14")
@pytest.mark.parametrize("format", sorted(READERS))
def test_the_seeds_are_whole(format: str, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(b"\n".join(as_bytes(line) for line in SEEDS[format]))
    found = import_file(path)
    assert len(found.messages) >= 1
    assert not [s for s in found.skipped if not s.reason.startswith(("bookkeeping", "replaced", "taken back"))]
    check(found, path.read_bytes(), by_line=True)
