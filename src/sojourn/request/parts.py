"""From stored parts to parts of a request, one by one (Q-1, Q-3).

What neither the engine nor the model nor the user wrote (results, files, names, imported text) is escaped here, so that
nothing in it passes for a reminder; the record keeps it raw (M-R4).
"""

import re
from collections.abc import Iterable
from itertools import pairwise, zip_longest

import msgspec

from sojourn.base import Finish, escape_reminders, wrap_reminder
from sojourn.meter import estimate_text, part_tokens, total
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
_ID_ROOM = {"chat": (40, 24), "responses": (64, 40)}
"""Characters of a call's id that the protocol takes, and how many stay where there must be room for what makes it unique.
OpenAI's own Chat is the strictest; the ids of other servers are longer, and a session may move."""
_TAG_MOST = 200
"""Characters in which a tag is over: one that is spread wider is no tag."""
_ANSWERED = ("completed", "error")
_ENDED = (Finish.STOP, Finish.TOOL_CALLS, Finish.LENGTH)
_TAKES_SYSTEM = ("anthropic", "chat", "responses")
_MANY_PICTURES, _MANY_SIDE = 20, 2_000
"""Anthropic's rule for requests of more than 20 pictures: none of them larger than this."""
_ALL_BYTES = 20_000_000
"""Of all pictures together: in base64 they must leave room in the 32 MB that providers take at most."""


class Pictures:
    """Which pictures of one window are sent (Q-3, report 122): decided in order, once, so that nothing sent changes (Q-2).

    A picture goes as long as it is small enough itself and the request has room for it; one that comes when the request
    is full is a line that names it and why. The next window begins to count anew, with what its live tail holds.
    """

    def __init__(self, traits: Traits) -> None:
        self._traits = traits
        self._count = 0
        self._bytes = 0
        self._large = ""

    def refusal(self, part: Image) -> str:
        """Why the picture is not sent; empty = it is, and counts."""
        traits, side = self._traits, max(part.pixels or (0, 0))
        if not traits.images:
            return "this model cannot see pictures"
        if side > traits.image_side:
            return f"too large: this model takes {traits.image_side:,} pixels a side"
        if part.size > traits.image_bytes:
            return f"too large: this model takes {traits.image_bytes:,} bytes a picture"
        large = part.name or part.blob[:12] if traits.protocol == "anthropic" and side > _MANY_SIDE else ""
        most = min(traits.images_most, _MANY_PICTURES) if large or self._large else traits.images_most
        if self._count >= most:
            why = f", as {self._large or large} has more than {_MANY_SIDE:,} pixels a side" if large or self._large else ""
            return f"not shown: this request takes {most} pictures{why}; open it again in the next window"
        if self._bytes + part.size > _ALL_BYTES:
            return "not shown: the pictures of this request are too many bytes; open it again in the next window"
        self._count, self._bytes, self._large = self._count + 1, self._bytes + part.size, self._large or large
        return ""


def visible_text(part: Text, kind: str, message: Message, name: str = "") -> list[WirePart]:
    """The text, or nothing where it is blank: providers refuse blank text (Q-3)."""
    if not part.text.strip():
        return []
    text = escape_reminders(part.text) if message.origin == "import" else part.text
    return [TextPart(text, About(kind, name, message.seq or None, total(part_tokens(part))))]


def user_part(part: Part, message: Message, pictures: Pictures) -> list[WirePart]:
    """What a part of a user-role message becomes, reminders left out. Calls and thinking have no place there; notices are
    for people. Words of the engine are wrapped: they never look like the user's (report 65)."""
    seq = message.seq or None
    match part:
        case Text() if message.origin == "engine":
            return [_text(wrap_reminder(part.text), "reminder", message.source, seq)] if part.text.strip() else []
        case Text():
            return visible_text(part, "user", message, message.source)
        case Image():
            return [image(part, seq, pictures)]
        case File():
            return [_text(file_text(part, seq), "user", part.name, seq)]
        case _:
            return []


def as_system(part: Reminder, traits: Traits) -> bool:
    """Whether a reminder goes as a system message: it was stored as one, and both protocol and model take them (Q-6)."""
    return part.form == "system" and traits.mid_system and traits.protocol in _TAKES_SYSTEM


def reminder(part: Reminder, seq: int | None, *, system: bool) -> TextPart:
    """The body as a system message's text, or wrapped; look-alikes of tags in it are escaped in both (M-R4)."""
    text = escape_reminders(part.body) if system else wrap_reminder(part.body)
    return _text(text, "reminder", part.source, seq)


def image(part: Image, seq: int | None, pictures: Pictures) -> TextPart | ImagePart:
    """The picture, or a line that names it and says why it is not sent."""
    why = pictures.refusal(part)
    if why:
        return _text(image_text(part, why), "image", part.name, seq)
    return ImagePart(part.media_type, part.blob, About("image", part.name, seq, total(part_tokens(part))))


def image_text(part: Image, why: str) -> str:
    """One line that names a picture: name, type, pixels, bytes."""
    pixels = f", {part.pixels[0]}x{part.pixels[1]}" if part.pixels else ""
    return escape_reminders(f"[picture {part.name or part.blob[:12]}: {part.media_type}{pixels}, {part.size:,} bytes; {why}]")


def file_text(part: File, seq: int | None) -> str:
    """The excerpt of a file, its name, and how to fetch the rest."""
    where = f"read message {seq} with the history tool" if seq else "look it up with the history tool"
    note = f"[file {part.name or part.blob[:12]}: {part.media_type}, {part.size:,} bytes; for the whole, {where}]"
    return escape_reminders(f"{part.excerpt}\n{note}" if part.excerpt.strip() else note)


def reasoning(message: Message, traits: Traits, signed_after: int) -> bool:
    """Whether the thinking of a message is sent: byte for byte to the model that made it, else none of it (Q-3).

    An answer that was cut short keeps its text only (R-12). Signed thinking is bound to the prefix before it, and providers
    check that (report 61): what stands at or before ``signed_after``, or came from another program, was signed for another
    one. Chat has no field for signed thinking; plain thinking goes back where the model takes it, bound to nothing.
    Responses refuses a thinking item without the item behind it, and a blank message is not sent.
    """
    if traits.protocol == "responses" and any(_stands_alone(part, after) for part, after in pairwise(message.parts)):
        return False
    blocks = [part for part in message.parts if isinstance(part, Reasoning)]
    mine = traits.thinking and message.finish in _ENDED and all(part.model == traits.name for part in blocks)
    if traits.protocol == "chat":
        return mine and not any(part.signature or part.redacted for part in blocks)
    if 0 < message.seq <= signed_after or message.foreign_id:
        return False
    return mine and all(part.redacted or (part.signature and traits.protocol != "responses") for part in blocks)


def _stands_alone(part: Part, after: Part) -> bool:
    """Whether a thinking item is followed by blank text, which is not sent."""
    return isinstance(part, Reasoning) and isinstance(after, Text) and not after.text.strip()


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


def result(part: ToolCall, call_id: str, seq: int | None, traits: Traits, pictures: Pictures) -> ResultPart:
    """Its one answer, never invented: what is stored, or that the outcome is unknown (R-12).

    The tokens stand on its contents; the result's own number is 0.
    """
    content = [one for stored in part.result for one in _result_part(stored, part.name, seq, traits, pictures)]
    if part.state not in _ANSWERED:
        content.append(_text(INTERRUPTED, "result", part.name, seq))
    elif not content:
        content.append(_text(NO_OUTPUT, "result", part.name, seq))
    error = part.state != "completed"
    return ResultPart(call_id, tool_name(part.name), tuple(_sealed(content)), error, About("result", part.name, seq))


def tool_name(name: str) -> str:
    """The name as every protocol takes it: letters, digits, ``_`` and ``-``, at most 64."""
    return _FOREIGN.sub("_", name)[:_NAME_MOST] or "unnamed"


def call_id(part: ToolCall, seq: int, index: int, seen: set[str], traits: Traits) -> str:
    """Its id, unique in the request. Servers that count from 0 in every answer use the same one again and again."""
    own = part.call_id if traits.protocol == "chat" else _FOREIGN.sub("_", part.call_id)
    most, kept = _ID_ROOM.get(traits.protocol, (len(own), len(own)))
    unique = own if len(own) <= most else own[:kept]
    if not own or unique in seen:
        unique = f"{unique[:kept] or 'call'}_{seq}_{index}"
    while unique in seen:
        unique += "_"
    seen.add(unique)
    return unique


def _result_part(
    part: StoredResult, name: str, seq: int | None, traits: Traits, pictures: Pictures
) -> Iterable[TextPart | ImagePart]:
    match part:
        case Text():
            if part.text.strip():
                about = About("result", name, seq, total(part_tokens(part)))
                yield TextPart(escape_reminders(part.text), about)
        case File():
            yield _text(file_text(part, seq), "result", name, seq)
        case Image():
            shown = image(part, seq, pictures)
            if isinstance(shown, TextPart):
                yield _text(shown.text, "result", name, seq)
                return
            if traits.protocol == "chat":
                yield _text(image_text(part, "shown below"), "result", name, seq)
            yield shown


def _sealed(content: list[TextPart | ImagePart]) -> Iterable[TextPart | ImagePart]:
    """The contents without a tag that begins in one text and ends in the next: protocols join them."""
    for one, after in zip_longest(content, content[1:]):
        if isinstance(one, TextPart) and isinstance(after, TextPart):
            bracket = max(one.text.rfind(mark) for mark in "<\uff1c")
            end, begin = one.text[bracket:], after.text[:_TAG_MOST]
            near = bracket >= 0 and len(end) <= _TAG_MOST and not _opens_tag(end)
            if near and _opens_tag(end + begin):
                yield msgspec.structs.replace(one, text=f"{one.text[: bracket + 1]}~{one.text[bracket + 1 :]}")
                continue
        yield one


def _opens_tag(text: str) -> bool:
    """Whether a tag begins with its first character, escaped or not: escaping puts one more ``~`` there."""
    plain, escaped = text[1:], escape_reminders(text)[1:]
    return len(escaped) - len(escaped.lstrip("~")) > len(plain) - len(plain.lstrip("~"))


def _without_result(part: ToolCall) -> ToolCall:
    return ToolCall(part.call_id, part.name, part.arguments, part.raw_arguments)


def _text(text: str, kind: str, name: str, seq: int | None) -> TextPart:
    return TextPart(text, About(kind, name, seq, total(estimate_text(text))))
