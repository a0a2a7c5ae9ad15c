"""What happened lately, a line each (W-6). Results never stand here."""

import json
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sojourn.meter import fit_line
from sojourn.record import Message, Text, ToolCall
from sojourn.window.texts import DIGEST_CUT, DIGEST_INTERRUPTED
from sojourn.window.types import Count

MOST_LINES = 200
_TEXT_CHARACTERS, _ARGUMENT_CHARACTERS, _ERROR_CHARACTERS = 240, 80, 160
_LINE_CHARACTERS, _RERUN_CHARACTERS = 1_000, 400


class _Line(msgspec.Struct, frozen=True):
    seq: int
    text: str
    call: str = ""
    """Of an interrupted call: the call as one would run it again."""
    quoted: bool = False
    """A message of the user, counted elsewhere."""


class Digest(msgspec.Struct, frozen=True):
    text: str
    tokens: int
    sources: tuple[int, ...] = ()
    """The messages that the lines are of."""
    lines: int = 0
    left_out: int = 0
    """Older lines that are not shown."""


def has_digest_line(messages: Sequence[Message]) -> bool:
    """Whether any line would come of the model's messages (text or a call); the user's own do not count."""
    return any(message.origin == "model" and _line_count(message) for message in messages)


def digest(
    messages: Sequence[Message], budget: int, count: Count, *, quoted: Mapping[int, str] | None = None, most: int = MOST_LINES
) -> Digest:
    """The newest lines within ``budget`` tokens and ``most`` lines, in order, the user's messages among them.

    ``quoted``: the user's messages as rendered, by seq; they stand whole at their place and come on top of ``budget``.
    One that is not there is a line like the others. Where calls were interrupted, one line at the head says what to run
    again and that outcomes are unknown.
    """
    quoted = quoted or {}
    lines: list[_Line] = []
    spent, number, left_out, full = 0, 0, 0, False
    for message in reversed(messages):
        if message.seq in quoted:
            lines.append(_Line(message.seq, quoted[message.seq], quoted=True))
            continue
        if full:
            left_out += _line_count(message)
            continue
        for line in reversed(list(_lines(message))):
            cost = 0 if full else count(line.text + "\n")
            full = full or number >= most or spent + cost > budget
            if full:
                left_out += 1
            else:
                lines.append(line)
                spent, number = spent + cost, number + 1
    lines.reverse()
    outside = sum(count(line.text + "\n") for line in lines if line.quoted)
    return _settled(lines, left_out, budget + outside, count)


def _settled(lines: list[_Line], left_out: int, budget: int, count: Count) -> Digest:
    """Gives up the oldest lines until all of it, head and count of the lines left out included, is within the budget;
    without lines the count, then the oldest messages of the user."""
    announced = True
    while lines:
        text = _render(lines, left_out if announced else 0)
        tokens = count(text)
        over = tokens - budget
        if over <= 0:
            sources = tuple(dict.fromkeys(line.seq for line in lines))
            return Digest(text, tokens, sources, sum(not line.quoted for line in lines), left_out)
        kept = list(_without_oldest(lines, over, count))
        if len(kept) < len(lines):
            left_out += len(lines) - len(kept)
            lines = kept
        elif announced and left_out:
            announced = False
        else:
            lines = lines[1:]
    return Digest("", 0, left_out=left_out)


def _without_oldest(lines: Sequence[_Line], over: int, count: Count) -> Iterator[_Line]:
    for line in lines:
        if over > 0 and not line.quoted:
            over -= count(line.text + "\n")
        else:
            yield line


def _render(lines: Sequence[_Line], left_out: int) -> str:
    head = []
    calls = list(dict.fromkeys(line.call for line in lines if line.call))
    if calls:
        head.append(DIGEST_INTERRUPTED.format(calls=fit_line("; ".join(calls), _RERUN_CHARACTERS)))
    if left_out:
        head.append(DIGEST_CUT.format(count=left_out))
    return "\n".join([*head, *(line.text for line in lines)])


def _line_count(message: Message) -> int:
    """How many lines ``_lines`` gives, without rendering them."""
    if message.origin == "user" or (message.origin == "model" and message.role == "assistant"):
        own = message.origin == "user"
        return sum(
            (isinstance(part, Text) and bool(part.text.strip())) or (isinstance(part, ToolCall) and not own)
            for part in message.parts
        )
    return 0


def _lines(message: Message) -> Iterator[_Line]:
    if message.origin == "user":
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                yield _Line(message.seq, f"- user (m{message.seq}): {fit_line(part.text, _TEXT_CHARACTERS)}")
    elif message.origin == "model" and message.role == "assistant":
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                yield _Line(message.seq, f"- assistant: {fit_line(part.text, _TEXT_CHARACTERS)}")
            elif isinstance(part, ToolCall):
                yield _call_line(message.seq, part)


def _call_line(seq: int, call: ToolCall) -> _Line:
    shown = fit_line(f"{call.name}({_arguments(call)})", _LINE_CHARACTERS)
    if call.state == "error":
        return _Line(seq, f"- {shown} -> error: {fit_line(_result_text(call), _ERROR_CHARACTERS)}".rstrip(" "))
    if call.state == "completed":
        return _Line(seq, f"- {shown}")
    return _Line(seq, f"- {shown} -> interrupted", call=shown)


def _arguments(call: ToolCall) -> str:
    if call.raw_arguments:
        return fit_line(call.raw_arguments, _ARGUMENT_CHARACTERS)
    return ", ".join(f"{fit_line(key, _ARGUMENT_CHARACTERS)}={_value(value)}" for key, value in call.arguments.items())


def _value(value: object) -> str:
    """A string quoted after its cut, anything else as JSON, cut."""
    if isinstance(value, str):
        short = value if len(value) <= _ARGUMENT_CHARACTERS else value[: _ARGUMENT_CHARACTERS - 1] + "…"
        return json.dumps(short, ensure_ascii=False)
    return fit_line(_json(value), _ARGUMENT_CHARACTERS)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def _result_text(call: ToolCall) -> str:
    return next((part.text for part in call.result if isinstance(part, Text) and part.text.strip()), "")
