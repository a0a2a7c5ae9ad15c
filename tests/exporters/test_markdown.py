"""Markdown for people: words verbatim, calls folded, engine text left out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.small import BLOBS, MESSAGE, SESSION, answer, user
from sojourn.exporters import to_markdown
from sojourn.record import Image, Message, Notice, Reasoning, Reminder, Session, Text, ToolCall

S = Session("ses_1", title="A  title\nhere", created=1767323045678, model="m")


def markdown(*messages: Message) -> str:
    return "".join(to_markdown(S, messages, BLOBS.get))


@pytest.mark.design("R-14")
def test_a_session_reads_as_written() -> None:
    call = ToolCall("t", "read", {"path": "src/a<b>.py"}, state="completed", result=(Text("x = ```1```"),))
    found = markdown(
        user("Fix  it\n\n    indented\u2028x\n# not a heading"),
        answer(Reasoning("hidden"), Text("Looking."), call, Notice("error", "gone\nwrong")),
        answer(ToolCall("t2", "run", raw_arguments="ls", state="interrupted"), Text("Done.")),
        user("thanks"),
    )
    assert found == (
        "# A title here\n\nSession `ses_1`, begun 2026-01-02 03:04 UTC, model m\n"
        "\n## User\n\n> Fix  it\n>\n>     indented\u2028x\n> # not a heading\n"
        "\n## Assistant\n\nLooking.\n"
        "\n<details><summary>read src/a&lt;b&gt;.py (completed)</summary>\n\n````\nx = ```1```\n````\n\n</details>\n"
        "\n*gone wrong*\n"
        "\n<details><summary>run ls (interrupted)</summary>\n\n"
        "```\nInterrupted: outcome unknown, check before repeating.\n```\n\n</details>\n"
        "\nDone.\n"
        "\n## User\n\n> thanks\n"
    )


@pytest.mark.design("R-2", "R-14")
def test_engine_text_and_reminders_are_left_out_and_notes_are_folded() -> None:
    found = markdown(
        user("the opening", origin="engine"),
        user("what came before", origin="import", source="summary"),
        Message("u", "user", "user", (Reminder("plan", "secret note"), Text("go"))),
    )
    assert "the opening" not in found
    assert "secret note" not in found
    assert "> what" not in found
    assert "<summary>note of the other program: summary</summary>\n\n```\nwhat came before\n```" in found
    assert found.endswith("\n## User\n\n> go\n")


@pytest.mark.design("R-14")
def test_results_are_cut_with_a_note() -> None:
    def shown(length: int) -> str:
        return markdown(answer(ToolCall("t", "x", state="completed", result=(Text("a" * 1_500 + "b" * (length - 1_500)),))))

    assert "left out" not in shown(2_000)
    cut = shown(2_001)
    assert "a" * 1_500 + "\n[... 1 characters left out ...]\n" + "b" * 500 + "\n" in cut
    assert "(no output)" in markdown(answer(ToolCall("t", "x", state="completed")))


@pytest.mark.design("R-14")
def test_pictures_are_named_also_when_their_data_is_gone() -> None:
    found = markdown(Message("u", "user", "user", (Image("aa", "image/png", 6, (3, 2)), Image("gone", "image/gif", 7))))
    assert "\n[picture: image/png, 3x2, 6 bytes, aa]\n" in found
    assert "\n[picture: image/gif, 7 bytes, gone] (its data is not there)\n" in found


@pytest.mark.design("R-14")
@pytest.mark.report(67)
@settings(max_examples=100, deadline=None)
@given(session=SESSION, messages=st.lists(MESSAGE, max_size=5))
def test_any_record_can_be_written_as_utf8(session: Session, messages: list[Message]) -> None:
    assert "".join(to_markdown(session, messages, BLOBS.get)).encode().startswith(b"#")
