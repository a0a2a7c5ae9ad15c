"""Requests to Chat Completions and to Responses, piece by piece."""

import copy
from typing import Any

from provider.pieces import png

Body = dict[str, Any]
USER = {"role": "user", "content": "Hi"}


def call(call_id: str = "call_1", name: str = "read", arguments: Any = '{"path": "a"}') -> Body:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: Body, **more: Any) -> Body:
    return {"role": "assistant", "content": None, "tool_calls": list(calls or [call()]), **more}


def tool(call_id: str = "call_1", content: Any = "text") -> Body:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def function(name: str = "read", **more: Any) -> Body:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}, **more}}


def chat(*messages: Body, **more: Any) -> Body:
    return copy.deepcopy({"model": "m", "messages": list(messages or [USER]), **more})


def picture(data: str = "") -> Body:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data or png(1, 1)}"}}


def said(role: str, words: str, **more: Any) -> Body:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}], **more}


def item(call_id: str = "call_1", **more: Any) -> Body:
    return {"type": "function_call", "call_id": call_id, "name": "read", "arguments": '{"path": "a"}', **more}


def output(call_id: str = "call_1", value: Any = "text", **more: Any) -> Body:
    return {"type": "function_call_output", "call_id": call_id, "output": value, **more}


def items(*given: Body, **more: Any) -> Body:
    return copy.deepcopy({"model": "m", "input": list(given or [said("user", "Hi")]), **more})


HI = said("user", "Hi")
