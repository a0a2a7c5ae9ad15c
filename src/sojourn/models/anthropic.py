"""Anthropic Messages: from a request to its body, and nothing else (A-1, Q-4).

``CONVERSATION``, ``encode_head``, ``encode_message`` and ``with_mark`` stand in every serialiser: ``models.encoder``
builds on them.
"""

from typing import Any

from sojourn.models.canonical import safe_arguments, safe_text
from sojourn.wire import (
    CallPart,
    ImagePart,
    ModelRequest,
    ReasoningPart,
    RequestSettings,
    ResultPart,
    TextPart,
    WireMessage,
    WirePart,
)
from sojourn.wire.request import Mark

Body = dict[str, Any]

CONVERSATION = "messages"
"""Where the conversation stands in the body."""
_MAX_OUTPUT = 8_192
"""The protocol demands a limit; this one where the settings name none."""
_THINKING_LEAST = 1_024
"""Tokens: the protocol refuses a smaller budget."""
_UNMARKABLE = ("thinking", "redacted_thinking")


def encode(request: ModelRequest) -> Body:
    """The body of ``POST /v1/messages``. Nothing is reordered, added or dropped.

    A picture without ``data`` is sent as ``blob:<address>``, for the client to replace.
    """
    body = encode_head(request)
    for message in request.messages:
        encoded = encode_message(message)
        body["messages"] += [*encoded[:-1], with_mark(encoded[-1], message.mark)] if message.mark else encoded
    return body


def encode_head(request: ModelRequest) -> Body:
    """Everything but the messages: settings, tools, system blocks."""
    body = _settings(request.settings)
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": safe_text(tool.description), "input_schema": safe_arguments(tool.schema)}
            for tool in request.tools
        ]
    if request.system:
        body["system"] = [_marked(block.mark, {"type": "text", "text": safe_text(block.text)}) for block in request.system]
    body["messages"] = []
    return body


def encode_message(message: WireMessage) -> list[Body]:
    """The message without its mark: always one. The engine's notes (role system) are a plain string where they can be."""
    content: list[Body] | str = [_part(part) for part in message.parts]
    if message.role == "system" and len(message.parts) == 1 and isinstance(message.parts[0], TextPart):
        content = safe_text(message.parts[0].text)
    return [{"role": message.role, "content": content}]


def with_mark(message: Body, mark: Mark) -> Body:
    """A copy with a cache mark on its last block that can carry one: thinking cannot, nor can a message of role system."""
    if message["role"] == "system":
        return message
    content = list(message["content"])
    for index in range(len(content) - 1, -1, -1):
        if content[index]["type"] not in _UNMARKABLE:
            content[index] = _marked(mark, content[index])
            break
    return {**message, "content": content}


def _marked(mark: Mark | None, block: Body) -> Body:
    return {**block, "cache_control": {"type": "ephemeral"}} if mark else block


def _settings(settings: RequestSettings) -> Body:
    most = settings.max_output or _MAX_OUTPUT
    body: Body = {"model": settings.model, "max_tokens": most}
    if settings.thinking is not None:
        body |= _thinking(settings.thinking, most)
    match settings.tool_choice:
        case None:
            pass
        case "auto" | "any" | "none":
            body["tool_choice"] = {"type": settings.tool_choice}
        case "required":
            body["tool_choice"] = {"type": "any"}
        case name:
            body["tool_choice"] = {"type": "tool", "name": name}
    return body


def _thinking(value: str, most: int) -> Body:
    """``off``, a budget in tokens, ``adaptive``, or an effort such as ``high``.

    A budget is part of the output and must be smaller than its limit ``most``: a larger one is cut down to fit, and left
    out where not even the least one fits.
    """
    if value == "off":
        return {"thinking": {"type": "disabled"}}
    if value.isdecimal():
        if most <= _THINKING_LEAST:
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": min(int(value), most - 1)}}
    effort: Body = {} if value == "adaptive" else {"output_config": {"effort": value}}
    return {"thinking": {"type": "adaptive"}} | effort


def _part(part: WirePart) -> Body:
    match part:
        case TextPart():
            return {"type": "text", "text": safe_text(part.text)}
        case ReasoningPart():
            if part.redacted:
                return {"type": "redacted_thinking", "data": part.redacted}
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case ImagePart():
            data = part.data or f"blob:{part.blob}"
            return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": data}}
        case CallPart():
            return {"type": "tool_use", "id": part.call_id, "name": part.name, "input": safe_arguments(part.arguments)}
        case ResultPart():
            error: Body = {"is_error": True} if part.error else {}
            return {"type": "tool_result", "tool_use_id": part.call_id, "content": [_part(one) for one in part.content]} | error
