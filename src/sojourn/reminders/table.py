"""The one table of reminders (M-R1): nothing that is not here may be told to the model between two messages."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from sojourn.base import UserMistake
from sojourn.reminders.types import Channel, Lifetime, Source

_ROWS: tuple[tuple[str, Channel, Lifetime, bool, bool], ...] = (
    # name, channel, lifetime, may be mid-system, bubbles
    # --- the prefix: written by its own room, named here for the meter and the switch ---
    ("context_prefix", "request_prefix", "prefix", False, True),
    ("skills_listing", "request_prefix", "prefix", False, True),
    # --- written into a result by the tool itself ---
    ("tool_result_warning", "tool_result", "event", False, False),
    # --- where the conversation stands: keeps its place ---
    ("window_opened", "history_continuity", "history", True, False),
    ("conversation_fork", "history_continuity", "history", False, False),
    ("selection_side_chat", "history_continuity", "history", False, False),
    ("rewind_notice", "history_continuity", "history", True, False),
    ("plan_file_reference", "history_continuity", "history", False, False),
    ("resume_referenced_session_context", "history_continuity", "history", False, False),
    ("resume_goal_state", "history_continuity", "history", False, False),
    ("goal_state_change", "history_continuity", "event", True, False),
    # --- what came with the turn ---
    ("hook_context", "current_turn", "turn", False, True),
    ("referenced_session_context", "current_turn", "turn", True, True),
    ("date_change", "current_turn", "turn", True, True),
    ("prompt_attachment", "current_turn", "turn", False, True),
    ("plugin_reference", "current_turn", "turn", False, False),
    # --- what happened meanwhile ---
    ("queued_system_notification", "mid_turn_event", "event", False, True),
    ("incoming_message", "mid_turn_event", "event", False, False),
    ("instructions_changed", "mid_turn_event", "event", False, True),
    ("nested_instructions", "mid_turn_event", "event", False, True),
    ("tools_changed", "mid_turn_event", "event", False, True),
    ("git_changed", "mid_turn_event", "event", False, True),
    ("shell_environment_change", "mid_turn_event", "event", False, True),
    ("recall", "current_turn", "turn", True, True),
    ("checkpoint_failed", "mid_turn_event", "event", True, True),
    ("cache_lost", "mid_turn_event", "event", True, True),
    ("model_anomaly", "mid_turn_event", "event", True, True),
    # --- what holds in this step (M-R8) ---
    ("plan_mode_exit", "current_turn", "turn", True, True),
    ("runtime_mode", "current_turn", "turn", True, True),
    ("mode_change", "current_turn", "turn", True, True),
    ("todo_reminder", "current_turn", "turn", True, True),
    ("output_style", "current_turn", "turn", True, True),
    # --- in the user's place ---
    ("target_continuation", "real_user", "turn", False, False),
    ("output_continuation", "real_user", "turn", False, False),
)

TABLE: dict[str, Source] = {row[0]: Source(*row) for row in _ROWS}
"""Every kind by its name, in the order in which those that are due at once stand."""

_UNPLACED = ("request_prefix", "tool_result")


def source(name: str) -> Source:
    """The kind that is placed under this name. Raises ValueError for one that is not in the table, or never placed."""
    found = TABLE.get(name)
    if found is None or found.channel in _UNPLACED:
        raise ValueError(f"no reminder of the kind {name!r} is placed between messages")
    return found


def enabled(name: str, off: Collection[str] = ()) -> bool:
    """Whether reminders of this kind are sent (M-R3). ``off``: the setting ``reminders.off``."""
    return TABLE[name].on and name not in off


def check_off(names: Iterable[str]) -> None:
    """Raises UserMistake, with the nearest names, for a name in ``reminders.off`` that is not in the table."""
    for name in names:
        if name not in TABLE:
            near = get_close_matches(name, TABLE, 3, 0.7)
            advice = f"Did you mean {' or '.join(near)}?" if near else f"One of: {', '.join(sorted(TABLE))}."
            raise UserMistake(f"reminders.off: there is no reminder called {name!r}", next_step=advice)
