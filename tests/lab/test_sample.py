"""The session that ships with the project is whole, plausible and the same at every run (N9)."""

import subprocess
import sys
import time
from collections import Counter

import pytest

from sojourn.base import Finish
from sojourn.lab.continuity import SessionIndex, plain_text
from sojourn.lab.sample import Fact, sample_session
from sojourn.lab.sample.day import Day
from sojourn.lab.sample.project import project_files
from sojourn.meter import message_tokens, total
from sojourn.record import Message, Text, ToolCall

pytestmark = pytest.mark.design("T-6")

SAMPLE = sample_session()


def calls(messages: tuple[Message, ...]) -> list[ToolCall]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolCall)]


def test_its_size() -> None:
    assert 120_000 < sum(total(message_tokens(message)) for message in SAMPLE.messages) < 190_000
    roles = Counter(message.role for message in SAMPLE.messages)
    assert roles["user"] >= 10
    assert 150 <= roles["assistant"] <= 220
    assert set(Counter(call.name for call in calls(SAMPLE.messages))) == {
        "read_file",
        "bash",
        "edit_file",
        "grep",
        "write_file",
    }


def test_it_is_the_same_at_every_run_and_takes_less_than_a_second() -> None:
    start = time.perf_counter()
    assert sample_session() == SAMPLE
    assert time.perf_counter() - start < 1


def test_messages_are_shaped_as_an_importer_gives_them() -> None:
    messages = SAMPLE.messages
    assert [message.id for message in messages] == [f"msg_{i}" for i in range(1, len(messages) + 1)]
    assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
    assert {(message.role, message.origin) for message in messages} == {("user", "user"), ("assistant", "model")}
    assert messages[0].role == "user"
    assert messages[-1].finish is Finish.STOP
    for message in messages:
        has_calls = any(isinstance(part, ToolCall) for part in message.parts)
        expected = None if message.role == "user" else Finish.TOOL_CALLS if has_calls else Finish.STOP
        assert message.finish is expected


def test_each_turn_of_the_user_follows_an_answer() -> None:
    for before, message in zip(SAMPLE.messages, SAMPLE.messages[1:], strict=False):
        assert (message.role == "user") == (before.finish is Finish.STOP)


def test_times_grow_through_one_working_day() -> None:
    times = [message.created for message in SAMPLE.messages]
    assert times == sorted(set(times))
    assert 4 * 3_600_000 < times[-1] - times[0] < 12 * 3_600_000
    for call in calls(SAMPLE.messages):
        assert call.started is not None
        assert call.ended is not None
        assert call.started < call.ended


def test_every_call_has_its_result_and_an_id_of_its_own() -> None:
    all_calls = calls(SAMPLE.messages)
    assert len({call.call_id for call in all_calls}) == len(all_calls)
    assert all(len(call.result) == 1 and call.state in ("completed", "error") for call in all_calls)
    assert any(call.state == "error" for call in all_calls)
    assert max(Counter(len(message.parts) for message in SAMPLE.messages)) >= 3, "some steps make calls in parallel"
    kinds = Counter(touch.kind for call in all_calls for touch in call.touches)
    assert set(kinds) == {"read", "edit", "write"}


def test_the_facts_stand_where_they_are_said_to() -> None:
    assert len(SAMPLE.facts) == 24
    assert len({fact.name for fact in SAMPLE.facts}) == 24
    assert {fact.kind for fact in SAMPLE.facts} == {"rule", "value", "decision", "finding", "error", "fix", "path", "hash"}
    for fact in SAMPLE.facts:
        assert fact.text in plain_text([SAMPLE.messages[fact.seq - 1]]), fact.name


def test_corrections_void_the_earlier_value_at_the_message_that_says_the_new_one() -> None:
    facts = {fact.name: fact for fact in SAMPLE.facts}
    assert facts["staging_port"].void_after == facts["staging_port_new"].seq
    assert facts["tolerance"].void_after == facts["tolerance_new"].seq
    assert [fact.name for fact in SAMPLE.facts if fact.void_after] == ["staging_port", "tolerance"]


def test_one_rule_is_chinese() -> None:
    fact = next(fact for fact in SAMPLE.facts if fact.name == "two_languages")
    assert SAMPLE.messages[fact.seq - 1].role == "user"
    assert not fact.text.isascii()


def test_later_work_needs_what_was_said_before_each_cut() -> None:
    index = SessionIndex(SAMPLE.messages)
    head = len(SAMPLE.messages)
    for at in (head // 4, head // 2, head * 3 // 4):
        assert len(index.needed_after(at, head)) >= 10


def test_results_differ() -> None:
    texts = [
        one.text for call in calls(SAMPLE.messages) for one in call.result if isinstance(one, Text) and len(one.text) > 2_000
    ]
    assert len(set(texts)) > 0.8 * len(texts), "only a file that is read again repeats itself"


# --- the workspace behind it ---------------------------------------------------------------------------------------


def test_what_is_written_is_read_searched_and_compared() -> None:
    day = Day()
    day.write("notes/a.txt", "one\ntwo\nthree\n")
    read = day.read("notes/a.txt", 2, 1)
    assert read.result == (Text("    2  two"),)
    assert [(touch.kind, touch.lines) for touch in read.touches] == [("read", (2, 2))]
    edit = day.edit("notes/a.txt", "two", "2")
    assert edit.result == (Text("edited notes/a.txt at line 2"),)
    assert day.grep("2", "notes").result == (Text("notes/a.txt:2:2"),)
    assert day.grep("two", "notes").result == (Text("no matches"),)
    assert day.status().result == (Text("?? notes/a.txt"),)
    assert "+three" in plain_text([Message("m", "assistant", "model", (day.diff("notes/a.txt"),), 1)])
    assert "1 files changed" in plain_text([Message("m", "assistant", "model", (day.commit("notes", "abc1234"),), 1)])
    assert day.status().result == (Text(""),)


def test_an_edit_must_hit_exactly_once() -> None:
    day = Day()
    day.write("a.txt", "x x")
    with pytest.raises(ValueError, match="2 times"):
        day.edit("a.txt", "x", "y")
    with pytest.raises(ValueError, match="0 times"):
        day.edit("a.txt", "z", "y")


def test_a_fact_belongs_to_the_newest_message_and_can_be_taken_back() -> None:
    day = Day()
    day.user("one")
    day.fact("a", "rule", "one")
    day.done("two")
    day.void("a")
    assert day.facts == [Fact("a", "one", 1, "rule", 2)]


def test_the_project_is_python_that_parses() -> None:
    for path, text in project_files().items():
        if path.endswith(".py"):
            compile(text, path, "exec")
            assert 50 <= text.count("\n") <= 200, path


def test_naming_the_types_does_not_build_the_day() -> None:
    code = "import sys, sojourn.lab.sample; sys.exit('sojourn.lab.sample.morning' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
