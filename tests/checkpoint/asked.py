"""A model that says what it is told to say, a ledger and a record to look into, for the model writer's tests."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec

from sojourn.base import Finish, Item, Section, Usage, WorkFailed
from sojourn.checkpoint import WriterInput
from sojourn.checkpoint.extract.found import item_id
from sojourn.record import Hit, Message, Text
from sojourn.wire import (
    About,
    CallEvent,
    Event,
    FinishEvent,
    ModelError,
    ModelRequest,
    RequestSettings,
    SystemBlock,
    TextEvent,
    TextPart,
    Tool,
    Traits,
    UsageEvent,
    WireMessage,
)

ABOUT = About("test")
Said = str | ModelError | Exception | Sequence[Event]


class Model:
    """Answers each request with the next of what it was given: a text, events, or an error."""

    def __init__(self, *answers: Said, limit: int = 128_000, output_cap: int | None = None, name: str = "small") -> None:
        self.traits = Traits(name=name, limit=limit, output_cap=output_cap)
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.closed = 0
        self.waits = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event]:
        self.requests.append(request)
        said = self.answers.pop(0)
        try:
            if isinstance(said, Exception):
                raise said
            for event in text_events(said) if isinstance(said, str) else said:
                yield event
            if said == []:  # it hangs
                self.waits.set()
                await asyncio.sleep(3_600)
        finally:
            self.closed += 1

    async def close(self) -> None:
        pass


def text_events(text: str, finish: Finish = Finish.STOP, usage: Usage | None = None) -> list[Event]:
    pieces: list[Event] = [TextEvent(text[at : at + 40]) for at in range(0, len(text), 40)]
    return [*pieces, UsageEvent(usage or Usage(fresh=100, output=10)), FinishEvent(finish)]


def call_events() -> list[Event]:
    return [CallEvent("c1", "read", {"path": "a.py"}), UsageEvent(Usage(fresh=5, output=7)), FinishEvent(Finish.TOOL_CALLS)]


class Rows:
    """A ledger: what was begun and how it ended, in order."""

    def __init__(self, *, broken: bool = False) -> None:
        self.begun: list[ModelRequest] = []
        self.ended: dict[str, tuple[Usage | None, float | None, str, Finish | None]] = {}
        self.broken = broken

    async def begin(self, request: ModelRequest, traits: Traits) -> str:
        await asyncio.sleep(0)
        if self.broken:
            raise WorkFailed("the disk is full")
        self.begun.append(request)
        return f"call_{len(self.begun)}"

    async def end(
        self, call_id: str, *, usage: Usage | None, price: float | None, error: str = "", finish: Finish | None = None
    ) -> None:
        await asyncio.sleep(0)
        assert call_id not in self.ended
        self.ended[call_id] = (usage, price, error, finish)


class Shelf:
    """A record to look into."""

    def __init__(self, *messages: Message) -> None:
        self.messages = messages
        self.asked: list[str] = []

    async def search(self, query: str, *, limit: int = 20) -> Sequence[Hit]:
        self.asked.append(query)
        found = [message for message in self.messages if query.casefold() in _text(message).casefold()]
        return [Hit("s", one.seq, one.role, _text(one)[:200], 0) for one in found[:limit]]

    async def read(self, after: int, upto: int) -> Sequence[Message]:
        self.asked.append(f"({after}, {upto}]")
        return [message for message in self.messages if after < message.seq <= upto]


def _text(message: Message) -> str:
    return " ".join(part.text for part in message.parts if isinstance(part, Text))


def fork(words: str) -> ModelRequest:
    """The live request: system, a tool, a conversation, and the words at its end."""
    return ModelRequest(
        system=(SystemBlock("live system", ABOUT),),
        tools=(Tool("read", "reads", {}, ABOUT),),
        messages=(
            WireMessage("user", (TextPart("please go on", ABOUT),)),
            WireMessage("assistant", (TextPart("I do", ABOUT),)),
            WireMessage("user", (TextPart(words, ABOUT),)),
        ),
        settings=RequestSettings(model="live", max_output=4_000),
    )


def words_of(request: ModelRequest, at: int = -1) -> str:
    """The text of one message of a request."""
    return "".join(part.text for part in request.messages[at].parts if isinstance(part, TextPart))


def item(text: str, section: Section = Section.KNOWLEDGE, **more: object) -> Item:
    return msgspec.structs.replace(Item(item_id(section, text), section, text, sources=(1,), written_seq=1), **more)


def with_(run: WriterInput, **more: object) -> WriterInput:
    return msgspec.structs.replace(run, **more)
