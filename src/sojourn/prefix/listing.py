"""The list of skills under its budget (P-6). Pure."""

from collections.abc import Sequence

from sojourn.meter import estimate_text, total
from sojourn.prefix.foreign import harmless, shortened
from sojourn.prefix.sources.skills import Skill
from sojourn.prefix.texts import text

CHARACTERS = 20_000
"""Of the whole listing."""
_STEPS = (250, 160, 100, 60, 30)
"""Characters of a description, the next where the one before does not fit."""


def listing(skills: Sequence[Skill], room: int, characters: int = CHARACTERS) -> str:
    """The listing in at most ``room`` tokens (uncalibrated) and ``characters``; "" = no skills, or no room for one.

    Descriptions shrink step by step; then names and paths only; then as many of these as fit and the number of the rest.
    """
    names = [_named(skill) for skill in skills]
    named = _whole(names)
    if not skills or not _fits(named, room, characters):
        return _bounded(names, room, characters)
    for step in _STEPS:
        whole = _whole([_described(skill, step) for skill in skills])
        if _fits(whole, room, characters):
            return whole
    return named


def listing_tokens(skills: Sequence[Skill]) -> int:
    """What the listing takes where only ``CHARACTERS`` bounds it."""
    return _tokens(listing(skills, CHARACTERS))


def _bounded(lines: list[str], room: int, characters: int) -> str:
    """The longest head of the list that fits with the count of what is left out."""
    low, high = 0, len(lines) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(_whole([*lines[:middle], _more(len(lines) - middle)]), room, characters):
            low = middle
        else:
            high = middle - 1
    return _whole([*lines[:low], _more(len(lines) - low)]) if low else ""


def _described(skill: Skill, characters: int) -> str:
    return f"- {skill.name}: {shortened(skill.description, characters)} ({harmless(skill.shown)})"


def _named(skill: Skill) -> str:
    return f"- {skill.name} ({harmless(skill.shown)})"


def _more(count: int) -> str:
    return f"- and {count} more"


def _whole(lines: list[str]) -> str:
    return "\n".join([text("skills"), *lines])


def _fits(whole: str, room: int, characters: int) -> bool:
    return len(whole) <= characters and _tokens(whole) <= room


def _tokens(whole: str) -> int:
    return total(estimate_text(whole))
