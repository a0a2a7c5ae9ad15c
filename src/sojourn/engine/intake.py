"""Taking text in: counted once, and nothing so large that one result fills a window (R-8, Y-5's cap)."""

from collections.abc import Sequence

import msgspec

from sojourn.base import Finish
from sojourn.meter import count_message, count_part, estimate_text, fit_ends, total
from sojourn.record import File, Message, Part, ResultPart, Store, Text, ToolCall

_TITLE_CHARACTERS = 80
_ROW_BYTES = 32 * 1024  # a larger payload lies beside the database


def result_cap(trigger: int) -> int:
    """Tokens of one tool result that stand in view: ``min(16,000, 0.15 * trigger)`` (Y-5)."""
    return min(16_000, trigger * 15 // 100)


async def take_in(message: Message, store: Store, cap: int) -> Message:
    """The message as it is stored: large results moved to blobs with an excerpt in their place, tokens counted."""
    parts = [await take_in_part(part, store, cap) for part in message.parts]
    return count_message(msgspec.structs.replace(message, parts=tuple(parts)))


async def take_in_part(part: Part, store: Store, cap: int) -> Part:
    """One part, counted; a call's results each under the cap."""
    if not isinstance(part, ToolCall):
        return count_part(part)
    sizes = [total(r.tokens or estimate_text(r.text)) if isinstance(r, Text) else 0 for r in part.result]
    whole = sum(sizes)
    # The cap is of the whole result: its texts share it by size.
    caps = [cap if whole <= cap else max(1, cap * size // whole) for size in sizes]
    results = [await _take_in_result(result, store, own) for result, own in zip(part.result, caps, strict=True)]
    return count_part(msgspec.structs.replace(part, result=tuple(results)))


async def _take_in_result(result: ResultPart, store: Store, cap: int) -> ResultPart:
    if not isinstance(result, Text):
        return result
    tokens = result.tokens or estimate_text(result.text)
    if len(result.text) <= _ROW_BYTES // 4 and total(tokens) <= cap:
        return msgspec.structs.replace(result, tokens=tokens)
    data = result.text.encode("utf-8", "surrogatepass")
    if len(data) <= _ROW_BYTES and total(tokens) <= cap:
        return msgspec.structs.replace(result, tokens=tokens)
    blob = await store.put_blob(data)
    excerpt = result.text if total(tokens) <= cap else _excerpt(result.text, cap, blob)
    return File(
        blob=blob,
        media_type="text/plain; charset=utf-8",
        size=len(data),
        excerpt=excerpt,
        tokens=tokens if excerpt is result.text else estimate_text(excerpt),
    )


def _excerpt(text: str, cap: int, blob: str) -> str:
    """Head and tail of a text in at most ``cap`` tokens; the line between says how to read on where the head ends."""
    most = text.count("\n") + 1
    # The line number is known only when the cut is: room is kept for the largest.
    cut = fit_ends(text, cap, omission=lambda left_out: omission_line(left_out, blob, most))
    at = cut.find(_address(blob))
    if at < 0:
        return cut
    head = max(0, cut.rfind("\n", 0, at))
    whole_line = text[head : head + 1] == "\n" and not text[:head].endswith("\n") and head > 0
    line = text.count("\n", 0, head) + 1 + whole_line
    return cut[:at] + cut[at:].replace(f'"from": {most}', f'"from": {line}', 1)


def omission_line(left_out: int, blob: str, line: int) -> str:
    """The line that stands where about ``left_out`` tokens of a long result are missing: how to read on from ``line``."""
    return f'[... about {left_out:,} tokens left out here; read on: history {{"read": {_address(blob)}, "from": {line}}} ...]'


def _address(blob: str) -> str:
    return f'"blob:{blob[:12]}"'


def finish_of(message: Message) -> Finish | None:
    """An answer that comes with its parts is complete; one without is being streamed, and observe_usage ends it."""
    if message.role != "assistant" or not message.parts:
        return None
    calls = any(isinstance(part, ToolCall) for part in message.parts)
    return Finish.TOOL_CALLS if calls else Finish.STOP


def title_of(messages: Sequence[Message]) -> str | None:
    """A session's title: the first line of what a person said first, at most 80 characters."""
    for message in messages:
        if message.origin == "user" and message.role == "user":
            for part in message.parts:
                if isinstance(part, Text) and part.text.strip():
                    return " ".join(part.text.split())[:_TITLE_CHARACTERS]
    return None
