"""The files in use when a window is left (W-3a): names, lines in use, an outline; whole only when tiny."""

import re
from collections.abc import Sequence

import msgspec

from sojourn.meter import fit_line
from sojourn.record import File, Message, Text, ToolCall, Touch
from sojourn.window.fit import fitting_lines
from sojourn.window.texts import WORKING_REST
from sojourn.window.types import Count

_RECENT_ANSWERS = 40
"""Answers of the model that make up "lately"."""
_MOST_FILES = 40
_TINY_LINES, _TINY_CHARACTERS = 12, 600
_OUTLINE_LINES, _LINE_CHARACTERS = 12, 120
_NUMBER = re.compile(r"^\s*\d+\s*[→|:\t]\s?")
"""A line number as file tools put it before a line."""
_DEFINITION = re.compile(
    r"\s*(?:#{1,6}\s+\S|(?:export\s+|default\s+|pub(?:\([^)]*\))?\s+|async\s+|static\s+|abstract\s+|public\s+|private\s+|protected\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|impl|type|module|namespace|package)\s+[\w$(<])"
)


class _Use(msgspec.Struct):
    """What became of one file, newest first seen."""

    path: str
    action: str
    seq: int
    lines: list[tuple[int, int]]
    text: str = ""
    """Its newest result that was read."""
    changed: bool = False
    """Changed after that read."""


def working_set(messages: Sequence[Message], budget: int, count: Count) -> str:
    """Row 2a within ``budget`` tokens: files read or edited within the last 40 answers, the newest first.

    A line a file (path, last action with its seq, lines in use, whether it changed since it was read), below it the
    definitions and headings of the last result, or all of it when tiny. What does not fit keeps its line, then only its
    name; "" without files or room.
    """
    uses = _uses(messages)
    heads = [_head(use) for use in uses]
    left = budget - sum(count(head + "\n") for head in heads)
    shown: list[str] = []
    for use in uses:
        below = _below(use)
        cost = count(below) if below else 0
        shown.append(below if cost <= left else "")
        left -= cost if cost <= left else 0
    while any(shown) and left >= 0:
        text = "\n".join(head + below for head, below in zip(heads, shown, strict=True))
        if count(text) <= budget:
            return text
        shown[max(index for index, below in enumerate(shown) if below)] = ""
    return names_only("\n".join(heads), budget, count)


def names_only(text: str, budget: int, count: Count) -> str:
    """A rendered working set cut to the lines of its files, then to their names; "" where not one name fits."""
    heads = [line for line in text.split("\n") if line.startswith("- ")]
    shown = fitting_lines(heads, budget, count)
    if shown == len(heads):
        return "\n".join(heads)
    names = [head[2:].partition(" (")[0] for head in heads]
    for number in range(len(names) - shown, 0, -1):
        rest = WORKING_REST.format(names=", ".join(names[shown : shown + number]))
        result = "\n".join([*heads[:shown], rest])
        if count(result) <= budget:
            return result
    return "\n".join(heads[:shown])


def _uses(messages: Sequence[Message]) -> list[_Use]:
    found: dict[str, _Use] = {}
    answers = 0
    for message in reversed(messages):
        if message.role != "assistant":
            continue
        answers += 1
        if answers > _RECENT_ANSWERS or len(found) >= _MOST_FILES:
            break
        for part in reversed(message.parts):
            if isinstance(part, ToolCall) and part.state == "completed":
                for touch in reversed(part.touches):
                    _note(found, touch, part, message.seq)
    return list(found.values())[:_MOST_FILES]


def _note(found: dict[str, _Use], touch: Touch, call: ToolCall, seq: int) -> None:
    use = found.get(touch.path)
    if use is None:
        use = found[touch.path] = _Use(touch.path, touch.kind, seq, [])
    if touch.kind == "read" and not use.text:
        use.text = "\n".join(
            one.text if isinstance(one, Text) else one.excerpt for one in call.result if isinstance(one, Text | File)
        )
    elif touch.kind != "read" and not use.text:
        use.changed = True
    if touch.lines is not None:
        use.lines.append(touch.lines)


def _head(use: _Use) -> str:
    last = {"read": "read", "edit": "edited", "write": "written"}[use.action]
    facts = [f"last {last} in m{use.seq}"]
    if use.lines:
        facts.append("lines " + ", ".join(f"{first}-{end}" for first, end in _merged(use.lines)))
    if use.changed and use.text:
        facts.append("changed since it was read")
    return f"- {fit_line(use.path, _LINE_CHARACTERS * 2)} ({'; '.join(facts)})"


def _merged(lines: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, end in sorted(lines):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((first, end))
    return merged


def _below(use: _Use) -> str:
    text = use.text.strip("\n")
    lines = text.splitlines()
    if len(text) <= _TINY_CHARACTERS and len(lines) <= _TINY_LINES:
        shown = [line.rstrip() for line in lines if line.strip()]
    else:
        shown = [line.rstrip() for line in lines if _DEFINITION.match(_NUMBER.sub("", line))]
        if len(shown) > _OUTLINE_LINES:
            shown = [*shown[:_OUTLINE_LINES], f"... {len(shown) - _OUTLINE_LINES} more definitions"]
    return "".join(f"\n    {line[:_LINE_CHARACTERS]}" for line in shown)
