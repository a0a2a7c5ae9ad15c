"""The ``more`` tool: rare tools behind one fixed entry, so that the list of tools never changes inside a window (P-8)."""

import json
from collections.abc import Sequence
from typing import Any

from sojourn.models.calls import check_arguments, coerced
from sojourn.tools.desk import Desk
from sojourn.tools.texts import text
from sojourn.tools.types import Outcome, Tool, failed, said

_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
}


def more_tool(rare: Sequence[Tool]) -> Tool:
    """The entry. Its description and schema are the same whatever is behind it. A call that names a tool is taken apart by
    ``inner_call`` and judged and run as that tool: run as itself it only tells."""

    async def tell(arguments: dict[str, Any], desk: Desk) -> Outcome:
        del desk
        found = inner_call(arguments, rare)
        return found if isinstance(found, Outcome) else failed(f"{found[0].name} was not run.", "Call it once more.")

    return Tool(name="more", description=text("more"), schema=_SCHEMA, effect="read", subject="", run=tell)


def inner_call(arguments: dict[str, Any], rare: Sequence[Tool]) -> tuple[Tool, dict[str, Any]] | Outcome:
    """What a call of ``more`` means: the inner tool and its arguments as the model wrote them, for the caller to judge and
    run under the same permissions; or an answer: the descriptions, one description, an unknown name."""
    given = coerced(arguments, _SCHEMA)
    wrong = check_arguments(given, _SCHEMA)
    if wrong:
        return failed(f"more: {wrong}")
    if "name" not in given:
        return said("\n\n".join(map(_described, rare)) if rare else "There are no more tools.")
    tool = next((one for one in rare if one.name == given["name"]), None)
    if tool is None:
        names = ", ".join(one.name for one in rare) or "none"
        return failed(f"There is no tool {given['name']!r} behind more.", f"There are: {names}.")
    return (tool, given["arguments"]) if "arguments" in given else said(_described(tool))


def _described(tool: Tool) -> str:
    schema = json.dumps(tool.schema, ensure_ascii=False, separators=(",", ":"))
    return f"{tool.name}: {tool.description}\narguments: {schema}"
