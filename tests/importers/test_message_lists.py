"""Plain message lists of the two large APIs."""

import json
from collections.abc import Callable

import pytest

from importers.small import Result, b64, call, png, result, text
from sojourn.base import Finish
from sojourn.importers import Counts
from sojourn.record import File, Reasoning, Text, ToolCall

Imports = Callable[..., Result]


def function(id: str, arguments: object, name: str = "str_replace_editor") -> dict[str, object]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + b64(png())}}
PDF = {"type": "document", "title": "d", "source": {"type": "base64", "media_type": "application/pdf", "data": b64(b"%PDF")}}
OPENAI = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": [text("go"), PICTURE]},
    {"role": "assistant", "content": None, "tool_calls": [
        function("t1", '{"command": "view", "path": "/a", "view_range": [2, 9]}'), function("t2", "not json"),
    ]},
    {"role": "tool", "tool_call_id": "t1", "content": "body"},
    {"role": "tool", "tool_call_id": "gone", "content": [text("orphan")]},
    {"role": "assistant", "content": "done"},
    {"role": "narrator", "content": "x"},
    {"role": "user", "content": ""},
    5,
]  # fmt: skip


@pytest.mark.design("R-14", "R-3")
@pytest.mark.parametrize("wrapped", [False, True])
def test_openai_list(imports: Imports, wrapped: bool) -> None:
    document = {"model": "gpt", "messages": OPENAI} if wrapped else OPENAI
    found = imports(json.dumps(document), name="chat.json", format="openai-messages")
    assert [(m.origin, m.source) for m in found.messages] == [
        ("import", "system"), ("user", ""), ("model", ""), ("import", "orphan_result"), ("model", ""),
    ]  # fmt: skip
    first, second = found.messages[2].parts
    assert (first.state, first.result, first.touches[0].lines) == ("completed", (Text("body"),), (2, 9))
    assert (second.state, second.arguments, second.raw_arguments) == ("interrupted", {}, "not json")
    assert found.messages[1].parts[1].pixels == (3, 2)
    assert found.done.counts == Counts(7, 2, 2)
    assert [(s.line, s.reason) for s in found.skipped] == [
        (7, "unknown role: narrator"), (8, "user message without content"), (9, "not a JSON object"),
    ]  # fmt: skip
    assert (found.starts[0].foreign_id, found.starts[0].title) == ("chat", "go")
    assert found.starts[0].model == ("gpt" if wrapped else "")
    assert found.messages[-1].finish == Finish.STOP


@pytest.mark.design("R-14")
def test_openai_messages_a_line(imports: Imports) -> None:
    found = imports(*OPENAI[:4], "garbage")
    assert [m.role for m in found.messages] == ["user", "user", "assistant"]
    assert found.used == {1, 2, 3, 4}
    assert [s.line for s in found.skipped] == [5]


@pytest.mark.design("R-14", "R-3")
def test_anthropic_list(imports: Imports) -> None:
    document = {
        "system": [text("rules")],
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "redacted_thinking", "data": "enc"},
                call("t1", "Write", file_path="/a"), call("t2"),
            ]},
            {"role": "user", "content": [
                result("t1", [text("ok")]), text("and now?"), PDF,
            ]},
            {"role": "user", "content": [result("gone", "late")]},
        ],
    }  # fmt: skip
    found = imports(json.dumps(document), name="talk.json")
    assert [(m.origin, m.source) for m in found.messages] == [
        ("import", "system"), ("user", ""), ("model", ""), ("user", ""), ("import", "orphan_result"),
    ]  # fmt: skip
    answer = found.messages[2]
    assert answer.parts[:2] == (Reasoning("hm", "anthropic", "", "s"), Reasoning("", "anthropic", "", redacted="enc"))
    states = [(part.call_id, part.state) for part in answer.parts if isinstance(part, ToolCall)]
    assert states == [("t1", "completed"), ("t2", "interrupted")]
    file = found.messages[3].parts[1]
    assert isinstance(file, File)
    assert (file.media_type, file.size, file.name) == ("application/pdf", 4, "d")
    assert found.done.counts == Counts(4, 2, 2)


@pytest.mark.design("R-14")
def test_a_damaged_list_gives_its_whole_messages(imports: Imports) -> None:
    body = json.dumps(OPENAI[:6])
    cut_in_the_middle = body.replace('"role": "tool", "tool_call_id": "t1"', '"role": "tool" "tool_call_id": "t1"')
    found = imports(cut_in_the_middle, name="chat.json")
    assert [m.role for m in found.messages] == ["user", "user", "assistant", "user", "assistant"]
    assert [s.line for s in found.skipped] == [0]
    assert "5 whole messages" in found.skipped[0].reason


@pytest.mark.design("R-14")
def test_a_long_damaged_list_is_read_to_its_end(imports: Imports) -> None:
    rows = [{"role": "user", "content": f"n{n}"} for n in range(3_000)]
    found = imports(json.dumps(rows)[:-5], name="chat.json", end=b"", format="openai-messages")
    assert (len(found.messages), found.done.counts.messages) == (2_999, 2_999)


@pytest.mark.design("R-14")
def test_the_old_function_call_and_calls_without_ids(imports: Imports) -> None:
    rows = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "ok"},
    ]
    found = imports(json.dumps(rows), name="chat.json")
    (made,) = found.messages[1].parts
    assert (made.call_id, made.name, made.result) == ("line-2-0", "f", (Text("ok"),))
    assert found.done.counts == Counts(3, 1, 1)
