"""Cuts to a budget: whole lines from the start, both ends, one line.

Budgets are uncalibrated tokens by ``estimate_text`` (M-1); what comes back never costs more.
"""

import unicodedata
from collections.abc import Callable

from sojourn.meter.estimate import estimate_text, total

_MOST_CHARACTERS_A_TOKEN = 50
"""No text is estimated at fewer tokens than its characters over this."""
_CLOSE = 200
"""A search stops once it uses all of the budget but one part in this many."""
_NEAR = 4
"""A line end is near if taking it gives up at most one part in this many of what would be kept."""

_ELLIPSIS = "…"
_JOINER = "\u200d"
_MARKS = ("Mn", "Me", "Mc")
_VIRAMA = 9


def fit_head(text: str, budget: int) -> str:
    """Whole lines from the start, at most ``budget`` tokens; as many as fit, to half a percent of the budget.

    A text that fits comes back as it is; one that is cut ends without a line break; "" where not even the first line
    fits.
    """
    if len(text) <= budget * _MOST_CHARACTERS_A_TOKEN and _cost(text) <= budget:
        return text
    end = text.rfind("\n", 0, _reach(text, budget) + 1)
    while end > 0 and _cost(text[:end]) > budget:
        end = text.rfind("\n", 0, end)
    return text[: max(0, end)]


def fit_ends(text: str, budget: int, *, head: float = 0.6, tail: float = 0.3, omission: Callable[[int], str]) -> str:
    """The start and the end of a text with a line between that says what was left out; at most ``budget`` tokens.

    ``head`` and ``tail`` are shares of the budget, what they leave is for ``omission(tokens left out)``. Cuts fall at line
    ends where there is one near, else between characters, never inside a composed one. A text that fits comes back as
    it is; where there is room for nothing else, only the omission is given, and "" where not even that fits.
    """
    whole = _cost(text)
    if whole <= budget:
        return text
    room = budget - _cost(f"\n{omission(whole)}\n")
    while room > 0:
        start = _head_end(text, _reach(text, min(int(budget * head), int(room * head / (head + tail)))))
        end = _tail_start(text, _reach(text, min(int(budget * tail), int(room * tail / (head + tail))), from_end=True))
        end = max(start, end)
        left_out = whole - _cost(text[:start]) - _cost(text[end:])
        kept = _joined(text[:start], omission(max(0, left_out)), text[end:])
        excess = _cost(kept) - budget
        if excess <= 0:
            return kept
        room -= excess + 1
    alone = omission(whole)
    return alone if _cost(alone) <= budget else ""


def fit_line(text: str, characters: int) -> str:
    """The text on one line, white space collapsed, at most ``characters`` characters; "…" is the last where it is cut."""
    if characters <= 0:
        return ""
    words = text.split(None, characters)  # each word takes a character at least: no more of them can be needed
    line = " ".join(words)
    if len(line) <= characters and len(words) <= characters:
        return line
    return line[: _before(line, characters - 1)].rstrip() + _ELLIPSIS


def _cost(text: str) -> int:
    return total(estimate_text(text))


def _joined(*pieces: str) -> str:
    return "\n".join(piece for piece in pieces if piece)


def _reach(text: str, budget: int, *, from_end: bool = False) -> int:
    """How many characters of the start (or the end) cost at most ``budget`` tokens.

    Aims at where the budget should end by what was measured so far, and halves the interval at every third try: a few
    estimates of about the size of the result, whatever the size of the text.
    """
    low = low_cost = tries = 0
    high, high_cost = min(len(text), budget * _MOST_CHARACTERS_A_TOKEN) + 1, 0
    aim = budget * 3
    while high - low > 1 and budget - low_cost > budget // _CLOSE:
        middle = min(high - 1, max(low + 1, aim))
        cost = _cost(text[len(text) - middle :] if from_end else text[:middle])
        if cost <= budget:
            low, low_cost = middle, cost
        else:
            high, high_cost = middle, cost
        tries += 1
        if not high_cost:
            aim = low * 2
        elif tries % 3 == 0:
            aim = (low + high) // 2
        else:
            aim = low + (high - low) * (budget - low_cost) // (high_cost - low_cost)
    return low


def _head_end(text: str, end: int) -> int:
    """Where a head of up to ``end`` characters is cut."""
    if end in (0, len(text)):
        return end
    line_end = text.rfind("\n", end - end // _NEAR, end + 1)
    return line_end if line_end >= 0 else _before(text, end)


def _tail_start(text: str, kept: int) -> int:
    """Where a tail of up to ``kept`` characters begins."""
    start = len(text) - kept
    if start in (0, len(text)):
        return start
    line_end = text.find("\n", start - 1, start + kept // _NEAR)
    if line_end >= 0:
        return line_end + 1
    while start < len(text) and _inside(text, start):
        start += 1
    return start


def _before(text: str, end: int) -> int:
    """The nearest place at or before ``end`` where a cut parts no composed character."""
    while 0 < end < len(text) and _inside(text, end):
        end -= 1
    return end


def _inside(text: str, at: int) -> bool:
    """Whether a cut before ``text[at]`` would part what is seen as one character."""
    before, after = text[at - 1], text[at]
    return (
        unicodedata.category(after) in _MARKS  # accents, vowel signs, variation selectors
        or _JOINER in (before, after)
        or unicodedata.combining(before) == _VIRAMA  # joins two Indic consonants
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
        or (before == "\r" and after == "\n")
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")  # flags
        or "\u1160" <= after <= "\u11ff"  # the later letters of a Korean syllable
        or "\U000e0020" <= after <= "\U000e007f"  # tags
    )
