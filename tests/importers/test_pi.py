"""Pi sessions, versions 1 to 3."""

from collections.abc import Callable
from typing import Any

import pytest

from importers.small import Result, b64, png
from sojourn.base import Finish, Usage
from sojourn.importers import Counts
from sojourn.record import Notice, Reasoning, Text, ToolCall, Touch

Imports = Callable[..., Result]
HEADER = {"type": "session", "version": 3, "id": "p1", "timestamp": "2026-01-02T03:04:05Z", "cwd": "/repo"}


def entry(role: str, content: Any = "", id: str = "e1", **fields: Any) -> dict[str, Any]:
    message = {"role": role, "content": content, "timestamp": 1767323046000, **fields}
    return {"type": "message", "id": id, "parentId": None, "timestamp": "2026-01-02T03:04:05Z", "message": message}


def tool_call(id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": id, "name": "read", "arguments": arguments}


@pytest.mark.design("R-14", "R-3")
def test_answers_with_calls_results_usage_and_reasoning(imports: Imports) -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}, {"type": "text", "text": "reading"},
        tool_call("t1", path="a.py", limit=3),
    ]  # fmt: skip
    usage = {"input": 3, "output": 191, "cacheRead": 10, "cacheWrite": 1684}
    picture = {"type": "image", "data": b64(png()), "mimeType": "image/png"}
    found = imports(
        HEADER,
        entry("user", [{"type": "text", "text": "go"}]),
        entry("assistant", content, "e2", provider="anthropic", model="c", usage=usage, stopReason="toolUse"),
        entry("toolResult", [{"type": "text", "text": "body"}, picture], "e3", toolCallId="t1", isError=True),
    )
    answer = found.messages[1]
    (call,) = [part for part in answer.parts if isinstance(part, ToolCall)]
    assert answer.parts[:2] == (Reasoning("hm", "anthropic", "c", "sig"), Text("reading"))
    assert (call.state, call.result[0], call.touches) == ("error", Text("body"), (Touch("a.py", "read", (1, 3)),))
    assert call.result[1].pixels == (3, 2)
    assert answer.usage == Usage(fresh=3, cached=10, written=1684, output=191)
    assert (answer.finish, answer.foreign_id, answer.created) == (Finish.TOOL_CALLS, "e2", 1767323046000)
    assert found.done.counts == Counts(3, 1, 1)
    assert (found.starts[0].foreign_id, found.starts[0].title, found.starts[0].model) == ("p1", "go", "c")


@pytest.mark.design("R-14")
def test_finish_and_errors(imports: Imports) -> None:
    found = imports(
        HEADER,
        *(entry("assistant", [{"type": "text", "text": "x"}], f"e{n}", stopReason=reason)
          for n, reason in enumerate(("stop", "length", "error", "aborted"))),
        entry("assistant", [], "e9", stopReason="error", errorMessage="400"),
        entry("assistant", [], "e10"),
    )  # fmt: skip
    assert [m.finish for m in found.messages] == [
        Finish.STOP, Finish.LENGTH, Finish.ERROR, Finish.INTERRUPTED, Finish.ERROR,
    ]  # fmt: skip
    assert found.messages[4].parts == (Notice("error", "400"),)
    assert [(s.line, s.reason) for s in found.skipped] == [(7, "assistant message without content")]


@pytest.mark.design("R-2")
def test_summaries_commands_and_custom_messages_are_the_programs(imports: Imports) -> None:
    found = imports(
        HEADER,
        {"type": "compaction", "id": "k", "summary": "so far"},
        {"type": "branch_summary", "id": "b", "summary": "left branch"},
        {"type": "custom_message", "id": "c", "content": "note"},
        {"type": "custom", "id": "d"},
        {"type": "compaction", "id": "k2"},
        {"type": "novel", "id": "n"},
        entry("bashExecution", "", "e2", command="ls", output="a.txt"),
        entry("user", "typed", "e3"),
        entry("custom", "x", "e4"),
    )
    assert found.said() == [
        ("import", "summary", "so far"), ("import", "summary", "left branch"), ("import", "custom", "note"),
        ("import", "command", "$ ls|a.txt"), ("user", "", "typed"), ("import", "custom", "x"),
    ]  # fmt: skip
    assert [s.reason for s in found.skipped] == [
        "bookkeeping: custom", "compaction without text", "unknown record type: novel",
    ]  # fmt: skip


@pytest.mark.design("R-14")
@pytest.mark.report(58)
def test_orphan_results_and_open_calls(imports: Imports) -> None:
    found = imports(
        {**HEADER, "version": None}, entry("toolResult", "late", toolCallId="gone"), entry("assistant", [tool_call("t1")])
    )
    assert [(m.origin, m.source) for m in found.messages] == [("import", "orphan_result"), ("model", "")]
    assert found.messages[1].parts[0].state == "interrupted"
    assert found.done.counts == Counts(2, 1, 1)


@pytest.mark.design("R-14")
def test_a_name_is_the_title_and_a_second_header_is_bookkeeping(imports: Imports) -> None:
    found = imports(HEADER, entry("user", "go"), {"type": "session_info", "name": "My work"}, HEADER)
    assert found.starts[0].title == "My work"
    assert [(s.line, s.reason) for s in found.skipped] == [(4, "bookkeeping: session header again")]
