"""Ports (clock, ids, files) and the values that every room shares."""

from sojourn.base.clock import Clock, ManualClock, SystemClock
from sojourn.base.errors import SojournError, UserMistake, WorkFailed
from sojourn.base.escape import escape_reminders, unescape_reminders, unescape_value, wrap_reminder
from sojourn.base.ids import CountingIds, Ids, SystemIds
from sojourn.base.quantity import parse_quantity
from sojourn.base.steady import finish_first
from sojourn.base.values import (
    ErrorKind,
    Finish,
    Item,
    ItemStatus,
    Section,
    Tokens,
    Usage,
    open_items,
)

__all__ = [
    "Clock",
    "CountingIds",
    "ErrorKind",
    "Finish",
    "Ids",
    "Item",
    "ItemStatus",
    "ManualClock",
    "Section",
    "SojournError",
    "SystemClock",
    "SystemIds",
    "Tokens",
    "Usage",
    "UserMistake",
    "WorkFailed",
    "escape_reminders",
    "finish_first",
    "open_items",
    "parse_quantity",
    "unescape_reminders",
    "unescape_value",
    "wrap_reminder",
]
