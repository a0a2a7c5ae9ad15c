"""What a script sees of a request, and what it answers: plain values (A-5)."""

from typing import Any, Protocol

import msgspec

from sojourn.wire import CallPart, ModelRequest, ResultPart, TextPart, WirePart


class Called(msgspec.Struct, frozen=True):
    """A call to make, or one that was made."""

    name: str
    arguments: dict[str, Any]


class Result(msgspec.Struct, frozen=True):
    """What came of a call, as the request showed it. A result that the request does not show is an empty error."""

    text: str
    error: bool


class Sight(msgspec.Struct, frozen=True):
    """One request through the eyes of a script, with what the model remembers of this turn."""

    turn: int
    """From 1, as this model has counted them."""
    prompt: str
    """What the person asked for in this turn."""
    answers: int
    """Given in this turn so far."""
    results: tuple[tuple[Result, ...], ...]
    """Of each answer of this turn, in order; ``()`` for one that another process gave."""
    text: str
    """Everything that the model reads, as one text."""
    tools: frozenset[str]


class Answer(msgspec.Struct, frozen=True):
    """What to say and call. Without calls the turn is over."""

    say: str
    calls: tuple[Called, ...] = ()
    missed: str = ""
    """What the script expected and did not find: it stops here and has said so."""


class Place(msgspec.Struct, frozen=True):
    """Where in its script a model stands."""

    turn: int
    """From 1."""
    answers: int
    """Given in that turn so far."""


class Script(Protocol):
    """Pure: the same sight, the same answer."""

    def next(self, sight: Sight) -> Answer: ...

    def resume(self, prompt: str, calls: tuple[Called, ...], answers: int, text: str) -> Place:
        """The place in a session that another process began, by what its request shows.

        ``prompt``: the newest thing that a person said, empty if it is out of view; ``calls``: of the newest answer
        after it; ``answers``: how many stand after it; ``text``: all of it.
        """
        ...


class Shown(msgspec.Struct, frozen=True):
    """What a request shows of the present turn."""

    prompt: str
    seq: int
    """Of the newest user message in view; 0 = none is."""
    calls: tuple[Called, ...]
    """Of the newest answer after it."""
    answers: int
    """How many stand after it."""
    newest: int
    """The newest seq of all."""


def shown(request: ModelRequest) -> Shown:
    """The newest user message in view and what came after it. Engine text is not user speech."""
    seq = max((part.about.seq or 0 for message in request.messages for part in message.parts if _said(part)), default=0)
    prompt: list[str] = []
    calls: tuple[Called, ...] = ()
    answers = newest = 0
    for message in request.messages:
        for part in message.parts:
            newest = max(newest, part.about.seq or 0)
            if isinstance(part, TextPart) and _said(part) and (part.about.seq or 0) == seq:
                prompt.append(part.text)
        if message.role == "assistant" and message.parts and (message.parts[0].about.seq or 0) >= seq:
            made = (part for part in message.parts if isinstance(part, CallPart))
            calls = tuple(Called(call.name, call.arguments) for call in made)
            answers += 1
    return Shown("\n".join(prompt), seq, calls, answers, newest)


def _said(part: WirePart) -> bool:
    return part.about.kind == "user"


def results_of(request: ModelRequest, call_ids: tuple[str, ...]) -> tuple[Result, ...]:
    """The results of these calls, in their order."""
    found: dict[str, Result] = {}
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, ResultPart):
                text = "\n".join(one.text for one in part.content if isinstance(one, TextPart))
                found[part.call_id] = Result(text, part.error)
    return tuple(found.get(one, Result("", True)) for one in call_ids)


def request_text(request: ModelRequest) -> str:
    """Everything in a request that the model reads, as one text; tools are left out."""
    pieces: list[str] = [block.text for block in request.system]
    for message in request.messages:
        for part in message.parts:
            match part:
                case TextPart():
                    pieces.append(part.text)
                case CallPart():
                    pieces += [str(value) for value in part.arguments.values()]
                case ResultPart():
                    pieces += [one.text for one in part.content if isinstance(one, TextPart)]
                case _:
                    pass
    return "\n".join(pieces)
