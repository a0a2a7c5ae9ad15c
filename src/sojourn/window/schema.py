"""The nine sections of a checkpoint and the rendering of its items (K-2)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from sojourn.base import Item, ItemStatus, Section
from sojourn.meter import fit_line
from sojourn.window.budget import Want, share_out
from sojourn.window.types import Count

_FULL_TRIGGER = 50_000
_TOPIC_CHARACTERS = 120


class SectionRule(msgspec.Struct, frozen=True):
    """What a section of the checkpoint is for and what it may take."""

    section: Section
    title: str
    purpose: str
    """One sentence: it stands in the template and in the writer's prompt."""
    budget: int
    """Tokens on windows with a trigger of 50,000 and more."""
    weight: int
    """Its share when the sections do not fit together."""
    drop: int
    """1 is the first section to lose items when space is left for some only, 9 the last."""


SCHEMA: tuple[SectionRule, ...] = (
    SectionRule(
        Section.INTENT, "Intent", "What the user's newest requests are, by reference, each with its status.", 500, 4, 9
    ),
    SectionRule(Section.NEXT, "Next step", "The single next concrete step.", 500, 4, 8),
    SectionRule(Section.FRONTIER, "Frontier", "What is done, what is under way, what remains.", 1_500, 3, 6),
    SectionRule(
        Section.DIRECTIVES,
        "Directives",
        "How the user wants this session done; a correction stands beside what it corrects.",
        1_500,
        4,
        7,
    ),
    SectionRule(Section.FILES, "Files", "Files and places in the code that are in play, one line each.", 1_000, 2, 3),
    SectionRule(Section.KNOWLEDGE, "Knowledge", "Facts found that are useful beyond the present step.", 2_000, 1, 2),
    SectionRule(Section.ERRORS, "Errors", "Errors met and what fixed them.", 1_000, 1, 1),
    SectionRule(Section.RESOURCES, "Resources", "Live state: branch, processes, ports.", 500, 2, 4),
    SectionRule(Section.DECISIONS, "Decisions", "Decisions with their reasons, and the ways that were rejected.", 2_500, 2, 5),
)
"""In the order in which they stand. Template, prompt, validator and renderer derive from it. Budgets sum to 11,000."""

KNOWLEDGE_SHARE = 25
"""Percent of the trigger that knowledge may take (K-2)."""
MOST_KNOWLEDGE = 20_000
"""Tokens."""


def budgets(trigger: int, *, economic: bool = False) -> dict[Section, int]:
    """Tokens by section: times min(1, trigger / 50,000) on small windows, floored (K-2).

    Knowledge may take a quarter of the trigger, at most 20,000: what later work needs from before a boundary is mostly
    found there, and the opening's total (W-4) bounds it in any case (measured: docs/decisions/0005). ``economic``: a policy
    under which every step pays for what stands in the opening (C-18); knowledge then keeps to its own budget.
    """
    trigger = max(trigger, 0)
    scaled = {rule.section: rule.budget * min(trigger, _FULL_TRIGGER) // _FULL_TRIGGER for rule in SCHEMA}
    if economic:
        return scaled
    knowledge = min(MOST_KNOWLEDGE, trigger * KNOWLEDGE_SHARE // 100)
    return scaled | {Section.KNOWLEDGE: max(scaled[Section.KNOWLEDGE], knowledge)}


class _Bullet(msgspec.Struct, frozen=True):
    item: Item
    line: str
    tokens: int


class _Sheet(msgspec.Struct, frozen=True):
    """The open items of one section as lines, in their given order."""

    rule: SectionRule
    heading: int
    """Tokens of the heading."""
    bullets: tuple[_Bullet, ...]

    def first(self) -> list[_Bullet]:
        """Those that stay longest come first: higher weight, then newer, then later in the list."""
        order = range(len(self.bullets))
        return [
            self.bullets[index] for index in sorted(order, key=lambda at: _staying(self.bullets[at].item, at), reverse=True)
        ]


def _staying(item: Item, index: int) -> tuple[float, int, int, int]:
    return item.weight, item.written_seq, max(item.sources, default=0), index


def render_items(
    items: Sequence[Item], budget_by_section: Mapping[Section, int], count: Count
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Text, ids kept, ids dropped (K-2).

    A level-2 heading a section, a bullet an item; only open items are looked at. Within its section's budget (tokens,
    heading included; no entry = 0) an item with a higher weight stays longer, among equals a newer one; what does not
    fit is skipped and the next one tried. What is kept stands in its given order, so unchanged items keep their bytes.
    """
    sheets = _sheets(items, count)
    room = _lent(sheets, budget_by_section)
    kept: set[str] = set()
    for sheet in sheets:
        kept |= _keep(sheet, room.get(sheet.rule.section, 0))
    return _render(sheets, kept)


def fit_items(items: Sequence[Item], budget: int, trigger: int, count: Count) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The same within one total budget in tokens: by the sections' weights first, then what is left over to single
    items, the section that drops last coming first. The text never exceeds the budget."""
    sheets = _sheets(items, count)
    full = _lent(sheets, budgets(trigger))
    room = budget
    while room > 0:
        text, kept, dropped = _render(sheets, _within(sheets, full, room))
        over = count(text) - budget
        if over <= 0:
            return text, kept, dropped
        room -= over + 1
    return _render(sheets, set())


def _lent(sheets: Sequence[_Sheet], full: Mapping[Section, int]) -> dict[Section, int]:
    """The budgets, with knowledge given what the other sections have no use for: the sum stays."""
    wants = {sheet.rule.section: sheet.heading + sum(bullet.tokens for bullet in sheet.bullets) for sheet in sheets}
    spare = sum(max(0, budget - wants.get(name, 0)) for name, budget in full.items() if name is not Section.KNOWLEDGE)
    return {name: budget + (spare if name is Section.KNOWLEDGE else 0) for name, budget in full.items()}


def _within(sheets: Sequence[_Sheet], full: Mapping[Section, int], room: int) -> set[str]:
    wants = [
        Want(
            sheet.rule.section,
            sheet.heading + sum(bullet.tokens for bullet in sheet.bullets),
            weight=sheet.rule.weight,
            cap=full[sheet.rule.section],
        )
        for sheet in sheets
    ]
    shares = share_out(wants, room)
    kept: set[str] = set()
    spent = dict.fromkeys(full, 0)
    for sheet in sheets:
        section = sheet.rule.section
        mine = _keep(sheet, shares[section])
        spent[section] = sum(one.tokens for one in sheet.bullets if one.item.id in mine) + (sheet.heading if mine else 0)
        kept |= mine
    left = room - sum(spent.values())
    for sheet in sorted(sheets, key=lambda one: -one.rule.drop):
        section = sheet.rule.section
        for bullet in sheet.first():
            cost = bullet.tokens + (0 if spent[section] else sheet.heading)
            if bullet.item.id not in kept and cost <= left and spent[section] + cost <= full[section]:
                kept.add(bullet.item.id)
                spent[section] += cost
                left -= cost
    return kept


def _keep(sheet: _Sheet, budget: int) -> set[str]:
    left = budget - sheet.heading
    kept = set()
    for bullet in sheet.first():
        if bullet.tokens <= left:
            kept.add(bullet.item.id)
            left -= bullet.tokens
    return kept


def _sheets(items: Iterable[Item], count: Count) -> list[_Sheet]:
    grouped: dict[Section, list[_Bullet]] = {}
    for item in items:
        if item.status is ItemStatus.OPEN and item.text.strip():
            line = f"- {one_line(item.text)}"
            grouped.setdefault(item.section, []).append(_Bullet(item, line, count(line + "\n")))
    return [
        _Sheet(rule, count(f"\n## {rule.title}\n"), tuple(grouped[rule.section])) for rule in SCHEMA if rule.section in grouped
    ]


def _render(sheets: Sequence[_Sheet], kept: set[str]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    parts: list[str] = []
    ids: list[str] = []
    dropped: list[str] = []
    for sheet in sheets:
        for stays, bullets in groupby(sheet.bullets, key=lambda bullet: bullet.item.id in kept):
            (ids if stays else dropped).extend(bullet.item.id for bullet in bullets)
        lines = [bullet.line for bullet in sheet.bullets if bullet.item.id in kept]
        if lines:
            parts.append("\n".join([f"## {sheet.rule.title}", *lines]))
    return "\n\n".join(parts), tuple(ids), tuple(dropped)


def one_line(text: str) -> str:
    """The text of an item as it stands behind its bullet: line breaks become spaces, the rest stays byte for byte."""
    return re.sub(r"\s*[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]\s*", " ", text.strip())


def topic(items: Sequence[Item]) -> str:
    """What the session is about, one line of at most 120 characters: the newest open item of intent, else of next, else
    of frontier; "" where there is none."""
    for section in (Section.INTENT, Section.NEXT, Section.FRONTIER):
        found = [item for item in items if item.section is section and item.status is ItemStatus.OPEN and item.text.strip()]
        if found:
            newest = max(enumerate(found), key=lambda pair: (pair[1].written_seq, pair[0]))[1]
            return fit_line(newest.text, _TOPIC_CHARACTERS)
    return ""
