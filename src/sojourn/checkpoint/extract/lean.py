"""Few and short: what a checkpoint keeps where every step pays for what stands in the opening (C-18, K-10)."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from sojourn.base import Section
from sojourn.checkpoint.extract.commands import trivial
from sojourn.checkpoint.extract.evidence import Act, Evidence, Speech
from sojourn.checkpoint.extract.files import touches
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.rare import marked, measures, telling
from sojourn.checkpoint.extract.rulings import RULE
from sojourn.checkpoint.extract.words import clip
from sojourn.meter import estimate_text, total
from sojourn.window.schema import budgets
from sojourn.window.sections import USER_MESSAGE_CAP, row

SHARE: Mapping[Section, int] = {
    Section.INTENT: 40,
    Section.NEXT: 20,
    Section.FRONTIER: 10,
    Section.DIRECTIVES: 40,
    Section.FILES: 25,
    Section.KNOWLEDGE: 70,
    Section.ERRORS: 15,
    Section.RESOURCES: 25,
    Section.DECISIONS: 32,
}
"""Percent of each section's budget."""
LEAST: Mapping[Section, float] = dict.fromkeys(Section, 0.01) | {Section.FILES: 1.0, Section.KNOWLEDGE: 0.6}
"""What an item must be worth to stay. A file that was read once leaves after about 40 messages."""
_QUOTED_SHARE = 5
"""The user's words are taken to stand verbatim in an opening up to a fifth of the trigger."""
_UNQUOTED = 3.0
"""What a directive weighs more that no quotation shows."""
_FACT = 3.0
"""What a fact of a file weighs more than a line that only shows identifiers, and a decision that gives a rare value."""
_MINOR = 1.5
"""The same for one that says less surely."""
_LEAST_FACT, _LEAST_DECISION, _LEAST_RUN, _LEAST_STEP = 1.08, 1.9, 1.4, 1.2
_AGAIN = 1.0
"""What a fact weighs more that the work came back to."""
_SHORT, _REFERENCE = 160, 90
"""Characters of an error or a state, and of a reference to a request."""
_HINT = re.compile(r"(`[^`]+` [^:]*): .*", re.S)
_FAILS = re.compile(r": (?:exit [1-9]|failed)")


def rooms(trigger: int) -> dict[Section, int]:
    """Tokens by section."""
    return {section: room * SHARE[section] // 100 for section, room in budgets(trigger, economic=True).items()}


def quoted(evidence: Evidence, trigger: int) -> frozenset[int]:
    """Seqs of the user's messages that openings will quote whole: the newest, none of them over the cap of one message."""
    room = min(row("recent_user").cap, trigger // _QUOTED_SHARE)
    whole: set[int] = set()
    for speech in reversed(evidence.user):
        price = _tokens(speech)
        if price <= min(USER_MESSAGE_CAP, room):
            whole.add(speech.seq)
            room -= price
    return frozenset(whole)


def lean(found: Iterable[Found], evidence: Evidence, trigger: int) -> list[Found]:
    """The same, shorter, and weighed by what the next window can do with it: 0 = nothing."""
    shown = quoted(evidence, trigger)
    own = [(speech.seq, speech.text) for speech in (*evidence.user, *evidence.assistant)]
    own += [(act.seq, act.arguments) for act in evidence.acts]
    return [_lean(one, shown, own) for one in found]


def looks(act: Act) -> bool:
    """Whether a call only looked at something."""
    return trivial(act.command) if act.command else all(touch.kind == "read" for touch in touches(act))


def _lean(one: Found, shown: frozenset[int], own: list[tuple[int, str]]) -> Found:
    repeats = shown.issuperset(one.sources)
    text, weight = one.text, one.weight
    match one.section:
        case Section.INTENT:
            text = clip(text, _REFERENCE)
        case Section.DIRECTIVES:
            weight = (weight if weight >= RULE else 0.0) if repeats else weight + _UNQUOTED
        case Section.FILES:
            text = _HINT.sub(r"\1", text)
        case Section.ERRORS:
            text, weight = clip(text, _SHORT), 0.0 if " passed m" in text else weight
        case Section.RESOURCES:
            text = clip(text, _SHORT)
            weight = 0.0 if repeats or (text.startswith("ran ") and weight < _LEAST_RUN and not _FAILS.search(text)) else weight
        case Section.FRONTIER:
            weight = 0.0 if text.startswith("done: ") and weight != _LEAST_STEP else weight
        case Section.DECISIONS:
            weight = 0.0 if weight < _LEAST_DECISION else weight + _FACT * bool(marked(text))
        case Section.KNOWLEDGE if not text.startswith("`") and (marked(text) or telling(measures(text))):
            weight += (_FACT if weight >= _LEAST_FACT else _MINOR) + _AGAIN * again(one, own)
        case _:
            pass
    return msgspec.structs.replace(one, text=text, weight=weight)


def again(one: Found, own: list[tuple[int, str]]) -> bool:
    """Whether somebody wrote a rare value of it after it was found."""
    values = marked(one.text)
    return any(seq > one.sources[-1] and value in text for value in values for seq, text in own)


def _tokens(speech: Speech) -> int:
    return total(estimate_text(speech.text))
