"""Identifiers in the record and how likely later work needs each (K-10).

Paths, symbols, dotted names, addresses, hashes, versions, numbers with units. Measured on real sessions: one of ten that the
assistant itself has written is written again later, one of three hundred that was only shown; the last own use decides
most (halved every 8,000 tokens), then how often.
"""

import math
import re
from collections import Counter
from typing import NamedTuple

from sojourn.checkpoint.extract.evidence import Evidence

TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}", re.A)
_MEASURED = re.compile(
    r"\b\d[\d,]*(?:\.\d+)?\s?(?:ms|s|sec|seconds?|min|minutes?|hours?|days?|KB|MB|GB|KiB|MiB|GiB|kB|bytes|px|%|tokens?|rows?"
    r"|lines?)(?!\w)",
    re.A,
)
_EXACT = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}|v?\d+\.\d+\.\d+[\w.-]*|\d{4}-\d\d-\d\d",
    re.A,
)
_DOTTED = re.compile(r"[A-Za-z_]\w+(?:\.[A-Za-z_]\w*)+", re.A)
_PLACE_END = re.compile(r"(?::\d+)*[:.,?-]*$")
_CHUNKS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_/.~@:+-%#=&?")}
"""Everything that parts one identifier from the next: a text falls into chunks at C speed."""
_FADE = 48_000.0
"""Characters (12,000 tokens) in which the worth of a use falls to 1/e."""
_SHOWN_FADE = 24_000.0
"""The same for what was only shown."""


class Weighed(NamedTuple):
    name: str
    value: float
    """About the probability that later work needs it."""


class Source(NamedTuple):
    """A text with the identifiers that stand in it."""

    seq: int
    text: str
    own: bool
    """The assistant wrote it: an answer, a thought, the arguments of a call."""
    user: bool
    names: frozenset[str]


class Lexicon:
    """Knows the identifiers of every unbroken run of characters that it has met: each is looked at once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}
        self._nameless: set[str] = set()

    def names_in(self, text: str, *, measured: bool = True) -> set[str]:
        """The identifiers in a text; ``measured``: numbers with units too."""
        flat = text if text.isascii() else text.encode("ascii", "replace").decode()
        known = self._known
        names: set[str] = set()
        for chunk in set(flat.translate(_CHUNKS).split()) - self._nameless:
            found = known.get(chunk)
            if found is None:
                found = _names(chunk)
                if not found:
                    self._nameless.add(chunk)
                    continue
                known[chunk] = found
            names.update(found)
        if measured:
            names.update(_MEASURED.findall(text))
        return names

    def sources(self, evidence: Evidence) -> list[Source]:
        """Every text of the record, oldest first."""
        found = [self._source(s.seq, s.text, user=True) for s in evidence.user]
        found += [self._source(s.seq, s.text, own=True) for s in (*evidence.assistant, *evidence.thoughts)]
        for act in evidence.acts:
            found.append(self._source(act.seq, act.arguments, own=True))
            found.append(self._source(act.seq, act.output))
        found.sort(key=lambda source: source.seq)
        return found

    def _source(self, seq: int, text: str, *, own: bool = False, user: bool = False) -> Source:
        return Source(seq, text, own, user, frozenset(self.names_in(text, measured=own or user)))


def weigh(texts: list[Source]) -> list[Weighed]:
    """All identifiers in falling order of how likely later work needs them."""
    used: Counter[str] = Counter()
    last_own: dict[str, int] = {}
    last: dict[str, int] = {}
    asked: set[str] = set()
    place = 0
    for source in texts:
        place += len(source.text)
        last.update(dict.fromkeys(source.names, place))
        if source.own:
            used.update(source.names)
            last_own.update(dict.fromkeys(source.names, place))
        elif source.user:
            asked |= source.names
    result = []
    for name, seen in last.items():
        if name in last_own:
            value = (0.03 + 0.35 * math.exp((last_own[name] - place) / _FADE)) * (0.6 + 0.35 * math.log1p(used[name]))
        else:
            value = (0.03 if name in asked else 0.001) + 0.016 * math.exp((seen - place) / _SHOWN_FADE)
        result.append(Weighed(name, value * _kind(name, name in last_own)))
    result.sort(key=lambda one: (-one.value, one.name))
    return result


def _names(chunk: str) -> tuple[str, ...]:
    """The identifiers in an unbroken run of characters: symbols, the dotted name, the place or the exact value."""
    if len(chunk) < 4 or (chunk.isalpha() and chunk[1:].islower()):
        return ()
    found = [word for word in TOKEN.findall(chunk) if len(word) <= 80 and ("_" in word or word[1:].lower() != word[1:])]
    core = _PLACE_END.sub("", chunk if "://" in chunk else chunk.strip(".:,-=+#&@~?"))
    if "/" in core:
        place = core if "://" in core else core.split("=", 1)[-1]
        if 5 <= len(place) <= 200 and not place.startswith("//") and any(c.isalpha() for c in place):
            found.append(place)
    elif _EXACT.fullmatch(core):
        found.append(core)
    elif "." in core:
        found += [dotted for dotted in _DOTTED.findall(core) if len(dotted) <= 80]
    return tuple(found)


def _kind(name: str, own: bool) -> float:
    """Numbers and places that were only shown are hardly ever needed; a hash of one's own more often than a name."""
    if name[0].isdigit() and not _EXACT.fullmatch(name):
        return 0.4 if own else 0.05
    if "/" in name:
        return 1.0 if own else 0.5
    return 1.2 if own and _EXACT.fullmatch(name) else 1.0
