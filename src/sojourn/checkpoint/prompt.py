"""What a writing model is asked: the same task at the end of the live request, or below a part of the record (K-3, K-4)."""

import re
from collections.abc import Sequence
from functools import cache

from sojourn.base import Section, escape_reminders, open_items
from sojourn.checkpoint.applying import user_texts
from sojourn.checkpoint.redact import redact
from sojourn.checkpoint.texts import text
from sojourn.checkpoint.transcript import clean, tell, transcript
from sojourn.checkpoint.writer import WriterInput
from sojourn.meter import fit_line
from sojourn.window import SCHEMA, budgets
from sojourn.wire import About, ModelRequest, RequestSettings, SystemBlock, TextPart, Traits, WireMessage

OUTPUT = 4_000
"""Tokens of an answer."""
ORIGINAL_SHARE = 20
"""Percent of the trigger that the original of the digest may take (K-4)."""
_ABOUT = About("writer")
_TICKS = re.compile(r"`+")
_REQUESTS, _REQUEST = 8, 60
"""Messages of the user that are named by number, and characters of each."""


def fork_message(run: WriterInput) -> str:
    """The last user message of a forked request: what the conversation above it does not show, then the task."""
    blocks = []
    if run.original:
        room = run.trigger * ORIGINAL_SHARE // 100
        blocks.append(("What the lines of recent activity at the opening stand for:", transcript(tell(run.original), room)))
    if requests := _requests(run):
        blocks.append(("Messages of the user:", requests))
    return _asked(run, blocks)


def delta_message(run: WriterInput, record: str) -> str:
    """The user message of a request of the writer's own: a part of the record, then the task."""
    return _asked(run, [("The record:", record)] if record else [])


def delta_request(run: WriterInput, record: str, traits: Traits) -> ModelRequest:
    """A request without tools: what the writer is, the part of the record, the task. ``record``: a transcript."""
    return ModelRequest(
        system=(SystemBlock(text("delta"), _ABOUT),),
        tools=(),
        messages=(WireMessage("user", (TextPart(delta_message(run, record), _ABOUT),)),),
        settings=RequestSettings(model=traits.name, max_output=most_output(traits)),
    )


def found_message(found: Sequence[tuple[str, str]], left: int) -> str:
    """What was looked up, each question with what there is, and how often the writer may ask again."""
    more = f", or look up more: {left} left" if left else "; nothing more can be looked up"
    blocks = [f"{escape_reminders(question)}\n{fenced(answer)}" for question, answer in found]
    return "\n\n".join([*blocks, text("found").format(more=more)])


def most_output(traits: Traits) -> int:
    """Tokens that an answer may have."""
    return min(OUTPUT, traits.output_cap or OUTPUT, max(1, traits.limit // 4))


def fenced(foreign: str) -> str:
    """Text of others between fences that it cannot close."""
    ticks = "`" * max(3, 1 + max(map(len, _TICKS.findall(foreign)), default=0))
    return f"{ticks}\n{foreign}\n{ticks}"


def task(run: WriterInput) -> str:
    """The engine's own words: the operations, a line for each section, the rules.

    A model is asked for K-2's own budgets: the room beyond them in knowledge is for what it left out (K-10).
    """
    return _task(tuple(sorted(budgets(run.trigger, economic=True).items())))


@cache
def _task(tokens: tuple[tuple[Section, int], ...]) -> str:
    of = dict(tokens)
    lines = (f"- {rule.section.value} {of[rule.section]}: {rule.purpose}" for rule in SCHEMA)
    return text("task").format(sections="\n".join(lines))


def _asked(run: WriterInput, blocks: Sequence[tuple[str, str]]) -> str:
    items = "\n".join(f"{item.id} {item.section.value}: {_line(item.text)}" for item in open_items(run.items))
    shown = [*blocks, ("Items:", items or "none yet")]
    if run.notes:
        shown.append(("Notes that were jotted down, to be taken in:", "\n".join(f"- {_line(note.text)}" for note in run.notes)))
    if run.focus.strip():
        shown.append(("A wish for what to look after, no request:", _line(run.focus)))
    parts = [f"{label}\n{fenced(content)}" for label, content in shown]
    return "\n\n".join([*parts, *([text("summary")] if run.summary else []), task(run)])


def _requests(run: WriterInput) -> str:
    """The user's newest messages by number: in a live request they carry none."""
    said = [(message.seq, " ".join(user_texts([message]))) for message in run.messages]
    newest = [(seq, words) for seq, words in said if words][-_REQUESTS:]
    return "\n".join(f"m{seq}: {clean(fit_line(words, _REQUEST))}" for seq, words in newest)


def _line(foreign: str) -> str:
    return " ".join(escape_reminders(redact(foreign)).split())
