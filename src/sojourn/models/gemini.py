"""Gemini generateContent: from a request to its body, and nothing else (A-1, Q-4).

``model`` stands in the body as in the other protocols, so that it counts as a setting of the cache key; the client takes
it out and puts it into the address. The protocol takes no marks (prefixes are cached by themselves, Q-5), no pictures in
results (they follow the results in the same message) and no system messages in mid-conversation (``request.validate``
reports one; here it is a user's).
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

CONVERSATION = "contents"
SIGNATURE = "thoughtSignature"
"""The key in ``CallPart.extra`` under which a call's signature is kept, and its name in the protocol."""

_UNSIGNED = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""The documented stand-in for the signature of a call that another model made; newer models refuse a call without."""
_BUDGETS = {"minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}
"""Efforts in tokens, for the models before efforts."""


def encode(request: ModelRequest) -> Body:
    """The body of ``:streamGenerateContent``, and ``model``. Nothing is reordered or added but what the protocol forces.

    A picture without ``data`` is sent as ``blob:<address>``, for the client to replace.
    """
    body = encode_head(request)
    body[CONVERSATION] += [one for message in request.messages for one in encode_message(message)]
    return body


def encode_head(request: ModelRequest) -> Body:
    """Everything but the conversation: settings, tools, system blocks."""
    body = _settings(request.settings)
    if request.tools:
        body["tools"] = [
            {
                "functionDeclarations": [
                    {
                        "name": tool.name,
                        "description": safe_text(tool.description),
                        "parametersJsonSchema": safe_arguments(tool.schema),
                    }
                    for tool in request.tools
                ]
            }
        ]
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": safe_text(block.text)} for block in request.system]}
    body[CONVERSATION] = []
    return body


def encode_message(message: WireMessage) -> list[Body]:
    """The message: always one."""
    if message.role == "assistant":
        return [{"role": "model", "parts": _made(message)}]
    results = [part for part in message.parts if isinstance(part, ResultPart)]
    parts = [_part(part) for part in results]
    parts += [_part(one) for result in results for one in result.content if isinstance(one, ImagePart)]
    parts += [_part(part) for part in message.parts if not isinstance(part, ResultPart)]
    return [{"role": "user", "parts": parts}]


def with_mark(message: Body, mark: Mark) -> Body:
    """The message as it is: the protocol takes no marks (Q-5)."""
    del mark
    return message


def _settings(settings: RequestSettings) -> Body:
    body: Body = {"model": settings.model}
    generation: Body = {} if settings.max_output is None else {"maxOutputTokens": settings.max_output}
    if settings.thinking is not None:
        generation["thinkingConfig"] = _thinking(settings.model, settings.thinking)
    if generation:
        body["generationConfig"] = generation
    match settings.tool_choice:
        case None:
            pass
        case "auto" | "any" | "none":
            body["toolConfig"] = _choice(settings.tool_choice)
        case "required":
            body["toolConfig"] = _choice("any")
        case name:
            body["toolConfig"] = _choice("any", allowedFunctionNames=[name])
    return body


def _choice(mode: str, **more: list[str]) -> Body:
    return {"functionCallingConfig": {"mode": mode.upper(), **more}}


def _thinking(model: str, value: str) -> Body:
    """``off``, a budget in tokens, ``adaptive``, or an effort such as ``high``."""
    if value == "off":
        return {"thinkingBudget": 0}
    thoughts: Body = {"includeThoughts": True}
    if value == "adaptive":
        return {"thinkingBudget": -1} | thoughts
    if value.isdecimal():
        return {"thinkingBudget": int(value)} | thoughts
    if "gemini-2" in model and value in _BUDGETS:
        return {"thinkingBudget": _BUDGETS[value]} | thoughts
    return {"thinkingLevel": value.upper()} | thoughts


def _made(message: WireMessage) -> list[Body]:
    """The model's parts. The first of its calls carries a signature, if only the stand-in."""
    parts = [_part(part) for part in message.parts]
    first = next((part for part in parts if "functionCall" in part), None)
    if first is not None:
        first.setdefault(SIGNATURE, _UNSIGNED)
    return parts


def _part(part: WirePart) -> Body:
    match part:
        case TextPart():
            return {"text": safe_text(part.text)}
        case ReasoningPart():
            return _thought(part)
        case ImagePart():
            return {"inlineData": {"mimeType": part.media_type, "data": part.data or f"blob:{part.blob}"}}
        case CallPart():
            call = {"id": part.call_id, "name": part.name, "args": safe_arguments(part.arguments)}
            signature: Body = {SIGNATURE: part.extra[SIGNATURE]} if SIGNATURE in part.extra else {}
            return {"functionCall": call} | signature
        case ResultPart():
            text = "\n".join(safe_text(one.text) for one in part.content if isinstance(one, TextPart))
            response = {"error" if part.error else "output": text}
            return {"functionResponse": {"id": part.call_id, "name": part.name, "response": response}}


def _thought(part: ReasoningPart) -> Body:
    """A thought as it came; without words it is the signature of the text before it, which stands in an empty text."""
    body: Body = {"text": part.text, "thought": True} if part.text else {"text": ""}
    return body | {SIGNATURE: part.signature} if part.signature else body
