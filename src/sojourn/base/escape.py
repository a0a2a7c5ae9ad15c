"""Look-alikes of the engine's reminder tags, made harmless in text that does not come from the engine (M-R4)."""

import re
from typing import Any

_BRACKETS = "[<\uff1c\u2039\u3008\ufe64\u27e8\u2329]|&lt;"
_GAP = r"[\s/\uff0f\u200b-\u200d\u2060\ufeff]*"
_BETWEEN = r"[\s_\-\u2010-\u2015\u2212\ufe58\ufe63\uff0d\u200b-\u200d\u2060\ufeff]*"


def _letters(word: str) -> str:
    """The letters of a word, plain or full-width, invisible characters between them."""
    wide = {letter: f"[{letter}{chr(ord(letter) - 0x20 + 0xFF00)}]" for letter in set(word)}
    return r"[\u200b-\u200d\u2060\ufeff]*".join(wide[letter] for letter in word)


_TAG = rf"{_GAP}{_letters('system')}{_BETWEEN}{_letters('reminder')}(?![a-z0-9-])"
_OPEN = re.compile(rf"({_BRACKETS})(?=~*{_TAG})", re.IGNORECASE)
_ESCAPED = re.compile(rf"({_BRACKETS})~(?=~*{_TAG})", re.IGNORECASE)


def escape_reminders(text: str) -> str:
    """The text with a ``~`` behind the bracket of every opening or closing reminder tag: any case, spaces, full-width
    letters, invisible characters, other brackets. A text that holds such a ``~`` already gets one more, so that
    ``unescape_reminders`` gives back exactly what was there."""
    return _OPEN.sub(r"\1~", text)


def unescape_reminders(text: str) -> str:
    """What ``escape_reminders`` was given. Text that was never escaped is left alone."""
    return _ESCAPED.sub(r"\1", text)


def unescape_value(value: Any) -> Any:
    """The same for every string in a JSON value: what a model saw escaped it writes escaped in a tool's arguments."""
    match value:
        case str():
            return unescape_reminders(value)
        case dict():
            return {unescape_reminders(key): unescape_value(one) for key, one in value.items()}
        case list():
            return [unescape_value(one) for one in value]
        case _:
            return value


def wrap_reminder(body: str) -> str:
    """The body between reminder tags of the engine's own, look-alikes in it escaped (M-R4)."""
    return f"<system-reminder>\n{escape_reminders(body)}\n</system-reminder>"
