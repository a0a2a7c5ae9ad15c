"""Answers of Chat Completions."""

from typing import Any

from provider.answer import Answer, Event, output_tokens, thought_tokens
from provider.memory import Memory
from provider.refusal import Body
from provider.reply import Reply
from provider.seen import Bill, Seen
from provider.terms import Terms
from provider.tokens import compact

_FINISH = {"length": "length", "refusal": "stop", "filter": "content_filter", "window": "length"}
_MADE = 1_790_000_000


def speak(seen: Seen, reply: Reply, bill: Bill, memory: Memory, terms: Terms) -> Answer:
    """The completion and its chunks; thinking goes out as ``reasoning_content``, as compatible servers have it."""
    del terms
    calls = _calls(reply, memory)
    reason = _FINISH.get(reply.finish, reply.finish) or ("tool_calls" if calls else "stop")
    usage = _usage(reply, bill)
    head = {"id": f"chatcmpl-{memory.number():06d}", "created": _MADE, "model": seen.model, "system_fingerprint": "fp_test"}
    refused = reply.finish == "refusal"
    message: Body = {
        "role": "assistant",
        "content": None if refused or not reply.text else reply.text,
        "refusal": reply.text if refused else None,
    }
    if reply.thoughts:
        message["reasoning_content"] = "\n".join(reply.thoughts)
    if calls:
        message["tool_calls"] = calls
    choice: Body = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    if reply.usage == "choice":
        choice["usage"] = usage
    whole = {**head, "object": "chat.completion", "choices": [choice]} | (
        {"usage": usage} if usage and reply.usage != "choice" else {}
    )
    events = [_chunk(head, delta, None) for delta in _deltas(reply, calls, refused)]
    last = _chunk(head, {}, reason)
    if reply.usage == "choice":
        last[1]["choices"][0]["usage"] = usage
    events.append(last)
    asked = (seen.body.get("stream_options") or {}).get("include_usage")
    if asked and usage and reply.usage != "choice":
        events.append(("", {**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}))
    return Answer(whole, events, usage, _error, end=b"data: [DONE]\n\n")


def _error(code: str, message: str) -> Event:
    said = message or "The server had an error while processing your request. Sorry about that!"
    return "", {"error": {"message": said, "type": "server_error", "param": None, "code": code or "server_error"}}


def _chunk(head: Body, delta: Body, reason: str | None) -> Event:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return "", {**head, "object": "chat.completion.chunk", "choices": [choice]}


def _calls(reply: Reply, memory: Memory) -> list[Body]:
    calls = []
    for call in reply.all_calls:
        call_id = call.id or f"call_{memory.number():06d}"
        if reply.thoughts:
            memory.before_call[call_id] = (("thinking", "\n".join(reply.thoughts), ""),)
        raw = call.arguments if isinstance(call.arguments, str) else compact(call.arguments)
        calls.append({"id": call_id, "type": "function", "function": {"name": call.name, "arguments": raw}})
    return calls


def _deltas(reply: Reply, calls: list[Body], refused: bool) -> list[Body]:
    deltas: list[Body] = [{"role": "assistant", "content": "", "refusal": None}]
    deltas += [{"reasoning_content": piece} for piece in reply.cut("\n".join(reply.thoughts))]
    deltas += [{"refusal" if refused else "content": piece} for piece in reply.cut(reply.text)]
    for index, call in enumerate(calls):
        opened: dict[str, Any] = {**call, "function": {"name": call["function"]["name"], "arguments": ""}}
        deltas.append({"tool_calls": [{"index": index, **opened}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in reply.cut(call["function"]["arguments"])
        ]
    return deltas


def _usage(reply: Reply, bill: Bill) -> Body | None:
    if reply.usage == "none":
        return None
    out = output_tokens(reply)
    usage: Body = {"prompt_tokens": bill.input, "completion_tokens": out, "total_tokens": bill.input + out}
    if reply.usage == "plain":
        return usage
    if reply.usage == "hits":
        return {**usage, "prompt_cache_hit_tokens": bill.read, "prompt_cache_miss_tokens": bill.input - bill.read}
    if reply.usage == "swapped":
        usage |= {"prompt_tokens": bill.input - bill.read, "total_tokens": bill.input - bill.read + out}
    return {
        **usage,
        "prompt_tokens_details": {"cached_tokens": bill.read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": thought_tokens(reply), "audio_tokens": 0},
    }
