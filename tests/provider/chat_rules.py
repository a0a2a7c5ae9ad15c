"""What Chat Completions refuses: OpenAI's rules, and those of compatible servers that are stricter (blank texts, broken
arguments).
"""

import json
import re
from typing import Any

from provider import pictures
from provider.memory import Memory
from provider.refusal import Body, Refused
from provider.terms import Terms

_TOP = frozenset({
    "messages", "model", "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs",
    "max_completion_tokens", "max_tokens", "metadata", "modalities", "moderation", "n", "parallel_tool_calls",
    "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
    "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream",
    "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity",
    "web_search_options",
})  # fmt: skip
_MESSAGE = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal", "audio", "function_call"},
    "tool": {"role", "content", "tool_call_id"},
}
_PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "tool": ("text",),
    "assistant": ("text", "refusal"),
    "user": ("text", "image_url"),
}
NAME = re.compile(r"^[a-zA-Z0-9_-]+$")


def bad(message: str, param: str | None = None, code: str | None = None) -> Refused:
    """A 400 in OpenAI's shape."""
    return Refused(message, param=param, code=code)


def check_head(headers: dict[str, str], terms: Terms) -> None:
    """The key."""
    if terms.key is None:
        return
    key = headers.get("authorization", "").removeprefix("Bearer ").strip()
    if not key:
        raise Refused(
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
            "(i.e. Authorization: Bearer YOUR_KEY).",
            401,
        )
    if key != terms.key:
        shown = f"{key[:4]}*****{key[-4:]}"
        raise Refused(
            f"Incorrect API key provided: {shown}. You can find your API key at your account page.", 401, code="invalid_api_key"
        )


def check_model(body: Body, terms: Terms) -> None:
    """The model's name, and fields that this model does not take."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise bad("you must provide a model parameter")
    if terms.models is not None and body["model"] not in terms.models:
        raise Refused(
            f"The model `{body['model']}` does not exist or you do not have access to it.", 404, code="model_not_found"
        )
    for name in terms.refuse_fields:
        if name in body:
            raise bad(f"Unsupported parameter: '{name}' is not supported with this model.", name, "unsupported_parameter")


def check(body: Body, terms: Terms, memory: Memory) -> None:
    """Raises Refused for the first thing that is wrong."""
    check_model(body, terms)
    if terms.dialect == "openai":
        for name in body:
            if name not in _TOP:
                raise bad(f"Unrecognized request argument supplied: {name}")
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        raise bad(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens",
            "invalid_parameter_combination",
        )
    if body.get("stream_options") is not None and not body.get("stream"):
        raise bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    for name in ("max_tokens", "max_completion_tokens"):
        most = body.get(name)
        if most is not None and most > terms.output_cap:
            raise bad(
                f"{name} is too large: {most}. This model supports at most {terms.output_cap} completion tokens, "
                f"whereas you provided {most}.",
                name,
                "invalid_value",
            )
    check_tools(body, nested=True)
    messages = body.get("messages")
    if messages is None:
        raise bad("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
    if not isinstance(messages, list):
        raise bad(
            "Invalid type for 'messages': expected an array of objects, but got a string instead.", "messages", "invalid_type"
        )
    if not messages:
        raise _empty("messages")
    for at, message in enumerate(messages):
        _check_message(message, at, terms)
    _check_order(messages)
    if terms.alternate:
        _check_alternate(messages)
    if terms.dialect == "deepseek":
        _check_reasoning(messages, memory)
    if sum(len(_images(message)) for message in messages) > terms.images_most:
        raise bad(
            f"Too many images in request. Maximum is {terms.images_most}.", "messages", "too_many_images"
        )  # wording guessed


def _empty(where: str) -> Refused:
    return bad(
        f"Invalid '{where}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        where,
        "empty_array",
    )


def check_tools(body: Body, *, nested: bool) -> None:
    """Definitions and the choice; ``nested``: as Chat has them, under ``function``."""
    tools = body.get("tools")
    choice = body.get("tool_choice")
    if tools is None:
        for name in ("tool_choice", "parallel_tool_calls") if nested else ():
            if body.get(name) is not None and (name, choice) != ("tool_choice", "none"):
                raise bad(f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.", name)
        return
    if not isinstance(tools, list) or (nested and not tools):
        raise _empty("tools")
    names = []
    for at, tool in enumerate(tools):
        if tool.get("type") != "function":
            raise bad(
                f"Invalid value: '{tool.get('type')}'. Supported values are: 'function' and 'custom'.",
                f"tools[{at}].type",
                "invalid_value",
            )
        where = f"tools[{at}].function" if nested else f"tools[{at}]"
        one = tool.get("function") if nested else tool
        if not isinstance(one, dict) or not one.get("name"):
            raise bad(f"Missing required parameter: '{where}.name'.", f"{where}.name", "missing_required_parameter")
        known = {"name", "description", "parameters", "strict"} | (set() if nested else {"type"})
        for name in one:
            if name not in known:
                raise bad(f"Unknown parameter: '{where}.{name}'.", f"{where}.{name}", "unknown_parameter")
        _check_name(one["name"], f"{where}.name")
        schema = one.get("parameters")
        if schema is not None and schema.get("type") != "object":
            raise bad(
                f"Invalid schema for function '{one['name']}': schema must be a JSON Schema of 'type: \"object\"', got "
                f"'type: \"{schema.get('type')}\"'.",
                f"{where}.parameters",
                "invalid_function_parameters",
            )
        names.append(one["name"])
    if isinstance(choice, dict):
        chosen = (choice.get("function") or {}).get("name") if nested else choice.get("name")
        if chosen not in names:
            raise bad(
                f"Invalid value for 'tool_choice': function '{chosen}' is not in 'tools'.", "tool_choice", "invalid_value"
            )
    elif choice not in (None, "auto", "none", "required"):
        raise bad(
            f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'.", "tool_choice", "invalid_value"
        )


def _check_name(name: Any, where: str) -> None:
    if not isinstance(name, str) or not NAME.match(name):
        raise bad(
            f"Invalid '{where}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
            where,
            "invalid_value",
        )
    check_length(name, where, 64)


def check_length(text: Any, where: str, most: int) -> None:
    """A string of at most that many characters."""
    if not isinstance(text, str):
        raise bad(f"Invalid type for '{where}': expected a string, but got {_type(text)} instead.", where, "invalid_type")
    if len(text) > most:
        raise bad(
            f"Invalid '{where}': string too long. Expected a string with maximum length {most}, but got a string with "
            f"length {len(text)} instead.",
            where,
            "string_above_max_length",
        )


def _type(value: Any) -> str:
    return {dict: "an object", list: "an array", type(None): "null", bool: "a boolean", int: "an integer"}.get(
        type(value), "something else"
    )


def _check_message(message: Any, at: int, terms: Terms) -> None:
    where = f"messages[{at}]"
    role = message.get("role") if isinstance(message, dict) else None
    if role not in _MESSAGE:
        raise bad(
            f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and "
            "'developer'.",
            f"{where}.role",
            "invalid_value",
        )
    if terms.dialect == "openai":
        for name in message:
            if name not in _MESSAGE[role]:
                raise bad(f"Unknown parameter: '{where}.{name}'.", f"{where}.{name}", "unknown_parameter")
    content, calls = message.get("content"), message.get("tool_calls")
    if calls is not None:
        _check_calls(calls, where, role, terms)
    if content is None:
        if role != "assistant" or not (calls or message.get("refusal")):
            raise bad("Invalid value for 'content': expected a string, got null.", f"messages.[{at}].content")
    elif isinstance(content, list):
        if not content:
            raise _empty(f"{where}.content")
        for place, part in enumerate(content):
            _check_part(part, f"{where}.content[{place}]", role, where)
    elif not isinstance(content, str):
        raise bad(
            f"Invalid type for '{where}.content': expected one of a string or array of objects.",
            f"{where}.content",
            "invalid_type",
        )
    elif not content.strip() and not (role == "tool" or (role == "assistant" and calls)):
        # OpenAI takes an empty text; compatible servers say this.
        raise bad(f"Invalid request: the message at position {at} with role '{role}' must not be empty", f"{where}.content")
    if role == "tool":
        if not message.get("tool_call_id"):
            raise bad(
                f"Missing required parameter: '{where}.tool_call_id'.", f"{where}.tool_call_id", "missing_required_parameter"
            )
        check_length(message["tool_call_id"], f"{where}.tool_call_id", 40)


def _check_calls(calls: Any, where: str, role: str, terms: Terms) -> None:
    if role != "assistant":
        raise bad(f"Unknown parameter: '{where}.tool_calls'.", f"{where}.tool_calls", "unknown_parameter")
    if not isinstance(calls, list) or not calls:
        raise _empty(f"{where}.tool_calls")
    for place, call in enumerate(calls):
        spot = f"{where}.tool_calls[{place}]"
        for name in ("id", "type", "function"):
            if not call.get(name):
                raise bad(f"Missing required parameter: '{spot}.{name}'.", f"{spot}.{name}", "missing_required_parameter")
        for name in call:
            if name not in ("id", "type", "function") and terms.dialect == "openai":
                raise bad(f"Unknown parameter: '{spot}.{name}'.", f"{spot}.{name}", "unknown_parameter")
        check_length(call["id"], f"{spot}.id", 40)
        _check_name(call["function"].get("name"), f"{spot}.function.name")
        check_arguments(call["function"].get("arguments"), f"{spot}.function.arguments", terms)


def check_arguments(arguments: Any, where: str, terms: Terms) -> None:
    """Arguments are a string that holds a JSON object; OpenAI itself takes any string, templates of compatible servers do
    not.
    """
    if not isinstance(arguments, str):
        raise bad(f"Invalid type for '{where}': expected a string, but got {_type(arguments)} instead.", where, "invalid_type")
    try:
        value = json.loads(arguments)
    except ValueError as error:
        status = 500 if terms.dialect == "llama.cpp" else 400
        raise Refused(
            f"Failed to parse tool call arguments as JSON: {error}", status, param=where, code="invalid_value"
        ) from None
    if not isinstance(value, dict):
        raise bad(f"Invalid '{where}': expected a JSON object, but got {_type(value)} instead.", where, "invalid_value")


def _check_part(part: Any, where: str, role: str, message: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "image_url" and role != "user":
        raise bad(
            f"Invalid '{message}'. Image URLs are only allowed for messages with role 'user', "
            f"but this message with role '{role}' contains an image URL.",
            message,
            "invalid_value",
        )
    if kind not in _PARTS[role]:
        listed = " and ".join(f"'{one}'" for one in _PARTS[role])
        raise bad(f"Invalid value: '{kind}'. Supported values are: {listed}.", f"{where}.type", "invalid_value")
    if kind == "text" and not part.get("text", "").strip():
        raise bad(f"Invalid '{where}.text': the text must not be empty", f"{where}.text", "invalid_value")  # compatible servers
    if kind == "image_url":
        check_image(part.get("image_url", {}).get("url", ""), f"{where}.image_url.url")


def check_image(url: Any, where: str) -> None:
    """A data URL of a picture that can be read; pictures on the net are out of this provider's reach."""
    head, _, data = url.partition(";base64,") if isinstance(url, str) else ("", "", "")
    if head not in ("data:image/png", "data:image/jpeg", "data:image/gif", "data:image/webp"):
        if head.startswith("data:"):
            raise bad("Invalid MIME type. Only image types are supported.", where, "invalid_image_format")
        raise bad(f"Invalid '{where}'. Expected a valid URL, but got a value with an invalid format.", where, "invalid_value")
    raw = pictures.decode(data)
    if raw is None:
        raise bad(f"Invalid base64 image_url in '{where}'.", where, "invalid_base64")
    if f"data:{pictures.media_type(raw)}" != head or pictures.size(raw) is None:
        raise bad("You uploaded an unsupported image. Please make sure your image is valid.", where, "image_parse_error")


def _images(message: Body) -> list[Any]:
    content = message.get("content")
    return [part for part in content if part.get("type") == "image_url"] if isinstance(content, list) else []


def _check_order(messages: list[Body]) -> None:
    known: set[str] = set()
    waiting: list[str] = []
    asked_at = 0
    for at, message in enumerate([*messages, {"role": ""}]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                raise bad(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    f"messages.[{at}].role",
                )
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            raise bad(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
                f"The following tool_call_ids did not have response messages: {', '.join(waiting)}",
                f"messages.[{asked_at + 1}].role",
            )
        for place, call in enumerate(message.get("tool_calls") or []):
            if call["id"] in known:
                where = f"messages[{at}].tool_calls[{place}].id"
                raise bad(
                    f"Invalid '{where}': duplicate tool call id '{call['id']}'.", where, "invalid_value"
                )  # wording guessed
            known.add(call["id"])
            waiting.append(call["id"])
            asked_at = at


def _check_alternate(messages: list[Body]) -> None:
    """What chat templates of some open models raise; calls and their results are left out of the count."""
    if any(message["role"] in ("system", "developer") for message in messages[1:]):
        raise bad("System message must be at the beginning.")
    turns = [
        message["role"] for message in messages if message["role"] in ("user", "assistant") and not message.get("tool_calls")
    ]
    if any(role != ("user", "assistant")[at % 2] for at, role in enumerate(turns)):
        raise bad("Conversation roles must alternate user/assistant/user/assistant/...")


def _check_reasoning(messages: list[Body], memory: Memory) -> None:
    """DeepSeek: inside the turn that runs, the reasoning comes back with the calls it led to."""
    for message in reversed(messages):
        if message["role"] == "user":
            return
        for call in message.get("tool_calls") or []:
            given = memory.before_call.get(call["id"])
            if given and message.get("reasoning_content") != given[0][1]:
                raise bad("The `reasoning_content` in the thinking mode must be passed back to the API.")
