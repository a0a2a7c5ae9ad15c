"""One answer as it comes in: what every protocol's reader builds on (A-1)."""

from collections.abc import Iterator
from typing import Any

import msgspec

from sojourn.base import Usage
from sojourn.models.calls import parse_arguments
from sojourn.models.clients.stops import ending, is_length
from sojourn.wire import CallEvent, Event, ReasoningEvent, TextEvent, UsageEvent


class _Written(msgspec.Struct, frozen=True):
    """A call whose arguments are no strict JSON object."""

    call_id: str
    name: str
    raw: str
    extra: dict[str, Any]


class Answer:
    """Gathers what has come; each method gives the events that follow from it, in order.

    A call is given as soon as it is whole. One that is no strict JSON waits for the end, and all behind it with it: cut
    at the output limit it must not be mended into something that runs (A-6, A-8).
    """

    def __init__(self) -> None:
        self.word: str | None = None
        """The provider's word for why it ended."""
        self.usage: Usage | None = None
        self.refusal = ""
        self._said = False
        self._called = False
        self._thought = False
        self._thinking: list[str] = []
        self._waiting: list[CallEvent | _Written] = []

    def text(self, piece: str, *, thinking: bool = False) -> Iterator[Event]:
        """A piece of text. Open thinking ends where it begins, unsigned; with ``thinking`` it waits for its signature."""
        if piece:
            if not thinking:
                yield from self.end_thought()
            self._said = True
            yield TextEvent(piece)

    def thought(self, piece: str) -> Iterator[Event]:
        """A piece of thinking, whose whole follows with ``end_thought``."""
        if piece:
            self._thinking.append(piece)
            yield ReasoningEvent(piece)

    def end_thought(self, signature: str = "", redacted: str = "", text: str | None = None) -> Iterator[Event]:
        """The thinking as a whole, where there is any. ``text``: as the provider gave it at its end; None = the pieces."""
        whole = "".join(self._thinking) if text is None else text
        self._thinking = []
        if whole or signature or redacted:
            self._thought = True
            yield ReasoningEvent(whole, signature, redacted, done=True)

    def call(self, call_id: str, name: str, raw: str | dict[str, Any], extra: dict[str, Any] | None = None) -> Iterator[Event]:
        """A call that is whole, its arguments as JSON text or as an object."""
        yield from self.end_thought()
        self._called = True
        arguments = raw if isinstance(raw, dict) else _strict(raw)
        one: CallEvent | _Written
        if arguments is None:
            one = _Written(call_id, name, str(raw), extra or {})
        else:
            one = CallEvent(call_id, name, arguments, extra=extra or {})
        if self._waiting or isinstance(one, _Written):
            self._waiting.append(one)
        else:
            yield one

    def end(self) -> Iterator[Event]:
        """What is left, the usage, and the finish. Raises ModelError (see ``ending``); the usage comes before it."""
        if self.word is not None:
            yield from self.end_thought()
            cut = is_length(self.word)
            for one in self._waiting:
                yield one if isinstance(one, CallEvent) else _mended(one, cut=cut)
        if self.usage is not None:
            yield UsageEvent(self.usage)
        yield ending(self.word, said=self._said, called=self._called, thought=self._thought, refusal=self.refusal)


def _strict(raw: str) -> dict[str, Any] | None:
    if not raw.strip():
        return {}
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return None
    return value if isinstance(value, dict) else None


def _mended(one: _Written, *, cut: bool) -> CallEvent:
    arguments, raw = ({}, one.raw) if cut else parse_arguments(one.raw)
    return CallEvent(one.call_id, one.name, arguments, raw, one.extra)
