"""An OpenAI chat message list: every call answered once, at once (R-14)."""

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
from sojourn.record import File, Image, Message, Part, Session, Text, ToolCall


def to_openai(session: Session, messages: Iterable[Message], blob: BlobReader) -> Iterator[str]:
    """Chunks of ``{"messages": [...], "title": ...}``: speech and imported system text, calls with their results.

    Engine text, reminders, thinking and other programs' notes are left out; pictures in results become a line of
    text, as the protocol has no place for them.
    """

    def tail() -> str:
        return ',"title":' + json.dumps(clean(session.title), ensure_ascii=False)

    ids = CallIds()
    rows = (row for message in messages for row in _rows(message, blob, ids))
    return in_document((json.dumps(row, ensure_ascii=False) for row in rows), tail)


def _rows(message: Message, blob: BlobReader, ids: CallIds) -> Iterator[dict[str, Any]]:
    if is_system(message):
        if text := texts(message.parts):
            yield {"role": "system", "content": text}
    elif not is_speech(message):
        return
    elif message.role == "user":
        if content := _user_content(message.parts, blob):
            yield {"role": "user", "content": content}
    else:
        yield from _answer(message, ids)


def _user_content(parts: tuple[Part, ...], blob: BlobReader) -> str | list[dict[str, Any]]:
    if not any(isinstance(part, (Image, File)) for part in parts):
        return texts(parts)
    return [block for part in parts if (block := _block(part, blob)) is not None]


def _block(part: Part, blob: BlobReader) -> dict[str, Any] | None:
    if isinstance(part, Image):
        data = blob(part.blob)
        if data is None:
            return {"type": "text", "text": label(part)}
        url = f"data:{part.media_type};base64,{base64.b64encode(data).decode()}"
        return {"type": "image_url", "image_url": {"url": url}}
    if isinstance(part, (Text, File)):
        text = part_text(part)
        return {"type": "text", "text": text} if text else None
    return None


def _answer(message: Message, ids: CallIds) -> Iterator[dict[str, Any]]:
    text = texts(message.parts)
    calls = [(ids.fresh(part.call_id), part) for part in message.parts if isinstance(part, ToolCall)]
    if not text and not calls:
        return
    row: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        row["tool_calls"] = [_call(call_id, call) for call_id, call in calls]
    yield row
    for call_id, call in calls:
        yield {"role": "tool", "tool_call_id": call_id, "content": outcome(call)}


def _call(call_id: str, call: ToolCall) -> dict[str, Any]:
    arguments = call.raw_arguments or json.dumps(call.arguments, ensure_ascii=False)
    function = {"name": tool_name(call.name), "arguments": clean(arguments)}
    return {"id": call_id, "type": "function", "function": function}
