"""Rule files under one budget: the nearest is served first, cuts fall at lines and are marked (P-5, W-4). Pure."""

from collections.abc import Sequence

import msgspec

from sojourn.base import escape_reminders
from sojourn.meter import estimate_text, fit_head, total
from sojourn.prefix.diagnostic import Diagnostic
from sojourn.prefix.foreign import harmless
from sojourn.prefix.sources.rule_file import RuleFile

_MARKER = "[Cut here to fit: read the rest of the file when it matters.]"


class Rules(msgspec.Struct, frozen=True):
    """One file that was found, and where it belongs."""

    file: RuleFile
    depth: int
    """0 = the user's, then from the root down: the higher, the nearer."""
    level: str
    """``user``, ``git root``, ``folder``, ``working folder``, ``included by <path>``."""


def share(found: Sequence[Rules], budget: int, opening: str) -> tuple[list[str], list[Diagnostic]]:
    """The blocks that fit behind ``opening``, in order, and a warning for each that is cut. ``budget``: tokens of all."""
    room = budget - _tokens(f"{opening}\n\n")
    blocks: dict[int, str] = {}
    notes: list[Diagnostic] = []
    for index, rules in sorted(enumerate(found), key=lambda pair: (-pair[1].depth, pair[0])):
        heading = f"## {harmless(str(rules.file.path))} ({harmless(rules.level)})"
        body = escape_reminders(rules.file.text.strip("\n"))
        if rules.file.cut:
            body += "\n[Cut here: the file is longer than 100 KiB.]"
        block = f"{heading}\n\n{body}"
        if _tokens(block) + 1 > room:
            block = _cut(heading, body, room - 1)
            left = f"cut to {_tokens(block)} tokens" if block else "left out"
            message = f"{rules.file.path}: {left}, the rules' budget of {budget} tokens is full"
            notes.append(Diagnostic("warning", message, str(rules.file.path)))
        if block:
            room -= _tokens(block) + 1
            blocks[index] = block
        elif not blocks:
            room = 0  # a farther file with a shorter name does not stand alone where the nearest has no room
    return [blocks[index] for index in sorted(blocks)], notes


def _cut(heading: str, body: str, room: int) -> str:
    """The block cut at a line, with a marker; "" where not even heading and marker fit."""
    frame = f"{heading}\n\n\n{_MARKER}"
    if _tokens(frame) > room:
        return ""
    kept = fit_head(body, room - _tokens(frame) - 1).rstrip("\n")
    block = f"{heading}\n\n{kept}\n{_MARKER}" if kept else f"{heading}\n\n{_MARKER}"
    return block if _tokens(block) <= room else f"{heading}\n\n{_MARKER}"


def _tokens(body: str) -> int:
    return total(estimate_text(body))
