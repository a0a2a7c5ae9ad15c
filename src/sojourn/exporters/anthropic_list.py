"""An Anthropic message list: turns alternate, all results of a turn stand in the next one (R-14)."""

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any

from sojourn.exporters.words import (
    BlobReader,
    CallIds,
    clean,
    in_document,
    is_speech,
    is_system,
    label,
    outcome,
    part_text,
    texts,
    tool_name,
)
from sojourn.record import File, Image, Message, Part, Reasoning, Session, Text, ToolCall

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_OPENING = "(the session begins with an answer)"

Blocks = list[dict[str, Any]]


def to_anthropic(session: Session, messages: Iterable[Message], blob: BlobReader) -> Iterator[str]:
    """Chunks of ``{"messages": [...], "system": [...], "title": ...}``.

    Speech and calls with their results; imported system text stands in ``system``. Thinking is kept where Anthropic
    signed it. Engine text, reminders and other programs' notes are left out.
    """
    system: Blocks = []

    def tail() -> str:
        title = json.dumps(clean(session.title))
        return f',"system":{json.dumps(system)},"title":{title}'

    turns = _merged(_turns(messages, blob, system))
    rows = ({"role": role, "content": blocks} for role, blocks in turns)
    return in_document((json.dumps(row) for row in rows), tail)


def _turns(messages: Iterable[Message], blob: BlobReader, system: Blocks) -> Iterator[tuple[str, Blocks]]:
    ids = CallIds()
    for message in messages:
        if is_system(message):
            if text := texts(message.parts).strip():
                system.append({"type": "text", "text": text})
        elif not is_speech(message):
            continue
        elif message.role == "user":
            yield "user", [block for part in message.parts if (block := _spoken(part, blob)) is not None]
        else:
            yield from _answer(message, blob, ids)


def _answer(message: Message, blob: BlobReader, ids: CallIds) -> Iterator[tuple[str, Blocks]]:
    """The model's turn, and the one with the results of its calls."""
    blocks: Blocks = []
    results: Blocks = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            call_id = ids.fresh(part.call_id)
            blocks.append(_call(call_id, part))
            results.append(_result(call_id, part, blob))
        elif (block := _thought(part) if isinstance(part, Reasoning) else _spoken(part, blob)) is not None:
            blocks.append(block)
    yield "assistant", blocks
    yield "user", results


def _merged(turns: Iterable[tuple[str, Blocks]]) -> Iterator[tuple[str, Blocks]]:
    """Turns in a row of one role are one turn; the first is the user's."""
    role, held = "user", []
    for next_role, blocks in turns:
        if not blocks:
            continue
        if next_role == role:
            held.extend(blocks)
            continue
        yield role, held or [{"type": "text", "text": _OPENING}]
        role, held = next_role, list(blocks)
    if held:
        yield role, held


def _thought(part: Reasoning) -> dict[str, Any] | None:
    if part.provider != "anthropic":
        return None
    if part.redacted:
        return {"type": "redacted_thinking", "data": part.redacted}
    signed = {"type": "thinking", "thinking": part.text, "signature": part.signature}
    return signed if part.signature else None


def _spoken(part: Part, blob: BlobReader) -> dict[str, Any] | None:
    return _content(part, blob) if isinstance(part, (Text, Image, File)) else None


def _content(part: Text | Image | File, blob: BlobReader) -> dict[str, Any] | None:
    """A block; None for a text without anything to see, which the protocol refuses."""
    if isinstance(part, Image) and part.media_type in _PICTURES and (data := blob(part.blob)) is not None:
        return {"type": "image", "source": _source(part.media_type, data)}
    if isinstance(part, File) and part.media_type == "application/pdf" and (data := blob(part.blob)) is not None:
        return {"type": "document", "source": _source(part.media_type, data)}
    text = label(part) if isinstance(part, Image) else part_text(part)
    return {"type": "text", "text": text} if text.strip() else None


def _source(media_type: str, data: bytes) -> dict[str, str]:
    return {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}


def _call(call_id: str, call: ToolCall) -> dict[str, Any]:
    given = {"text": call.raw_arguments} if call.raw_arguments else call.arguments
    return {"type": "tool_use", "id": call_id, "name": tool_name(call.name), "input": given}


def _result(call_id: str, call: ToolCall, blob: BlobReader) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id}
    if call.state in ("completed", "error"):
        content = [made for part in call.result if (made := _content(part, blob)) is not None]
    else:
        content = [{"type": "text", "text": outcome(call)}]
    if content:
        block["content"] = content
    if call.state != "completed":
        block["is_error"] = True
    return block
