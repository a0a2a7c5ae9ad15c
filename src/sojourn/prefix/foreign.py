"""Short pieces of text that others wrote (paths, branch names, descriptions), as they may stand in a prefix (M-R4)."""

import re

from sojourn.base import escape_reminders
from sojourn.meter import fit_line

_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def harmless(text: str) -> str:
    """The text with every break and control character a blank, look-alikes of reminder tags escaped; else unchanged, so
    that a path stays a path."""
    return escape_reminders(_BREAKS.sub(" ", text))


def shortened(text: str, characters: int) -> str:
    """White space collapsed, cut to ``characters``, then escaped."""
    return escape_reminders(fit_line(_BREAKS.sub(" ", text), characters))
