"""From what was found to the new list of items: merge with the present ones, supersede, keep within the budgets (K-2)."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from sojourn.base import Item, ItemStatus, Section
from sojourn.checkpoint.extract.found import Found, as_item, subject
from sojourn.checkpoint.redact import redact
from sojourn.meter import estimate_text, total

_HALF = 120.0
"""Messages after which what was not used again counts half."""
_FLOOR = 0.35
_HEADING = 6
"""Tokens of a section's heading, which its budget includes."""
_AGELESS = frozenset({Section.DIRECTIVES, Section.INTENT, Section.NEXT})
_BY_TIME = frozenset({Section.INTENT, Section.DECISIONS, Section.ERRORS, Section.DIRECTIVES})

Learn = Callable[[Sequence[Item], Sequence[str]], tuple[Sequence[Found], Mapping[str, float]]]
"""From the present knowledge and the texts of the other sections: new lines, and what the present ones are worth now."""


class _Chosen(msgspec.Struct, frozen=True):
    open: list[Item]
    left: list[Item]


def choose(
    present: Sequence[Item],
    found: Sequence[Found],
    learn: Learn,
    *,
    closed: Mapping[str, ItemStatus],
    room: Mapping[Section, int],
    mark: int,
    least: Mapping[Section, float] | None = None,
) -> tuple[Item, ...]:
    """The whole new list: open items in schema order, then those that left.

    ``closed``: present items that are done, or superseded for certain, by id. ``room``: tokens by section, as the opening
    shows them: what would be kept above them would never be seen. Knowledge is chosen last, beside what the others show.
    ``least``: what an item of the extraction must be worth to be kept. What a person wrote stays in any case (R-6).
    """
    least = least or {}
    present = [_clean(item) for item in present]
    chosen: dict[Section, _Chosen] = {}
    for section in Section:
        if section is not Section.KNOWLEDGE:
            chosen[section] = _section(section, present, found, closed, room[section], mark, {}, least.get(section, 0.0))
    others = [item.text for one in chosen.values() for item in one.open]
    known = [item for item in present if item.section is Section.KNOWLEDGE and item.status is ItemStatus.OPEN]
    lines, values = learn(known, others)
    everything = [*found, *lines]
    section, floor = Section.KNOWLEDGE, least.get(Section.KNOWLEDGE, 0.0)
    chosen[section] = _section(section, present, everything, closed, room[section], mark, values, floor)
    ordered = [chosen[section] for section in Section]
    return (*(item for one in ordered for item in one.open), *(item for one in ordered for item in one.left))


def cost(text: str) -> int:
    """Tokens of one item as a bullet of its section."""
    return total(estimate_text(f"- {text}\n"))


def _section(
    section: Section,
    present: Sequence[Item],
    found: Iterable[Found],
    closed: Mapping[str, ItemStatus],
    room: int,
    mark: int,
    worth: Mapping[str, float],
    least: float,
) -> _Chosen:
    mine = [one for one in found if one.section is section]
    groups = {one.text: one.group for one in mine if one.group}
    # A line found twice (a tagged comment that also shows identifiers) counts as what it is worth most.
    new = {(item := as_item(one, mark)).id: item for one in sorted(mine, key=lambda one: one.weight)}
    subjects = {subject(section, item.text) for item in new.values()}
    staying: list[Item] = []
    left: list[Item] = []
    again: dict[str, Item] = {}
    for item in present:
        if item.section is not section:
            continue
        if item.status is not ItemStatus.OPEN:
            left.append(item)
        elif item.by == "user":
            new.pop(item.id, None)
            staying.append(item)
        elif item.id in new:
            again[item.id] = new.pop(item.id)
            staying.append(item)
        elif item.id in closed:
            left.append(msgspec.structs.replace(item, status=closed[item.id]))
        elif subject(section, item.text) in subjects:
            left.append(_superseded(item))
        else:
            staying.append(item)
    values = {item.id: _value(again.get(item.id, item), mark) for item in (*staying, *new.values())}
    values.update((item.id, max(values[item.id] * _FLOOR, worth[item.text])) for item in staying if item.text in worth)
    worthy = [item for item in (*staying, *new.values()) if item.by != "extractive" or values[item.id] >= least]
    kept = _fit(worthy, values, room - _HEADING, groups)
    ids = {item.id for item in kept}
    left.extend(_superseded(item) for item in staying if item.id not in ids)
    return _Chosen(_order(section, kept, values, groups), left)


def _fit(items: list[Item], values: dict[str, float], room: int, groups: Mapping[str, str]) -> list[Item]:
    """What a person wrote, then the most valuable items that fit; what belongs together is as valuable as its best member."""
    worth: dict[str, float] = {}
    for item in items:
        key = groups.get(item.text, item.text)
        worth[key] = max(worth.get(key, 0.0), values[item.id])

    def rank(item: Item) -> tuple[bool, float, float, str]:
        return item.by != "user", -worth[groups.get(item.text, item.text)], -values[item.id], item.id

    chosen: list[Item] = []
    for item in sorted(items, key=rank):
        price = cost(item.text)
        if price <= room or item.by == "user":
            chosen.append(item)
            room -= price
    return chosen


def _order(section: Section, items: list[Item], values: dict[str, float], groups: Mapping[str, str]) -> list[Item]:
    if section not in _BY_TIME:
        return sorted(items, key=lambda item: (-values[item.id], item.id))
    by_time = sorted(items, key=lambda item: (item.sources[:1], item.id))
    first: dict[str, int] = {}
    for place, item in enumerate(by_time):
        first.setdefault(groups.get(item.text, item.text), place)
    return sorted(by_time, key=lambda item: first[groups.get(item.text, item.text)])


def _value(item: Item, mark: int) -> float:
    if item.section in _AGELESS:
        return float(item.weight)
    age = max(0, mark - max(item.sources, default=item.written_seq))
    return float(item.weight * (_FLOOR + (1 - _FLOOR) * 0.5 ** (age / _HALF)))


def _clean(item: Item) -> Item:
    text = redact(item.text)
    return item if text == item.text else msgspec.structs.replace(item, text=text)


def _superseded(item: Item) -> Item:
    return msgspec.structs.replace(item, status=ItemStatus.SUPERSEDED)
