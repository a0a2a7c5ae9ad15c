"""Look-alikes of the engine's reminder tags, made harmless in text that does not come from the engine (M-R4)."""

import re

_TAG = re.compile(r"[<\uff1c](?=\s*[/\uff0f]?\s*system-reminder\b)", re.IGNORECASE)


def escape_reminders(text: str) -> str:
    """The text with ``<`` of every opening or closing reminder tag as ``&lt;``: any case, spaces, full-width brackets."""
    return _TAG.sub("&lt;", text)


def wrap_reminder(body: str) -> str:
    """The body between reminder tags of the engine's own, look-alikes in it escaped (M-R4)."""
    return f"<system-reminder>\n{escape_reminders(body)}\n</system-reminder>"
