"""A terminal's output as text: no colours, no overwritten progress lines."""

import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|[ -/]+[0-~]|[0-Z\\^-~])"
)


def plain(text: str) -> str:
    """The text without escape sequences; of a line that was written over (``\\r``) its last state; NUL as U+FFFD."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return text.replace("\0", "\ufffd") if "\0" in text else text
