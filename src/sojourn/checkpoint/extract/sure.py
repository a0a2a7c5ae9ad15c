"""What extraction is sure of: a check beside a writer that is a model (K-10)."""

from collections.abc import Sequence

import msgspec

from sojourn.base import Item, Section
from sojourn.checkpoint.extract.choose import choose
from sojourn.checkpoint.extract.decisions import decisions
from sojourn.checkpoint.extract.directives import directives
from sojourn.checkpoint.extract.evidence import answers, gather
from sojourn.checkpoint.extract.found import Found, cleaned
from sojourn.checkpoint.extract.intents import requests
from sojourn.checkpoint.extract.lean import again
from sojourn.checkpoint.extract.notes import notes
from sojourn.checkpoint.extract.rare import marked
from sojourn.checkpoint.extract.remarks import remarks
from sojourn.checkpoint.extract.words import clip
from sojourn.checkpoint.writer import WriterInput
from sojourn.window.schema import budgets

_ROOM = {Section.INTENT: 100, Section.DIRECTIVES: 200, Section.DECISIONS: 130, Section.KNOWLEDGE: 130}
"""Tokens of each section for a stretch of 20 steps, headings included; more for a longer one."""
_STRETCH = 20
_REFERENCE = 90
"""Characters."""
_LEAST_DECISION, _LEAST_FACT = 2.1, 0.72
_AGAIN = 1.0
_CHARACTERS = 10_000


def sure(run: WriterInput) -> tuple[Item, ...]:
    """Open items in schema order, from ``run.messages`` alone: the user's still-open requests, rules and corrections (each
    beside what it corrects), what the assistant decided and concluded, what comments and documents state. No broad cover
    of identifiers. About 560 tokens at most for 20 steps; deterministic.
    """
    evidence = gather(run.messages)
    closing = frozenset(message.seq for message in run.messages if answers(message))
    own = [(speech.seq, speech.text) for speech in (*evidence.user, *evidence.assistant)]
    own += [(act.seq, act.arguments) for act in evidence.acts]
    found = [msgspec.structs.replace(one, text=clip(one.text, _REFERENCE)) for one in requests(run.messages, evidence).open]
    found += directives(evidence, (), wide=True)
    found += [one for one in decisions(evidence, closing, wide=True) if one.weight >= _LEAST_DECISION and _says(one.text)]
    facts = [*notes(evidence), *remarks(evidence, _CHARACTERS, wide=True)]
    found += [
        msgspec.structs.replace(one, weight=one.weight + _AGAIN * again(one, own)) for one in facts if one.weight >= _LEAST_FACT
    ]
    full, steps = budgets(run.trigger, economic=True), max(_STRETCH, len(evidence.acts))
    room = {section: min(full[section], _ROOM.get(section, 0) * steps // _STRETCH) for section in Section}
    return choose((), cleaned(found), _nothing, closed={}, room=room, mark=run.range[1])


def _nothing(_present: Sequence[Item], _shown: Sequence[str]) -> tuple[list[Found], dict[str, float]]:
    return [], {}


def _says(text: str) -> bool:
    """A heading or a nod is no conclusion."""
    return text.count(" ") > 1 or not text.isascii() or bool(marked(text))
