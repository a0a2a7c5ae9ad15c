"""Claude Code files: joined lines, results, speakers, sub-agents, titles."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from importers.small import Result, assistant, b64, call, import_file, png, result, text, user
from sojourn.base import Finish, Usage
from sojourn.importers import Counts
from sojourn.importers import desk as waiting
from sojourn.record import Image, Notice, Reasoning, Text, ToolCall, Touch

Imports = Callable[..., Result]


@pytest.mark.design("R-14", "R-3")
def test_lines_of_one_message_id_are_one_message_with_the_last_usage(imports: Imports) -> None:
    def usage(output: int) -> dict[str, int]:
        return {"input_tokens": 3, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20, "output_tokens": output}

    found = imports(
        user("go"),
        assistant({"type": "thinking", "thinking": "hm", "signature": "sig"}, usage=usage(9)),
        assistant(text("reading"), usage=usage(9)),
        assistant(call("t1", file_path="/repo/a.py", offset=10, limit=5), usage=usage(9)),
        user([result("t1", "body")]),
        assistant(call("t2", "Edit", file_path="/repo/b.py"), usage=usage(160)),
        user([result("t2", [text("no"), text("way")], is_error=True)], timestamp="2026-01-02T03:04:07Z"),
        assistant(text("done"), id="m2", usage={"input_tokens": 0}),
    )
    _, joined, last = found.messages
    assert joined.parts == (
        Reasoning("hm", "anthropic", "claude-x", "sig"),
        Text("reading"),
        ToolCall(
            "t1", "Read", {"file_path": "/repo/a.py", "offset": 10, "limit": 5}, state="completed", result=(Text("body"),),
            started=1767323046000, ended=1767323045678, touches=(Touch("/repo/a.py", "read", (10, 14)),),
        ),
        ToolCall(
            "t2", "Edit", {"file_path": "/repo/b.py"}, state="error", result=(Text("no"), Text("way")),
            started=1767323046000, ended=1767323047000, touches=(Touch("/repo/b.py", "edit"),),
        ),
    )  # fmt: skip
    assert joined.usage == Usage(fresh=3, cached=70, written=20, output=160)
    assert (joined.finish, joined.foreign_id, joined.model, joined.id) == (Finish.TOOL_CALLS, "m1", "claude-x", "")
    assert (last.finish, last.usage) == (Finish.STOP, None)
    assert found.messages[0].created == 1767323045678
    assert found.done.counts == Counts(5, 2, 2)


@pytest.mark.design("R-14")
@pytest.mark.report(58)
def test_results_without_call_are_kept_as_text_and_calls_without_result_are_interrupted(imports: Imports) -> None:
    found = imports(
        user("go"), user([result("gone", "text")]), assistant(call("t1")), user([result("t1"), result("t1", "again")])
    )
    assert found.said() == [
        ("user", "", "go"),
        ("import", "orphan_result", "Result of a call that is not in the file (gone):|text"),
        ("model", "", "ToolCall"),
        ("import", "orphan_result", "Result of a call that is not in the file (t1):|again"),
    ]
    found = imports(user("go"), assistant(call("t1")))
    assert (found.messages[1].parts[0].state, found.messages[1].parts[0].ended) == ("interrupted", None)
    assert found.done.counts == Counts(2, 1, 0)


@pytest.mark.design("R-14")
def test_a_result_that_comes_after_other_messages_goes_to_its_call_and_order_stays(imports: Imports) -> None:
    found = imports(
        user("one"), assistant(call("t1"), call("t2")), user([result("t2", "B")]), user("two"), user([result("t1", "A")])
    )
    assert [m.origin for m in found.messages] == ["user", "model", "user"]
    assert [part.result for part in found.messages[1].parts] == [(Text("A"),), (Text("B"),)]


@pytest.mark.design("R-14")
def test_waiting_is_bounded_in_messages(imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MAX_WAITING", 5)

    def run(between: int) -> Result:
        rest = [user(f"n{n}", f"u{n}") for n in range(between)]
        return imports(user("one"), assistant(call("t1")), *rest, user([result("t1", "late")]))

    assert run(4).messages[1].parts[0].state == "completed"
    late = run(5)
    assert late.messages[1].parts[0].state == "interrupted"
    assert late.said()[-1] == ("import", "orphan_result", "Result of a call that is not in the file (t1):|late")


@pytest.mark.design("R-14")
def test_waiting_is_bounded_in_bytes(imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MAX_BYTES", 10_000)
    found = imports(user("one"), assistant(call("t1")), user("x" * 10_000), user([result("t1", "late")]))
    assert found.messages[1].parts[0].state == "interrupted"
    found = imports(user("one"), assistant(call("t1")), user("x" * 5_000), user([result("t1", "late")]))
    assert found.messages[1].parts[0].state == "completed"


@pytest.mark.design("R-2")
@pytest.mark.parametrize(
    ("line", "source"),
    [
        (user("caveat", isMeta=True), "meta"),
        (user("long ago", isCompactSummary=True, isVisibleInTranscriptOnly=True), "summary"),
        (user("<command-name>/clear</command-name>"), "command"),
        (user("<bash-input>ls</bash-input>"), "command"),
        (user("<local-command-stdout>x</local-command-stdout>"), "command_output"),
        (user([text("<bash-stdout>x</bash-stdout>")]), "command_output"),
        (user("[Request interrupted by user for tool use]"), "interrupted"),
        (user("<system-reminder>x</system-reminder>"), "reminder"),
        (user("news", origin={"kind": "peer", "from": "other"}), "agent_message"),
        (assistant(text("API Error"), isApiErrorMessage=True), "api_error"),
    ],
)
def test_what_the_program_wrote_is_not_the_persons(imports: Imports, line: dict[str, object], source: str) -> None:
    found = imports(user("real words"), line)
    assert [(m.origin, m.source) for m in found.messages] == [("user", ""), ("import", source)]
    assert found.starts[0].title == "real words"


@pytest.mark.design("R-2")
def test_a_line_with_two_speakers_is_two_messages(imports: Imports) -> None:
    blocks = [text("<ide_opened_file>a.py</ide_opened_file>"), text("fix it"), text("please")]
    found = imports(user(blocks, "u9"))
    assert found.said() == [
        ("import", "environment", "<ide_opened_file>a.py</ide_opened_file>"),
        ("user", "", "fix it|please"),
    ]
    assert [m.foreign_id for m in found.messages] == ["u9", "u9:1"]


@pytest.mark.design("R-2")
def test_words_that_only_look_like_marks_stay_the_persons(imports: Imports) -> None:
    for words in ("<div> is broken", "I said <command-name> twice", "[Request a review"):
        assert imports(user(words)).said() == [("user", "", words)]


@pytest.mark.design("R-14")
def test_finish_follows_the_file(imports: Imports) -> None:
    cut = assistant(text("a"), id="m1")
    cut["message"]["stop_reason"] = "max_tokens"
    found = imports(
        cut,
        assistant(text("b"), id="m2", isAbortedMidStream=True),
        assistant(text("c"), id="m3"),
        user("[Request interrupted by user]"),
        assistant(text("d"), id="m4", isApiErrorMessage=True),
        assistant(text("e"), id="m5"),
    )
    finishes = [m.finish for m in found.messages if m.role == "assistant"]
    assert finishes == [Finish.LENGTH, Finish.INTERRUPTED, Finish.INTERRUPTED, Finish.ERROR, Finish.STOP]


@pytest.mark.design("R-14")
def test_bookkeeping_is_told_as_such(imports: Imports) -> None:
    found = imports(
        user("one"),
        {"type": "file-history-snapshot", "messageId": "x"},
        {"type": "progress", "data": {"type": "bash_progress"}},
        {"type": "system", "subtype": "compact_boundary", "sessionId": "s1"},
        {"type": "summary", "summary": "t", "leafUuid": "elsewhere"},
        {"type": "attachment", "attachment": {"type": "date_change"}},
    )
    assert [s.reason for s in found.skipped] == [
        "bookkeeping: file-history-snapshot", "bookkeeping: progress bash_progress",
        "bookkeeping: system compact_boundary", "bookkeeping: summary", "bookkeeping: attachment date_change",
    ]  # fmt: skip
    assert [s.line for s in found.skipped] == [2, 3, 4, 5, 6]


@pytest.mark.design("R-2")
def test_a_prompt_typed_while_the_agent_worked_is_the_persons(imports: Imports) -> None:
    def queued(mode: str) -> dict[str, object]:
        attachment = {"type": "queued_command", "prompt": "also this", "commandMode": mode}
        return {"type": "attachment", "sessionId": "s1", "uuid": "q", "attachment": attachment}

    found = imports(user("one"), queued("prompt"), queued("task-notification"))
    assert found.said()[1:] == [("user", "", "also this"), ("import", "meta", "also this")]
    assert found.done.counts.messages == 1


@pytest.mark.design("R-14")
@pytest.mark.report(69)
def test_title_is_the_files_own_or_the_first_real_line_cut_to_80(imports: Imports) -> None:
    book = "A  very\tlong " + "word " * 100_000
    found = imports(user("<command-name>/x</command-name>"), user(book), assistant(text("hm")))
    (start,) = found.starts
    assert start.title == " ".join(book.split())[:80]
    assert (len(start.title), start.cwd, start.model, start.created) == (80, "/repo", "claude-x", 1767323045678)
    titled = [user("first line\nsecond"), {"type": "ai-title", "sessionId": "s1", "aiTitle": "by machine"}]
    assert imports(*titled).starts[0].title == "by machine"
    custom = {"type": "custom-title", "sessionId": "s1", "customTitle": "by hand"}
    assert imports(*titled, custom, titled[1]).starts[0].title == "by hand"
    assert imports(user("  \n first line\nsecond")).starts[0].title == "first line"
    other = {"type": "ai-title", "sessionId": "s2", "aiTitle": "of another session"}
    assert imports(user("mine"), other).starts[0].title == "mine"


@pytest.mark.design("R-14")
def test_two_sessions_in_one_file_stay_apart(imports: Imports) -> None:
    found = imports(
        user("one", "u1"), user("two", "u2", sessionId="s2"), assistant(call("t1"), id="m1", sessionId="s2"),
        user("three", "u3"), user([result("t1")], "u4", sessionId="s1"),
    )  # fmt: skip
    assert [(s.foreign_id, s.title) for s in found.starts] == [("s1", "one"), ("s2", "two")]
    assert [(record.foreign_id, record.message.foreign_id) for record in found.imported] == [
        ("s1", "u1"), ("s2", "u2"), ("s2", "m1"), ("s1", "u3"),
    ]  # fmt: skip
    assert found.messages[2].parts[0].state == "completed"


@pytest.mark.design("R-14", "R-2")
def test_inline_side_chains_are_sessions_of_their_own(imports: Imports) -> None:
    def side(line: dict[str, object], uuid: str, parent: str | None) -> dict[str, object]:
        return {**line, "uuid": uuid, "parentUuid": parent, "isSidechain": True}

    found = imports(
        user("main", "u1"),
        assistant(call("t1", "Task"), id="m1"),
        side(user("task one"), "a1", None),
        side(user("task two"), "b1", None),
        side(assistant(text("answer one"), id="m2"), "a2", "a1"),
        side(assistant(text("answer two"), id="m3"), "b2", "b1"),
        user([result("t1", "both done")], "u2"),
    )
    by_session = [(record.foreign_id, record.message.origin, record.message.source) for record in found.imported]
    assert by_session == [
        ("s1", "user", ""), ("s1", "model", ""), ("s1/a1", "import", "task"), ("s1/b1", "import", "task"),
        ("s1/a1", "model", ""), ("s1/b1", "model", ""),
    ]  # fmt: skip
    assert [(s.foreign_id, s.parent_foreign_id, s.agent) for s in found.starts] == [
        ("s1", "", "main"), ("s1/a1", "s1", "subagent"), ("s1/b1", "s1", "subagent"),
    ]  # fmt: skip


@pytest.mark.design("R-14")
def test_sub_agent_files_are_read_with_the_parent(tmp_path: Path, transcripts: Path) -> None:
    folder = transcripts / "claude-code"
    parent = tmp_path / "p1.jsonl"
    child = tmp_path / "p1" / "subagents" / "agent-a0ad4f44468bdf20d.jsonl"
    child.parent.mkdir(parents=True)
    parent.write_bytes((folder / "cc14-subagent-parent.jsonl").read_bytes())
    child.write_bytes((folder / "cc14-subagent-child.jsonl").read_bytes())
    found = import_file(parent)
    assert [(s.foreign_id, s.parent_foreign_id, s.agent) for s in found.starts] == [
        ("0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f", "", "main"), ("a0ad4f44468bdf20d", "p1", "subagent"),
    ]  # fmt: skip
    assert found.done.counts == Counts(2, 1, 0)
    assert [m.origin for m in found.messages] == ["user", "model", "import", "model"]
    assert found.skipped[-1].reason == f"in {child.name}: bookkeeping: attachment hook_success"
    alone = import_file(child)
    assert (alone.starts[0].parent_foreign_id, alone.done.counts) == ("p1", Counts(3, 1, 1))


@pytest.mark.design("R-14")
def test_nested_entries_are_left_to_the_sub_agents_own_file(tmp_path: Path) -> None:
    nested = {
        "type": "progress",
        "sessionId": "s1",
        "data": {"type": "agent_progress", "agentId": "x7", "message": user("task")},
    }
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in (user("one"), nested)))
    assert [record.foreign_id for record in import_file(path).imported] == ["s1", "x7"]
    assert import_file(path).done.counts == Counts(1)
    own = tmp_path / "s1" / "subagents" / "agent-x7.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps(user("task", agentId="x7", isSidechain=True)))
    found = import_file(path)
    assert found.skipped[0].reason == "bookkeeping: progress agent_progress, read from the sub-agent's own file"
    assert [(record.foreign_id, record.message.source) for record in found.imported] == [("s1", ""), ("x7", "task")]
    assert found.starts[1].parent_foreign_id == "s1"


@pytest.mark.design("R-14")
def test_calls_and_results_without_ids_are_paired_in_order(imports: Imports) -> None:
    bare_call, bare_result = call("", "Bash"), result("", "ok")
    del bare_call["id"], bare_result["tool_use_id"]
    found = imports(user("go"), assistant(bare_call), user([bare_result, {**bare_result, "content": "second"}]))
    assert found.messages[1].parts == (
        ToolCall("line-2-0", "Bash", {}, state="completed", result=(Text("ok"),), started=1767323046000, ended=1767323045678),
    )
    assert found.messages[2].source == "orphan_result"
    assert found.done.counts == Counts(3, 1, 1)


@pytest.mark.design("R-8", "R-14")
@pytest.mark.report(40)
def test_pictures_are_blobs_with_their_size(imports: Imports) -> None:
    data = png(640, 480)
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": b64(data)}}
    found = imports(user([text("look"), block]), assistant(call("t1")), user([result("t1", [text("shot"), block])]))
    picture = found.messages[0].parts[1]
    assert isinstance(picture, Image)
    assert (picture.media_type, picture.size, picture.pixels) == ("image/png", len(data), (640, 480))
    assert found.imported[0].blobs == {picture.blob: data}
    assert found.messages[1].parts[0].result == (Text("shot"), picture)
    assert found.imported[1].blobs == {picture.blob: data}


@pytest.mark.design("R-14")
def test_a_picture_that_cannot_be_kept_leaves_a_note(imports: Imports) -> None:
    bad = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "!!"}}
    far = {"type": "image", "source": {"type": "url", "url": "https://example.invalid/a.png"}}
    found = imports(user([text("look"), bad, far]), assistant(call("t1")), user([result("t1", [bad])]))
    assert found.messages[0].parts[1:] == (
        Notice("import", "[picture not readable]"),
        Notice("import", "[picture not in the file: https://example.invalid/a.png]"),
    )
    assert found.messages[1].parts[0].result == (Text("[picture not readable]"),)
