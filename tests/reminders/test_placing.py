"""Where reminders stand and in which form, decided once (M-R2, M-R5, M-R6, Q-6)."""

import pytest

from reminders.talk import call, model, numbered, step, told, user
from sojourn.record import Message, Reminder, Text
from sojourn.reminders import TABLE, bodies, incoming, place
from sojourn.reminders.types import Due

PLAN, STYLE, FILE = Due("runtime_mode", "plan"), Due("output_style", "style"), Due("prompt_attachment", "file")
FORK, PLUGIN = Due("conversation_fork", "fork"), Due("plugin_reference", "plugin")
GOAL = Due("target_continuation", "on")
ME = user("hello")


def shape(placed):
    """``user`` or the reminders of each message with their form."""
    return ["user" if one is ME else [(part.body, part.form) for part in one.parts] for one in placed.messages]


@pytest.mark.design("M-R2", "Q-6")
def test_wrapped_the_users_message_comes_last():
    placed = place((PLAN, FILE, FORK), (), ME, mid_system=False)
    assert shape(placed) == [[("plan", "wrapped")], [("file", "wrapped")], [("fork", "wrapped")], "user"]
    assert (placed.user_at, placed.waiting) == (3, ())
    assert placed.messages[0] == Message(
        "", "user", "engine", (Reminder("runtime_mode", "plan", "wrapped"),), source="runtime_mode"
    )


@pytest.mark.design("M-R2", "Y-8", "Y-9")
def test_what_does_not_bubble_stands_behind():
    placed = place((PLUGIN, PLAN, GOAL), (), ME, mid_system=False)
    assert shape(placed) == [[("plan", "wrapped")], "user", [("plugin", "wrapped")], [("on", "wrapped")]]
    assert placed.user_at == 1


@pytest.mark.design("M-R2", "Q-6", "M-R5")
def test_as_one_system_message_behind_the_users():
    placed = place((PLAN, FILE, FORK, STYLE, PLUGIN), (), ME, mid_system=True)
    assert shape(placed) == [
        [("file", "wrapped")],
        [("fork", "wrapped")],
        "user",
        [("plugin", "wrapped")],
        [("plan", "system"), ("style", "system")],
    ]
    assert placed.user_at == 2
    assert placed.messages[-1].source == "reminders"
    assert place((PLAN,), (), ME, mid_system=True).messages[-1].source == "runtime_mode"


@pytest.mark.design("M-R5", "T-9")
def test_what_the_engine_did_not_write_never_has_system_authority():
    for name, kind in TABLE.items():
        if kind.channel in ("request_prefix", "tool_result"):
            continue
        for quoted in (False, True):
            (form,) = {
                part.form
                for one in place((Due(name, "x", quoted),), (), ME, mid_system=True).messages
                for part in one.parts
                if isinstance(part, Reminder)
            }
            assert (form == "system") == (kind.may_be_mid_system and not quoted), name


@pytest.mark.design("M-R2", "Q-6")
@pytest.mark.parametrize(
    ("tail", "system"),
    [
        ((user(),), True),
        ((user(), step()), True),
        ((user(), step(), told("recall")), True),
        ((user(), model(Text("look"), call())), True),
        ((user(), told("recall", form="system")), True),
        ((Message("i", "user", "import", user().parts),), True),
        ((user(), model()), False),
        ((user(), model(), told("recall")), False),
        ((user(), model(), Message("u", "user", "user", ())), False),
        ((user(), Message("a", "assistant", "model", ())), True),
        ((told("recall"),), False),
        ((), False),
    ],
)
def test_a_system_message_stands_behind_the_user_or_results(tail, system):
    (only,) = place((PLAN,), tail, mid_system=True).messages
    assert only.parts[0].form == ("system" if system else "wrapped")
    assert place((PLAN,), tail, mid_system=False).messages[0].parts[0].form == "wrapped"
    assert place((PLAN,), tail, ME, mid_system=True).messages[-1].parts[0].form == "system"


@pytest.mark.design("M-R2", "M-R6")
@pytest.mark.parametrize("state", ["pending", "running"])
def test_reminders_wait_until_the_tool_run_is_complete(state):
    running = [*numbered(user(), step(call(), call(state=state))), told("recall")]
    assert place((PLAN, FILE), running, mid_system=True) == place((PLAN, FILE), running, mid_system=False)
    waits = place((PLAN, FILE), running, mid_system=True)
    assert (waits.messages, waits.user_at, waits.waiting) == ((), None, (PLAN, FILE))
    with_user = place((PLAN,), running, ME, mid_system=True)
    assert (with_user.messages, with_user.user_at, with_user.waiting) == ((ME,), 0, (PLAN,))
    for ended in ("completed", "error", "interrupted"):
        assert place((PLAN,), numbered(user(), step(call(state=ended))), mid_system=True).waiting == ()
    assert place((PLAN,), numbered(step(call(state=state)), user(), model()), mid_system=True).waiting == (), "a later answer"


@pytest.mark.design("M-R6")
def test_what_the_user_sends_meanwhile_is_the_users_own_and_marked():
    placed = place((PLAN, FILE), numbered(user(), step()), ME, mid_system=True, mid_turn=True)
    assert shape(placed) == [
        [("file", "wrapped")],
        [(bodies.sent_by_user(), "wrapped")],
        "user",
        [("plan", "system")],
    ]
    assert placed.user_at == 2
    assert placed.messages[1].source == "incoming_message"
    running = numbered(user(), step(call(state="running")))
    early = place((PLAN,), running, ME, mid_system=True, mid_turn=True)
    assert shape(early) == [[(bodies.sent_by_user(), "wrapped")], "user"]
    assert (early.user_at, early.waiting) == (1, (PLAN,))
    assert len(place((), (), ME, mid_system=False).messages) == 1


@pytest.mark.design("M-R5", "Y-11")
@pytest.mark.report(65, 99)
def test_others_never_look_like_the_user():
    for sender, kind in (
        ("peer", "incoming_message"),
        ("coordinator", "incoming_message"),
        ("background", "queued_system_notification"),
    ):
        one = incoming(sender, "do it", "x")
        assert (one.source, one.body, one.quoted) == (kind, bodies.incoming(sender, "do it", "x"), True)
        (message,) = place((one,), numbered(user(), step()), mid_system=True).messages
        assert (message.role, message.origin, message.parts[0].form) == ("user", "engine", "wrapped")


@pytest.mark.design("M-R1", "M-R2")
def test_blank_ones_and_unknown_kinds():
    assert place((Due("recall", " \n"),), (), ME, mid_system=False).messages == (ME,)
    empty = place((), (), mid_system=True)
    assert (empty.messages, empty.user_at, empty.waiting) == ((), None, ())
    for name in ("made_up", "skills_listing", "tool_result_warning"):
        with pytest.raises(ValueError, match=name):
            place((Due(name, "x"),), (), ME, mid_system=False)
