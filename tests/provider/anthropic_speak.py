"""Answers of the Messages API."""

import json

from provider.answer import Answer, Event, output_tokens, thought_tokens
from provider.memory import Memory, Thought
from provider.refusal import Body
from provider.reply import Reply
from provider.seen import Bill, Seen
from provider.terms import Terms
from provider.tokens import compact

_FINISH = {"length": "max_tokens", "refusal": "refusal", "filter": "refusal", "window": "model_context_window_exceeded"}


_EMPTY: dict[str, Body] = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
"""What a block has before its first delta."""


def speak(seen: Seen, reply: Reply, bill: Bill, memory: Memory, terms: Terms) -> Answer:
    """The message and its events. Thinking and calls are remembered."""
    del terms
    blocks = _blocks(seen.model, reply, memory)
    usage = _usage(reply, bill)
    natural = "tool_use" if reply.all_calls else "end_turn"
    reason = _FINISH.get(reply.finish, reply.finish) or natural
    details = {"type": "refusal", "category": None, "explanation": None} if reason == "refusal" else None
    head: Body = {
        "id": f"msg_{memory.number():06d}", "type": "message", "role": "assistant", "model": seen.model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage or {"input_tokens": 0, "output_tokens": 0},
    }  # fmt: skip
    content = [block for block, _ in blocks]
    whole = {**head, "content": content, "stop_reason": reason, "stop_details": details}
    start = {**(usage or {}), "output_tokens": 1} if usage else {"input_tokens": 0, "output_tokens": 0}
    if reply.usage == "late":
        start = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}
    events: list[Event] = [
        ("message_start", {"type": "message_start", "message": {**head, "usage": start}}),
        ("ping", {"type": "ping"}),
    ]
    for index, (block, deltas) in enumerate(blocks):
        events += _block_events(index, block, deltas)
    delta = {"stop_reason": reason, "stop_sequence": None, "stop_details": details}
    last = {"type": "message_delta", "delta": delta, "usage": _at_end(usage) if usage else {"output_tokens": 0}}
    events += [("message_delta", last), ("message_stop", {"type": "message_stop"})]
    return Answer(whole, events, usage, _error)


def _error(code: str, message: str) -> Event:
    return "error", {"type": "error", "error": {"type": code or "overloaded_error", "message": message or "Overloaded"}}


def _usage(reply: Reply, bill: Bill) -> Body | None:
    if reply.usage == "none":
        return None
    usage: Body = {"input_tokens": bill.fresh, "output_tokens": output_tokens(reply)}
    if reply.usage == "plain":
        return {**usage, "input_tokens": bill.input}
    if reply.usage == "swapped":
        usage["input_tokens"] = bill.input
    return {
        **usage,
        "cache_creation_input_tokens": bill.write + bill.long_write,
        "cache_read_input_tokens": bill.read,
        "cache_creation": {"ephemeral_5m_input_tokens": bill.write, "ephemeral_1h_input_tokens": bill.long_write},
        "output_tokens_details": {"thinking_tokens": thought_tokens(reply)},
        "service_tier": "standard",
    }


def _at_end(usage: Body) -> Body:
    """What message_delta carries: cumulative totals."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens", "output_tokens_details")
    return {name: usage[name] for name in names if name in usage}


def _blocks(model: str, reply: Reply, memory: Memory) -> list[tuple[Body, list[Body]]]:
    """Each block with the deltas that make it."""
    blocks: list[tuple[Body, list[Body]]] = []
    thoughts: list[Thought] = []
    for text in reply.thoughts:
        signature = memory.seal("anthropic", model, text)
        thoughts.append(("thinking", text, signature))
        deltas: list[Body] = [{"type": "thinking_delta", "thinking": piece} for piece in reply.cut(text)]
        blocks.append(
            (
                {"type": "thinking", "thinking": text, "signature": signature},
                [*deltas, {"type": "signature_delta", "signature": signature}],
            )
        )
    if reply.redacted:
        data = memory.seal("anthropic", model, reply.redacted)
        thoughts.append(("redacted_thinking", "", data))
        blocks.append(({"type": "redacted_thinking", "data": data}, []))
    for thought in thoughts:
        memory.thoughts[thought[2]] = (model, thought)
    if reply.text:
        blocks.append(
            ({"type": "text", "text": reply.text}, [{"type": "text_delta", "text": piece} for piece in reply.cut(reply.text)])
        )
    for call in reply.all_calls:
        call_id = call.id or f"toolu_{memory.number():06d}"
        memory.before_call[call_id] = tuple(thoughts)
        raw = call.arguments if isinstance(call.arguments, str) else compact(call.arguments)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *reply.cut(raw)]]
        blocks.append(({"type": "tool_use", "id": call_id, "name": call.name, "input": _object(raw)}, deltas))
    return blocks


def _object(raw: str) -> Body:
    """Arguments that are no object are an empty one in a whole answer: the service never sends others there."""
    try:
        value = json.loads(raw or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _block_events(index: int, block: Body, deltas: list[Body]) -> list[Event]:
    empty = _EMPTY.get(block["type"], {})
    return [
        ("content_block_start", {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}),
        *[("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas],
        ("content_block_stop", {"type": "content_block_stop", "index": index}),
    ]
