"""The extractive writer's reading: items from the record, without a model (K-10)."""

from collections.abc import Sequence

from sojourn.base import Item, ItemStatus, Section
from sojourn.checkpoint.extract.choose import choose
from sojourn.checkpoint.extract.commands import resources
from sojourn.checkpoint.extract.decisions import decisions
from sojourn.checkpoint.extract.directives import directives
from sojourn.checkpoint.extract.errors import errors
from sojourn.checkpoint.extract.evidence import answers, gather
from sojourn.checkpoint.extract.files import files
from sojourn.checkpoint.extract.found import Found, cleaned
from sojourn.checkpoint.extract.frontier import frontier, next_step
from sojourn.checkpoint.extract.intents import Requests, requests
from sojourn.checkpoint.extract.knowledge import knowledge
from sojourn.checkpoint.extract.lean import LEAST, lean, rooms
from sojourn.checkpoint.extract.notes import notes
from sojourn.checkpoint.extract.remarks import remarks
from sojourn.checkpoint.extract.sure import sure
from sojourn.checkpoint.extract.values import values
from sojourn.checkpoint.writer import WriterInput
from sojourn.window.schema import budgets

__all__ = ["done_by_record", "extract", "sure"]

_CHARACTERS_A_TOKEN = 4
_REMARKS = 5
"""A fifth of the knowledge may be what comments and documents say."""
_STATES = ("done: ", "under way: ", "remaining: ")


def extract(run: WriterInput) -> tuple[Item, ...]:
    """The whole new list of items: open ones in schema order within K-2's budgets, then those that left with their status.

    Deterministic, no model, under 200 ms for 200,000 tokens of messages. Items carry the seqs they rest on; present items
    that still hold stay byte for byte.
    """
    evidence = gather(run.messages)
    asked = requests(run.messages, evidence)
    closing = frozenset(message.seq for message in run.messages if answers(message))
    idle = bool(closing) and not asked.open
    plan, whole = frontier(evidence)
    step = next_step(evidence, plan, idle)
    few = run.economic
    found: list[Found] = [*asked.open, *([step] if step else []), *plan, *files(evidence), *notes(evidence), *values(evidence)]
    found += [*errors(evidence), *resources(evidence)]
    found += [*directives(evidence, run.items, wide=few), *decisions(evidence, closing, wide=few)]
    room = rooms(run.trigger) if few else budgets(run.trigger)
    found += remarks(evidence, room[Section.KNOWLEDGE] * _CHARACTERS_A_TOKEN // _REMARKS, wide=few)
    if few:
        found = lean(found, evidence, run.trigger)

    def learn(present: Sequence[Item], shown: Sequence[str]) -> tuple[list[Found], dict[str, float]]:
        lines, values = knowledge(evidence, present, shown, sum(room.values()) * _CHARACTERS_A_TOKEN, telling=few)
        return cleaned(lines), values

    closed = _closed(run.items, asked, idle, whole)
    least = LEAST if few else None
    return choose(run.items, cleaned(found), learn, closed=closed, room=room, mark=run.range[1], least=least)


def done_by_record(run: WriterInput) -> dict[str, ItemStatus]:
    """Present items that the record itself shows to be over, by id: requests that were answered, the next step of work that
    is finished. What a person wrote is not among them."""
    evidence = gather(run.messages)
    asked = requests(run.messages, evidence)
    idle = any(answers(message) for message in run.messages) and not asked.open
    closed = _closed(tuple(item for item in run.items if item.by != "user"), asked, idle, replanned=False)
    return {name: status for name, status in closed.items() if status is ItemStatus.DONE}


def _closed(present: tuple[Item, ...], asked: Requests, idle: bool, replanned: bool) -> dict[str, ItemStatus]:
    """Requests that were answered since they were written down, the next step of work that is finished, and the steps of a
    plan that a new one replaces."""
    closed: dict[str, ItemStatus] = {}
    for item in present:
        match item.section:
            case Section.INTENT if item.sources:
                seq = item.sources[0]
                if seq in asked.answered or (seq < asked.reached and all(seq not in one.sources for one in asked.open)):
                    closed[item.id] = ItemStatus.DONE
            case Section.NEXT if idle:
                closed[item.id] = ItemStatus.DONE
            case Section.FRONTIER if replanned and item.text.startswith(_STATES):
                closed[item.id] = ItemStatus.SUPERSEDED
            case _:
                pass
    return closed
