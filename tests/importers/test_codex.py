"""Codex rollouts: answers from items, typed text told by events, usage, turns."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from importers.small import Result, b64, png
from sojourn.base import Finish, Usage
from sojourn.importers import Counts
from sojourn.record import Image, Reasoning, Text, ToolCall, Touch

Imports = Callable[..., Result]
STAMP = "2026-01-02T03:04:05Z"
MILLIS = 1767323045000


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": STAMP, "type": kind, "payload": payload}


def item(type: str, **fields: Any) -> dict[str, Any]:
    return line("response_item", **{"type": type, **fields})


def event(type: str, **fields: Any) -> dict[str, Any]:
    return line("event_msg", **{"type": type, **fields})


def said(role: str, text: str, **fields: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}], **fields)


def typed(text: str) -> dict[str, Any]:
    return event("user_message", message=text)


def calls(id: str, arguments: Any = "{}", name: str = "shell") -> dict[str, Any]:
    return item("function_call", call_id=id, name=name, arguments=arguments)


def output(id: str, value: Any = "ok") -> dict[str, Any]:
    return item("function_call_output", call_id=id, output=value)


META = line("session_meta", id="c1", cwd="/repo", timestamp=STAMP)
TURN = line("turn_context", model="gpt-x")


def tokens(**fields: int) -> dict[str, Any]:
    return event("token_count", info={"last_token_usage": fields})


@pytest.mark.design("R-14", "R-3")
def test_items_of_one_answer_are_one_message(imports: Imports) -> None:
    found = imports(
        META, TURN, said("user", "go"), typed("go"),
        item("reasoning", summary=[{"type": "summary_text", "text": "plan"}], encrypted_content="enc"),
        said("assistant", "looking", id="msg1"),
        calls("k1", json.dumps({"command": ["ls"]})), calls("k2", '["no object"]'),
        output("k1", "files"), output("k2", [{"type": "input_text", "text": "two"}]),
        tokens(input_tokens=100, cached_input_tokens=60, output_tokens=20, reasoning_output_tokens=5),
        said("assistant", "done"), event("agent_message", message="done"),
        tokens(input_tokens=130, cached_input_tokens=100, output_tokens=7),
    )  # fmt: skip
    _, first, last = found.messages
    assert first.parts == (
        Reasoning("plan", "openai", "gpt-x", redacted="enc"),
        Text("looking"),
        ToolCall("k1", "shell", {"command": ["ls"]}, "", "completed", (Text("files"),), MILLIS, MILLIS),
        ToolCall("k2", "shell", {}, '["no object"]', "completed", (Text("two"),), MILLIS, MILLIS),
    )
    assert first.usage == Usage(fresh=40, cached=60, output=20, reasoning=5)
    assert (first.finish, first.foreign_id, first.model) == (Finish.TOOL_CALLS, "msg1", "gpt-x")
    assert (last.parts, last.finish, last.usage.fresh, last.usage.cached) == ((Text("done"),), Finish.STOP, 30, 100)
    assert found.done.counts == Counts(3, 2, 2)
    (start,) = found.starts
    assert (start.foreign_id, start.title, start.cwd, start.model, start.created) == ("c1", "go", "/repo", "gpt-x", MILLIS)
    assert [s.reason for s in found.skipped] == ["bookkeeping: turn_context", "bookkeeping: agent_message"]


@pytest.mark.design("R-2")
def test_typed_text_comes_once_whichever_line_is_first(imports: Imports) -> None:
    found = imports(META, typed("event first"), said("user", "event first"), said("user", "item first"), typed("item first\n"))
    assert found.said() == [("user", "", "event first"), ("user", "", "item first")]
    assert found.done.counts.messages == 2
    found = imports(META, said("user", "item only"), typed("event only"), typed("event only"))
    assert found.said() == [("user", "", "item only"), ("user", "", "event only"), ("user", "", "event only")]


@pytest.mark.design("R-2")
def test_injected_text_is_not_the_persons_unless_an_event_says_so(imports: Imports) -> None:
    found = imports(
        META, said("developer", "rules"), said("user", "# AGENTS.md instructions for /repo"),
        said("user", "<environment_context>x</environment_context>"), said("user", "<div> is broken"), typed("<div> is broken"),
        said("assistant", "ok"), said("user", "<turn_aborted> x"),
    )  # fmt: skip
    assert [(m.origin, m.source) for m in found.messages] == [
        ("import", "developer"), ("import", "environment"), ("import", "environment"), ("user", ""), ("model", ""),
        ("import", "interrupted"),
    ]  # fmt: skip
    assert found.starts[0].title == "<div> is broken"
    assert found.messages[4].finish == Finish.INTERRUPTED


@pytest.mark.design("R-14")
def test_free_text_calls_keep_their_text_and_tell_their_files(imports: Imports) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b c.py\n+x\n*** Delete File: d.py\n*** End Patch"
    found = imports(
        META,
        item("custom_tool_call", call_id="k1", name="apply_patch", input=patch),
        item("custom_tool_call_output", call_id="k1", output="Success"),
    )
    (made,) = found.messages[0].parts
    assert (made.raw_arguments, made.arguments, made.extra) == (patch, {}, {"custom": True})
    assert made.touches == (Touch("a.py", "edit"), Touch("b c.py", "write"), Touch("d.py", "edit"))
    assert found.done.counts == Counts(0, 1, 1)


@pytest.mark.design("R-14")
def test_searches_of_the_provider_stand_complete_and_are_not_counted(imports: Imports) -> None:
    picture = png()
    found = imports(
        META,
        item("web_search_call", id="w1", status="completed", action={"query": "q"}),
        item("image_generation_call", id="i1", result=b64(picture), revised_prompt="a cat"),
        item("tool_search_call", call_id="k3", arguments={"query": "x"}),
        item("tool_search_output", call_id="k3", tools=[{"name": "t"}]),
    )
    search, image, tools = found.messages[0].parts
    assert (search.name, search.state, search.arguments) == ("web_search", "completed", {"query": "q"})
    assert (image.name, image.arguments) == ("image_generation", {"prompt": "a cat"})
    assert isinstance(image.result[0], Image)
    assert found.imported[0].blobs == {image.result[0].blob: picture}
    assert (tools.name, tools.result) == ("tool_search", (Text('{"name": "t"}'),))
    assert found.done.counts == Counts(0, 0, 0)


@pytest.mark.design("R-14")
@pytest.mark.report(58)
def test_orphans_and_open_calls(imports: Imports) -> None:
    found = imports(META, output("gone", "text"), said("user", "go"), calls("k1"))
    assert [(m.origin, m.source) for m in found.messages] == [("import", "orphan_result"), ("user", ""), ("model", "")]
    assert found.messages[2].parts[0].state == "interrupted"
    assert found.done.counts == Counts(1, 1, 1)


@pytest.mark.design("R-14")
def test_compaction_summary_is_the_programs(imports: Imports) -> None:
    found = imports(META, line("compacted", message=""), line("compacted", message="what was", replacement_history=[]))
    assert found.said() == [("import", "summary", "what was")]
    assert [(s.line, s.reason) for s in found.skipped] == [(2, "bookkeeping: compacted")]


@pytest.mark.design("R-14")
def test_a_repeated_header_opens_no_new_session(imports: Imports) -> None:
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "p9"}}}
    found = imports(line("session_meta", id="c1", source=spawn), said("user", "go"), line("session_meta", id="c2"))
    assert [(s.foreign_id, s.parent_foreign_id, s.agent) for s in found.starts] == [("c1", "p9", "subagent")]
    assert found.skipped[0].reason == "bookkeeping: session_meta again"


@pytest.mark.design("R-14")
def test_files_without_envelope_and_a_title_record(imports: Imports) -> None:
    found = imports(
        {"id": "old1", "timestamp": STAMP, "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
    )
    assert (found.starts[0].foreign_id, found.said()) == ("old1", [("user", "", "hello")])
    found = imports(META, said("user", "go"), event("thread_name_updated", thread_name="My thread"))
    assert found.starts[0].title == "My thread"
    assert found.used == {1, 2, 3}


@pytest.mark.design("R-14")
def test_old_outputs_with_success_flag(imports: Imports) -> None:
    found = imports(META, calls("k1"), output("k1", {"content": "no", "success": False}))
    assert (found.messages[0].parts[0].state, found.messages[0].parts[0].result) == ("error", (Text("no"),))


@pytest.mark.design("R-14")
@pytest.mark.report(40)
def test_pictures_in_user_items(imports: Imports) -> None:
    url = "data:image/png;base64," + b64(png(5, 6))
    content = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": url}]
    found = imports(META, item("message", role="user", content=content))
    picture = found.messages[0].parts[1]
    assert (picture.pixels, picture.media_type) == ((5, 6), "image/png")


@pytest.mark.design("R-14")
def test_pictures_of_an_item_that_came_after_its_event_are_not_lost(imports: Imports) -> None:
    url = "data:image/png;base64," + b64(png())
    content = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": url}]
    found = imports(META, typed("look"), item("message", role="user", content=content))
    assert found.said() == [("user", "", "look"), ("user", "", "Image")]
    assert (found.done.counts.messages, found.skipped) == (1, [])


@pytest.mark.design("R-2")
def test_messages_of_other_agents_are_not_the_persons(imports: Imports) -> None:
    found = imports(META, item("agent_message", author="a", content=[{"type": "input_text", "text": "report"}]), typed(" "))
    assert found.said() == [("import", "agent_message", "report")]
    assert [s.reason for s in found.skipped] == ["user_message without text"]
