"""Gemini CLI: one document, or lines with updates."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from importers.small import Result, b64, png
from sojourn.base import Finish, Usage
from sojourn.importers import Counts
from sojourn.record import Notice, Reasoning, Text, ToolCall

Imports = Callable[..., Result]
HEADER = {"sessionId": "g1", "projectHash": "h", "startTime": "2026-01-02T03:04:05Z", "kind": "main"}


def message(id: str, content: Any, type: str = "user", **fields: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": "2026-01-02T03:04:06Z", "type": type, "content": content, **fields}


def tool_call(id: str, response: Any = None, **fields: Any) -> dict[str, Any]:
    made = {"id": id, "name": "read_file", "args": {"absolute_path": "/a.py"}, "status": "success", **fields}
    if response is not None:
        made["result"] = [{"functionResponse": {"id": id, "name": "read_file", "response": response}}]
    return made


ANSWER = message(
    "a1", "reading", "gemini", model="gem", thoughts=[{"subject": "Plan", "description": "look"}],
    tokens={"input": 100, "output": 10, "cached": 40, "thoughts": 5, "tool": 0, "total": 115},
    toolCalls=[tool_call("t1", {"output": "body"}), tool_call("t2", {"error": "no"}), tool_call("t3")],
)  # fmt: skip


@pytest.mark.design("R-14", "R-3")
@pytest.mark.parametrize("pretty", [None, 2])
def test_a_document_compact_or_spread_over_lines(imports: Imports, pretty: int | None) -> None:
    document = {**HEADER, "messages": [message("u1", "go"), ANSWER, message("i1", "update!", "info"), {"id": "x"}]}
    found = imports(json.dumps(document, indent=pretty), name="session.json")
    answer = found.messages[1]
    calls = [part for part in answer.parts if isinstance(part, ToolCall)]
    assert answer.parts[:2] == (Reasoning("Plan: look", "google", "gem"), Text("reading"))
    assert [(call.state, call.result) for call in calls] == [
        ("completed", (Text("body"),)), ("error", (Text("no"),)), ("interrupted", ()),
    ]  # fmt: skip
    assert calls[0].touches[0].path == "/a.py"
    assert answer.usage == Usage(fresh=60, cached=40, output=15, reasoning=5)
    assert answer.finish == Finish.TOOL_CALLS
    assert found.messages[2].parts == (Notice("info", "update!"),)
    assert (found.messages[2].origin, found.messages[2].source) == ("import", "info")
    assert found.done.counts == Counts(3, 3, 2)
    assert [(s.line, s.reason) for s in found.skipped] == [(4, "a record without a type")]
    assert (found.starts[0].foreign_id, found.starts[0].title, found.used) == ("g1", "go", {1, 2, 3})


@pytest.mark.design("R-14")
def test_a_cut_document_gives_its_whole_messages(imports: Imports) -> None:
    whole = json.dumps({**HEADER, "messages": [message("u1", "one"), message("u2", "two"), message("u3", "three")]})
    found = imports(whole[:-20], name="session.json", end=b"")
    assert found.said() == [("user", "", "one"), ("user", "", "two")]
    assert [s.line for s in found.skipped] == [0]
    assert "2 whole messages" in found.skipped[0].reason


@pytest.mark.design("R-14")
def test_the_last_version_of_a_message_stands_where_the_first_stood(imports: Imports) -> None:
    found = imports(
        HEADER, message("u1", "go"), message("a1", "draft", "gemini"), message("u2", "more"), message("a1", "final", "gemini")
    )
    assert [said[2] for said in found.said()] == ["go", "final", "more"]
    assert [(s.line, s.reason) for s in found.skipped] == [(3, "older version of the message in line 5")]
    assert (found.used, found.done.counts) == ({1, 2, 4, 5}, Counts(3))


@pytest.mark.design("R-14")
def test_a_rewind_takes_back_that_message_and_all_after_it(imports: Imports) -> None:
    found = imports(
        HEADER, message("u1", "one"), message("u2", "two"), message("a2", "answer", "gemini"), {"$rewindTo": "u2"},
        message("u3", "three"), {"$rewindTo": "nowhere"}, {"$set": {"lastUpdated": "x"}},
    )  # fmt: skip
    assert [said[2] for said in found.said()] == ["one", "three"]
    assert [(s.line, s.reason) for s in found.skipped] == [
        (3, "taken back by the rewind in line 5"), (4, "taken back by the rewind in line 5"),
        (7, "bookkeeping: $rewindTo a message that is not in the file"), (8, "bookkeeping: $set"),
    ]  # fmt: skip
    assert found.used == {1, 2, 5, 6}


@pytest.mark.design("R-14")
def test_set_messages_replaces_all(imports: Imports) -> None:
    replaced = {"$set": {"messages": [message("u8", "kept"), message("a8", "said", "gemini")]}}
    found = imports(HEADER, message("u1", "one"), replaced, message("u2", "two"))
    assert [said[2] for said in found.said()] == ["kept", "said", "two"]
    assert [(s.line, s.reason) for s in found.skipped] == [(2, "replaced by line 3")]
    assert found.used == {1, 3, 4}


@pytest.mark.design("R-14")
def test_glued_lines_are_both_read(imports: Imports) -> None:
    found = imports(HEADER, json.dumps(message("u1", "one")) + json.dumps(message("u2", "two")), "garbage")
    assert [said[2] for said in found.said()] == ["one", "two"]
    assert [s.line for s in found.skipped] == [3]


@pytest.mark.design("R-14")
@pytest.mark.report(40)
def test_inline_pictures(imports: Imports) -> None:
    inline = {"inlineData": {"mimeType": "image/png", "data": b64(png())}}
    shot = {"id": "t", "name": "shot", "args": {}, "status": "cancelled", "result": [inline, {"text": "shown"}]}
    found = imports(
        HEADER, message("u1", [{"text": "look"}, inline]), message("a1", "", "gemini", toolCalls=[shot]),
        message("n", "x", "novel"), {"id": "z"}, HEADER, {"no": "id"}, message("e", ""),
    )  # fmt: skip
    assert found.messages[0].parts[1].pixels == (3, 2)
    (made,) = found.messages[1].parts
    assert (made.state, made.result[0].pixels, made.result[1]) == ("error", (3, 2), Text("shown"))
    assert found.imported[1].blobs.keys() == {made.result[0].blob}
    assert sorted((s.line, s.reason) for s in found.skipped) == [
        (4, "unknown record type: novel"), (5, "a record without a type"), (6, "bookkeeping: header again"),
        (7, "a record without an id"), (8, "user message without content"),
    ]  # fmt: skip
    assert found.done.counts == Counts(4, 1, 1)
