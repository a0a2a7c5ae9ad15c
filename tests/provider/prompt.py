"""A request as its provider caches it: settings of the cache key, then units in the order in which they are rendered."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from provider import pictures
from provider.anthropic_blocks import listed
from provider.refusal import Body
from provider.seen import Unit
from provider.tokens import MESSAGE, TOOL, compact, count, count_json, count_picture


@dataclass
class Prompt:
    """``house`` is what separates caches from each other (model, cache key). ``marks``: unit index to its lifetime (``5m``,
    ``1h``).

    ``bare``: the settings unit as far as it is part of the key of this provider's cache.
    """

    units: list[Unit] = field(default_factory=list)
    house: str = ""
    bare: bytes = b""
    marks: dict[int, str] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        return sum(unit.tokens for unit in self.units)

    def keys(self) -> list[bytes]:
        """Of each unit, the bytes that count for the cache."""
        return [unit.data if unit.block else self.bare for unit in self.units]

    def add(self, label: str, value: Any, tokens: int, mark: Any = None) -> None:
        """One unit. ``value`` has no mark any more."""
        if mark is not None:
            self.marks[len(self.units)] = mark.get("ttl", "5m")
        self.units.append(Unit(label, compact(value).encode("utf-8", "surrogatepass"), tokens))


def prompt_of(api: str, body: Body) -> Prompt:
    """The units of a body that was found valid."""
    return {"anthropic": _anthropic, "chat": _chat, "responses": _responses, "gemini": _gemini}[api](body)


def _settings(body: Body, *names: str) -> bytes:
    return compact({name: body[name] for name in names if name in body}).encode()


def _unmarked(value: Any) -> Any:
    """Without marks, and with pictures as the hash of their base64."""
    if isinstance(value, dict):
        return {key: _unmarked(_hashed(key, one)) for key, one in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [_unmarked(one) for one in value]
    return value


def _hashed(key: str, value: Any) -> Any:
    if isinstance(value, str) and len(value) > 64 and (key == "data" or value.startswith("data:image/")):
        return "sha256:" + hashlib.sha256(value.encode()).hexdigest()
    return value


def _picture_tokens(data: str) -> int:
    raw = pictures.decode(pictures.plain(data.partition(";base64,")[2] if data.startswith("data:") else data))
    return count_picture(pictures.size(raw) if raw else None)


# -- Anthropic: tools, system, then what belongs to the key of the messages' part (thinking, tool choice), then messages


def _anthropic(body: Body) -> Prompt:
    prompt = Prompt(house=body["model"])
    for tool in body.get("tools") or []:
        tokens = TOOL + count(tool["name"]) + count(tool.get("description", "")) + count_json(tool["input_schema"])
        prompt.add(f"tool {tool['name']}", _unmarked(tool), tokens, tool.get("cache_control"))
    for number, block in enumerate(listed(body.get("system") or []), 1):
        prompt.add(
            f"system {number}", {"role": "system", "part": _unmarked(block)}, count(block["text"]), block.get("cache_control")
        )
    settings = _settings(body, "model", "thinking", "output_config", "tool_choice", "speed")
    prompt.units.append(Unit("settings", settings, 0, block=False))
    prompt.bare = settings
    role = ""
    for number, message in enumerate(body["messages"], 1):
        for place, block in enumerate(listed(message["content"]), 1):
            tokens = _anthropic_tokens(block) + (MESSAGE if message["role"] != role else 0)
            role = message["role"]
            mark = block.get("cache_control") or _inner_mark(block)
            prompt.add(f"message {number} {role} part {place}", {"role": role, "part": _unmarked(block)}, tokens, mark)
    if body.get("cache_control"):
        at = next(
            at for at in range(len(prompt.units) - 1, -1, -1) if not any(kind in prompt.units[at].data for kind in _UNMARKABLE)
        )
        prompt.marks[at] = body["cache_control"].get("ttl", "5m")
    return prompt


_UNMARKABLE = (b'"part":{"type":"thinking"', b'"part":{"type":"redacted_thinking"')


def _inner_mark(block: Body) -> Any:
    content = block.get("content")
    return (
        next((part["cache_control"] for part in content if part.get("cache_control")), None)
        if isinstance(content, list)
        else None
    )


def _anthropic_tokens(block: Body) -> int:
    match block["type"]:
        case "text":
            return count(block["text"])
        case "thinking":
            return count(block["thinking"])
        case "redacted_thinking":
            return count(block["data"])
        case "image":
            return _picture_tokens(block["source"].get("data", ""))
        case "tool_use":
            return TOOL + count(block["name"]) + count_json(block["input"])
        case _:
            return sum(_anthropic_tokens(part) for part in listed(block.get("content", "")))


# -- OpenAI: settings, tools, then messages or items


def _chat(body: Body) -> Prompt:
    prompt = Prompt(house=f"{body['model']}\0{body.get('prompt_cache_key', '')}")
    prompt.bare = _settings(body, "model", "reasoning_effort", "thinking")
    settings = _settings(body, "model", "reasoning_effort", "thinking", "tool_choice", "response_format")
    prompt.units.append(Unit("settings", settings, 0, block=False))
    for tool in body.get("tools") or []:
        function = tool["function"]
        tokens = (
            TOOL
            + count(function["name"])
            + count(function.get("description", ""))
            + count_json(function.get("parameters") or {})
        )
        prompt.add(f"tool {function['name']}", tool, tokens)
    for number, message in enumerate(body["messages"], 1):
        role = message["role"]
        head = {key: value for key, value in message.items() if key not in ("content", "tool_calls")}
        extra = MESSAGE + count(str(message.get("reasoning_content") or ""))
        for place, (part, tokens) in enumerate(_chat_parts(message), 1):
            prompt.add(f"message {number} {role} part {place}", {**head, "part": part}, tokens + (extra if place == 1 else 0))
    return prompt


def _chat_parts(message: Body) -> Iterator[tuple[Any, int]]:
    content = message.get("content")
    calls = message.get("tool_calls") or []
    if isinstance(content, list):
        for part in content:
            tokens = (
                _picture_tokens(part["image_url"]["url"])
                if part["type"] == "image_url"
                else count(part.get("text", part.get("refusal", "")))
            )
            yield _unmarked(part), tokens
    elif content or not calls:
        yield {"type": "text", "text": content or ""}, count(content or "")
    for call in calls:
        yield call, TOOL + count(call["function"]["name"]) + count(call["function"]["arguments"])


def _responses(body: Body) -> Prompt:
    prompt = Prompt(house=f"{body['model']}\0{body.get('prompt_cache_key', '')}")
    prompt.bare = _settings(body, "model", "reasoning")
    prompt.units.append(Unit("settings", _settings(body, "model", "reasoning", "tool_choice", "text"), 0, block=False))
    for tool in body.get("tools") or []:
        tokens = TOOL + count(tool["name"]) + count(tool.get("description") or "") + count_json(tool.get("parameters") or {})
        prompt.add(f"tool {tool['name']}", tool, tokens)
    if body.get("instructions"):
        prompt.add("system 1", {"role": "system", "part": body["instructions"]}, MESSAGE + count(body["instructions"]))
    items = body.get("input", [])
    for number, item in enumerate([{"role": "user", "content": items}] if isinstance(items, str) else items, 1):
        for label, value, tokens in _item_parts(item):
            prompt.add(f"message {number} {label}", value, tokens)
    return prompt


def _item_parts(item: Body) -> Iterator[tuple[str, Any, int]]:
    match item.get("type", "message"):
        case "message":
            content = item["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for place, part in enumerate(parts, 1):
                text = part.get("text", part.get("refusal", ""))
                tokens = _picture_tokens(part["image_url"]) if part["type"] == "input_image" else count(text)
                value = {"role": item["role"], "part": _unmarked(part)}
                yield f"{item['role']} part {place}", value, tokens + (MESSAGE if place == 1 else 0)
        case "function_call":
            yield "assistant part 1", item, MESSAGE + TOOL + count(item["name"]) + count(item["arguments"])
        case "function_call_output":
            output = item["output"]
            parts = [{"text": output}] if isinstance(output, str) else output
            tokens = sum(_picture_tokens(part["image_url"]) if "image_url" in part else count(part["text"]) for part in parts)
            yield "tool part 1", _unmarked(item), MESSAGE + tokens
        case _:
            yield "assistant part 1", item, MESSAGE + sum(count(part["text"]) for part in item.get("summary", []))


# -- Gemini: settings, tools, system, contents


def _gemini(body: Body) -> Prompt:
    prompt = Prompt(house=body["model"])
    config = body.get("generationConfig") or {}
    value = {"model": body["model"], "thinkingConfig": config.get("thinkingConfig"), "toolConfig": body.get("toolConfig")}
    prompt.bare = compact(value).encode()
    prompt.units.append(Unit("settings", prompt.bare, 0, block=False))
    for tool in body.get("tools") or []:
        for one in tool.get("functionDeclarations") or []:
            schema = one.get("parametersJsonSchema") or one.get("parameters") or {}
            prompt.add(
                f"tool {one['name']}", one, TOOL + count(one["name"]) + count(one.get("description", "")) + count_json(schema)
            )
    system = body.get("systemInstruction") or {"parts": []}
    for number, part in enumerate(system["parts"], 1):
        prompt.add(f"system {number}", {"role": "system", "part": part}, count(part.get("text", "")))
    for number, content in enumerate(body["contents"], 1):
        role = content.get("role", "user")
        for place, part in enumerate(content["parts"], 1):
            tokens = _gemini_tokens(part) + (MESSAGE if place == 1 else 0)
            name = {"model": "assistant"}.get(role, "tool" if "functionResponse" in part else role)
            prompt.add(f"message {number} {name} part {place}", {"role": role, "part": _unmarked(part)}, tokens)
    return prompt


def _gemini_tokens(part: Body) -> int:
    if "functionCall" in part:
        return TOOL + count(part["functionCall"]["name"]) + count_json(part["functionCall"].get("args") or {})
    if "functionResponse" in part:
        return count_json(part["functionResponse"]["response"]) + sum(
            _picture_tokens(one["inlineData"]["data"])
            for one in part["functionResponse"].get("parts") or []
            if "inlineData" in one
        )
    if "inlineData" in part:
        return _picture_tokens(part["inlineData"]["data"])
    return count(part.get("text", ""))
