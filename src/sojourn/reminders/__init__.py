"""What the engine tells the model between two messages: the table of kinds, rhythm, placement (M-R1 to M-R8)."""

from sojourn.reminders.placing import Placed, incoming, place
from sojourn.reminders.rhythm import due
from sojourn.reminders.table import TABLE, check_off, enabled
from sojourn.reminders.types import (
    Attached,
    Due,
    Facts,
    Goal,
    Hook,
    Job,
    Plugin,
    Rule,
    RuleChange,
    Source,
    Todo,
)

__all__ = [
    "TABLE",
    "Attached",
    "Due",
    "Facts",
    "Goal",
    "Hook",
    "Job",
    "Placed",
    "Plugin",
    "Rule",
    "RuleChange",
    "Source",
    "Todo",
    "check_off",
    "due",
    "enabled",
    "incoming",
    "place",
]
