"""OpenAI-compatible Chat Completions: from a request to its body, and nothing else (A-1, Q-4).

The protocol has no marks (prefixes are cached by themselves), no pictures in tool messages (they stand in the user
message that follows) and no field for signed thinking (it is left out). Plain thinking, where the projection sends it,
goes back as ``reasoning_content``: servers that let a model think between its calls want it.
"""

from typing import Any

from sojourn.models.canonical import canonical, safe_arguments, safe_text
from sojourn.models.thinking import effort
from sojourn.wire import CallPart, ImagePart, ModelRequest, ReasoningPart, RequestSettings, ResultPart, TextPart, WireMessage
from sojourn.wire.request import Mark

Body = dict[str, Any]

CONVERSATION = "messages"
_REPLAYED = "extra_content"
"""The one provider field that compatible servers want back with a call (a thought signature)."""


def encode(request: ModelRequest) -> Body:
    """The body of ``POST /chat/completions``. Nothing is reordered or added but what the protocol's shape forces.

    A picture without ``data`` is sent as ``blob:<address>``, for the client to replace.
    """
    body = encode_head(request)
    body["messages"] += [one for message in request.messages for one in encode_message(message)]
    return body


def encode_head(request: ModelRequest) -> Body:
    """Everything but the conversation: settings, tools, and the system blocks as the first of ``messages``: one, since the
    templates of many servers refuse a second one. Each block carries its own left boundary (P-2), so nothing joins them."""
    body = _settings(request.settings)
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": safe_text(tool.description),
                    "parameters": safe_arguments(tool.schema),
                },
            }
            for tool in request.tools
        ]
    text = "".join(safe_text(block.text) for block in request.system)
    body["messages"] = [{"role": "system", "content": text}] if text else []
    return body


def encode_message(message: WireMessage) -> list[Body]:
    """One message of ours as one or several of theirs: results first, each a message of role ``tool``."""
    match message.role:
        case "assistant":
            return [_assistant(message)]
        case "system":
            return [{"role": "system", "content": _joined(message)}]
        case "user":
            return _user(message)


def with_mark(message: Body, mark: Mark) -> Body:
    """The message as it is: the protocol takes no marks (Q-5)."""
    del mark
    return message


def _settings(settings: RequestSettings) -> Body:
    body: Body = {"model": settings.model}
    if settings.max_output is not None:
        body["max_tokens"] = settings.max_output
    if (level := effort(settings.thinking)) is not None:
        body["reasoning_effort"] = level
    match settings.tool_choice:
        case None:
            pass
        case "auto" | "none" | "required":
            body["tool_choice"] = settings.tool_choice
        case "any":
            body["tool_choice"] = "required"
        case name:
            body["tool_choice"] = {"type": "function", "function": {"name": name}}
    return body


def _user(message: WireMessage) -> list[Body]:
    results = [part for part in message.parts if isinstance(part, ResultPart)]
    content = [_block(one) for result in results for one in result.content if isinstance(one, ImagePart)]
    content += [_block(part) for part in message.parts if isinstance(part, TextPart | ImagePart)]
    bodies = [_result(part) for part in results]
    if len(content) == 1 and content[0]["type"] == "text":
        bodies.append({"role": "user", "content": content[0]["text"]})
    elif content:
        bodies.append({"role": "user", "content": content})
    return bodies


def _result(part: ResultPart) -> Body:
    text = "\n".join(safe_text(one.text) for one in part.content if isinstance(one, TextPart))
    return {"role": "tool", "tool_call_id": part.call_id, "content": text}


def _assistant(message: WireMessage) -> Body:
    """Texts of one message are joined by a blank line: many servers take a plain string only."""
    calls = [_call(part) for part in message.parts if isinstance(part, CallPart)]
    text = _joined(message)
    body: Body = {"role": "assistant", "content": text or None}
    thoughts = [
        part.text for part in message.parts if isinstance(part, ReasoningPart) and not (part.signature or part.redacted)
    ]
    if any(thoughts):
        body["reasoning_content"] = safe_text("".join(thoughts))
    return body | {"tool_calls": calls} if calls else body


def _joined(message: WireMessage) -> str:
    return "\n\n".join(safe_text(part.text) for part in message.parts if isinstance(part, TextPart))


def _call(part: CallPart) -> Body:
    call: Body = {
        "id": part.call_id,
        "type": "function",
        "function": {"name": part.name, "arguments": canonical(part.arguments).decode()},
    }
    return call | {_REPLAYED: part.extra[_REPLAYED]} if _REPLAYED in part.extra else call


def _block(part: TextPart | ImagePart) -> Body:
    if isinstance(part, TextPart):
        return {"type": "text", "text": safe_text(part.text)}
    data = f"data:{part.media_type};base64,{part.data}" if part.data else f"blob:{part.blob}"
    return {"type": "image_url", "image_url": {"url": data}}
