"""Answers of generateContent."""

import json
from typing import Any

from provider.answer import Answer, Event, output_tokens, thought_tokens
from provider.gemini_rules import call_key, plain_names
from provider.memory import Memory
from provider.refusal import Body
from provider.reply import Reply
from provider.seen import Bill, Seen
from provider.terms import Terms

_FINISH = {"length": "MAX_TOKENS", "refusal": "SAFETY", "filter": "PROHIBITED_CONTENT", "window": "MAX_TOKENS", "stop": "STOP"}


def speak(seen: Seen, reply: Reply, bill: Bill, memory: Memory, terms: Terms) -> Answer:
    """The response and its chunks. Where there was thinking, the first call (or the end of the text) carries a signature.

    Arguments that are no JSON object end the answer with MALFORMED_FUNCTION_CALL, as the service does.
    """
    del terms
    parts, malformed = _parts(seen, reply, memory)
    reason = _FINISH.get(reply.finish, reply.finish) or ("MALFORMED_FUNCTION_CALL" if malformed else "STOP")
    usage = _usage(reply, bill)
    head = {"modelVersion": seen.model, "responseId": f"gem_{memory.number():06d}"} | (
        {"usageMetadata": usage} if usage else {}
    )
    events: list[Event] = []
    for part in parts:
        for piece in _cut(part, reply):
            events.append(("", {"candidates": [{"content": {"parts": [piece], "role": "model"}, "index": 0}], **head}))
    last: Body = {"finishReason": reason, "index": 0}
    if events:
        events[-1][1]["candidates"][0]["finishReason"] = reason
    else:
        events.append(("", {"candidates": [last], **head}))
    whole = {"candidates": [{**last, **({"content": {"parts": parts, "role": "model"}} if parts else {})}], **head}
    return Answer(whole, events, usage, _error, new_line="\r\n")


def _error(code: str, message: str) -> Event:
    said = message or "The model is overloaded. Please try again later."
    return "", {
        "error": {"code": int(code or 503), "message": said, "status": {"429": "RESOURCE_EXHAUSTED"}.get(code, "UNAVAILABLE")}
    }


def _parts(seen: Seen, reply: Reply, memory: Memory) -> tuple[list[Body], bool]:
    parts: list[Body] = []
    config = plain_names({"generationConfig": seen.body.get("generationConfig") or seen.body.get("generation_config")})
    shown = ((config["generationConfig"] or {}).get("thinkingConfig") or {}).get("includeThoughts")
    for text in reply.thoughts if shown else []:
        parts.append({"text": text, "thought": True})
    if reply.text:
        parts.append({"text": reply.text})
    signed, malformed = not reply.thoughts, False
    for call in reply.all_calls:
        arguments = _object(call.arguments)
        if arguments is None:
            malformed = True
            continue
        one: Body = {"functionCall": {"name": call.name, "args": arguments, **({"id": call.id} if call.id else {})}}
        if not signed:
            one["thoughtSignature"] = _sign(seen.model, call_key(call.name, arguments), memory)
            memory.google_calls[call_key(call.name, arguments)] = one["thoughtSignature"]
            signed = True
        parts.append(one)
    if not signed and reply.text:
        parts.append({"text": "", "thoughtSignature": _sign(seen.model, "text", memory)})
    return parts, malformed


def _sign(model: str, stands_on: str, memory: Memory) -> str:
    signature = memory.seal("gemini", model, stands_on)
    memory.google[signature] = (model, stands_on)
    return signature


def _object(arguments: dict[str, Any] | str) -> Body | None:
    if isinstance(arguments, dict):
        return arguments
    try:
        value = json.loads(arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _cut(part: Body, reply: Reply) -> list[Body]:
    if not part.get("text"):
        return [part]
    return [{**part, "text": piece} for piece in reply.cut(part["text"])]


def _usage(reply: Reply, bill: Bill) -> Body | None:
    if reply.usage == "none":
        return None
    thoughts = thought_tokens(reply)
    out = output_tokens(reply)
    prompt = bill.input - (bill.read if reply.usage == "swapped" else 0)
    usage = {"promptTokenCount": prompt, "candidatesTokenCount": out - thoughts, "totalTokenCount": prompt + out}
    if thoughts:
        usage["thoughtsTokenCount"] = thoughts
    if bill.read and reply.usage != "plain":
        usage["cachedContentTokenCount"] = bill.read
    return usage
