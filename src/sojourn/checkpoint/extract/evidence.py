"""What the record holds as evidence: who said what, what was done and what came out (K-10).

Only a person's own text is user speech and only the model's own text is the assistant's. Text of the engine or of another
program is never evidence; the results of calls are.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import msgspec

from sojourn.base import Finish
from sojourn.checkpoint.extract.cues import Sentence, read_sentences
from sojourn.checkpoint.extract.words import sentences
from sojourn.checkpoint.redact import redact
from sojourn.record import File, Message, Reasoning, Text, ToolCall

_BLOCK = re.compile(
    r"<\s*((?:system|user|human|assistant|developer)[\w:-]*)\b[^<>]*>.*?(?:<\s*/\s*\1\s*>|\Z)|<\s*/\s*(?:system"
    r"|user|human|assistant|developer)[\w:-]*\s*>",
    re.S | re.I,
)
"""Text that dresses up as somebody else's turn."""
_EXIT = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?:[ _]?(?:code|status))?|returncode|[Ee]xit_code\"?)[\"':= ]{1,4}(-?\d{1,3})\b", re.I
)
_SHORT = 300
"""Characters of an argument that is told on the line of its call."""
_COMMAND_KEYS = ("command", "cmd", "script", "code")


class Speech(msgspec.Struct, frozen=True, dict=True):
    """Words of one speaker in one message."""

    seq: int
    text: str

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Read once, for all that look for something in them."""
        return read_sentences(sentences(self.text))


class Act(NamedTuple):
    """One call of a tool with what came out."""

    seq: int
    name: str
    call: ToolCall
    arguments: str
    """The call on one line, ``Grep(pattern=..., path=...)``, then every argument of several lines as it is."""
    command: str
    """The shell command, "" where the call is not one."""
    output: str
    failed: bool
    exit: int | None
    """As the output tells it."""


class Evidence(NamedTuple):
    user: tuple[Speech, ...]
    assistant: tuple[Speech, ...]
    thoughts: tuple[Speech, ...]
    acts: tuple[Act, ...]
    last: int
    """The newest seq read."""


def gather(messages: tuple[Message, ...]) -> Evidence:
    """Everything that may be quoted, redacted, in order."""
    user: list[Speech] = []
    assistant: list[Speech] = []
    thoughts: list[Speech] = []
    acts: list[Act] = []
    for message in messages:
        for part in message.parts:
            match part:
                case Text() if message.role == "user" and message.origin == "user":
                    user.append(Speech(message.seq, redact(part.text)))
                case Text() if message.role == "assistant" and message.origin == "model":
                    assistant.append(Speech(message.seq, _undressed(part.text)))
                case Reasoning() if message.origin == "model" and part.text:
                    thoughts.append(Speech(message.seq, _undressed(part.text)))
                case ToolCall():
                    acts.append(_act(message.seq, part))
                case _:
                    pass
    return Evidence(tuple(user), tuple(assistant), tuple(thoughts), tuple(acts), max((m.seq for m in messages), default=0))


def answers(message: Message) -> bool:
    """Whether this assistant message ends a turn: finished, and without calls (W-2)."""
    return (
        message.role == "assistant"
        and message.origin == "model"
        and message.finish not in (None, Finish.TOOL_CALLS, Finish.INTERRUPTED, Finish.ERROR)
        and not any(isinstance(part, ToolCall) for part in message.parts)
    )


def _undressed(text: str) -> str:
    """Without blocks that dress up as the system or the user, redacted."""
    return redact(_BLOCK.sub("", text) if "<" in text else text)


def _act(seq: int, call: ToolCall) -> Act:
    shown = (one.text if isinstance(one, Text) else one.excerpt for one in call.result if isinstance(one, Text | File))
    arguments, command, output = _arguments(call), _command(call), "\n".join(shown)
    together = f"{arguments}\n{output}"
    if redact(together) != together:
        arguments, command, output = redact(arguments), redact(command), redact(output)
    if "<" in output:
        output = _BLOCK.sub("", output)
    found = _EXIT.search(output[:200]) or _EXIT.search(output[-200:]) if command else None
    status = int(found[1]) if found else None
    return Act(
        seq=seq,
        name=call.name,
        call=call,
        arguments=arguments,
        command=command,
        output=output,
        failed=call.state == "error" or bool(status),
        exit=status,
    )


def _command(call: ToolCall) -> str:
    for key in _COMMAND_KEYS:
        value = call.arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            return value[-1] if len(value) == 3 and value[1] in ("-c", "-lc") else " ".join(value)
    return ""


def _arguments(call: ToolCall) -> str:
    short: list[str] = []
    long: list[str] = []
    for key, value in call.arguments.items():
        if isinstance(value, bool | int | float) or (isinstance(value, str) and "\n" not in value and len(value) <= _SHORT):
            short.append(f"{key}={value}")
        else:
            long.extend(_strings(value))
    return "\n".join([f"{call.name}({', '.join(short)})", *long, call.raw_arguments])


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
