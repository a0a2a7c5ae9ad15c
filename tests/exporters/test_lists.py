"""Message lists for other programs: valid whatever the record holds."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.small import BLOBS, MESSAGE, SESSION, answer, user
from sojourn.exporters import to_anthropic, to_openai
from sojourn.record import File, Image, Message, Reasoning, Reminder, Session, Text, ToolCall

UNKNOWN = "Interrupted: outcome unknown, check before repeating."
S = Session("s", title="T\ud800")
PICTURE = Image("aa", "image/png", 6, (3, 2), "shot.png")


def openai(*messages: Message) -> list[dict[str, Any]]:
    return json.loads("".join(to_openai(S, messages, BLOBS.get)))["messages"]


def anthropic(*messages: Message) -> dict[str, Any]:
    return json.loads("".join(to_anthropic(S, messages, BLOBS.get)))


CALLS = answer(
    Reasoning("hm", "anthropic", "m", "sig"), Reasoning("other", "openai", "m", "sig"), Text("doing"),
    ToolCall("t1", "read", {"path": "ä"}, state="completed", result=(Text("body"), PICTURE)),
    ToolCall("t|2", "mcp.x", {}, "not json", state="error", result=(Text("no"),)),
    ToolCall("t1", "read", state="interrupted"),
)  # fmt: skip


@pytest.mark.design("R-14", "R-12")
@pytest.mark.report(58)
def test_openai_calls_are_answered_at_once() -> None:
    rows = openai(user("go"), CALLS, user("next"))
    assert [row["role"] for row in rows] == ["user", "assistant", "tool", "tool", "tool", "user"]
    calls = rows[1]["tool_calls"]
    assert [call["id"] for call in calls] == ["t1", "t_2", "t1_2"] == [row["tool_call_id"] for row in rows[2:5]]
    assert [call["function"] for call in calls] == [
        {"name": "read", "arguments": '{"path": "ä"}'}, {"name": "mcp_x", "arguments": "not json"},
        {"name": "read", "arguments": "{}"},
    ]  # fmt: skip
    assert rows[1]["content"] == "doing"
    assert rows[2]["content"] == "body\n[picture shot.png: image/png, 3x2, 6 bytes, aa]"
    assert [row["content"] for row in rows[3:5]] == ["no", UNKNOWN]


@pytest.mark.design("R-14", "R-12")
@pytest.mark.report(58)
def test_anthropic_results_stand_in_the_next_turn() -> None:
    turns = anthropic(user("go"), CALLS, user("next"))["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    kinds = [block["type"] for block in turns[1]["content"]]
    assert kinds == ["thinking", "text", "tool_use", "tool_use", "tool_use"]
    assert turns[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "sig"}
    assert [block["input"] for block in turns[1]["content"][2:]] == [{"path": "ä"}, {"text": "not json"}, {}]
    first, second, third, words = turns[2]["content"]
    data = base64.b64encode(BLOBS["aa"]).decode()
    assert first == {"type": "tool_result", "tool_use_id": "t1", "content": [
        {"type": "text", "text": "body"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
    ]}  # fmt: skip
    assert (second["is_error"], second["content"]) == (True, [{"type": "text", "text": "no"}])
    assert (third["is_error"], third["content"]) == (True, [{"type": "text", "text": UNKNOWN}])
    assert words == {"type": "text", "text": "next"}


@pytest.mark.design("R-12")
def test_a_part_of_a_result_is_kept_beside_the_unknown_outcome() -> None:
    cut = answer(ToolCall("t", "x", state="running", result=(Text("half"),)))
    assert openai(user("go"), cut)[2]["content"] == f"half\n{UNKNOWN}"
    assert anthropic(user("go"), cut)["messages"][2]["content"][0]["content"][0]["text"] == f"half\n{UNKNOWN}"


@pytest.mark.design("R-2", "R-14")
def test_engine_text_and_other_programs_notes_are_no_speech() -> None:
    messages = [
        user("rules", origin="import", source="system"),
        user("summary", origin="import", source="summary"),
        user("opening", origin="engine"),
        Message("u", "user", "user", (Reminder("plan", "secret note"), Text("go"))),
        answer(Text("API error"), origin="import", source="api_error"),
        answer(Text("yes")),
    ]
    assert openai(*messages) == [
        {"role": "system", "content": "rules"}, {"role": "user", "content": "go"}, {"role": "assistant", "content": "yes"},
    ]  # fmt: skip
    document = anthropic(*messages)
    assert document["system"] == [{"type": "text", "text": "rules"}]
    assert [turn["content"] for turn in document["messages"]] == [
        [{"type": "text", "text": "go"}], [{"type": "text", "text": "yes"}],
    ]  # fmt: skip


@pytest.mark.design("R-14")
def test_turns_alternate_and_begin_with_the_user() -> None:
    document = anthropic(answer(Text("first")), answer(Text("second")), user("a"), user(" "), user("b"))
    assert [(turn["role"], [block["text"] for block in turn["content"]]) for turn in document["messages"]] == [
        ("user", ["(the session begins with an answer)"]), ("assistant", ["first", "second"]), ("user", ["a", "b"]),
    ]  # fmt: skip
    assert anthropic()["messages"] == []
    assert openai() == []


@pytest.mark.design("R-14", "R-8")
@pytest.mark.report(40)
def test_pictures_and_files_of_a_person() -> None:
    pdf = File("bb", "application/pdf", 9, "a.pdf")
    lost = Image("gone", "image/png", 7)
    message = Message("u", "user", "user", (Text("look"), PICTURE, lost, pdf, File("x", "text/plain", 5, excerpt="inside")))
    blocks = openai(message)[0]["content"]
    assert [block["type"] for block in blocks] == ["text", "image_url", "text", "text", "text"]
    assert blocks[1]["image_url"]["url"] == "data:image/png;base64," + base64.b64encode(BLOBS["aa"]).decode()
    assert [block.get("text") for block in blocks[2:]] == [
        "[picture: image/png, 7 bytes, gone]", "[file a.pdf: application/pdf, 9 bytes, bb]", "inside",
    ]  # fmt: skip
    kinds = [block["type"] for block in anthropic(message)["messages"][0]["content"]]
    assert kinds == ["text", "image", "text", "document", "text"]


@pytest.mark.design("R-14")
@pytest.mark.report(58)
@settings(max_examples=100, deadline=None)
@given(session=SESSION, messages=st.lists(MESSAGE, max_size=6))
def test_openai_lists_are_always_valid(session: Session, messages: list[Message]) -> None:
    text = "".join(to_openai(session, messages, BLOBS.get))
    rows = json.loads(text.encode())["messages"]
    waiting: list[str] = []
    seen: set[str] = set()
    for row in rows:
        if row["role"] == "tool":
            assert waiting.pop(0) == row["tool_call_id"]
            continue
        assert not waiting
        waiting = [call["id"] for call in row.get("tool_calls", [])]
        assert not seen & set(waiting)
        seen |= set(waiting)
        assert row["content"] or waiting
    assert not waiting
    calls = [
        part for m in messages if (m.role, m.origin) == ("assistant", "model") for part in m.parts if isinstance(part, ToolCall)
    ]
    assert len(seen) == len(calls)


@pytest.mark.design("R-14")
@pytest.mark.report(58)
@settings(max_examples=100, deadline=None)
@given(session=SESSION, messages=st.lists(MESSAGE, max_size=6))
def test_anthropic_lists_are_always_valid(session: Session, messages: list[Message]) -> None:
    text = "".join(to_anthropic(session, messages, BLOBS.get))
    turns = json.loads(text.encode())["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * (len(turns) // 2) + ["user"] * (len(turns) % 2)
    waiting: list[str] = []
    for turn in turns:
        blocks = turn["content"]
        assert blocks
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert results == waiting
        assert all(block["type"] == "tool_result" for block in blocks[: len(results)])
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert len(set(waiting)) == len(waiting)
    assert not waiting
