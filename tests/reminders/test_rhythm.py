"""When a reminder is due: by state, and by exact numbers (M-R3, M-R7, M-R8)."""

import msgspec
import pytest

from reminders.talk import Talk, call, model, numbered, sources, step, told, user
from sojourn.record import Image, Message, Text, ToolCall
from sojourn.reminders import (
    TABLE,
    Attached,
    Facts,
    Goal,
    Hook,
    Job,
    Plugin,
    Rule,
    RuleChange,
    Todo,
    bodies,
    due,
)
from sojourn.reminders.types import Due

FULL, BRIEF = bodies.plan(full=True), bodies.plan(full=False)
BOTH = pytest.mark.parametrize("mid_system", [False, True])


# --- plan mode ----------------------------------------------------------------------------------------------------


@pytest.mark.design("M-R3")
@BOTH
def test_plan_mode_every_5_messages_of_the_user_full_on_the_1st_6th_11th(mid_system):
    talk = Talk(mid_system=mid_system)
    reminded = [turn for turn in range(1, 57) if "runtime_mode" in talk.step(f"turn {turn}", mode="plan")]
    assert reminded == list(range(1, 57, 5)), "at the 1st, 6th, 11th message of the user, whatever the form"
    assert [one.body == FULL for one in talk.copies("runtime_mode")] == [True, *[False] * 4, True, *[False] * 4, True, False]
    assert {one.body for one in talk.copies("runtime_mode")} == {FULL, BRIEF}


@pytest.mark.design("M-R3")
def test_plan_mode_is_not_repeated_within_a_long_turn():
    talk = Talk()
    assert talk.step("go", step(), mode="plan") == ["runtime_mode"]
    assert [talk.step(None, step(), mode="plan") for _ in range(30)] == [[]] * 30


@pytest.mark.design("M-R3")
def test_only_real_messages_of_the_user_count():
    first = told("runtime_mode", FULL)
    four = [user("a"), model(), user("b"), user("c"), user("d")]
    nothing = [
        user(" \n"),
        Message("e", "user", "engine", (Text("go on"),)),
        Message("i", "user", "import", (Text("meta"),)),
        told("todo_reminder"),
    ]
    view = numbered(first, model(), *four, *nothing)
    assert sources(view, mode="plan") == []
    assert sources(view, mode="plan", user_waits=True) == ["runtime_mode"]
    assert sources([*view, *numbered(user("e"), start=20)], mode="plan") == ["runtime_mode"]
    picture = Message("u", "user", "user", (Image("ab", "image/png", 1),))
    assert sources([*view, *numbered(picture, start=20)], mode="plan") == ["runtime_mode"]


@pytest.mark.design("M-R3", "M-R2")
def test_the_user_message_of_the_reminders_own_turn_does_not_count():
    others = [user("a"), user("b"), user("c"), user("d")]
    wrapped, system = told("runtime_mode", FULL), told("runtime_mode", FULL, "system")
    assert sources(numbered(wrapped, told("recall"), user("own"), *others), mode="plan") == []
    assert sources(numbered(wrapped, user("own"), *others, user("e")), mode="plan") == ["runtime_mode"]
    assert sources(numbered(wrapped, model(), *others, user("e")), mode="plan") == ["runtime_mode"]
    assert sources(numbered(user("own"), system, *others), mode="plan") == []
    assert sources(numbered(user("own"), system, *others, user("e")), mode="plan") == ["runtime_mode"], "behind its own"
    assert sources(numbered(user("own"), system), mode="plan") == []


@pytest.mark.design("M-R3", "M-R8")
def test_leaving_plan_mode_is_told_once_with_the_new_mode():
    talk = Talk()
    talk.step("plan it", mode="plan")
    assert talk.step("do it", mode="accept-edits") == ["plan_mode_exit"]
    assert talk.due[0].body == bodies.plan_left("accept-edits")
    assert talk.step("more", mode="accept-edits") == []
    assert talk.step("plan again", mode="plan") == ["runtime_mode"], "coming back is a new state, at once"
    assert talk.due[0].body == FULL
    assert talk.step("go", mode="ask") == ["plan_mode_exit"]


@pytest.mark.design("M-R3")
def test_each_stay_in_plan_mode_counts_its_own_reminders():
    before = [told("runtime_mode", BRIEF)] * 4
    again = [*before, told("plan_mode_exit"), told("runtime_mode", FULL), user("own"), *[user("x")] * 5]
    assert due(Facts(mode="plan"), numbered(*again))[0].body == BRIEF
    sixth = [told("plan_mode_exit"), *before, told("runtime_mode", BRIEF), user("own"), *[user("x")] * 5]
    assert due(Facts(mode="plan"), numbered(*sixth))[0].body == FULL


@pytest.mark.design("M-R3")
def test_leaving_is_told_by_the_flag_where_the_view_has_no_copy():
    assert sources([], mode="ask", plan_left=True) == ["plan_mode_exit"]
    assert sources(numbered(told("plan_mode_exit", bodies.plan_left("ask"))), mode="ask", plan_left=True) == []
    assert sources([], mode="plan", plan_left=True) == ["runtime_mode"]


# --- todo ---------------------------------------------------------------------------------------------------------

TODO = {"tools": ("bash", "task"), "todos": (Todo("T1 x", "open"),)}


@pytest.mark.design("M-R3")
def test_todo_after_10_steps_without_the_tool():
    steps = [user(), *[step()] * 9]
    assert sources(numbered(*steps), **TODO) == []
    assert sources(numbered(*steps, step()), **TODO) == ["todo_reminder"]
    used = [step(call("bash"), call("task")), *[step()] * 9]
    assert sources(numbered(*[step()] * 9, *used), **TODO) == []
    assert sources(numbered(*used, step()), **TODO) == ["todo_reminder"]


@pytest.mark.design("M-R3")
def test_todo_after_10_steps_without_the_reminder():
    reminded = [*[step()] * 10, told("todo_reminder"), *[step()] * 9]
    assert sources(numbered(*reminded), **TODO) == []
    assert sources(numbered(*reminded, step()), **TODO) == ["todo_reminder"]


@pytest.mark.design("M-R3")
def test_todo_counts_answers_that_say_something():
    empty = Message("a", "assistant", "model", ())
    assert sources(numbered(*[step()] * 9, empty, empty), **TODO) == []
    assert sources(numbered(*[step()] * 9, empty, model()), **TODO) == ["todo_reminder"]


@pytest.mark.design("M-R3")
def test_todo_needs_its_tool():
    view = numbered(*[step()] * 12)
    assert sources(view, tools=("bash",)) == []
    assert sources(view, tools=("todo",)) == [], "the tool is called task"
    assert sources(view, tools=("todo",), todo_tool="todo") == ["todo_reminder"]


@pytest.mark.design("M-R3", "M-R5")
def test_todo_with_its_list_quotes_the_model():
    view = numbered(*[step()] * 10)
    assert due(Facts(tools=("task",)), view) == (Due("todo_reminder", bodies.todo(())),)
    assert due(Facts(**TODO), view) == (Due("todo_reminder", bodies.todo(TODO["todos"]), quoted=True),)


@pytest.mark.design("M-R3")
def test_todo_in_a_long_turn_every_10_steps():
    talk = Talk()
    talk.step("go", step(), **TODO)
    reminded = [number for number in range(2, 42) if talk.step(None, step(), **TODO)]
    assert reminded == [11, 21, 31, 41]


@pytest.mark.design("M-R3", "P-8")
def test_a_list_with_nothing_open_is_told_of_once_in_a_window():
    talk = Talk()
    talk.step("go", step(), tools=("task",))
    reminded = [number for number in range(2, 62) if talk.step(None, step(), tools=("task",))]
    assert reminded == [11], "nothing can be out of date"
    assert talk.step(None, step(), **TODO) == ["todo_reminder"], "now it can"
    talk.opened_at_seq = talk.seq
    assert [number for number in range(1, 42) if talk.step(None, step(), tools=("task",))] == [11]


# --- the date -----------------------------------------------------------------------------------------------------


@pytest.mark.design("M-R3", "P-4")
@pytest.mark.report(49, 50)
def test_the_date_of_today_is_told_whenever_it_is_not_the_one_told_last():
    talk = Talk()
    day = {"date_told": "2026-03-01"}
    assert talk.step("a", today="2026-03-01", **day) == []
    assert talk.step("b", today="2026-03-02", **day) == ["date_change"], "past midnight: appended, the prefix is as it was"
    assert talk.due[0].body == "The date has changed: today is 2026-03-02. There is no need to mention it."
    assert talk.step("c", today="2026-03-02", **day) == []
    assert talk.step("d", today="2026-03-03", **day) == ["date_change"], "never yesterday's for days"
    assert talk.step("e", today="2026-03-01", **day) == ["date_change"], "back: the newest copy counts, not the prefix"
    assert talk.step("f", today="2026-03-01", **day) == []


@pytest.mark.design("M-R3")
def test_the_date_is_told_at_the_start_of_a_turn():
    day = {"today": "2026-03-02", "date_told": "2026-03-01"}
    assert sources([], **day) == []
    assert sources([], turn_start=True, **day) == ["date_change"]
    assert sources([], turn_start=True, today="2026-03-02") == [], "no date was told: nothing has changed"


@pytest.mark.design("W-2", "C-12")
@pytest.mark.report(50)
def test_a_new_window_is_told_anew_what_its_prefix_does_not_say():
    view = numbered(user(), told("date_change", bodies.date_change("2026-03-02")), model())
    new = {"turn_start": True, "opened_at_seq": 3, "today": "2026-03-02"}
    assert sources(view, **new, date_told="2026-03-02") == [], "the prefix was taken anew"
    assert sources(view, **new, date_told="2026-03-01") == ["date_change"]
    assert sources(view, **{**new, "opened_at_seq": 2}, date_told="2026-03-01") == ["date_change"]
    assert sources(view, **{**new, "opened_at_seq": 1}, date_told="2026-03-01") == []


# --- state --------------------------------------------------------------------------------------------------------


@pytest.mark.design("P-7", "M-R3")
def test_the_mode_is_told_when_it_is_not_the_one_told_last():
    talk = Talk()
    assert talk.step("a", mode="ask", mode_told="ask") == []
    assert talk.step("b", mode="full", mode_told="ask") == ["mode_change"]
    assert talk.step("c", mode="full", mode_told="ask") == []
    assert talk.step("d", mode="ask", mode_told="ask") == ["mode_change"]
    assert talk.step("e", mode="plan", mode_told="ask") == ["runtime_mode"]
    assert talk.step("f", mode="full", mode_told="ask") == ["plan_mode_exit"]
    assert talk.step("g", mode="full", mode_told="ask") == [], "the exit has told it"
    assert talk.step("h", mode="ask", mode_told="ask") == ["mode_change"]
    assert sources([], mode="full") == [], "no mode was told: nothing has changed"
    assert sources([], mode="full", mode_told="plan", plan_left=True) == ["plan_mode_exit"]


@pytest.mark.design("P-7", "M-R3")
def test_git_and_shell_against_what_was_told_last():
    talk = Talk()
    for kind, now, before in (("git_changed", "git", "git_told"), ("shell_environment_change", "shell", "shell_told")):
        assert talk.step("a", **{now: "x", before: "x"}) == []
        assert talk.step("a", **{now: "y", before: "x"}) == [kind]
        assert talk.step("a", **{now: "y", before: "x"}) == []
        assert talk.step("a", **{now: "x", before: "x"}) == [kind]
        assert talk.step("a", **{now: "", before: "x"}) == [], "unknown is no change"
        assert sources([], **{now: "x", before: ""}) == []


@pytest.mark.design("P-7", "M-R3")
@pytest.mark.report(51)
def test_servers_that_come_late_go_and_come_back():
    talk = Talk()
    assert talk.step("a") == []
    assert talk.step("b", tools_late=("mcp__b__x", "mcp__a__y")) == ["tools_changed"]
    assert talk.step("c", tools_late=("mcp__a__y", "mcp__b__x")) == [], "another order of connections is no change"
    assert talk.step("d", tools_gone=("mcp__a__y",)) == ["tools_changed"]
    assert talk.step("e") == ["tools_changed"]
    assert talk.due[0].body == bodies.tools_changed((), ())
    assert talk.step("f") == []


@pytest.mark.design("M-R7")
def test_recall_once_when_a_window_opens_and_when_it_changes():
    talk = Talk()
    assert talk.step("a", recall="notes: 1") == ["recall"]
    assert talk.step("b", recall="notes: 1") == []
    assert talk.step("c", recall="notes: 2") == ["recall"]
    assert talk.step("d", recall="notes: 1") == ["recall"], "the newest copy counts"
    assert talk.step("e") == []
    talk.opened_at_seq = talk.seq
    assert talk.step("f", recall="notes: 1") == ["recall"]


@pytest.mark.design("P-9", "M-R3")
def test_the_style_once_in_each_turns_first_step():
    talk = Talk()
    assert talk.step("a", step(), style="terse") == ["output_style"]
    assert talk.step(None, style="terse") == []
    assert talk.step("b", style="terse") == ["output_style"]
    assert talk.step("c") == []
    told_so = told("output_style", bodies.style("terse"))
    for view in ((told_so, user()), (user(), told_so), (user(), told_so, Message("a", "assistant", "model", ()))):
        assert sources(numbered(*view), turn_start=True, style="terse") == [], "told in this turn already"
        assert sources(numbered(*view), turn_start=True, style="long") == ["output_style"], "another one"
    assert sources(numbered(told_so, user(), model()), turn_start=True, style="terse") == ["output_style"]


@pytest.mark.design("M-R1", "M-R3")
def test_what_failed_is_told_once():
    for kind in ("checkpoint_failed", "cache_lost", "window_opened"):
        talk = Talk()
        assert talk.step("a", **{kind: True}) == [kind]
        assert talk.step("b", **{kind: True}) == []


# --- repeated calls -----------------------------------------------------------------------------------------------

SAME = {"command": "make", "n": [1, {"a": 2, "b": 3}]}
SHUFFLED = {"n": [1, {"b": 3, "a": 2}], "command": "make"}


def again(arguments=None, name="bash"):
    return step(call(name, SAME if arguments is None else arguments))


@pytest.mark.design("M-R3")
def test_the_same_call_3_times_in_a_row():
    assert sources(numbered(user(), again(), again())) == []
    assert sources(numbered(user(), again(), again(SHUFFLED), again())) == ["model_anomaly"], "canonical JSON"
    assert sources(numbered(user(), *[again()] * 4)) == [], "told at the 3rd, not at each one after"
    assert sources(numbered(user(), again(), again({"command": "ls"}), again(), again())) == []
    assert sources(numbered(user(), again(), again(name="read"), again())) == []
    assert due(Facts(), numbered(user(), *[again()] * 3))[0].body == bodies.repeated("bash", 3)


@pytest.mark.design("M-R3")
def test_calls_of_one_step_count_one_by_one():
    twin = step(call("bash", SAME), call("bash", SAME))
    assert sources(numbered(user(), twin)) == []
    assert sources(numbered(user(), again(), twin)) == ["model_anomaly"]
    assert sources(numbered(user(), twin, twin)) == ["model_anomaly"]
    assert sources(numbered(user(), twin, step(call("read")), twin)) == []


@pytest.mark.design("M-R3")
def test_bad_arguments_that_repeat_are_a_repetition():
    broken = step(ToolCall("c", "bash", {}, '{"x', state="error"))
    assert sources(numbered(user(), broken, broken, broken)) == ["model_anomaly"]
    assert sources(numbered(user(), broken, broken, step(ToolCall("c", "bash", {}, '{"y', state="error")))) == []


@pytest.mark.design("M-R3", "M-R6")
def test_a_word_of_the_user_starts_the_count_anew():
    assert sources(numbered(user(), again(), again(), user("again please"), again())) == []
    assert sources(numbered(user(), again(), again(), told("recall"), again())) == ["model_anomaly"]


@pytest.mark.design("M-R3")
def test_a_repetition_is_told_3_times_a_turn_at_most():
    anomaly = told("model_anomaly", bodies.repeated("bash", 3))
    round_ = [again(), again(), again()]
    other = step(call("read"))
    view = numbered(user(), *([*round_, anomaly, other] * 3), *round_)
    assert sources(view) == []
    assert sources(view[:-8] + numbered(*round_, start=90)) == ["model_anomaly"], "the third one is told"
    assert sources(numbered(user(), *round_, anomaly)) == [], "not twice for one step"
    assert sources(numbered(user(), *round_, anomaly, other, *round_, anomaly)) == []
    after = [msgspec.structs.replace(one, seq=one.seq + 50) for one in numbered(user("next"), *round_)]
    assert sources([*view, *after], turn_seq=51) == ["model_anomaly"], "the next turn has its own three"
    assert sources([*view, *after], turn_seq=5) == ["model_anomaly"], "two of this turn so far"
    assert sources([*view, *after], turn_seq=4) == []


# --- what is told once --------------------------------------------------------------------------------------------


@pytest.mark.design("Y-4", "M-R3")
@pytest.mark.report(101)
def test_25_jobs_that_ended_are_one_reminder_told_once():
    ended = tuple(Job(f"j{number}", "build", "completed") for number in range(25))
    talk = Talk()
    assert talk.step("a", jobs=ended) == ["queued_system_notification"]
    assert talk.due[0].body.count("\n- job ") == 25
    assert talk.step("b", jobs=ended) == []
    assert talk.step("c", jobs=(*ended, Job("j25", "lint", "failed"))) == ["queued_system_notification"]
    assert talk.due[0].body.split("\n")[1:] == ["- job j25 (lint): failed"]
    assert talk.step("d") == []


@pytest.mark.design("Y-4", "M-R3")
@pytest.mark.report(101)
def test_a_job_of_the_next_process_is_told_although_its_number_was_there_before():
    first, second = (Job("1", "shell command", "completed", started=at) for at in (1_790_000_000_000, 1_790_000_001_000))
    talk = Talk()
    assert talk.step("a", jobs=(first,)) == ["queued_system_notification"]
    assert talk.step("b", jobs=(second,)) == ["queued_system_notification"]
    assert talk.step("c", jobs=(second,)) == []


@pytest.mark.design("W-9", "P-5")
@pytest.mark.report(102, 117)
def test_a_rule_file_that_changes_again_is_told_again_others_are_not():
    one, two = RuleChange("AGENTS.md", "14:05", "aa"), RuleChange("AGENTS.md", "15:00", "bb")
    talk = Talk()
    assert talk.step("a", rules_changed=(one,)) == ["instructions_changed"]
    assert talk.step("b", rules_changed=(one,)) == []
    assert talk.step("c", rules_changed=(one, two)) == ["instructions_changed"]
    assert talk.step("d", rules_changed=(one, two)) == []
    assert "outdated" in talk.copies("instructions_changed")[0].body
    assert [copy.body.split("\n")[0] for copy in talk.copies("instructions_changed")] == [
        "The rule file AGENTS.md changed (content aa).",
        "The rule file AGENTS.md changed (content bb).",
    ]


@pytest.mark.design("W-9", "P-5", "P-7")
@pytest.mark.report(102, 117)
def test_a_resume_that_notices_the_same_change_later_does_not_tell_it_again():
    talk = Talk()
    assert talk.step("a", rules_changed=(RuleChange("AGENTS.md", "14:05", "aa"),)) == ["instructions_changed"]
    assert talk.step("b", rules_changed=(RuleChange("AGENTS.md", "18:30", "aa"),)) == []
    assert talk.step("c", rules_changed=(RuleChange("pkg/AGENTS.md", "18:30", "aa"),)) == ["instructions_changed"]
    unknown = RuleChange("AGENTS.md", "19:00"), RuleChange("AGENTS.md", "19:01")
    assert talk.step("d", rules_changed=unknown) == ["instructions_changed"], "of unknown content: once a path"
    assert talk.step("e", rules_changed=unknown[1:]) == []
    talk.opened_at_seq = talk.seq
    assert talk.step("f", rules_changed=unknown) == ["instructions_changed"], "a new window knows nothing of it"


@pytest.mark.design("M-R3")
def test_a_plan_is_handed_over_with_the_plan_tool_where_there_is_one():
    talk = Talk()
    bodies_told = []
    for turn in range(1, 7):
        talk.step(f"turn {turn}", mode="plan", tools=("bash", "plan"))
        bodies_told += [one.body for one in talk.due]
    assert bodies_told == [bodies.plan(full=True, tool=True), bodies.plan(full=False, tool=True)]
    assert due(Facts(mode="plan", tools=("bash", "planner")), ())[0].body == FULL


@pytest.mark.design("P-5")
@pytest.mark.report(114)
def test_nested_rules_load_at_first_touch_once():
    a, b = Rule("a/AGENTS.md", "tabs"), Rule("b/AGENTS.md", "spaces")
    talk = Talk()
    assert talk.step("a", rules_reached=(a,)) == ["nested_instructions"]
    assert "tabs" in talk.due[0].body
    assert talk.step("b", rules_reached=(a, b, b)) == ["nested_instructions"]
    assert "spaces" in talk.due[0].body
    changed = Rule("a/AGENTS.md", "now spaces")
    assert talk.step("c", rules_reached=(changed, b)) == [], "a change is announced, the whole is not repeated"
    talk.opened_at_seq = talk.seq
    assert talk.step("d", rules_reached=(changed, b)) == ["nested_instructions"] * 2, "a new window knows neither"


@pytest.mark.design("Y-7", "M-R3")
def test_hooks_of_one_event_that_say_the_same_again():
    start, stop = Hook("session start", ("be nice",)), Hook("stop", ("be nice",))
    talk = Talk()
    assert talk.step("a", hooks=(start, Hook("prompt submit", (" ",)))) == ["hook_context"]
    assert talk.step("b", hooks=(stop,)) == ["hook_context"]
    assert talk.step("c", hooks=(start, stop)) == []
    assert talk.step("d", hooks=(Hook("stop", ("be brief",)),)) == ["hook_context"]
    assert talk.step("e", hooks=(stop,)) == ["hook_context"], "the newest one of the event counts"


@pytest.mark.design("M-R6", "Y-9", "Y-10", "R-4")
def test_what_comes_with_a_turn():
    facts = {
        "sessions": ("sess_a",),
        "attached": (Attached("f", "x"), Attached("g", "y")),
        "plugins": (Plugin("kit"),),
        "forked": True,
        "side_chat": True,
        "rewound_to": 4,
        "goal_restated": "g",
        "plan_file": Rule("plan.md", "1. x"),
        "files_before": (Attached("f", "x"),),
    }
    assert sources([], **facts) == [
        "conversation_fork",
        "selection_side_chat",
        "rewind_notice",
        "plan_file_reference",
        "resume_referenced_session_context",
        "resume_goal_state",
        "referenced_session_context",
        "prompt_attachment",
        "prompt_attachment",
        "plugin_reference",
    ]
    talk = Talk()
    talk.step("a", **facts)
    assert talk.step("b", **facts) == ["prompt_attachment"] * 2, "who attaches a file again means it"
    assert talk.step("c", rewound_to=3) == ["rewind_notice"]
    assert talk.step("d", rewound_to=4) == ["rewind_notice"]


@pytest.mark.design("Y-8", "M-R5")
def test_a_goal_that_changes():
    talk = Talk()
    for state in ("set", "paused", "resumed", "paused", "cleared"):
        assert talk.step("a", goal=Goal(state, "ship")) == ["goal_state_change"]
        assert talk.step("b", goal=Goal(state, "ship")) == []
    assert due(Facts(goal=Goal("paused")), [])[0].quoted is False
    assert due(Facts(goal=Goal("set", "ship")), [])[0].quoted is True
    assert sources([], goal_continues="ship") == []
    assert sources([], goal_continues="ship", turn_start=True) == ["target_continuation"]
    on = told("target_continuation", bodies.goal_continues("ship"))
    assert sources(numbered(on), goal_continues="ship", turn_start=True) == []
    assert sources(numbered(on, model()), goal_continues="ship", turn_start=True) == ["target_continuation"]


# --- all of them --------------------------------------------------------------------------------------------------

EVERYTHING = {
    "turn_start": True,
    "mode": "plan",
    "mode_told": "ask",
    "tools": ("task",),
    "todos": (Todo("x", "open"),),
    "today": "2026-03-02",
    "date_told": "2026-03-01",
    "style": "terse",
    "recall": "notes",
    "git": "b",
    "git_told": "a",
    "shell": "zsh",
    "shell_told": "bash",
    "tools_late": ("mcp__x__y",),
    "checkpoint_failed": True,
    "cache_lost": True,
    "window_opened": True,
    "plan_file": Rule("plan.md", "1. x"),
    "files_before": (Attached("f", "x"),),
    "jobs": (Job("j", "build", "completed"),),
    "rules_changed": (RuleChange("AGENTS.md", "14:05"),),
    "rules_reached": (Rule("a/AGENTS.md", "tabs"),),
    "hooks": (Hook("prompt submit", ("x",)),),
    "sessions": ("sess_a",),
    "attached": (Attached("f", "x"),),
    "plugins": (Plugin("kit"),),
    "goal": Goal("set", "ship"),
    "goal_restated": "ship",
    "goal_continues": "ship",
    "rewound_to": 3,
    "forked": True,
    "side_chat": True,
}
LONG = numbered(user(), *[again()] * 7, *[again({})] * 3)


@pytest.mark.design("M-R8", "M-R1")
def test_the_order_of_all():
    found = sources(LONG, **EVERYTHING)
    assert found == sorted(found, key=list(TABLE).index), "the table's order"
    assert found[-4:] == ["runtime_mode", "todo_reminder", "output_style", "target_continuation"]
    left = {**EVERYTHING, "mode": "ask", "mode_told": "ask", "plan_left": True}
    assert sources(LONG, **left)[-4:] == ["plan_mode_exit", "todo_reminder", "output_style", "target_continuation"]
    changed = {**EVERYTHING, "mode": "full"}
    assert sources(LONG, **changed)[-4:] == ["mode_change", "todo_reminder", "output_style", "target_continuation"]
    assert {one.source for one in due(Facts(**EVERYTHING), LONG) if one.quoted} == {"todo_reminder", "goal_state_change"}
    produced = set(found) | {"plan_mode_exit", "mode_change"}
    assert produced == set(TABLE) - {
        "context_prefix",
        "skills_listing",
        "tool_result_warning",
        "incoming_message",
        "output_continuation",
    }


@pytest.mark.design("M-R8", "A-8")
def test_nothing_is_due_while_an_output_is_continued():
    assert due(Facts(continuing=True, **EVERYTHING), LONG) == ()


@pytest.mark.design("M-R3")
@pytest.mark.report(102)
def test_each_kind_is_left_out_when_it_is_off():
    every = sources(LONG, **EVERYTHING)
    for name in set(every):
        assert sources(LONG, off=(name,), **EVERYTHING) == [one for one in every if one != name]


@pytest.mark.design("M-R3", "M-R2")
@pytest.mark.report(100)
@BOTH
def test_50_turns_with_conditions_that_never_clear(mid_system):
    """One copy a kind; more only of what has a rhythm of its own, exactly by it."""
    lasting = {key: value for key, value in EVERYTHING.items() if key not in ("attached", "turn_start", "tools_late")}
    talk = Talk(mid_system=mid_system)
    for turn in range(50):
        talk.step(f"turn {turn}", **lasting, tools_late=("mcp__x__y",))
    counts = {name: len(talk.copies(name)) for name in TABLE if talk.copies(name)}
    assert counts.pop("runtime_mode") == 10
    assert counts.pop("todo_reminder") == 4
    assert counts.pop("output_style") == 50
    assert counts.pop("target_continuation") == 50
    assert len(counts) == 21
    assert set(counts.values()) == {1}


@pytest.mark.design("M-R3", "W-2")
def test_nothing_is_due_twice_for_one_state():
    """A step whose request failed: everything stands in the view already."""
    talk = Talk()
    facts = {key: value for key, value in EVERYTHING.items() if key != "attached"}
    talk.store(*LONG[:-3], *LONG[-3:])
    talk.step(None, Message("a", "assistant", "model", ()), **facts, turn_seq=1)
    assert sources(talk.view, **facts, turn_seq=1) == []
