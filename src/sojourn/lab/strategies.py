"""What others do with a full window, at the same budget over the same messages (T-6, T-8). Pure.

Each strategy is one function: which messages stand in view after a cut, and in which form.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from sojourn.lab.continuity import plain_text
from sojourn.meter import CacheRule, Cost, estimate_text, fit_ends, message_tokens, total, units
from sojourn.record import Message, Text, ToolCall

Strategy = Literal["drop_oldest", "keep_last", "clear_results"]

_MOST_MESSAGES = 50
"""``keep_last`` keeps no more than this many messages."""
_RESULTS_KEPT = 3
"""``clear_results`` keeps this many of the newest results."""
CLEARED = "[Old result cleared]"


class View(msgspec.Struct, frozen=True):
    """What stands in view after a cut."""

    text: str
    """As lines of plain text (``continuity.plain_text``)."""
    tokens: int
    """By the uncalibrated meter, at most the budget."""


class _Kept(NamedTuple):
    message: Message
    form: str
    """``whole``, ``cleared``, ``cut``: another form is another text to the provider's cache."""
    tokens: int


_Weigh = Callable[[Message], int]
_Choose = Callable[[Sequence[Message], int, _Weigh], list[_Kept]]


def drop_oldest(messages: Sequence[Message], boundary_seq: int, budget: int) -> View:
    """The newest messages up to ``boundary_seq`` that fit ``budget`` tokens; calls stay with their results."""
    return _view(_newest, messages, boundary_seq, budget)


def keep_last(messages: Sequence[Message], boundary_seq: int, budget: int) -> View:
    """The last N messages that fit ``budget`` tokens, N at most 50."""
    return _view(_last, messages, boundary_seq, budget)


def clear_results(messages: Sequence[Message], boundary_seq: int, budget: int) -> View:
    """Texts and calls newest first within ``budget`` tokens, results cleared except the newest 3."""
    return _view(_cleared, messages, boundary_seq, budget)


VIEWS: dict[str, Callable[[Sequence[Message], int, int], View]] = {
    "drop_oldest": drop_oldest,
    "keep_last": keep_last,
    "clear_results": clear_results,
}


def strategy_cost(
    messages: Sequence[Message],
    strategy: Strategy,
    trigger: int,
    opening_budget_ratio: float,
    fixed: int,
    rule: CacheRule = "marked",
) -> Cost:
    """Input of every step of a session that this strategy ran, one request before each assistant message (T-8).

    ``trigger`` and ``fixed`` (system and tools) are in tokens. A request at the trigger or above is cut first, to
    ``opening_budget_ratio * trigger``. What a request shares with the start of the one before is read from the cache,
    the rest is written (``automatic``: billed as fresh). Output is not counted.
    """
    weights = {message.seq: total(message_tokens(message)) for message in messages}
    choose = _CHOICES[strategy]
    budget = max(0, min(int(opening_budget_ratio * trigger), trigger - fixed))
    kept: list[_Kept] = []
    level, sent, cached, new = fixed, 0, 0, 0
    for i, message in enumerate(messages):
        if message.role == "assistant":
            shared = sent
            if level >= trigger and i > 0:
                after = choose(messages[:i], budget, lambda one: weights[one.seq])
                shared = min(sent, fixed + _shared(kept, after))
                kept = after
                level = fixed + sum(one.tokens for one in kept)
            cached += shared
            new += level - shared
            sent = level
        kept.append(_Kept(message, "whole", weights[message.seq]))
        level += weights[message.seq]
    fresh, written = (new, 0) if rule == "automatic" else (0, new)
    return Cost(units(fresh, written, cached, rule), fresh, written, cached, rule)


def _view(choose: _Choose, messages: Sequence[Message], boundary_seq: int, budget: int) -> View:
    before = [message for message in messages if message.seq <= boundary_seq]
    kept = choose(before, budget, lambda message: total(message_tokens(message)))
    return View(plain_text([one.message for one in kept]), sum(one.tokens for one in kept))


def _newest(messages: Sequence[Message], budget: int, weigh: _Weigh) -> list[_Kept]:
    return _fill(messages, budget, lambda message: _Kept(message, "whole", weigh(message)))


def _last(messages: Sequence[Message], budget: int, weigh: _Weigh) -> list[_Kept]:
    return _newest(messages[-_MOST_MESSAGES:], budget, weigh)


def _cleared(messages: Sequence[Message], budget: int, weigh: _Weigh) -> list[_Kept]:
    results = 0

    def form(message: Message) -> _Kept:
        nonlocal results
        calls = [part for part in message.parts if isinstance(part, ToolCall) and part.result]
        spare = max(0, _RESULTS_KEPT - results)
        results += len(calls)
        if len(calls) <= spare:
            return _Kept(message, "whole", weigh(message))
        cleared = _without_results(message, calls[: len(calls) - spare])
        return _Kept(cleared, f"cleared {spare}", total(message_tokens(cleared)))

    return _fill(messages, budget, form)


_CHOICES: dict[Strategy, _Choose] = {"drop_oldest": _newest, "keep_last": _last, "clear_results": _cleared}


def _fill(messages: Sequence[Message], budget: int, form: Callable[[Message], _Kept]) -> list[_Kept]:
    """From the newest back until one does not fit; the newest always stands, cut if it must be."""
    kept: list[_Kept] = []
    left = budget
    for message in reversed(messages):
        one = form(message)
        if one.tokens > left:
            if not kept:
                kept.append(_cut(one.message, budget))
            break
        kept.append(one)
        left -= one.tokens
    return kept[::-1]


def _without_results(message: Message, calls: list[ToolCall]) -> Message:
    gone = {call.call_id for call in calls}
    parts = tuple(
        msgspec.structs.replace(part, result=(Text(CLEARED),)) if isinstance(part, ToolCall) and part.call_id in gone else part
        for part in message.parts
    )
    return msgspec.structs.replace(message, parts=parts)


def _cut(message: Message, budget: int) -> _Kept:
    """A message that is larger than the whole budget: start and end of its plain text."""
    frame = total(message_tokens(msgspec.structs.replace(message, parts=())))
    text = fit_ends(plain_text([message]), max(0, budget - frame), omission=lambda left: f"[{left} tokens left out]")
    cut = msgspec.structs.replace(message, parts=(Text(text),))
    return _Kept(cut, "cut", min(budget, frame + total(estimate_text(text))))


def _shared(before: list[_Kept], after: list[_Kept]) -> int:
    """Tokens at the start that both have in the same form."""
    tokens = 0
    for old, new in zip(before, after, strict=False):
        if (old.message.seq, old.form) != (new.message.seq, new.form):
            break
        tokens += new.tokens
    return tokens
