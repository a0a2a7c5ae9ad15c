"""What the Messages API refuses."""

import re
from typing import Any

from provider import anthropic_blocks, anthropic_turns
from provider.memory import Memory
from provider.refusal import Body, Refused
from provider.terms import Terms

_TOP = frozenset({
    "model", "messages", "max_tokens", "system", "tools", "tool_choice", "thinking", "output_config", "metadata",
    "stop_sequences", "stream", "temperature", "top_p", "top_k", "service_tier", "cache_control", "container",
    "diagnostics", "inference_geo", "speed", "user_profile_id", "workspace_id",
})  # fmt: skip
_COUNT_TOP = frozenset({"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"})
_TOOL = frozenset({
    "name", "description", "input_schema", "type", "cache_control", "strict", "defer_loading", "input_examples",
    "allowed_callers", "eager_input_streaming",
})  # fmt: skip
_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")


def check_head(headers: dict[str, str], terms: Terms) -> None:
    """Key and version."""
    key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ").strip()
    if terms.key is not None:
        if not key:
            raise Refused("x-api-key header is required", 401)
        if key != terms.key:
            raise Refused("invalid x-api-key", 401)
    if "anthropic-version" not in headers:
        raise Refused("anthropic-version: header is required")


def check(body: Body, terms: Terms, memory: Memory, *, counting: bool = False) -> None:
    """Raises Refused for the first thing that is wrong. ``counting``: the request is for ``count_tokens``."""
    _check_top(body, terms, counting)
    _check_tools(body)
    _check_thinking(body, counting)
    system = body.get("system")
    if system is not None:
        _check_system(system)
    anthropic_blocks.check(body, terms)
    anthropic_turns.check(body, terms, memory)


def _check_top(body: Body, terms: Terms, counting: bool) -> None:
    for name in body:
        if name not in (_COUNT_TOP if counting else _TOP) or name in terms.refuse_fields:
            raise Refused(f"{name}: Extra inputs are not permitted")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise Refused("model: Field required" if "model" not in body else "model: Input should be a valid string")
    if terms.models is not None and body["model"] not in terms.models:
        raise Refused(f"model: {body['model']}", 404)
    if counting:
        return
    most = body.get("max_tokens")
    if "max_tokens" not in body:
        raise Refused("max_tokens: Field required")
    if not isinstance(most, int) or isinstance(most, bool):
        raise Refused("max_tokens: Input should be a valid integer")
    if most < 0:
        raise Refused("max_tokens: must be greater than or equal to 0")
    if most > terms.output_cap:
        raise Refused(
            f"max_tokens: {most} > {terms.output_cap}, which is the maximum allowed number of output tokens for {body['model']}"
        )


def _check_tools(body: Body) -> None:
    tools = body.get("tools", [])
    if not isinstance(tools, list):
        raise Refused("tools: Input should be a valid list")
    names = []
    for at, tool in enumerate(tools):
        where = f"tools.{at}.custom"
        if tool.get("type", "custom") != "custom":
            raise Refused(
                f"tools.{at}: Input tag '{tool['type']}' found using 'type' does not match any of the expected tags: 'custom'"
            )
        for name in ("name", "input_schema"):
            if name not in tool:
                raise Refused(f"{where}.{name}: Field required")
        for name in tool:
            if name not in _TOOL:
                raise Refused(f"{where}.{name}: Extra inputs are not permitted")
        if not isinstance(tool["name"], str) or not _TOOL_NAME.match(tool["name"]):
            raise Refused(f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if not isinstance(tool["input_schema"], dict):
            raise Refused(f"{where}.input_schema: Input should be a valid dictionary")
        if "type" not in tool["input_schema"]:
            raise Refused(f"{where}.input_schema.type: Field required")
        if tool["input_schema"]["type"] != "object":
            raise Refused(f"{where}.input_schema.type: Input should be 'object'")
        if not isinstance(tool.get("description", ""), str):
            raise Refused(f"{where}.description: Input should be a valid string")
        names.append(tool["name"])
    if len(set(names)) < len(names):
        raise Refused("tools: Tool names must be unique.")
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not isinstance(choice, dict) or choice.get("type") not in ("auto", "any", "tool", "none"):
        found = choice.get("type") if isinstance(choice, dict) else choice
        raise Refused(
            f"tool_choice: Input tag '{found}' found using 'type' does not match any of the expected tags: 'auto', "
            "'any', 'tool', 'none'"
        )
    if not tools:
        raise Refused("tool_choice: tool_choice may only be specified while providing tools")
    if choice["type"] == "tool" and choice.get("name") not in names:
        raise Refused(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools")


def _check_thinking(body: Body, counting: bool) -> None:
    effort = (body.get("output_config") or {}).get("effort")
    if effort is not None and effort not in _EFFORTS:
        raise Refused("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if isinstance(thinking, dict) else thinking
    if kind not in ("enabled", "disabled", "adaptive", "between_tools"):
        raise Refused(
            f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'disabled', "
            "'enabled', 'adaptive', 'between_tools'"
        )
    if kind == "enabled":
        budget = thinking.get("budget_tokens")
        if budget is None:
            raise Refused("thinking.enabled.budget_tokens: Field required")
        if budget < 1024:
            raise Refused("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        if not counting and budget >= body["max_tokens"]:
            raise Refused(
                "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
                "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
            )
    elif "budget_tokens" in thinking:
        raise Refused(f"thinking.{kind}.budget_tokens: Extra inputs are not permitted")
    if anthropic_turns.thinks(body):
        if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
            raise Refused("Thinking may not be enabled when tool_choice forces tool use.")
        if body.get("temperature", 1) != 1:
            raise Refused("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")


def _check_system(system: Any) -> None:
    if isinstance(system, str):
        if not system:
            raise Refused("system: text content blocks must be non-empty")
        return
    if not isinstance(system, list):
        raise Refused("system: Input should be a valid list")
    for at, block in enumerate(system):
        if not isinstance(block, dict) or block.get("type") != "text":
            raise Refused(f"system.{at}.type: Input should be 'text'")
        anthropic_blocks.check_text(block, f"system.{at}", "system")
