"""Cuts to a budget by the injected count: whole lines, both ends, never inside a character."""

import unicodedata
from collections.abc import Callable, Sequence
from itertools import accumulate

from sojourn.window.types import Count

_JOINER = "\u200d"
WIDEST = 16
"""Characters that one token stands for at most in text worth keeping: longer texts need no count to be known too long."""
_LONG_LINE, _SMALLEST_START = 1_000, 40
_SAMPLE = 120_000
"""Characters that a rough count looks at."""


def exceeds(text: str, budget: int, count: Count) -> bool:
    """Whether the text is over ``budget`` tokens; a text that plainly is gets no count."""
    return len(text) > WIDEST * (budget + 1) or count(text) > budget


def rough(text: str, count: Count) -> int:
    """Tokens of the text; of a very long one from its first 120,000 characters, in proportion."""
    if len(text) <= _SAMPLE:
        return count(text)
    return count(text[:_SAMPLE]) * len(text) // _SAMPLE


def fitting_lines(lines: Sequence[str], budget: int, count: Count, *, newest: bool = False) -> int:
    """How many lines from the start (``newest``: from the end) stay within ``budget`` tokens, joined by line breaks.

    Found by interpolation: a few counts of about ``budget`` tokens each, whatever the length of the text. The answer
    always fits; it is the largest one, or within 2% of the budget of it.
    """
    if budget <= 0 or not lines:
        return 0
    ordered = list(reversed(lines)) if newest else list(lines)
    ends = list(accumulate(len(line) + 1 for line in ordered))
    low, high, rate = 0, len(ordered) + 1, 3.0
    filled = 0
    for attempt in range(40):
        if high - low <= 1 or (attempt >= 6 and filled * 50 >= budget * 49):
            break
        guess = _lines_within(ends, int(budget * rate), low, high) if attempt < 8 else (low + high) // 2
        used = count("\n".join(reversed(ordered[:guess])) if newest else "\n".join(ordered[:guess]))
        if used <= budget:
            low, filled = guess, used
        else:
            high = guess
        rate = ends[guess - 1] / max(1, used)
    return low


def _lines_within(ends: Sequence[int], characters: int, low: int, high: int) -> int:
    """The number of lines, strictly between low and high, whose characters come closest from below."""
    left, right = low + 1, high - 1
    while left < right:
        middle = (left + right + 1) // 2
        if ends[middle - 1] <= characters:
            left = middle
        else:
            right = middle - 1
    return left


def cut_ends(text: str, budget: int, count: Count, compose: Callable[[str, str, int], str]) -> str:
    """``compose(head, tail, tokens left out)`` with the longest ends (60% and 30% of the budget) that stays within it.

    Without room for the ends only the composition around nothing is left, then "".
    """
    whole = max(1, rough(text, count))
    scale = 1.0
    while scale > 0.02:
        characters = len(text) * budget * scale / whole
        first, last = ends_of(text, int(characters * 0.6), int(characters * 0.3))
        left = max(1, whole - count(first) - count(last))
        result = compose(first, last, left)
        if count(result) <= budget:
            return result
        scale *= 0.85
    result = compose("", "", whole)
    return result if count(result) <= budget else ""


def start_of(line: str, budget: int, count: Count) -> str:
    """The start of a line too long to be left out whole, with "…" last; "" for a line of up to 1,000 characters, or
    where under 40 tokens are left."""
    if len(line) <= _LONG_LINE or budget < _SMALLEST_START:
        return ""
    characters = len(line) * budget / max(1, rough(line, count))
    while characters >= 1:
        start = ends_of(line, int(characters), 0)[0] + "…"
        if count(start) <= budget:
            return start
        characters *= 0.85
    return ""


def ends_of(text: str, head: int, tail: int) -> tuple[str, str]:
    """At most ``head`` characters from the start and ``tail`` from the end, cut between characters as people see them."""
    start = min(head, len(text))
    while 0 < start < len(text) and _joined(text, start):
        start -= 1
    end = max(start, len(text) - tail)
    while start < end < len(text) and _joined(text, end):
        end += 1
    return text[:start], text[end:]


def _joined(text: str, index: int) -> bool:
    """Whether the code points before and at ``index`` belong to one character."""
    here, before = text[index], text[index - 1]
    return (
        unicodedata.combining(here) != 0
        or _JOINER in (here, before)
        or "\ufe00" <= here <= "\ufe0f"
        or "\U0001f3fb" <= here <= "\U0001f3ff"
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= here <= "\udfff")
        or (before == "\r" and here == "\n")
    )
