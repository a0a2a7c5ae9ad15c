"""What the Responses API refuses."""

from typing import Any

from provider.chat_rules import bad, check_arguments, check_image, check_length, check_model, check_tools
from provider.memory import Memory
from provider.refusal import Body, Refused
from provider.terms import Terms

_TOP = frozenset({
    "access_programs", "background", "background_options", "context_management", "conversation", "image", "include", "input",
    "instructions", "max_output_tokens", "max_tool_calls", "metadata", "model", "moderation", "parallel_tool_calls",
    "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning",
    "safety_identifier", "service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools",
    "top_logprobs", "top_p", "truncation", "user",
})  # fmt: skip
_FIELDS = {
    "message": {"type", "role", "content", "id", "status", "phase"},
    "function_call": {"type", "call_id", "name", "arguments", "id", "status", "namespace", "caller"},
    "function_call_output": {"type", "call_id", "output", "id", "status", "name", "namespace", "caller"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content", "status"},
    "item_reference": {"type", "id"},
}
_NEEDED = {
    "message": ("role", "content"),
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id", "output"),
    "reasoning": ("id", "summary"),
    "item_reference": ("id",),
}
_PREFIX = {"message": "msg", "function_call": "fc", "reasoning": "rs", "function_call_output": "fc"}
_PARTS = {
    "assistant": ("output_text", "refusal"),
    "user": ("input_text", "input_image"),
    "system": ("input_text",),
    "developer": ("input_text",),
}


def check(body: Body, terms: Terms, memory: Memory) -> None:
    """Raises Refused for the first thing that is wrong."""
    check_model(body, terms)
    for name in body:
        if name not in _TOP and terms.dialect == "openai":
            raise bad(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    check_tools(body, nested=False)
    before = body.get("previous_response_id")
    if before is not None:
        raise bad(f"Previous response with id '{before}' not found.", "previous_response_id", "previous_response_not_found")
    items = body.get("input")
    if items is None or items in ([], ""):
        raise bad(
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
            "input",
            "missing_required_parameter",
        )
    if isinstance(items, str):
        return
    if not isinstance(items, list):
        raise bad("Invalid type for 'input': expected one of a string or array of input items.", "input", "invalid_type")
    for at, item in enumerate(items):
        _check_item(item, f"input[{at}]", terms)
    _check_calls(items)
    _check_reasoning(items, body, memory)
    if not any(item.get("role") in ("user", "developer", "system") for item in items):
        raise bad(
            "Invalid 'input': at least one message of role 'user' is needed.", "input", "invalid_value"
        )  # wording guessed
    pictures = sum(_pictures(item) for item in items)
    if pictures > terms.images_most:
        raise bad(f"Too many images in request. Maximum is {terms.images_most}.", "input", "too_many_images")  # wording guessed


def _pictures(item: Body) -> int:
    parts = item.get("content") or item.get("output") or []
    return sum(part.get("type") == "input_image" for part in parts) if isinstance(parts, list) else 0


def _check_item(item: Any, where: str, terms: Terms) -> None:
    kind = item.get("type", "message") if isinstance(item, dict) else None
    if kind not in _FIELDS:
        listed = ", ".join(f"'{name}'" for name in _FIELDS)
        raise bad(f"Invalid value: '{kind}'. Supported values are: {listed}.", f"{where}.type", "invalid_value")
    for name in _NEEDED[kind]:
        if item.get(name) is None:
            raise bad(f"Missing required parameter: '{where}.{name}'.", f"{where}.{name}", "missing_required_parameter")
    for name in item:
        if name not in _FIELDS[kind]:
            raise bad(f"Unknown parameter: '{where}.{name}'.", f"{where}.{name}", "unknown_parameter")
    own = item.get("id")
    prefix = _PREFIX.get(kind, "")
    if own is not None and not str(own).startswith(prefix):
        raise bad(f"Invalid '{where}.id': '{own}'. Expected an ID that begins with '{prefix}'.", f"{where}.id", "invalid_value")
    if own is not None:
        check_length(own, f"{where}.id", 64)
    if kind == "message":
        _check_message(item, where)
    elif kind == "function_call":
        check_length(item["call_id"], f"{where}.call_id", 64)
        check_length(item["name"], f"{where}.name", 128)
        check_arguments(item["arguments"], f"{where}.arguments", terms)
    elif kind == "function_call_output":
        check_length(item["call_id"], f"{where}.call_id", 64)
        _check_output(item["output"], f"{where}.output")


def _check_message(item: Body, where: str) -> None:
    role, content = item["role"], item["content"]
    if role not in _PARTS:
        raise bad(
            f"Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
            f"{where}.role",
            "invalid_value",
        )
    if isinstance(content, str):
        if not content.strip():
            raise bad(
                f"Invalid '{where}.content': the text must not be empty", f"{where}.content", "invalid_value"
            )  # compatible servers
        return
    if not isinstance(content, list) or not content:
        raise bad(
            f"Invalid '{where}.content': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            f"{where}.content",
            "empty_array",
        )
    for place, part in enumerate(content):
        spot = f"{where}.content[{place}]"
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _PARTS[role]:
            listed = " and ".join(f"'{name}'" for name in _PARTS[role])
            raise bad(f"Invalid value: '{kind}'. Supported values are: {listed}.", spot, "invalid_value")
        if kind in ("input_text", "output_text") and not str(part.get("text", "")).strip():
            raise bad(
                f"Invalid '{spot}.text': the text must not be empty", f"{spot}.text", "invalid_value"
            )  # compatible servers
        if kind == "input_image":
            check_image(part.get("image_url"), f"{spot}.image_url")


def _check_output(output: Any, where: str) -> None:
    if isinstance(output, str):
        return
    if not isinstance(output, list) or not output:
        raise bad(f"Invalid type for '{where}': expected one of a string or array of content parts.", where, "invalid_type")
    for place, part in enumerate(output):
        if part.get("type") not in ("input_text", "input_image"):
            raise bad(
                f"Invalid value: '{part.get('type')}'. Supported values are: 'input_text', 'input_image', and 'input_file'.",
                f"{where}[{place}]",
                "invalid_value",
            )
        if part["type"] == "input_image":
            check_image(part.get("image_url"), f"{where}[{place}].image_url")


def _check_calls(items: list[Body]) -> None:
    """Every call has one output behind it, every output one call before it."""
    waiting: list[str] = []
    known: set[str] = set()
    ids = [item["id"] for item in items if item.get("id") and item.get("type") != "item_reference"]
    twice = next((own for own in ids if ids.count(own) > 1), None)
    if twice is not None:
        raise bad(f"Duplicate item found with id {twice}. Remove duplicate items from your input and try again.", "input")
    for at, item in enumerate(items):
        if item.get("type") == "function_call":
            if item["call_id"] in known:
                where = f"input[{at}].call_id"
                raise bad(
                    f"Invalid '{where}': duplicate call id '{item['call_id']}'.", where, "invalid_value"
                )  # wording guessed
            known.add(item["call_id"])
            waiting.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] not in waiting:
                raise bad(f"No tool call found for function call output with call_id {item['call_id']}.", "input")
            waiting.remove(item["call_id"])
    if waiting:
        raise bad(f"No tool output found for function call {waiting[0]}.", "input")


def _check_reasoning(items: list[Body], body: Body, memory: Memory) -> None:
    present = {item.get("id") for item in items if item.get("type") == "reasoning"}
    for at, item in enumerate(items):
        kind, own = item.get("type", "message"), item.get("id")
        if kind == "item_reference" and own not in memory.stored:
            raise _lost(own)
        needs = memory.needs.get(str(own))
        if kind in ("function_call", "message") and needs is not None and needs not in present:
            raise bad(f"Item '{own}' of type '{kind}' was provided without its required 'reasoning' item: '{needs}'.", "input")
        if kind != "reasoning":
            continue
        given = memory.reasoning.get(str(own))
        encrypted = item.get("encrypted_content")
        if encrypted is None:
            if body.get("store") is False or own not in memory.stored:
                raise _lost(own)
        elif given is None or given.encrypted != encrypted or given.model != body["model"]:
            raise bad(
                f"The encrypted content for item {own} could not be verified. Reason: Encrypted content could not be "
                "decrypted or parsed.",
                None,
                "invalid_encrypted_content",
            )
        if given is None or at + 1 == len(items) or _identity(items[at + 1]) != given.follows:
            raise bad(f"Item '{own}' of type 'reasoning' was provided without its required following item.", "input")


def _lost(own: Any) -> Refused:
    return Refused(
        f"Item with id '{own}' not found. Items are not persisted when `store` is set to false. Try again with `store` "
        "set to true, "
        "or remove this item from your input.",
        404,
        param="input",
    )


def _identity(item: Body) -> tuple[str, str]:
    match item.get("type", "message"):
        case "function_call":
            return "function_call", item["call_id"]
        case "reasoning":
            return "reasoning", item["id"]
        case "message" if item["role"] == "assistant":
            content = item["content"]
            return "message", content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        case kind:
            return str(kind), ""
