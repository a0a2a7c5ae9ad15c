"""The Messages API's rules for single blocks, marks and pictures."""

import re
from collections.abc import Iterator
from typing import Any

from provider import pictures
from provider.refusal import Body, Refused
from provider.terms import Terms

_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,200}$")
_FIELDS = {
    "text": {"type", "text", "cache_control", "citations"},
    "image": {"type", "source", "cache_control", "transformations"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "tool_use": {"type", "id", "name", "input", "cache_control", "caller", "toolset_name"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"},
}
_NEEDED = {
    "text": ("text",), "image": ("source",), "thinking": ("signature", "thinking"), "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"), "tool_result": ("tool_use_id",),
}  # fmt: skip
_ONLY_IN = {
    "tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "tool_result": "user",
    "image": "user",
}
_MEDIA = ("image/jpeg", "image/png", "image/gif", "image/webp")


def listed(content: Any) -> list[Any]:
    """A content as blocks: a text alone is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def check(body: Body, terms: Terms) -> None:
    """Every block of every message, then the marks and pictures of the whole request."""
    messages = body.get("messages")
    if "messages" not in body:
        raise Refused("messages: Field required")
    if not isinstance(messages, list):
        raise Refused("messages: Input should be a valid list")
    if not messages:
        raise Refused("messages: at least one message is required")
    for at, message in enumerate(messages):
        _check_message(message, at)
    marks = list(_marks(body))
    if len(marks) > 4:
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    short = False
    for where, mark in marks:
        ttl = _check_mark(mark, where)
        if short and ttl == "1h":
            raise Refused(
                f"{where}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. "
                "Note that blocks are processed in the following order: `tools`, `system`, `messages`."
            )
        short = short or ttl == "5m"
    _check_pictures(messages, terms)


def _check_message(message: Any, at: int) -> None:
    if not isinstance(message, dict):
        raise Refused(f"messages.{at}: Input should be a valid dictionary")
    role = message.get("role")
    if role is None:
        raise Refused(f"messages.{at}.role: Field required")
    if role not in ("user", "assistant", "system"):
        raise Refused(f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".')
    for name in message:
        if name not in ("role", "content"):
            raise Refused(f"messages.{at}.{name}: Extra inputs are not permitted")
    if "content" not in message:
        raise Refused(f"messages.{at}.content: Field required")
    content = message["content"]
    if not isinstance(content, str | list):
        raise Refused(f"messages.{at}.content: Input should be a valid list")
    if role == "system":
        if not content:
            raise Refused(f"messages.{at}: system content must contain at least one block")
        if any(block.get("type") != "text" for block in listed(content)):
            raise Refused(f"messages.{at}: role 'system' supports text, tool_addition, and tool_removal blocks only")
    if not content:
        raise Refused(
            f"messages.{at}: all messages must have non-empty content except for the optional final assistant message"
        )
    for place, block in enumerate(listed(content)):
        _check_block(block, f"messages.{at}.content.{place}", at, role)


def _check_block(block: Any, where: str, at: int, role: str) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in _FIELDS:
        raise Refused(
            f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
            + ", ".join(map(repr, _FIELDS))
        )
    for name in _NEEDED[kind]:
        if name not in block:
            raise Refused(f"{where}.{kind}.{name}: Field required")
    for name in block:
        if name not in _FIELDS[kind]:
            raise Refused(f"{where}.{kind}.{name}: Extra inputs are not permitted")
    if role != _ONLY_IN.get(kind, role):
        raise Refused(f"messages.{at}: `{kind}` blocks can only be in `{_ONLY_IN[kind]}` messages")
    if kind == "text":
        check_text(block, where, "messages")
    elif kind == "tool_use":
        if not isinstance(block["id"], str) or not _ID.match(block["id"]):
            raise Refused(f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if not isinstance(block["name"], str) or not _NAME.match(block["name"]):
            raise Refused(f"{where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'")
        if not isinstance(block["input"], dict):
            raise Refused(f"{where}.tool_use.input: Input should be a valid dictionary")
    elif kind == "tool_result":
        if not isinstance(block["tool_use_id"], str) or not _ID.match(block["tool_use_id"]):
            raise Refused(f"{where}.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        _check_result(block, where)


def _check_result(block: Body, where: str) -> None:
    content = block.get("content", "")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise Refused(f"{where}.tool_result.content: Input should be a valid list")
    for place, inner in enumerate(content):
        kind = inner.get("type") if isinstance(inner, dict) else None
        if kind not in ("text", "image"):
            raise Refused(
                f"{where}.tool_result.content.{place}: Input tag '{kind}' found using 'type' does not match any of the "
                "expected tags: "
                "'text', 'image', 'search_result', 'document', 'tool_reference'"
            )
        if kind == "image" and block.get("is_error"):
            raise Refused(f"{where}.tool_result.content: content of `tool_result` blocks with `is_error` must be text only")
        if kind == "text":
            check_text(inner, f"{where}.tool_result.content.{place}", "messages")


def check_text(block: Body, where: str, whole: str) -> None:
    """A text block: neither empty nor blank, no mark on an empty one."""
    text = block.get("text")
    if not isinstance(text, str):
        raise Refused(
            f"{where}.text.text: Input should be a valid string" if "text" in block else f"{where}.text.text: Field required"
        )
    for name in block:
        if name not in _FIELDS["text"]:
            raise Refused(f"{where}.text.{name}: Extra inputs are not permitted")
    if not text and block.get("cache_control"):
        raise Refused(f"{where}.text: cache_control cannot be set for empty text blocks")
    if not text:
        raise Refused(f"{whole}: text content blocks must be non-empty")
    if not text.strip():
        raise Refused(f"{whole}: text content blocks must contain non-whitespace text")


def _marks(body: Body) -> Iterator[tuple[str, Any]]:
    """Every mark with its place, in the order in which blocks are processed."""
    for at, tool in enumerate(body.get("tools") or []):
        if tool.get("cache_control") is not None:
            yield f"tools.{at}", tool["cache_control"]
    if isinstance(body.get("system"), list):
        for at, block in enumerate(body["system"]):
            if block.get("cache_control") is not None:
                yield f"system.{at}", block["cache_control"]
    for at, message in enumerate(body["messages"]):
        for place, block in enumerate(listed(message["content"])):
            where = f"messages.{at}.content.{place}"
            if isinstance(block.get("content"), list):
                for inner, part in enumerate(block["content"]):
                    if part.get("cache_control") is not None:
                        yield f"{where}.tool_result.content.{inner}", part["cache_control"]
            if block.get("cache_control") is not None:
                yield f"{where}.{block['type']}", block["cache_control"]
    if body.get("cache_control") is not None:
        yield "", body["cache_control"]


def _check_mark(mark: Any, where: str) -> str:
    if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
        found = mark.get("type") if isinstance(mark, dict) else mark
        raise Refused(
            f"{where}.cache_control: Input tag '{found}' found using 'type' does not match any of the expected tags: "
            "'ephemeral'"
        )
    for name in mark:
        if name not in ("type", "ttl"):
            raise Refused(f"{where}.cache_control.ephemeral.{name}: Extra inputs are not permitted")
    ttl = mark.get("ttl", "5m")
    if ttl not in ("5m", "1h"):
        raise Refused(f"{where}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'")
    return str(ttl)


def _check_pictures(messages: list[Body], terms: Terms) -> None:
    found: list[tuple[str, Body]] = []
    for at, message in enumerate(messages):
        for place, block in enumerate(listed(message["content"])):
            if block["type"] == "image":
                found.append((f"messages.{at}.content.{place}", block))
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                where = f"messages.{at}.content.{place}.tool_result.content"
                found += [(f"{where}.{inner}", part) for inner, part in enumerate(block["content"]) if part["type"] == "image"]
    if len(found) > terms.images_most:
        raise Refused(f"too many images and documents: {len(found)} + 0 > {terms.images_most}")
    for where, block in found:
        _check_picture(f"{where}.image.source", block["source"], terms, many=len(found) > terms.many_images)


def _check_picture(where: str, source: Any, terms: Terms, *, many: bool) -> None:
    kind = source.get("type") if isinstance(source, dict) else source
    if kind != "base64":
        raise Refused(
            f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'base64', 'url', 'file'"
        )
    if source.get("media_type") not in _MEDIA:
        raise Refused(f"{where}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
    for name in source:
        if name not in ("type", "media_type", "data"):
            raise Refused(f"{where}.base64.{name}: Extra inputs are not permitted")
    data = source.get("data")
    if not isinstance(data, str) or not data:
        raise Refused(f"{where}.base64.data: Input should be a valid string")
    if len(data) > terms.image_base64:
        raise Refused(
            f"{where}.base64: image exceeds {terms.image_base64 >> 20} MB maximum: {len(data)} bytes > "
            f"{terms.image_base64} bytes"
        )
    raw = pictures.decode(data)
    if raw is None:
        raise Refused(f"{where}.base64.data: The image data is not valid base64")
    if pictures.media_type(raw) not in ("", source["media_type"]):
        raise Refused(f"{where}.base64.data: Image does not match the provided media type {source['media_type']}")
    size = pictures.size(raw)
    if size is None:
        raise Refused("Could not process image")
    if max(size) > terms.image_side:
        raise Refused(
            f"{where}.base64.data: At least one of the image dimensions exceed max allowed size: {terms.image_side} pixels"
        )
    if many and max(size) > terms.many_images_side:
        raise Refused(
            f"{where}.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: "
            f"{terms.many_images_side} pixels"
        )
