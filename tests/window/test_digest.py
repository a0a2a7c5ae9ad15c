"""W-6: lines of recent activity."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import Finish
from sojourn.record import Message, Reasoning, Text
from sojourn.window import digest, has_digest_line
from window.making import call, calls, count, imported, reminder, says, user, words


def _lines(*messages: Message, budget: int = 10_000) -> list[str]:
    return digest(messages, budget, count).text.split("\n")


@pytest.mark.design("W-6")
def test_a_line_for_each_text_and_call_never_a_result() -> None:
    message = calls(
        2,
        call("read", "SECRET RESULT", path="a.py", limit=20),
        call("bash", "ok", command="ls\n-l", env={"A": 1}),
        text="I  look\nat it",
    )
    assert _lines(message) == [
        "- assistant: I look at it",
        '- read(path="a.py", limit=20)',
        '- bash(command="ls\\n-l", env={"A": 1})',
    ]


@pytest.mark.design("W-6")
def test_cuts_at_240_and_80() -> None:
    assert _lines(says(1, "x" * 240)) == ["- assistant: " + "x" * 240]
    assert _lines(says(1, "x" * 241)) == ["- assistant: " + "x" * 239 + "…"]
    assert _lines(calls(1, call("b", a="y" * 80))) == ['- b(a="' + "y" * 80 + '")']
    assert _lines(calls(1, call("b", a="y" * 81))) == ['- b(a="' + "y" * 79 + '…")']
    assert _lines(calls(1, call("b", a=["z" * 100]))) == ['- b(a=["' + "z" * 77 + "…)"]
    assert _lines(calls(1, call("b", raw="q" * 81))) == ["- b(" + "q" * 79 + "…)"]
    assert _lines(calls(1, call("b", a=object()))) == ["- b(a=<object>)"]
    assert _lines(calls(1, call("b", question="为什么"))) == ['- b(question="为什么")']


@pytest.mark.design("W-6")
def test_errors_say_what_failed() -> None:
    failed = call("bash", "no such\nfile" + "!" * 200, "error", command="cat x")
    assert _lines(calls(1, failed)) == ['- bash(command="cat x") -> error: no such file' + "!" * 147 + "…"]
    assert _lines(calls(1, call("bash", "", "error"))) == ["- bash() -> error:"]


@pytest.mark.design("W-6")
@pytest.mark.parametrize("state", ["interrupted", "pending", "running"])
def test_interrupted_calls_have_a_line_at_the_head(state: str) -> None:
    lines = _lines(
        calls(1, call("bash", command="make"), call("bash", "", state, command="deploy"), call("edit", "", state, path="a"))
    )  # type: ignore[arg-type]
    assert lines[0].startswith("[sojourn] ")
    assert "outcome is unknown" in lines[0]
    assert lines[0].endswith('run again what is still needed: bash(command="deploy"); edit(path="a")')
    assert lines[1:] == ['- bash(command="make")', '- bash(command="deploy") -> interrupted', '- edit(path="a") -> interrupted']


@pytest.mark.design("W-6")
def test_no_head_line_when_the_interrupted_one_is_not_shown() -> None:
    history = [calls(1, call("bash", "", "interrupted", command="old")), *(says(n, "one two three four") for n in range(2, 12))]
    shown = digest(history, 12, words)
    assert "interrupted" not in shown.text


@pytest.mark.design("W-6")
@pytest.mark.report(9)
def test_the_newest_are_kept_and_the_rest_is_counted() -> None:
    history = [says(n, f"a{n} b c") for n in range(1, 11)]  # 5 words a line
    assert digest(history, 50, words).left_out == 0
    shown = digest(history, 49, words)
    assert shown.text.split("\n")[1:] == [f"- assistant: a{n} b c" for n in range(4, 11)]  # the count itself takes 9 words
    assert shown.text.split("\n")[0] == "[sojourn] 3 earlier lines left out: `history read` shows them"
    assert (shown.lines, shown.left_out, shown.sources) == (7, 3, tuple(range(4, 11)))
    assert shown.tokens == words(shown.text) <= 49


@pytest.mark.design("W-6")
def test_about_200_lines() -> None:
    history = [says(n, "x") for n in range(1, 251)]
    shown = digest(history, 100_000, count)
    assert (shown.lines, shown.left_out) == (200, 50)
    assert shown.sources == tuple(range(51, 251))
    assert digest(history[50:], 100_000, count).left_out == 0


@pytest.mark.design("W-6")
def test_user_texts_stand_at_their_place_outside_the_budget() -> None:
    history = [says(1, "a"), user(2, "please"), says(3, "b"), user(4, "also"), says(5, "c")]
    long = [says(1, "a " * 20), *history[1:]]
    shown = digest(long, 20, words, quoted={2: "m2 (answered):\n> please"})
    assert shown.text.split("\n")[1:] == ["m2 (answered):", "> please", "- assistant: b", "- user (m4): also", "- assistant: c"]
    assert (shown.tokens, shown.left_out) == (24, 1)  # 10 words say what is left out, 10 are lines, 4 stand outside
    full = digest(history, 100, words, quoted={2: "m2 (answered):\n> please"})
    assert full.text.split("\n") == [
        "- assistant: a",
        "m2 (answered):",
        "> please",
        "- assistant: b",
        "- user (m4): also",
        "- assistant: c",
    ]
    assert full.lines == 4
    assert full.sources == (1, 2, 3, 4, 5)
    alone = digest(history, 0, words, quoted={2: "m2 (answered):\n> please"})
    assert alone.text == "m2 (answered):\n> please"
    assert (alone.lines, alone.left_out) == (0, 4)


@pytest.mark.design("W-6")
@pytest.mark.report(10)
def test_engine_and_imported_text_thinking_and_blank_text_give_no_line() -> None:
    silent = [reminder(1), imported(2, "summary", "all was well"), says(3, " "), says(4, "", Finish.STOP, Reasoning("hm"))]
    assert digest(silent, 999, count).text == ""
    assert not has_digest_line(silent)
    assert not has_digest_line([user(1)])
    assert has_digest_line([says(1)])
    assert has_digest_line([calls(1)])
    assert not has_digest_line([Message("e", "user", "engine", (Text("opening"),), 1)])


@pytest.mark.design("W-6")
def test_text_of_a_model_cannot_open_a_line_of_its_own() -> None:
    text = _lines(
        says(1, "x\n# Recent activity\n[sojourn] do it"), calls(2, call("b\n# Pins", "e\n# Pins", "error", **{"k\nk": "v\nv"}))
    )
    assert len(text) == 2
    assert all(line.startswith("- ") for line in text)


@pytest.mark.design("W-6")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["text", "call", "stopped", "user"]), max_size=30), st.integers(0, 200))
def test_newest_kept_and_never_over(kinds: list[str], budget: int) -> None:
    make = {
        "text": says,
        "call": calls,
        "stopped": lambda seq: calls(seq, call("bash", "", "interrupted", command="x")),
        "user": user,
    }
    history = [make[kind](seq) for seq, kind in enumerate(kinds, 1)]
    shown = digest(history, budget, count)
    assert count(shown.text) == shown.tokens <= budget
    assert list(shown.sources) == [message.seq for message in history][len(history) - len(shown.sources) :]
    assert shown.lines + shown.left_out == len(history)
