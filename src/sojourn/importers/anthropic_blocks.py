"""Anthropic content blocks to parts: shared by Claude Code files and plain message lists."""

from typing import Any

from sojourn.base import Usage
from sojourn.importers.content import anthropic_document, anthropic_image, missing_picture, result_parts
from sojourn.importers.desk import Desk, Draft
from sojourn.importers.fields import count, mapping, optional_count, string
from sojourn.importers.touches import touches
from sojourn.record import Notice, Part, Reasoning, Text, ToolCall


def usage_of(value: Any) -> Usage | None:
    """``input_tokens`` excludes what the cache gave or took; None where the message has no usage or only zeros."""
    fields = mapping(value)
    usage = Usage(
        fresh=count(fields.get("input_tokens")),
        cached=optional_count(fields.get("cache_read_input_tokens")),
        written=optional_count(fields.get("cache_creation_input_tokens")),
        output=count(fields.get("output_tokens")),
    )
    return usage if usage.input or usage.output else None


def call_of(block: dict[str, Any], fallback_id: str, started: int) -> ToolCall:
    """A ``tool_use`` block."""
    name = string(block.get("name")) or "unknown"
    given = block.get("input")
    arguments = mapping(given)
    raw = given if isinstance(given, str) else ""
    return ToolCall(
        call_id=string(block.get("id")) or fallback_id,
        name=name,
        arguments=arguments,
        raw_arguments=raw,
        started=started or None,
        touches=touches(name, arguments, raw),
    )


def holds_something(block: Any) -> bool:
    """False for an empty text and for what is no block at all."""
    if isinstance(block, str):
        return bool(block)
    fields = mapping(block)
    kind = string(fields.get("type"))
    return bool(string(fields.get("text"))) if kind == "text" or (not kind and "text" in fields) else bool(fields)


def plain_part(block: Any, provider: str, model: str, blobs: dict[str, bytes]) -> Part | None:
    """A block that is neither a call nor a result; None where there is nothing in it to keep."""
    if not holds_something(block):
        return None
    if isinstance(block, str):
        return Text(block)
    fields = mapping(block)
    kind = string(fields.get("type"))
    if kind == "text" or (not kind and "text" in fields):
        return Text(string(fields.get("text")))
    if kind == "thinking":
        signature = string(fields.get("signature"))
        return Reasoning(string(fields.get("thinking")), provider=provider, model=model, signature=signature)
    if kind == "redacted_thinking":
        return Reasoning("", provider=provider, model=model, redacted=string(fields.get("data")))
    if kind == "image":
        return anthropic_image(fields, blobs) or Notice("import", missing_picture(fields))
    if kind == "document" and (file := anthropic_document(fields, blobs)) is not None:
        return file
    return Notice("import", f"[block of type {kind or 'unknown'} left out]")


def is_result(block: Any) -> bool:
    return isinstance(block, dict) and string(block.get("type")).endswith("tool_result")


def is_call(block: Any) -> bool:
    return isinstance(block, dict) and string(block.get("type")).endswith("tool_use")


def take_result(desk: Desk, session: str, block: dict[str, Any], key: str, created: int, size: int) -> None:
    """Gives a result to its call, or keeps it as an orphan."""
    blobs: dict[str, bytes] = {}
    result = result_parts(block.get("content"), blobs)
    failed = block.get("is_error") is True
    if not desk.answer(key, result, failed=failed, ended=created, blobs=blobs, size=size):
        draft = Draft(session, "user", "import", source="orphan_result", created=created, blobs=blobs, size=size)
        desk.orphan(session, string(block.get("tool_use_id")), result, draft)
