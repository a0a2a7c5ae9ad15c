"""Answers of the Responses API."""

from typing import Any

from provider.answer import Answer, Event, output_tokens, thought_tokens
from provider.memory import Memory, Reasoning
from provider.refusal import Body
from provider.reply import Reply
from provider.seen import Bill, Seen
from provider.terms import Terms
from provider.tokens import compact

_MADE = 1_790_000_000
_INCOMPLETE = {"length": "max_output_tokens", "filter": "content_filter", "window": "max_output_tokens"}


def speak(seen: Seen, reply: Reply, bill: Bill, memory: Memory, terms: Terms) -> Answer:
    """The response and its events; one reasoning item for each thinking, then the message, then the calls.

    llama.cpp calls an answer completed that it cut at its limit, and breaks no output down.
    """
    plain = terms.dialect == "llama.cpp"
    items = _items(seen, reply, memory)
    usage = _usage(reply, bill)
    if plain and usage:
        del usage["output_tokens_details"]
    reason = None if plain or reply.finish in ("", "stop", "refusal") else _INCOMPLETE.get(reply.finish, reply.finish)
    head: Body = {
        "id": f"resp_{memory.number():06d}", "object": "response", "created_at": _MADE, "model": seen.model, "error": None,
        "incomplete_details": None, "instructions": seen.body.get("instructions"), "metadata": {}, "parallel_tool_calls": True,
        "temperature": 1.0, "top_p": 1.0,
        "tool_choice": seen.body.get("tool_choice", "auto"), "tools": seen.body.get("tools", []),
        "store": seen.body.get("store", True), "output": [], "status": "in_progress", "usage": None,
    }  # fmt: skip
    if head["store"]:
        memory.stored |= {head["id"], *(item["id"] for item in items)}
    whole = {**head, "status": "incomplete" if reason else "completed", "output": items, "usage": usage}
    if reason:
        whole["incomplete_details"] = {"reason": reason}
    script = _Script()
    script.say("response.created", response=head)
    script.say("response.in_progress", response=head)
    for index, item in enumerate(items):
        _say_item(script, index, item, reply)
    script.say("response.incomplete" if reason else "response.completed", response=whole)
    return Answer(whole, script.events, usage, lambda code, message: _error(len(script.events), code, message))


def failed(seen: Seen, memory: Memory, code: str, message: str) -> list[Event]:
    """A stream that ends with ``response.failed`` before anything was said."""
    head: Body = {
        "id": f"resp_{memory.number():06d}", "object": "response", "created_at": _MADE, "model": seen.model, "output": [],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "in_progress", "usage": None, "error": None,
    }  # fmt: skip
    script = _Script()
    script.say("response.created", response=head)
    script.say("response.in_progress", response=head)
    script.say("response.failed", response={**head, "status": "failed", "error": {"code": code, "message": message}})
    return script.events


def _error(number: int, code: str, message: str) -> Event:
    said = message or "The server had an error while processing your request. Sorry about that!"
    return "error", {"type": "error", "code": code or "server_error", "message": said, "param": None, "sequence_number": number}


class _Script:
    """Events with their running number."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def say(self, kind: str, **data: Any) -> None:
        self.events.append((kind, {"type": kind, "sequence_number": len(self.events), **data}))


def _items(seen: Seen, reply: Reply, memory: Memory) -> list[Body]:
    said: list[Body] = []
    if reply.text:
        refusal = {"type": "refusal", "refusal": reply.text}
        plain = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        part: Body = refusal if reply.finish == "refusal" else plain
        said.append(
            {
                "id": f"msg_{memory.number():06d}",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [part],
            }
        )
    for call in reply.all_calls:
        number = memory.number()
        raw = call.arguments if isinstance(call.arguments, str) else compact(call.arguments)
        said.append({
            "id": f"fc_{number:06d}", "type": "function_call", "status": "completed", "name": call.name,
            "call_id": call.id or f"call_{number:06d}", "arguments": raw,
        })  # fmt: skip
    thoughts: list[Body] = []
    for text in reply.thoughts:
        own = f"rs_{memory.number():06d}"
        thoughts.append({"id": own, "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]})
    after: list[Body | None] = [*thoughts[1:], said[0] if said else None]
    for item, following in zip(thoughts, after[-len(thoughts) :] if thoughts else [], strict=True):
        encrypted = "gAAAA" + memory.seal("responses", seen.model, item["id"])
        memory.reasoning[item["id"]] = Reasoning(encrypted, seen.model, _identity(following) if following else ("", ""))
        if following and following["type"] != "reasoning":
            memory.needs[following["id"]] = item["id"]
        if "reasoning.encrypted_content" in (seen.body.get("include") or []):
            item["encrypted_content"] = encrypted
    return [*thoughts, *said]


def _identity(item: Body) -> tuple[str, str]:
    match item["type"]:
        case "function_call":
            return "function_call", item["call_id"]
        case "reasoning":
            return "reasoning", item["id"]
        case _:
            return "message", item["content"][0].get("text", "")


def _say_item(script: _Script, index: int, item: Body, reply: Reply) -> None:
    at = {"item_id": item["id"], "output_index": index}
    match item["type"]:
        case "reasoning":
            begun = {**item, "summary": []} | (
                {"encrypted_content": item["encrypted_content"][:20]} if "encrypted_content" in item else {}
            )
            script.say("response.output_item.added", output_index=index, item=begun)
            summary = {**at, "summary_index": 0}
            text = item["summary"][0]["text"]
            script.say("response.reasoning_summary_part.added", **summary, part={"type": "summary_text", "text": ""})
            for piece in reply.cut(text):
                script.say("response.reasoning_summary_text.delta", **summary, delta=piece)
            script.say("response.reasoning_summary_text.done", **summary, text=text)
            script.say("response.reasoning_summary_part.done", **summary, part=item["summary"][0])
        case "message":
            script.say("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "content": []})
            part = item["content"][0]
            kind = "refusal" if part["type"] == "refusal" else "output_text"
            name = "refusal" if kind == "refusal" else "text"
            extra: Body = {} if kind == "refusal" else {"logprobs": []}
            where = {**at, "content_index": 0}
            script.say("response.content_part.added", **where, part={**part, name: ""})
            for piece in reply.cut(part[name]):
                script.say(f"response.{kind}.delta", **where, delta=piece, **extra)
            script.say(f"response.{kind}.done", **where, **{name: part[name]}, **extra)
            script.say("response.content_part.done", **where, part=part)
        case _:
            script.say(
                "response.output_item.added", output_index=index, item={**item, "status": "in_progress", "arguments": ""}
            )
            for piece in reply.cut(item["arguments"]):
                script.say("response.function_call_arguments.delta", **at, delta=piece)
            script.say("response.function_call_arguments.done", **at, arguments=item["arguments"], name=item["name"])
    script.say("response.output_item.done", output_index=index, item=item)


def _usage(reply: Reply, bill: Bill) -> Body | None:
    if reply.usage == "none":
        return None
    out = output_tokens(reply)
    read = 0 if reply.usage == "plain" else bill.read
    inside = bill.input - (read if reply.usage == "swapped" else 0)
    return {
        "input_tokens": inside,
        "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": 0},
        "output_tokens": out,
        "output_tokens_details": {"reasoning_tokens": thought_tokens(reply)},
        "total_tokens": inside + out,
    }
