"""Messages for this room's tests, short to write."""

from typing import Any

from sojourn.base import Finish
from sojourn.meter import count_message, estimate_text, total
from sojourn.record import File, Message, Part, Reminder, Text, ToolCall, Touch
from sojourn.record.types import CallState


def count(text: str) -> int:
    """The meter's estimate, uncalibrated."""
    return total(estimate_text(text))


def words(text: str) -> int:
    """A meter that is easy to reckon with: a token a word, a line break costs nothing."""
    return len(text.split())


def characters(text: str) -> int:
    """A meter that is easy to reckon with: a token a character."""
    return len(text)


def user(seq: int, text: str = "please", *parts: Part) -> Message:
    return count_message(Message(f"m{seq}", "user", "user", (*((Text(text),) if text else ()), *parts), seq))


def says(seq: int, text: str = "done", finish: Finish | None = Finish.STOP, *parts: Part) -> Message:
    own = (Text(text),) if text else ()
    return count_message(Message(f"m{seq}", "assistant", "model", (*own, *parts), seq, finish=finish))


def call(
    name: str = "bash",
    result: str = "ok",
    state: CallState = "completed",
    touches: tuple[Touch, ...] = (),
    raw: str = "",
    **arguments: Any,
) -> ToolCall:
    results = (Text(result),) if result else ()
    return ToolCall(f"c-{name}", name, arguments, raw, state, results, touches=touches)


def calls(seq: int, *parts: ToolCall, text: str = "", finish: Finish | None = Finish.TOOL_CALLS) -> Message:
    return says(seq, text, finish, *(parts or (call(command="ls"),)))


def imported(seq: int, source: str, text: str = "[stopped]") -> Message:
    return Message(f"m{seq}", "user", "import", (Text(text),), seq, source=source)


def reminder(seq: int) -> Message:
    return Message(f"m{seq}", "user", "engine", (Reminder("todo", "look at the list"),), seq, source="todo")


def attachment(name: str = "log.txt", excerpt: str = "first lines", media_type: str = "text/plain") -> File:
    return File("0" * 64, media_type, 100, name, excerpt)
