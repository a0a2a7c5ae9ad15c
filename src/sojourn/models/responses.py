"""OpenAI Responses: from a request to its body, and nothing else (A-1, Q-4).

One message of ours is one or several items of theirs. Nothing is kept at the provider: thinking goes back encrypted, as
it came. A ``ReasoningPart`` holds an item: ``signature`` is its id, ``redacted`` its encrypted content, ``text`` its summary.
The protocol takes no marks (prefixes are cached by themselves, ``prompt_cache_key`` helps to find them, Q-5).
"""

from typing import Any

from sojourn.models.canonical import canonical, safe_arguments, safe_text
from sojourn.models.thinking import effort
from sojourn.wire import (
    CallPart,
    ImagePart,
    ModelRequest,
    ReasoningPart,
    RequestSettings,
    ResultPart,
    TextPart,
    WireMessage,
)
from sojourn.wire.request import Mark

Body = dict[str, Any]

CONVERSATION = "input"


def encode(request: ModelRequest) -> Body:
    """The body of ``POST /responses``. Nothing is reordered, added or dropped.

    A picture without ``data`` is sent as ``blob:<address>``, for the client to replace.
    """
    body = encode_head(request)
    body[CONVERSATION] += [one for message in request.messages for one in encode_message(message)]
    return body


def encode_head(request: ModelRequest) -> Body:
    """Everything but the conversation: settings, tools, and the system blocks, each as an item of its own."""
    body = _settings(request.settings)
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": safe_text(tool.description),
                "parameters": safe_arguments(tool.schema),
                "strict": False,
            }
            for tool in request.tools
        ]
    body[CONVERSATION] = [_said("system", [_text("input_text", block.text)]) for block in request.system]
    return body


def encode_message(message: WireMessage) -> list[Body]:
    """The items of one message, in the order of its parts; neighbouring texts and pictures share one item."""
    kind = "output_text" if message.role == "assistant" else "input_text"
    items: list[Body] = []
    for part in message.parts:
        match part:
            case TextPart():
                _say(items, message.role, _text(kind, part.text))
            case ImagePart():
                _say(items, message.role, _image(part))
            case ReasoningPart():
                items.append(_reasoning(part))
            case CallPart():
                arguments = canonical(part.arguments).decode()
                items.append(
                    {"type": "function_call", "call_id": part.call_id, "name": part.name, "arguments": arguments}
                )  # fmt: skip
            case ResultPart():
                items.append({"type": "function_call_output", "call_id": part.call_id, "output": _output(part)})
    return items


def with_mark(message: Body, mark: Mark) -> Body:
    """The item as it is: the protocol takes no marks (Q-5)."""
    del mark
    return message


def _settings(settings: RequestSettings) -> Body:
    body: Body = {"model": settings.model, "store": False}
    if settings.max_output is not None:
        body["max_output_tokens"] = settings.max_output
    if (level := effort(settings.thinking)) is not None:
        body["reasoning"] = {"effort": level}
    if settings.thinking != "off" and (settings.keep_thinking or settings.thinking is not None):
        body["include"] = ["reasoning.encrypted_content"]
    match settings.tool_choice:
        case None:
            pass
        case "auto" | "none" | "required":
            body["tool_choice"] = settings.tool_choice
        case "any":
            body["tool_choice"] = "required"
        case name:
            body["tool_choice"] = {"type": "function", "name": name}
    if settings.cache_key:
        body["prompt_cache_key"] = settings.cache_key
    return body


def _say(items: list[Body], role: str, block: Body) -> None:
    """Adds to the item before, where that is speech too."""
    if items and items[-1]["type"] == "message":
        items[-1]["content"].append(block)
    else:
        items.append(_said(role, [block]))


def _said(role: str, content: list[Body]) -> Body:
    return {"type": "message", "role": role, "content": content}


def _text(kind: str, text: str) -> Body:
    return {"type": kind, "text": safe_text(text)}


def _image(part: ImagePart) -> Body:
    data = f"data:{part.media_type};base64,{part.data}" if part.data else f"blob:{part.blob}"
    return {"type": "input_image", "image_url": data}


def _reasoning(part: ReasoningPart) -> Body:
    item: Body = {"type": "reasoning", "id": part.signature} if part.signature else {"type": "reasoning"}
    item["summary"] = [{"type": "summary_text", "text": part.text}] if part.text else []
    return item | {"encrypted_content": part.redacted} if part.redacted else item


def _output(part: ResultPart) -> str | list[Body]:
    """A plain string wherever there is no picture: that is what every server takes."""
    if any(isinstance(one, ImagePart) for one in part.content):
        return [_image(one) if isinstance(one, ImagePart) else _text("input_text", one.text) for one in part.content]
    return "\n".join(safe_text(one.text) for one in part.content if isinstance(one, TextPart))
