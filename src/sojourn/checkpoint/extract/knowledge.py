"""Lines worth keeping in view: those that show the most of what later work needs, for their length (K-10).

Each identifier stays in a line where it stood, so that it keeps its context words.
"""

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from sojourn.base import Item, Section
from sojourn.checkpoint.extract.evidence import Evidence
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.identifiers import TOKEN, Lexicon, Source, Weighed, weigh
from sojourn.checkpoint.extract.lean import looks
from sojourn.checkpoint.extract.words import clip, plain

_SPREAD = 500
"""Identifiers whose lines are looked at."""
_LINES = 3
"""Lines looked at for each."""
_LONGEST = 180
"""Characters of a line: a longer one is cut around the identifier."""
_SCALE = 400.0
"""Brings value for length to the scale of the other items' weights."""
_FRAME = 16
"""What a line costs beside its characters."""
_SHOWN = 0.15
"""What is left of an identifier's value where another section shows it."""
_USERS = 0.3
"""A line of the user counts less: the opening quotes it anyway."""
_FADE = 24_000.0
"""Tokens in which the worth of a present line falls to 1/e."""
_SCRAPS = frozenset(("http", "https", "self", "this", "return", "function", "const", "import", "export", "class", "package"))


class Knowledge(NamedTuple):
    found: list[Found]
    """New lines, the best first."""
    values: dict[str, float]
    """What each present line is worth now, by its text."""


class _Line(NamedTuple):
    text: str
    seq: int
    names: tuple[str, ...]
    share: float
    """1 = counts in full."""
    present: bool


def knowledge(
    evidence: Evidence, present: Iterable[Item], shown: Iterable[str], limit: int, *, telling: bool = False
) -> Knowledge:
    """New lines in falling order of what they add for their length, about ``limit`` characters of them in all.

    ``present``: lines of this section that are there already; they take part, and what they show need not be shown again.
    ``shown``: texts of the other sections. ``telling``: no lines of calls that only looked, and none that announced a call.
    """
    lexicon = Lexicon()
    texts = lexicon.sources(evidence)
    weighed = weigh(texts)[:_SPREAD]
    value = {one.name: one.value for one in weighed}
    old = [_old(item, lexicon) for item in present]
    rate = sum(len(source.text) for source in texts) / 4 / max(1, texts[-1].seq - texts[0].seq + 1) if texts else 0.0
    newest = texts[-1].seq if texts else 0
    for item, line in zip(present, old, strict=True):
        fade = 0.1 + 0.9 * math.exp((line.seq - newest) * rate / _FADE)
        each = item.weight * _length(line) / _SCALE / max(1, len(line.names)) * fade
        value.update((name, max(each, value.get(name, 0.0))) for name in line.names)
    for text in shown:
        for name in lexicon.names_in(text):
            if name in value:
                value[name] *= _SHOWN
    lines = _candidates(weighed, texts, value, lexicon, _announced(evidence) if telling else {})
    return _cover([*old, *lines], value, limit)


def _cover(lines: list[_Line], value: dict[str, float], limit: int) -> Knowledge:
    """Lines chosen one by one: the next is the one that adds most identifiers' value for its length."""
    found: list[Found] = []
    values: dict[str, float] = {line.text: 0.0 for line in lines if line.present}
    used = 0
    heap = [(-_gain(line, value), index) for index, line in enumerate(lines)]
    heapq.heapify(heap)
    while heap and used < limit:
        index = heap[0][1]
        line = lines[index]
        gain = _gain(line, value)
        if gain <= 0:
            heapq.heappop(heap)
            continue
        if -heap[0][0] > gain:
            heapq.heapreplace(heap, (-gain, index))
            continue
        heapq.heappop(heap)
        if line.present:
            values[line.text] = gain
        else:
            found.append(Found(Section.KNOWLEDGE, line.text, (line.seq,), gain))
        used += _length(line)
        value.update(dict.fromkeys(line.names, 0.0))
    return Knowledge(found, values)


def _gain(line: _Line, value: dict[str, float]) -> float:
    return sum(value[name] for name in line.names) * line.share * _SCALE / _length(line)


def _length(line: _Line) -> int:
    return len(line.text) + _FRAME


def _old(item: Item, lexicon: Lexicon) -> _Line:
    return _Line(item.text, max(item.sources, default=item.written_seq), tuple(sorted(lexicon.names_in(item.text))), 1.0, True)


def _announced(evidence: Evidence) -> dict[int, str]:
    """The calls of each message that only looked at something."""
    calls: dict[int, str] = {}
    for act in evidence.acts:
        if looks(act):
            calls[act.seq] = f"{calls.get(act.seq, '')}\n{act.arguments}"
    return calls


def _candidates(
    weighed: list[Weighed],
    texts: list[Source],
    value: dict[str, float],
    lexicon: Lexicon,
    announced: Mapping[int, str],
) -> Iterator[_Line]:
    """For each identifier the newest lines that it stands in with two other words or more."""
    where: dict[str, list[Source]] = {one.name: [] for one in weighed}
    for source in reversed(texts):
        for name in source.names & where.keys():
            if len(where[name]) < _LINES:
                where[name].append(source)
    seen: set[str] = set()
    for one in weighed:
        for source in where[one.name]:
            text = _line(source.text, one.name)
            if text and text not in seen:
                seen.add(text)
                names = (lexicon.names_in(text) & value.keys()) | {one.name}
                call = announced.get(source.seq, "") if source.own else ""
                if call and all(name in call for name in names):
                    continue
                yield _Line(text, source.seq, tuple(sorted(names)), _USERS if source.user else 1.0, False)


def _line(text: str, name: str) -> str:
    """The last line of a text in which a name stands; "" where it stands almost alone."""
    at = text.rfind(name)
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    raw = text[start : end if end >= 0 else None]
    line = plain(raw if len(raw) < 4_000 else raw[max(0, at - start - 300) : at - start + 300])
    line = clip(line, max(_LONGEST, len(name) + 60), max(0, line.find(name)))
    words = set(TOKEN.findall(line.replace(name, " "))) - _SCRAPS
    return line if len(words) >= 2 and name in line else ""
