"""What the provider is told to answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

FaultKind = Literal[
    "hang", "hang mid", "close", "cut", "bad event", "bad json", "empty",
    "401", "403", "404", "413", "429", "500", "503", "529", "502 html", "quota", "overflow", "stream error",
]  # fmt: skip
UsageShape = Literal["normal", "none", "plain", "swapped", "late", "hits", "choice"]


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong.

    ``hang``: no byte of an answer, until the client goes away or the provider closes. ``hang mid``: ``after`` events, then
    silence. ``close``: the connection ends before the head. ``cut``: it ends after ``after`` events (a whole answer: in the
    middle of the body). ``bad event``: ``after`` events, then one that is no JSON. ``bad json``: status 200 and a body that
    is no JSON. ``empty``: status 200 and nothing in the body. ``stream error``: ``after`` events, then the protocol's error
    event (``message`` and ``code`` may replace what it says). The numbers, ``quota`` and ``overflow`` are refusals in the
    provider's own words; ``retry_after`` seconds go into the header.
    """

    kind: FaultKind
    after: int = 2
    retry_after: float | None = None
    message: str = ""
    code: str = ""

    @property
    def in_stream(self) -> bool:
        """Whether the answer begins before it goes wrong."""
        return self.kind in ("hang mid", "cut", "bad event", "stream error")


@dataclass(frozen=True)
class Call:
    """A call of a tool. ``arguments`` as a string is what the model wrote, broken JSON too; no ``id``: the provider makes
    one.
    """

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Reply:
    """One answer: thinking blocks, then the text, then the calls.

    ``finish``: empty = what follows from the answer; ``length``, ``refusal``, ``filter``, ``window`` (Anthropic's
    ``model_context_window_exceeded``) in each protocol's words; any other word is sent as it stands. ``pieces``: characters
    of one delta, 0 = each part whole. ``usage``: ``normal``; ``none`` reports nothing; ``plain`` totals without what was
    cached; ``swapped`` counts cached tokens on the side where the protocol does not (inside Anthropic's input, outside the
    others'); ``late`` zeros first and numbers at the end (Anthropic); ``hits`` names them ``prompt_cache_hit_tokens``
    (Chat); ``choice`` puts them into the last choice (Chat). ``delay`` and ``pause``: real seconds before the head and
    between events.
    """

    text: str = ""
    thinking: str | Sequence[str] = ()
    redacted: str = ""
    calls: Sequence[Call | tuple[Any, ...]] = ()
    finish: str = ""
    pieces: int = 0
    usage: UsageShape = "normal"
    delay: float = 0.0
    pause: float = 0.0
    fault: Fault | None = None

    @property
    def thoughts(self) -> list[str]:
        return [self.thinking] if isinstance(self.thinking, str) and self.thinking else list(self.thinking)

    @property
    def all_calls(self) -> list[Call]:
        return [call if isinstance(call, Call) else Call(*call) for call in self.calls]

    def cut(self, text: str) -> list[str]:
        """The text in pieces of ``pieces`` characters; no piece for an empty text."""
        if not self.pieces:
            return [text] if text else []
        return [text[start : start + self.pieces] for start in range(0, len(text), self.pieces)]
