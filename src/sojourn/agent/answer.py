"""An answer while it streams in: pieces become parts, in the order in which the model made them (R-3)."""

from sojourn.base import Finish, Usage
from sojourn.models.calls import find_calls
from sojourn.record import Part, Reasoning, Text, ToolCall
from sojourn.wire import CallEvent, FinishEvent, ReasoningEvent, TextEvent, Traits, UsageEvent
from sojourn.wire.events import Event

_HOSTED = ("anthropic", "openai", "google", "gemini", "azure")
"""Providers whose models make calls as calls: what they write about one is talk."""


def writes_calls(traits: Traits) -> bool:
    """Whether a model may write its calls as text: small and local ones behind OpenAI's protocol do (A-6)."""
    return traits.protocol == "chat" and traits.provider not in _HOSTED


class Incoming:
    """The parts of one answer. ``take`` events in order; ``complete`` parts can be settled, the last may still grow."""

    def __init__(self, traits: Traits) -> None:
        self._traits = traits
        self.restart()

    def void(self) -> None:
        """Drops what was not settled: it is not part of any answer."""
        del self._parts[self._settled :]
        self._text.clear()
        self._thought.clear()

    def restart(self) -> None:
        """The provider is asked again: what came so far is void."""
        self._parts: list[Part] = []
        self._text: list[str] = []
        self._thought: list[str] = []
        self._settled = 0
        self.usage: Usage | None = None
        self.finish: Finish | None = None
        self.raw_finish = ""

    def take(self, event: Event) -> None:
        match event:
            case TextEvent(text):
                self._end_thought()
                self._text.append(text)
            case ReasoningEvent(done=False):
                self._end_text()
                self._thought.append(event.text)
            case ReasoningEvent():
                self._end_text()
                self._thought.clear()
                self._parts.append(
                    Reasoning(
                        event.text,
                        provider=self._traits.provider,
                        model=self._traits.name,
                        signature=event.signature,
                        redacted=event.redacted,
                    )
                )
            case CallEvent():
                self._end_thought()
                self._end_text()
                self._parts.append(ToolCall(event.call_id, event.name, event.arguments, event.raw_arguments, extra=event.extra))
            case UsageEvent(usage):
                self.usage = usage
            case FinishEvent(finish):
                self._end_thought()
                self._end_text()
                self.finish, self.raw_finish = finish, event.raw
            case _:
                pass

    def end(self) -> None:
        """Nothing more comes: what was begun is a part."""
        self._end_thought()
        self._end_text()

    def unsettled(self) -> dict[int, Part]:
        """The complete parts that were not handed out before, by their index in the message."""
        parts = dict(enumerate(self._parts[self._settled :], self._settled))
        self._settled = len(self._parts)
        return parts

    @property
    def has_unsettled(self) -> bool:
        return self._settled < len(self._parts)

    @property
    def has_settled(self) -> bool:
        return self._settled > 0

    @property
    def calls(self) -> dict[int, ToolCall]:
        """The calls, by their index in the message."""
        return {index: part for index, part in enumerate(self._parts) if isinstance(part, ToolCall)}

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return "".join(part.text for part in self._parts if isinstance(part, Text)) + "".join(self._text)

    def take_written_calls(self, names: frozenset[str]) -> dict[int, ToolCall]:
        """Calls of known tools that the model wrote as the end of its text instead of making them: from now on they are
        calls (A-6). Only an answer without real calls is looked at, and only what the model itself wrote."""
        if self.calls or not self.has_unsettled or not isinstance(self._parts[-1], Text):
            return {}
        text, written = find_calls(self._parts[-1].text, names)
        if not written:
            return {}
        self._parts[-1:] = [Text(text)] if text.strip() else []
        self._parts += [ToolCall(f"written_{at}", one.name, one.arguments) for at, one in enumerate(written)]
        self.finish = Finish.TOOL_CALLS
        return self.calls

    def drop_calls(self, *, broken_only: bool = False) -> None:
        """Takes out the calls that nobody will run: those of an answer that was cut off, or only those cut themselves."""
        kept = [p for p in self._parts[self._settled :] if not isinstance(p, ToolCall) or (broken_only and not p.raw_arguments)]
        self._parts[self._settled :] = kept

    def _end_text(self) -> None:
        if self._text:
            self._parts.append(Text("".join(self._text)))
            self._text.clear()

    def _end_thought(self) -> None:
        """A thought without its end: shown to people, kept unsigned, sent back to nobody."""
        if self._thought:
            self._parts.append(Reasoning("".join(self._thought), provider=self._traits.provider, model=self._traits.name))
            self._thought.clear()
