"""What a writing model looks up before it answers (K-3)."""

from collections.abc import Sequence

import msgspec

from sojourn.base import SojournError
from sojourn.checkpoint.applying import user_texts
from sojourn.checkpoint.operations import LookUp, Read
from sojourn.checkpoint.quoting import heard, spoken
from sojourn.checkpoint.transcript import clean, tell, transcript
from sojourn.checkpoint.writer import Lookup
from sojourn.meter import fit_head
from sojourn.record import Message

ROUND_TOKENS = 4_000
"""What one round may show."""
_MOST_QUESTIONS = 5
"""In one round."""
_MOST_MESSAGES, _MOST_HITS = 40, 12
_MOST_QUOTATIONS, _QUERY = 8, 100
"""Quotations that are looked for, and characters of each."""
_NOTHING = "nothing found"


class Found(msgspec.Struct, frozen=True):
    shown: tuple[tuple[str, str], ...]
    """Question and answer, in order."""
    messages: tuple[Message, ...]
    """What was read."""


async def look_up(questions: Sequence[LookUp], lookup: Lookup | None, mark: int) -> Found:
    """Answers to the first five questions, at most 4,000 tokens together; nothing behind the mark is shown."""
    asked = questions[:_MOST_QUESTIONS]
    room = ROUND_TOKENS // max(1, len(asked))
    shown: list[tuple[str, str]] = []
    read: list[Message] = []
    for question in asked:
        words = f"? m{question.first}-m{question.last}" if isinstance(question, Read) else f"? {question.words}"
        try:
            answer, messages = await _answer(question, lookup, mark, room)
        except SojournError as error:
            answer, messages = str(error), ()
        shown.append((words, fit_head(answer, room)))
        read += messages
    return Found(tuple(shown), tuple(read))


async def find_quotations(quotes: Sequence[str], lookup: Lookup, mark: int) -> tuple[Message, ...]:
    """The user's messages in the whole record that hold one of the quotations."""
    found: dict[int, Message] = {}
    for quote in quotes[:_MOST_QUOTATIONS]:
        try:
            hits = await lookup.search(_query(quote), limit=_MOST_HITS)
            for hit in hits:
                if hit.role == "user" and hit.seq <= mark:
                    messages = await lookup.read(hit.seq - 1, hit.seq)
                    found.update({one.seq: one for one in messages if heard(quote, spoken(user_texts([one])))})
        except SojournError:
            continue  # a quotation that cannot be looked for is one that was not found
    return tuple(found.values())


async def _answer(question: LookUp, lookup: Lookup | None, mark: int, room: int) -> tuple[str, tuple[Message, ...]]:
    if lookup is None:
        return "nothing can be looked up here", ()
    if isinstance(question, Read):
        messages = tuple(await lookup.read(question.first - 1, min(question.last, question.first + _MOST_MESSAGES - 1, mark)))
        return transcript(tell(messages), room) or _NOTHING, messages
    hits = [hit for hit in await lookup.search(question.words, limit=_MOST_HITS) if hit.seq <= mark]
    return "\n".join(f"m{hit.seq} {hit.role}: {clean(' '.join(hit.snippet.split()))}" for hit in hits) or _NOTHING, ()


def _query(quote: str) -> str:
    """The longest unbroken piece of a quotation, short enough to be searched for."""
    piece = max(quote.replace("...", "…").split("…"), key=len).strip()
    if len(piece) <= _QUERY:
        return piece
    return piece[:_QUERY].rsplit(" ", 1)[0]
