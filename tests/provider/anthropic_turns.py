"""The Messages API's rules for the order of messages, calls with their results, and thinking."""

from typing import Any

from provider.anthropic_blocks import listed
from provider.memory import Memory, Thought
from provider.refusal import Body, Refused
from provider.terms import Terms

_ANYWHERE = "; the directive-only form (content: [] with output_config) is accepted at any position"
_THINKING = ("thinking", "redacted_thinking")

Placed = tuple[int, int, Body]
"""Index of the message, place in its content, block."""


def thinks(body: Body) -> bool:
    """Whether the request has thinking on."""
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def check(body: Body, terms: Terms, memory: Memory) -> None:
    """Raises Refused for the first thing that is wrong."""
    messages = body["messages"]
    _check_system(messages, terms)
    if messages[0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')
    last = messages[-1]
    if last["role"] == "assistant":
        if not terms.prefill:
            raise Refused(
                "This model does not support assistant message prefill. The conversation must end with a user message."
            )
        end = listed(last["content"])[-1]
        if end["type"] == "text" and end["text"] != end["text"].rstrip():
            raise Refused("messages: final assistant content cannot end with trailing whitespace")
    for at, message in enumerate(messages):
        if message["role"] == "assistant" and listed(message["content"])[-1]["type"] in _THINKING:
            raise Refused(f"messages.{at}: The final block in an assistant message cannot be `thinking`.")
    runs = _runs(messages)
    _check_calls(runs)
    _check_signatures(runs, body["model"], memory)
    if thinks(body):
        _check_tool_run(runs, body["model"], memory)


def _check_system(messages: list[Body], terms: Terms) -> None:
    roles = [message["role"] for message in messages]
    if "system" in roles and not terms.mid_system:
        raise Refused(f"messages.{roles.index('system')}: role 'system' is not supported on this model")
    for at, role in enumerate(roles):
        if role != "system":
            continue
        before, after = roles[at - 1] if at else None, roles[at + 1] if at + 1 < len(roles) else None
        if before is None:
            raise Refused(f"messages.{at}: use the top-level 'system' parameter for the initial system prompt{_ANYWHERE}")
        if before == "assistant":
            raise Refused(
                f"messages.{at}: role 'system' must follow a 'user' message or an 'assistant' message ending in a "
                f"server tool result{_ANYWHERE}"
            )
        if after == "user":
            raise Refused(f"messages.{at}: role 'system' must precede an 'assistant' message or end the array{_ANYWHERE}")


def _runs(messages: list[Body]) -> list[tuple[str, list[Placed]]]:
    """Messages of one role that follow each other are one turn, as the service reads them."""
    runs: list[tuple[str, list[Placed]]] = []
    for at, message in enumerate(messages):
        blocks = [(at, place, block) for place, block in enumerate(listed(message["content"]))]
        if runs and runs[-1][0] == message["role"]:
            runs[-1][1].extend(blocks)
        else:
            runs.append((message["role"], blocks))
    return runs


def _check_calls(runs: list[tuple[str, list[Placed]]]) -> None:
    known: set[str] = set()
    for number, (role, blocks) in enumerate(runs):
        if role == "assistant":
            for at, place, block in blocks:
                if block["type"] == "tool_use":
                    if block["id"] in known:
                        raise Refused(f"messages.{at}.content.{place}: `tool_use` ids must be unique")
                    known.add(block["id"])
            _check_answered(blocks, runs[number + 1] if number + 1 < len(runs) else None)
        elif role == "user":
            before = runs[number - 1] if number else ("", [])
            asked = {block["id"] for _, _, block in before[1] if block["type"] == "tool_use"}
            answered: set[str] = set()
            for at, place, block in blocks:
                if block["type"] != "tool_result":
                    continue
                if block["tool_use_id"] not in asked:
                    raise Refused(
                        f"messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: "
                        f"{block['tool_use_id']}. "
                        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                    )
                if block["tool_use_id"] in answered:
                    raise Refused(
                        f"messages.{at}.content.{place}: each tool_use must have a single result. "
                        f"Found multiple `tool_result` blocks with id: {block['tool_use_id']}"
                    )
                answered.add(block["tool_use_id"])


def _check_answered(blocks: list[Placed], after: tuple[str, list[Placed]] | None) -> None:
    """Results stand first in the next user message: what comes behind another block answers nothing."""
    asked = [(at, block["id"]) for at, _, block in blocks if block["type"] == "tool_use"]
    answered = set()
    for _, _, block in after[1] if after and after[0] == "user" else []:
        if block["type"] != "tool_result":
            break
        answered.add(block["tool_use_id"])
    open_calls = [(at, call) for at, call in asked if call not in answered]
    if open_calls:
        raise Refused(
            f"messages.{open_calls[0][0]}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(call for _, call in open_calls)}. Each `tool_use` block must have a corresponding "
            "`tool_result` block in the next message."
        )


def _thought(block: Body) -> Thought:
    if block["type"] == "thinking":
        return "thinking", block["thinking"], block["signature"]
    return "redacted_thinking", "", block["data"]


def _check_signatures(runs: list[tuple[str, list[Placed]]], model: str, memory: Memory) -> None:
    """Every thinking block is one that was given to this model, byte for byte."""
    newest = max((number for number, (role, _) in enumerate(runs) if role == "assistant"), default=-1)
    for number, (role, blocks) in enumerate(runs):
        for at, place, block in blocks if role == "assistant" else []:
            if block["type"] not in _THINKING:
                continue
            thought = _thought(block)
            given = memory.thoughts.get(thought[2])
            if given is not None and given == (model, thought):
                continue
            if number == newest and given is not None and given[0] == model:
                raise Refused(_changed(at, place))
            part = "`signature` in `thinking`" if block["type"] == "thinking" else "`data` in `redacted_thinking`"
            raise Refused(f"messages.{at}.content.{place}: Invalid {part} block")


def _changed(at: int, place: int) -> str:
    return (
        f"messages.{at}.content.{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message "
        "cannot be modified. "
        "These blocks must remain as they were in the original response."
    )


def _check_tool_run(runs: list[tuple[str, list[Placed]]], model: str, memory: Memory) -> None:
    """In the turn that still runs (back to the last user message without results), this model's calls come back with all
    the thinking that stood before them, in its order.
    """
    for role, blocks in reversed(runs):
        if role == "user" and all(block["type"] != "tool_result" for _, _, block in blocks):
            return
        if role != "assistant":
            continue
        thoughts = [_thought(block) for _, _, block in blocks if block["type"] in _THINKING]
        given: list[Thought] = []
        for _, _, block in blocks:
            for thought in memory.before_call.get(block["id"], ()) if block["type"] == "tool_use" else ():
                if thought not in given and memory.thoughts[thought[2]][0] == model:
                    given.append(thought)
        if thoughts == given or not given:
            continue
        at, place, first = blocks[0]
        if not thoughts:
            raise Refused(_expected(at, place, first))
        raise Refused(_changed(at, place))


def _expected(at: int, place: int, first: dict[str, Any]) -> str:
    return (
        f"messages.{at}.content.{place}.type: Expected `thinking` or `redacted_thinking`, but found `{first['type']}`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
        "lastmost set of "
        "`tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid "
        "this requirement, "
        "disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    )
