"""Messages of the record as a text for a writing model: who said what, with the number of each message (K-4, report 90).

A line without an indent is the engine's and names message and speaker; what stands there is indented, line by line. So
nothing that was said, read or printed can pass for somebody else's message.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from sojourn.base import escape_reminders
from sojourn.checkpoint.redact import redact
from sojourn.meter import estimate_text, fit_ends, fit_line, message_tokens, total
from sojourn.record import File, Image, Message, Reasoning, Text, ToolCall
from sojourn.window import apply_trims, trim_tail

_BREAK = re.compile(r"(?:\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])+")
_SHORT = 160
"""Characters of an argument that stands on the line of its call."""
_LONG, _THOUGHT = 300, 300
"""Tokens of a longer argument, and of a thought: a file that was written can be read, a decision stands in few words."""

_TRIES = 3
"""A cut is measured on the text that is told, which has more to it than what is stored."""


class Told(msgspec.Struct, frozen=True):
    """A message as it is told."""

    message: Message
    text: str
    tokens: int
    """Estimated, not calibrated."""


def tell(messages: Sequence[Message]) -> tuple[Told, ...]:
    """Each message whose words are somebody's, told whole. Text of the engine is left out: it is no evidence (K-4)."""
    told = ((message, _text(message)) for message in messages if message.origin != "engine")
    return tuple(Told(message, text, tokens_of(text)) for message, text in told if text)


def transcript(told: Sequence[Told], budget: int) -> str:
    """The messages, within about ``budget`` estimated tokens: the largest results are cut first, head and tail kept with a
    count between, then the other results; what the user wrote is cut only where nothing else is left."""
    text = "\n".join(one.text for one in told)
    whole = sum(one.tokens for one in told)
    if whole <= budget and tokens_of(text) <= budget:  # each was rounded by itself
        return text
    messages = [one.message for one in told]
    stored = sum(total(message_tokens(message)) for message in messages)
    room = max(stored - (whole - budget), stored * budget // whole)
    for _ in range(_TRIES):
        trims = trim_tail(messages, max(0, room), tokens_of)
        text = "\n".join(_text(apply_trims(message, trims)) for message in messages)
        over = tokens_of(text) - budget
        if over <= 0:
            return text
        room -= over
    return fit_ends(text, budget, omission=_left_out)


def batches(told: Sequence[Told], room: int) -> Iterator[tuple[Told, ...]]:
    """The messages in stretches of at most ``room`` tokens each; a message that is larger has one for itself."""
    batch: list[Told] = []
    size = 0
    for one in told:
        if batch and size + one.tokens > room:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(one)
        size += one.tokens
    if batch:
        yield tuple(batch)


def tokens_of(text: str) -> int:
    return total(estimate_text(text))


def clean(text: str) -> str:
    """Somebody's text as it may go to a model: without secrets, and without tags that look like the engine's."""
    return escape_reminders(redact(text))


def _text(message: Message) -> str:
    return "\n".join(_lines(message))


def _lines(message: Message) -> Iterator[str]:
    who = "imported" if message.origin == "import" else message.role
    for part in message.parts:
        match part:
            case Text() if part.text.strip():
                yield _said(f"m{message.seq} {who}", part.text)
            case Reasoning() if part.text.strip():
                yield _said(f"m{message.seq} {who} thinks", fit_ends(part.text, _THOUGHT, omission=_left_out))
            case Image() | File():
                yield _said(f"m{message.seq} {who} attached {_name(part)}", part.excerpt if isinstance(part, File) else "")
            case ToolCall():
                yield from _call(message.seq, part)
            case _:
                pass


def _call(seq: int, call: ToolCall) -> Iterator[str]:
    short: list[str] = []
    long: list[str] = []
    for key, value in call.arguments.items():
        text = value if isinstance(value, str) else str(value)
        if len(text) <= _SHORT and not _BREAK.search(text):
            short.append(f"{key}={text}")
        else:
            long.append(f"{key}: {fit_ends(text, _LONG, omission=_left_out)}")
    if call.raw_arguments:
        long.append(fit_ends(call.raw_arguments, _LONG, omission=_left_out))
    line = f"{call.name}({', '.join(short)})"
    yield _said(f"m{seq} call {fit_line(line, 4 * _SHORT)}", "\n".join(long))
    shown = "\n".join(part.text if isinstance(part, Text) else _shown(part) for part in call.result)
    state = {"completed": "", "error": " (error)"}.get(call.state, " (interrupted: outcome unknown)")
    if shown.strip() or state:
        yield _said(f"m{seq} result{state}", shown)


def _shown(part: Image | File) -> str:
    return part.excerpt if isinstance(part, File) else f"[picture {_name(part)}]"


def _name(part: Image | File) -> str:
    return fit_line(part.name or part.media_type, _SHORT)


def _said(head: str, text: str) -> str:
    lines = _BREAK.sub("\n ", clean(text.strip("\n")))
    return f"{clean(head)}:\n {lines}" if lines.strip() else f"{clean(head)}:"


def _left_out(tokens: int) -> str:
    return f"[{tokens:,} tokens left out]"
