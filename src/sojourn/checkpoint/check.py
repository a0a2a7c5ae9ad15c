"""Beside the model: what extraction is sure of and the model left out is added (K-10)."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from sojourn.base import Item, ItemStatus, Section, open_items
from sojourn.checkpoint.extract.words import terms
from sojourn.checkpoint.language import script_of
from sojourn.checkpoint.quoting import normal
from sojourn.checkpoint.room import cost, taken
from sojourn.checkpoint.writer import WriterInput
from sojourn.window import budgets

_NAME = re.compile(r"[A-Za-z0-9_./\\:@#=+%-]*[A-Za-z0-9_%]", re.A)
_TELLING = re.compile(r"(?!m\d+$)(?:.*?(?:\d|_|\w[./:@\\-]\w|[a-z][A-Z]))", re.A)
"""What makes a word an identifier, a number or a value; the number of a message is none."""
_NUMBER = re.compile(r"\bm\d+\b")
_REQUEST = re.compile(r"m\d+(?=:)")
_WORDS = 0.6
"""Share of an item's words that says the same where it has no identifiers."""
_BESIDE_NAMES = 0.33
"""The same beside identifiers that are all there: a rule about a file is not held by a line that names the file."""
_STEM = 6
"""Letters of a word that count: one form of it is as good as another."""
_ORDER = {section: index for index, section in enumerate(Section)}


class _Sense(msgspec.Struct, frozen=True):
    """What an item says, for comparison."""

    names: frozenset[str]
    words: frozenset[str]
    script: str | None


def add_what_is_sure(items: Sequence[Item], sure: Sequence[Item], run: WriterInput) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The list with what no open item says, behind the others of its section, and the ids of what was added.

    The heaviest come first. Budgets hold: where a section is full nothing is added; only for a directive of the user an
    item of lower weight that the model wrote leaves. What was closed in this run is not brought back.
    """
    room = budgets(run.trigger, economic=run.economic)
    opened: dict[Section, list[Item]] = {section: [] for section in Section}
    for item in open_items(items):
        opened[item.section].append(item)
    left = [item for item in items if item.status is not ItemStatus.OPEN]
    closed = {normal(item.text) for item in left}
    said = [_sense(item) for item in open_items(items)]
    requests = {number for item in items if item.section is Section.INTENT for number in _NUMBER.findall(item.text)}
    checked: set[str] = set()
    for item in sorted(sure, key=lambda one: -one.weight):
        if normal(item.text) in closed or _is_said(item, said, requests):
            continue
        gone = _room_for(item, opened[item.section], room[item.section])
        if gone is None:
            continue
        for one in gone:
            opened[item.section].remove(one)
            left.append(msgspec.structs.replace(one, status=ItemStatus.SUPERSEDED))
        opened[item.section].append(item)
        said.append(_sense(item))
        if item.section is Section.INTENT:
            requests.update(_NUMBER.findall(item.text))
        checked.add(item.id)
    added = list(
        {item.id: item for item in sure if item.id in checked}.values()
    )  # as extraction has them: a correction beside its rule
    stays = [item for section in Section for item in opened[section] if item.id not in checked]
    ordered = sorted((*stays, *added), key=lambda item: _ORDER[item.section])
    return (*ordered, *left), tuple(item.id for item in added)


def _is_said(item: Item, said: Iterable[_Sense], requests: set[str]) -> bool:
    if item.section is Section.INTENT and (found := _REQUEST.match(item.text)):
        return found[0] in requests
    mine = _sense(item)
    if not mine.names and not mine.words:
        return True
    return any(_holds(other, mine) for other in said)


def _holds(other: _Sense, mine: _Sense) -> bool:
    if not mine.names <= other.names:
        return False
    if mine.names and None not in (mine.script, other.script) and mine.script != other.script:
        return True  # told in another language: only the names can be compared
    return len(mine.words & other.words) >= (_BESIDE_NAMES if mine.names else _WORDS) * len(mine.words)


def _sense(item: Item) -> _Sense:
    names: set[str] = set()
    plain = item.text
    for found in _NAME.finditer(item.text):
        if _TELLING.match(found[0]):
            names.add(re.split(r"[/\\]", found[0].strip("./\\:@#=+-"))[-1].casefold())
            plain = plain.replace(found[0], " ", 1)
    words = frozenset(word[:_STEM] for word in terms(plain))
    return _Sense(frozenset(names), words, script_of([item.text]))


def _room_for(item: Item, mine: Sequence[Item], room: int) -> list[Item] | None:
    """What has to leave so that the item fits: mostly nothing; None = there is no room."""
    over = taken([*mine, item]) - room
    if over <= 0:
        return []
    if item.section is not Section.DIRECTIVES:
        return None
    gone: list[Item] = []
    lighter = (one for one in mine if one.by == "model" and one.weight < item.weight)
    for one in sorted(lighter, key=lambda one: (one.weight, one.written_seq)):
        gone.append(one)
        over -= cost(one.text)
        if over <= 0:
            return gone
    return None
