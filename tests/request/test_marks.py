"""Cache marks (Q-5)."""

import pytest

from sojourn.base import Finish
from sojourn.prefix import build, section
from sojourn.record import Block, Message, Reminder, Text, ToolCall, Window
from sojourn.request import mark_places, project
from sojourn.wire import About, RequestSettings, SystemBlock, TextPart, Traits, WireMessage

SECTIONS = [
    section("identity_line", "s", "system", "stable", "I"),
    section("role", "s", "system", "stable", "R"),
    section("env", "s", "system", "dynamic", "E"),
    section("rules", "s", "context", "dynamic", "rules"),
]
WINDOW = Window("w", 2, "rebuild", 0, 0, 0, opening=(Block("label", "L"),))


def user(seq, text="u"):
    return Message(f"u{seq}", "user", "user", (Text(text),), seq)


def step(seq):
    call = ToolCall(f"c{seq}", "bash", state="completed", result=(Text("r"),))
    return Message(f"a{seq}", "assistant", "model", (Text("a"), call), seq, finish=Finish.TOOL_CALLS)


def marks(*stored, previous=None, sections=SECTIONS, window=WINDOW, most=4):
    request = project(build(sections, []), window, stored, Traits(marks=most), RequestSettings("m"), previous)
    return [block.mark for block in request.system], [message.mark for message in request.messages]


@pytest.mark.design("Q-5")
def test_four_marks():
    assert marks(user(1), step(2), step(3), previous=2) == (
        [None, "stable", None],
        ["opening", None, None, "previous", None, "last"],
    )


@pytest.mark.design("Q-5")
def test_the_stable_block_is_the_last_one_that_survives_windows():
    assert marks(user(1), sections=SECTIONS[:1] + SECTIONS[2:])[0] == ["stable", None]
    assert marks(user(1), sections=SECTIONS[2:])[0] == ["stable"]
    assert marks(user(1), sections=SECTIONS[3:])[0] == []


@pytest.mark.design("Q-5")
def test_the_opening_mark_falls_on_the_context_where_nothing_opens():
    assert marks(user(1), window=None)[1] == ["opening", "last"]
    assert marks(user(1), window=None, sections=SECTIONS[:2])[1] == ["last"]
    assert marks(window=WINDOW)[1] == ["last"], "two reasons for one place make one mark"


@pytest.mark.design("Q-5")
def test_previous_is_the_last_message_that_the_request_before_held_whole():
    assert marks(user(1), step(2), previous=1)[1] == ["opening", "previous", None, "last"]
    assert marks(user(1), user(2), step(3), previous=1)[1] == ["opening", None, None, "last"], "the joined one is longer now"
    assert marks(user(1), step(2), previous=2)[1] == ["opening", None, None, "last"]
    assert marks(user(1), step(2), previous=None)[1] == ["opening", None, None, "last"]


@pytest.mark.design("Q-5")
def test_fewer_marks_by_importance():
    everything = (user(1), step(2), step(3))
    assert marks(*everything, previous=2, most=3) == ([None, "stable", None], [None, None, None, "previous", None, "last"])
    assert marks(*everything, previous=2, most=2) == ([None, "stable", None], [None, None, None, None, None, "last"])
    assert marks(*everything, previous=2, most=1) == ([None, None, None], [None, None, None, None, None, "last"])


@pytest.mark.design("Q-5")
def test_a_protocol_without_marks_gets_none():
    system, messages = marks(user(1), step(2), step(3), previous=2, most=0)
    assert not any(system)
    assert not any(messages)
    request = project(build(SECTIONS, []), WINDOW, [user(1)], Traits(protocol="chat"), RequestSettings("m"))
    assert [message.mark for message in request.messages] == [None], "nor is the opening kept apart for one"


def note(seq):
    return Message(f"r{seq}", "user", "engine", (Reminder("todo_reminder", "b", "system"),), seq)


@pytest.mark.design("Q-5", "Q-6")
def test_a_system_message_in_mid_conversation_carries_no_mark():
    def places(*stored, previous=None):
        traits = Traits(mid_system=True)
        request = project(build(SECTIONS, []), WINDOW, stored, traits, RequestSettings("m"), previous)
        return [(message.role, message.mark) for message in request.messages][1:]

    assert places(user(1), note(2)) == [("user", "last"), ("system", None)]
    assert places(user(1), note(2), step(3), note(4), previous=2) == [
        ("user", "previous"),
        ("system", None),
        ("assistant", None),
        ("user", "last"),
        ("system", None),
    ], "where the last one of the request before stood"


@pytest.mark.design("Q-5")
def test_marks_of_unusual_requests():
    changing = SystemBlock("E", About("system", "dynamic"))
    assert mark_places([changing, changing], [], 4) == ({1: "stable"}, {}), "where no block survives, the last one"
    assert mark_places([], [], 4) == ({}, {})
    mixed = WireMessage("user", (TextPart("c", About("context")), TextPart("u", About("user", "", 1))))
    assert mark_places([], [mixed, mixed], 4) == ({}, {1: "last"}), "what the user says in it is no opening"
