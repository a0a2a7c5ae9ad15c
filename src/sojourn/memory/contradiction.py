"""Whether two lines say the same, or different things of the same subject (K-12). Pure, no model.

Careful on purpose: a line that is replaced by mistake is out of sight, while two lines that contradict each other both
carry their date.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

import msgspec

_CJK = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_LETTER = rf"[^\W{_CJK}]"
_TOKEN = re.compile(rf"[{_CJK}]+|{_LETTER}(?:(?:{_LETTER}|[./:@+'’-])*{_LETTER})?|[=:：＝]")
_INNER = re.compile(
    "(必须是|应该是|改为|改成|改用|应为|设为|必须|应该|使用|不要|不能|不得|不再|禁止|现在|以后|[是为用不勿别的了在])"
)
"""The words by which a run of Chinese is taken apart."""

_IS, _USES, _TO = "=", "~", "@"
"""What a relation word becomes: says what something is; what it uses, beside what else it may use; where a value stands."""
_RELATIONS = {
    **dict.fromkeys(("is", "are", "was", "were", "be", "=", ":", "：", "＝", "equal", "mean"), _IS),
    **dict.fromkeys(("是", "为", "必须是", "应该是", "改为", "改成", "应为", "设为"), _IS),
    **dict.fromkeys(("use", "using", "run", "用", "改用", "使用"), _USES),
    **dict.fromkeys(("at", "to", "after", "until"), _TO),
}
_NOT = frozenset((
    "not", "never", "no", "don't", "don’t", "doesn't", "doesn’t", "mustn't", "mustn’t", "can't", "can’t", "cannot", "without",
    "不", "不要", "不能", "不得", "不再", "禁止", "勿", "别",
))  # fmt: skip
_STOP = frozenset((
    "a", "an", "the", "of", "in", "on", "for", "and", "or", "with", "by", "from", "as", "it", "its", "this", "that", "these",
    "those", "we", "our", "you", "your", "now", "currently", "always", "must", "should", "shall", "will", "can", "do", "does",
    "have", "has", "only", "please", "there", "then", "必须", "应该", "现在", "以后", "的", "了", "在",
))  # fmt: skip
_MOST_CHANGED = 4
"""Words that may differ where neither line has a value."""


class Line(msgspec.Struct, frozen=True):
    """A line as far as it matters here."""

    tokens: tuple[str, ...]
    """Words without stop words; Chinese as pairs; relation words as their sign."""
    negated: bool
    terms: frozenset[str]
    """What it is about: neither values nor relations."""
    values: frozenset[str]
    """Words with a digit or a slash."""


@lru_cache(maxsize=4_096)
def line_of(text: str) -> Line:
    """The line as it is compared."""
    tokens: list[str] = []
    negated = False
    for word in _words(text):
        if word in _NOT:
            negated = True
        elif word not in _STOP:
            tokens += [_RELATIONS[word]] if word in _RELATIONS else _pieces(word)
    values = frozenset(filter(_is_value, tokens))
    return Line(tuple(tokens), negated, frozenset(tokens) - values - {_IS, _USES, _TO}, values)


def same(one: Line, other: Line) -> bool:
    """Whether they say the same in the same words."""
    return one == other


def contradicted(new: Line, olds: Sequence[Line]) -> int | None:
    """Which of the old lines the new one contradicts: the same subject (it shares the subject's rare terms; rare among all
    these lines) with another value, or the opposite. The most alike; None = none of them."""
    counts = Counter(term for line in (*olds, new) for term in line.terms)
    best: tuple[float, int] | None = None
    for number, old in enumerate(olds):
        likeness = _likeness(old, new, counts)
        if likeness and (best is None or likeness > best[0]):
            best = likeness, number
    return best[1] if best else None


def _likeness(old: Line, new: Line, counts: Counter[str]) -> float:
    """0 = no contradiction; else the share of the two subjects that is common."""
    shared = old.terms & new.terms
    if not shared:
        return 0.0
    weight = _weight(shared, counts)
    of_old, of_new = weight / _weight(old.terms, counts), weight / _weight(new.terms, counts)
    if old.negated != new.negated:
        return of_old * of_new if old.terms == new.terms and old.values == new.values else 0.0
    if old.values != new.values and old.values - new.values and new.values - old.values:
        alike = of_old >= 0.75 and of_new >= 0.5
        named = _is_set(old, old.values - new.values) and _is_set(new, new.values - old.values)
        return of_old * of_new if alike and named else 0.0
    return of_old * of_new if old.values == new.values and _other_end(old.tokens, new.tokens) else 0.0


def _is_set(line: Line, values: Iterable[str]) -> bool:
    """Whether the line sets the values, not names its subject by them ("port 8080 is taken"): a relation stands before each,
    or it is the last word."""
    for value in values:
        at = line.tokens.index(value)
        if at != len(line.tokens) - 1 and not any(token in (_IS, _USES, _TO) for token in line.tokens[:at]):
            return False
    return True


def _other_end(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether both say what the same thing is, and only that differs: two terms and an ``is`` in front, then few words."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    front = old[:start]
    if _IS not in front or len({token for token in front if token not in (_IS, _USES, _TO)}) < 2:
        return False
    return 0 < len(old) - start <= _MOST_CHANGED and 0 < len(new) - start <= _MOST_CHANGED


def _weight(terms: Iterable[str], counts: Counter[str]) -> float:
    return sum(1 / counts[term] for term in terms)


def _is_value(token: str) -> bool:
    return "/" in token or any(map(str.isdigit, token))


def _words(text: str) -> Iterable[str]:
    for token in _TOKEN.findall(text.casefold()):
        if token[0] > "\u3000":
            yield from filter(None, _INNER.split(token))
        else:
            plural = len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "'s", "’s", "us", "is"))
            yield token[:-1] if plural and token not in _STOP else token


def _pieces(word: str) -> list[str]:
    """A run of Chinese, Japanese or Korean as its pairs of characters; any other word as it is."""
    if word[0] <= "\u3000" or len(word) == 1:
        return [word]
    return [one + two for one, two in pairwise(word)]
