"""The one table of reminders (M-R1, M-R5)."""

import pytest

from sojourn.base import UserMistake
from sojourn.reminders import TABLE, check_off, enabled
from sojourn.reminders.table import source

LIVE = {
    "context_prefix", "skills_listing", "todo_reminder", "tool_result_warning", "resume_referenced_session_context",
    "plan_file_reference", "resume_goal_state", "goal_state_change", "plugin_reference", "target_continuation",
    "rewind_notice", "conversation_fork", "selection_side_chat", "queued_system_notification", "shell_environment_change",
    "incoming_message", "hook_context", "runtime_mode", "plan_mode_exit", "date_change", "referenced_session_context",
    "prompt_attachment", "model_anomaly",
}  # fmt: skip
OURS = {
    "nested_instructions", "instructions_changed", "window_opened", "cache_lost", "checkpoint_failed", "recall",
    "tools_changed", "mode_change", "git_changed", "output_continuation",
}  # fmt: skip


@pytest.mark.design("M-R1")
def test_the_23_live_ones_the_style_and_ours():
    assert len(LIVE) == 23
    assert set(TABLE) == LIVE | {"output_style"} | OURS
    assert all(name == one.name and one.on for name, one in TABLE.items())


@pytest.mark.design("M-R1")
def test_what_nobody_produces_is_left_out():
    assert not {"task_status", "diagnostics", "goal_completion_verification"} & set(TABLE)


@pytest.mark.design("M-R5", "Q-6")
def test_only_what_the_engine_alone_writes_may_have_system_authority():
    """Pinned 6, with our exclusions: files, hooks, peers, jobs, plugins, servers and branches have a say in the others."""
    assert {name for name, one in TABLE.items() if one.may_be_mid_system} == {
        "todo_reminder", "goal_state_change", "rewind_notice", "runtime_mode", "plan_mode_exit", "date_change",
        "referenced_session_context", "model_anomaly", "output_style", "window_opened", "cache_lost", "checkpoint_failed",
        "recall", "mode_change",
    }  # fmt: skip


@pytest.mark.design("M-R1", "M-R2")
def test_what_does_not_bubble():
    assert {name for name, one in TABLE.items() if not one.bubbles} == {
        "tool_result_warning", "resume_referenced_session_context", "plan_file_reference", "resume_goal_state",
        "goal_state_change", "target_continuation", "rewind_notice", "conversation_fork", "selection_side_chat",
        "incoming_message", "window_opened", "plugin_reference", "output_continuation",
    }  # fmt: skip


@pytest.mark.design("M-R1")
def test_nothing_else_is_placed():
    assert source("todo_reminder") is TABLE["todo_reminder"]
    for name in ("made_up", "context_prefix", "skills_listing", "tool_result_warning"):
        with pytest.raises(ValueError, match=name):
            source(name)


@pytest.mark.design("M-R3")
@pytest.mark.report(102)
def test_each_kind_has_a_switch():
    for name in TABLE:
        assert enabled(name)
        assert not enabled(name, (name,))
        assert enabled(name, ("another",))


@pytest.mark.design("M-R3", "S-9")
def test_a_switch_that_does_not_exist_is_told_with_the_nearest_names():
    check_off(())
    check_off(("todo_reminder", "output_style"))
    with pytest.raises(UserMistake, match=r"reminders\.off: there is no reminder called 'todo_remainder'") as found:
        check_off(("output_style", "todo_remainder"))
    assert found.value.next_step == "Did you mean todo_reminder?"
    with pytest.raises(UserMistake) as found:
        check_off(("zzz",))
    assert found.value.next_step.startswith("One of: cache_lost, checkpoint_failed, ")
