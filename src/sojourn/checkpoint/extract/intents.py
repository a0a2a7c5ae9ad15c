"""Requests of the user and whether they are still open (K-2, W-2)."""

import re
from typing import NamedTuple

from sojourn.base import Finish, Section
from sojourn.checkpoint.extract.evidence import Evidence, answers
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.words import clip
from sojourn.record import Message

_GO_ON = re.compile(
    r"(?:(?:y(?:es|ep|eah)?|ok(?:ay)?|sure|go(?: on| ahead| for it)?|continue|proceed|do it|please(?: do)?|next|right|correct"
    r"|fine|good|great|perfect|sounds good|then|好的?|行|可以|继续|是的?|对的?|嗯|没问题|开始|吧|呀|了)[\s,.!，。！]*){1,5}",
    re.I,
)
"""A text that only says yes: what it says yes to is still under way."""
_MOST = 160
"""Characters: a reference to the request, which the engine quotes in full elsewhere."""


class Requests(NamedTuple):
    open: tuple[Found, ...]
    answered: frozenset[int]
    """Seqs of the requests that are answered by now."""
    reached: int
    """Every request before this seq is answered (0 = nothing was)."""


def requests(messages: tuple[Message, ...], evidence: Evidence) -> Requests:
    """The still-open requests, newest last; a go-ahead keeps the request that it answers open beside it."""
    said: dict[int, str] = {}
    for speech in evidence.user:
        said[speech.seq] = f"{said[speech.seq]} {speech.text}" if speech.seq in said else speech.text
    open_: dict[int, str] = {}
    waiting: list[int] = []
    last: int | None = None
    reached = 0
    answered: set[int] = set()
    for message in messages:
        if message.seq in said:
            text = " ".join(said[message.seq].split())
            if not text:
                continue
            if last is not None and _GO_ON.fullmatch(text):
                waiting.append(last)
                answered.discard(last)
            else:
                last = message.seq
            open_[message.seq] = "open"
            waiting.append(message.seq)
        elif answers(message):
            reached = message.seq
            answered.update(waiting)
            waiting.clear()
        elif message.finish is Finish.INTERRUPTED:
            open_.update((seq, "interrupted") for seq in waiting)
    found = [
        Found(
            Section.INTENT,
            f"m{seq}: {clip(' '.join(said[seq].split()), _MOST)}" + (" (interrupted)" if open_[seq] == "interrupted" else ""),
            (seq,),
            weight=3.0 + 0.1 * place,
        )
        for place, seq in enumerate(sorted(set(waiting)))
    ]
    return Requests(tuple(found), frozenset(answered), reached)
