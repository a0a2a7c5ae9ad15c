"""Whole sessions: what is due is placed, stored and sent, step by step (M-R2, Q-2, Q-3)."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reminders.talk import Talk, call, model, numbered, step, user
from sojourn.base import Finish
from sojourn.meter import breakdown
from sojourn.models import ENCODERS
from sojourn.prefix import build, section
from sojourn.record import Block, Message, Text, Window
from sojourn.record.codec import decode, encode
from sojourn.reminders import Attached, Facts, Hook, Job, Plugin, Rule, Todo, due, incoming, place
from sojourn.reminders.types import Goal
from sojourn.request import first_difference, problems, project, units
from sojourn.wire import RequestSettings, Traits

SETTINGS = RequestSettings("m", 1_000)
PREFIX = build([section("role", "s", "system", "stable", "R"), section("rules", "s", "context", "dynamic", "C")], [])
OPENED = Window("w", 2, "rebuild", 0, 0, 3, opening=(Block("label", "L"),))


def traits(protocol, *, mid_system=True):
    return Traits(name="m", protocol=protocol, marks=4 if protocol == "anthropic" else 0, mid_system=mid_system, images_most=2)


def maybe(**choices):
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in choices.items()})


facts = maybe(
    mode=["ask", "plan", "full"],
    tools=[("task",)],
    todos=[(), (Todo("x", "open"),)],
    today=["2026-03-01", "2026-03-02"],
    style=["terse"],
    recall=["a", "b"],
    tools_late=[(), ("mcp__a__b",)],
    checkpoint_failed=[True],
    cache_lost=[True],
    jobs=[(), (Job("j1", "x", "failed"),), (Job("j1", "x", "failed"), Job("j2", "y", "completed"))],
    hooks=[(Hook("stop", ("x",)),)],
    attached=[(Attached("f", "x"),)],
    plugins=[(Plugin("kit"),)],
    rules_reached=[(Rule("a/AGENTS.md", "x"),)],
    goal=[Goal("set", "x"), Goal("paused")],
    goal_continues=["x"],
    continuing=[True],
)
answers = st.sampled_from(
    [
        model(),
        step(),
        step(call("task")),
        step(call(), call()),
        step(call(state="running")),
        Message("a", "assistant", "model", (), finish=Finish.ERROR),
        Message("a", "assistant", "model", (Text("ha"),), finish=Finish.INTERRUPTED),
    ]
)
speech = st.sampled_from([None, None, user("go"), user(" ")])
senders = st.sampled_from([None, None, None, "peer", "background"])
steps = st.lists(st.tuples(facts, speech, st.booleans(), senders, answers), max_size=8)


def session(story, *, mid_system, opened_at_seq):
    """The messages of the view each time that a request leaves, calls that never came back settled as interrupted."""
    view: list[Message] = numbered(user(), step(call()), step(call(state="interrupted")))
    waiting = ()
    for told, prompt, mid_turn, sender, answer in story:
        now = Facts(
            opened_at_seq=opened_at_seq, date_told="2026-03-01", turn_start=prompt is not None,
            user_waits=prompt is not None, **told,
        )  # fmt: skip
        others = (incoming(sender, "hey"),) if sender else ()
        placed = place((*waiting, *others, *due(now, view)), view, prompt, mid_system=mid_system, mid_turn=mid_turn)
        view = [*view, *numbered(*placed.messages, start=len(view) + 1)]
        waiting = placed.waiting
        if waiting:
            calls = [msgspec.structs.replace(part, state="interrupted") for part in view[-1].parts if hasattr(part, "state")]
            if calls:
                view[-1] = msgspec.structs.replace(view[-1], parts=tuple(calls))
        yield list(view)
        view.append(msgspec.structs.replace(answer, seq=len(view) + 1))


@pytest.mark.design("M-R2", "Q-1", "Q-2", "Q-3", "Q-6")
@pytest.mark.report(45, 52, 53)
@pytest.mark.parametrize("protocol", ENCODERS)
@given(story=steps, mid_system=st.booleans(), window=st.sampled_from([None, OPENED]))
@settings(max_examples=30, deadline=None)
def test_every_request_is_valid_and_extends_the_one_before(protocol, story, mid_system, window):
    kind = traits(protocol, mid_system=mid_system)
    before = None
    for view in session(story, mid_system=mid_system, opened_at_seq=window.opened_at_seq if window else 0):
        request = project(PREFIX, window, view, kind, SETTINGS, len(view) - 1)
        wrong = [one for one in problems(request, protocol) if "the last message is the model's" not in one]
        assert wrong == []
        now = units(request, ENCODERS[protocol])
        if before is not None and not _settles(view, before[1]):
            assert first_difference(now, before[0]) is None
        before = (now, view)
    if before is not None:
        stored = [decode(encode(one), Message) for one in view]
        assert project(PREFIX, window, stored, kind, SETTINGS, len(view) - 1) == request, "after reload"


def _settles(view, before):
    """A call came back in between: its result was not sent yet."""
    return view[: len(before)] != before


@pytest.mark.design("M-R2", "Q-2")
@pytest.mark.report(53)
@pytest.mark.parametrize("mid_system", [False, True])
def test_ten_turns_with_a_list_that_changes_each_time(mid_system):
    talk = Talk(mid_system=mid_system)
    before: list[bytes] = []
    for turn in range(10):
        talk.step(f"turn {turn}", recall=f"state {turn}", style="terse", mode="plan")
        now = units(project(PREFIX, None, talk.view[:-1], traits("anthropic"), SETTINGS), ENCODERS["anthropic"])
        assert first_difference(now, before) is None
        assert len(now) > len(before)
        before = now
    assert len(talk.copies("recall")) == 10


@pytest.mark.design("W-2", "C-12", "M-R2")
def test_a_new_window_begins_without_reminders_and_is_told_what_still_holds():
    talk = Talk()
    lasting = {"recall": "notes", "mode": "plan", "checkpoint_failed": True}
    assert talk.step("a", step(), **lasting) == ["recall", "checkpoint_failed", "runtime_mode"]
    assert talk.step(None, step(), **lasting) == []
    window = msgspec.structs.replace(OPENED, opened_at_seq=talk.seq)
    talk.opened_at_seq = talk.seq
    assert talk.step(None, step(), **lasting) == ["recall", "checkpoint_failed", "runtime_mode"]
    parts = [part for one in project(PREFIX, window, talk.view, traits("chat"), SETTINGS).messages for part in one.parts]
    assert [part.about.name for part in parts if part.about.kind == "reminder"] == [
        "recall", "checkpoint_failed", "runtime_mode"
    ]  # fmt: skip


@pytest.mark.design("M-R3", "M-4")
@pytest.mark.report(102)
@pytest.mark.parametrize("mid_system", [False, True])
def test_tokens_of_each_kind_are_in_the_breakdown(mid_system):
    talk = Talk(mid_system=mid_system)
    talk.step("go", mode="plan", style="terse", hooks=(Hook("stop", ("x " * 100,)),))
    shares = breakdown(project(PREFIX, None, talk.view[:-1], traits("anthropic"), SETTINGS), 1_000)
    kinds = {name: tokens for name, tokens in shares.items() if name.startswith("reminder/")}
    assert set(kinds) == {"reminder/hook_context", "reminder/runtime_mode", "reminder/output_style"}
    assert kinds["reminder/runtime_mode"] > kinds["reminder/output_style"] > 0
    assert sum(shares.values()) == 1_000
