"""From stored parts to parts of a request, one by one (Q-1, Q-3)."""

import re
from collections.abc import Iterable

from sojourn.base import Finish
from sojourn.meter import estimate_text, part_tokens, total
from sojourn.prefix import wrap_reminder
from sojourn.record import File, Image, Message, Part, Reasoning, Reminder, Text, ToolCall
from sojourn.record import ResultPart as StoredResult
from sojourn.wire import About, CallPart, ImagePart, ReasoningPart, ResultPart, TextPart, Traits, WirePart

INTERRUPTED = "interrupted: outcome unknown, check before repeating"
"""What stands for a result that nobody has seen (R-12)."""
NO_OUTPUT = "(no output)"
RAW = "_raw"
"""The key under which arguments go back that were not a JSON object."""

_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_MOST = 64
_ANSWERED = ("completed", "error")
_ENDED = (Finish.STOP, Finish.TOOL_CALLS, Finish.LENGTH)


def visible_text(part: Text, kind: str, message: Message, name: str = "") -> list[WirePart]:
    """The text, or nothing where it is blank: providers refuse blank text (Q-3)."""
    if not part.text.strip():
        return []
    return [TextPart(part.text, About(kind, name, message.seq or None, total(part_tokens(part))))]


def user_part(part: Part, message: Message, traits: Traits, *, reminders: bool) -> list[WirePart]:
    """What a part of a user-role message becomes. Calls and thinking have no place there; notices are for people."""
    seq = message.seq or None
    match part:
        case Text():
            kind = "reminder" if message.origin == "engine" else "user"
            return visible_text(part, kind, message, message.source)
        case Reminder():
            if not reminders or not part.body.strip():
                return []
            return [_text(wrap_reminder(part.body), "reminder", part.source, seq)]
        case Image():
            return [image(part, seq, traits)]
        case File():
            return [_text(file_text(part, seq), "user", part.name, seq)]
        case _:
            return []


def image(part: Image, seq: int | None, traits: Traits) -> WirePart:
    """The picture, or a line that names it for a model that cannot see."""
    if traits.images:
        return ImagePart(part.media_type, part.blob, About("image", part.name, seq, total(part_tokens(part))))
    return _text(image_text(part, "this model cannot see pictures"), "image", part.name, seq)


def image_text(part: Image, why: str) -> str:
    """One line that names a picture: name, type, pixels, bytes."""
    pixels = f", {part.pixels[0]}x{part.pixels[1]}" if part.pixels else ""
    return f"[picture {part.name or part.blob[:12]}: {part.media_type}{pixels}, {part.size:,} bytes; {why}]"


def file_text(part: File, seq: int | None) -> str:
    """The excerpt of a file, its name, and how to fetch the rest."""
    where = f"read message {seq} with the history tool" if seq else "look it up with the history tool"
    note = f"[file {part.name or part.blob[:12]}: {part.media_type}, {part.size:,} bytes; for the whole, {where}]"
    return f"{part.excerpt}\n{note}" if part.excerpt.strip() else note


def reasoning(message: Message, traits: Traits) -> bool:
    """Whether the thinking of a message is sent: byte for byte to the model that signed it, else none of it (Q-3).

    An answer that was cut short keeps its text only (R-12).
    """
    takes = traits.thinking and traits.protocol != "chat"
    blocks = [part for part in message.parts if isinstance(part, Reasoning)]
    ended = message.finish in _ENDED
    return takes and ended and all(part.model == traits.name and (part.signature or part.redacted) for part in blocks)


def assistant_part(part: Part, message: Message, *, thinking: bool) -> list[WirePart]:
    """What a part of an assistant message becomes, calls left out: those need an id of their own."""
    seq = message.seq or None
    match part:
        case Text():
            return visible_text(part, "assistant", message)
        case Reasoning() if thinking:
            about = About("assistant", "reasoning", seq, total(part_tokens(part)))
            return [ReasoningPart(part.text, part.signature, part.redacted, about)]
        case Image():
            return [_text(image_text(part, "made by the model"), "assistant", part.name, seq)]
        case File():
            return [_text(file_text(part, seq), "assistant", part.name, seq)]
        case _:
            return []


def call(part: ToolCall, call_id: str, seq: int | None, *, own: bool) -> CallPart:
    """The call as the model made it. ``own``: this very model made it, so its provider's fields go back with it."""
    tokens = total(part.tokens or part_tokens(_without_result(part)))
    arguments = {RAW: part.raw_arguments} if part.raw_arguments else part.arguments
    extra = part.extra if own else {}
    return CallPart(call_id, tool_name(part.name), arguments, About("assistant", part.name, seq, tokens), extra)


def result(part: ToolCall, call_id: str, seq: int | None, traits: Traits) -> ResultPart:
    """Its one answer, never invented: what is stored, or that the outcome is unknown (R-12).

    The tokens stand on its contents; the result's own number is 0.
    """
    content = [one for stored in part.result for one in _result_part(stored, part.name, seq, traits)]
    if part.state not in _ANSWERED:
        content.append(_text(INTERRUPTED, "result", part.name, seq))
    elif not content:
        content.append(_text(NO_OUTPUT, "result", part.name, seq))
    error = part.state != "completed"
    return ResultPart(call_id, tool_name(part.name), tuple(content), error, About("result", part.name, seq))


def tool_name(name: str) -> str:
    """The name as every protocol takes it: letters, digits, ``_`` and ``-``, at most 64."""
    return _FOREIGN.sub("_", name)[:_NAME_MOST] or "unnamed"


def call_id(part: ToolCall, seq: int, index: int, seen: set[str], traits: Traits) -> str:
    """Its id, unique in the request. Servers that count from 0 in every answer use the same one again and again."""
    own = part.call_id if traits.protocol == "chat" else _FOREIGN.sub("_", part.call_id)
    unique = own or "call"
    if not own or unique in seen:
        unique = f"{unique}_{seq}_{index}"
    while unique in seen:
        unique += "_"
    seen.add(unique)
    return unique


def _result_part(part: StoredResult, name: str, seq: int | None, traits: Traits) -> Iterable[TextPart | ImagePart]:
    match part:
        case Text():
            if part.text.strip():
                yield TextPart(part.text, About("result", name, seq, total(part_tokens(part))))
        case File():
            yield _text(file_text(part, seq), "result", name, seq)
        case Image() if traits.images:
            if traits.protocol == "chat":
                yield _text(image_text(part, "shown below"), "result", name, seq)
            yield ImagePart(part.media_type, part.blob, About("image", part.name, seq, total(part_tokens(part))))
        case Image():
            yield _text(image_text(part, "this model cannot see pictures"), "result", name, seq)


def _without_result(part: ToolCall) -> ToolCall:
    return ToolCall(part.call_id, part.name, part.arguments, part.raw_arguments)


def _text(text: str, kind: str, name: str, seq: int | None) -> TextPart:
    return TextPart(text, About(kind, name, seq, total(estimate_text(text))))
