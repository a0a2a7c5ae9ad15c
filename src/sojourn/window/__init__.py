"""What a window opens with: boundary, sections, budgets, digest; the schema of checkpoint items with its rendering."""

from sojourn.window.boundary import closing_state, digest_seq, is_finished, live_tail, statuses, watermark
from sojourn.window.budget import Want, share_out, total_budget
from sojourn.window.cut import cut_sections
from sojourn.window.digest import Digest, digest, has_digest_line
from sojourn.window.opening import open_window
from sojourn.window.recent_user import Chosen, recent_user, user_text
from sojourn.window.schema import SCHEMA, SectionRule, budgets, render_items, topic
from sojourn.window.sections import ROWS, Row
from sojourn.window.session_state import skills_shown, state_section
from sojourn.window.tail import apply_trims, trim_tail
from sojourn.window.tasks_ledger import open_task, tasks_ledger
from sojourn.window.types import (
    Closing,
    Count,
    LeftOut,
    Opening,
    OpeningInput,
    OpeningSection,
    OpenTask,
    SectionName,
    TurnStatus,
    UserText,
)
from sojourn.window.working_set import working_set

__all__ = [
    "ROWS",
    "SCHEMA",
    "Chosen",
    "Closing",
    "Count",
    "Digest",
    "LeftOut",
    "OpenTask",
    "Opening",
    "OpeningInput",
    "OpeningSection",
    "Row",
    "SectionName",
    "SectionRule",
    "TurnStatus",
    "UserText",
    "Want",
    "apply_trims",
    "budgets",
    "closing_state",
    "cut_sections",
    "digest",
    "digest_seq",
    "has_digest_line",
    "is_finished",
    "live_tail",
    "open_task",
    "open_window",
    "recent_user",
    "render_items",
    "share_out",
    "skills_shown",
    "state_section",
    "statuses",
    "tasks_ledger",
    "topic",
    "total_budget",
    "trim_tail",
    "user_text",
    "watermark",
    "working_set",
]
