"""Which messages an item rests on, found by its rarest terms (K-2, report 96)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from sojourn.base import Section
from sojourn.checkpoint.extract.evidence import Evidence
from sojourn.checkpoint.extract.words import sentences, terms

_RAREST = 3
"""Terms of an item that are looked for."""
_SAID = 0.6
"""Share of a text's words that a sentence has which says it."""
_MOST = 3
"""Messages that an item rests on."""
_THEIR_OWN = frozenset({Section.INTENT, Section.DIRECTIVES})


class _Said(NamedTuple):
    seq: int
    user: bool
    terms: frozenset[str]


def said_as(text: str, speech: str) -> str:
    """The sentence of the speech that says it, as it was said there: the one that holds most of its words, three in five at
    least, or two that follow one another; "" = none. What a text adds, leaves out or turns round, a sentence does not."""
    words, said = terms(text), sentences(speech)
    for together in (said, [f"{one} {other}" for one, other in pairwise(said)]):
        best = max(together, key=lambda sentence: len(words & terms(sentence)), default="")
        if best and words and len(words & terms(best)) >= _SAID * len(words):
            return best
    return ""


def find_sources(items: Sequence[tuple[Section, str]], evidence: Evidence) -> list[tuple[int, ...]]:
    """For each item the newest messages, at most three, that hold most of its three rarest terms; () where none holds any.

    Intent and directives rest on what the user said, where the user said it.
    """
    wanted = [terms(text) for _, text in items]
    every: set[str] = set().union(*wanted)
    said = [_Said(seq, user, frozenset(terms(text) & every)) for seq, user, text in _texts(evidence)]
    times = Counter(term for one in said for term in one.terms)
    found = []
    for (section, _), words in zip(items, wanted, strict=True):
        rare = sorted((word for word in words if times[word]), key=lambda word: (times[word], word))[:_RAREST]
        mine = [one for one in said if one.user] if section in _THEIR_OWN else []
        found.append(_newest(rare, mine) or _newest(rare, said))
    return found


def _texts(evidence: Evidence) -> Iterable[tuple[int, bool, str]]:
    yield from ((speech.seq, True, speech.text) for speech in evidence.user)
    yield from ((speech.seq, False, speech.text) for speech in (*evidence.assistant, *evidence.thoughts))
    yield from ((act.seq, False, f"{act.arguments}\n{act.output}") for act in evidence.acts)


def _newest(rare: Sequence[str], said: Iterable[_Said]) -> tuple[int, ...]:
    held: dict[int, set[str]] = {}
    for one in said:
        if words := one.terms.intersection(rare):
            held.setdefault(one.seq, set()).update(words)
    most = max(map(len, held.values()), default=0)
    best = [seq for seq, words in held.items() if len(words) == most]
    return tuple(sorted(best)[-_MOST:])
