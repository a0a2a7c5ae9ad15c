"""Requests to the Messages API, piece by piece."""

import copy
from typing import Any

Body = dict[str, Any]
MARK = {"type": "ephemeral"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "text"}
TOOL = {"name": "read", "description": "Reads.", "input_schema": {"type": "object", "properties": {}}}
ANYWHERE = "; the directive-only form (content: [] with output_config) is accepted at any position"


def image(data: str, media_type: str = "image/png") -> Body:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def text(words: str, **more: Any) -> Body:
    return {"type": "text", "text": words, **more}


def user(*content: Any) -> Body:
    return {"role": "user", "content": content[0] if len(content) == 1 and isinstance(content[0], str) else list(content)}


def assistant(*content: Any) -> Body:
    return {**user(*content), "role": "assistant"}


def system(content: Any) -> Body:
    return {"role": "system", "content": content}


def body(*messages: Body, **more: Any) -> Body:
    return copy.deepcopy({"model": "m", "max_tokens": 100, "messages": list(messages or [user("Hi")]), **more})
