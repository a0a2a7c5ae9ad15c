"""The ``memory`` tool: what outlives the window and the session (Y-1)."""

import json
from typing import Any

from sojourn.memory import MemoryHit, Scope
from sojourn.models.calls import check_arguments
from sojourn.tools.desk import Desk, Memory
from sojourn.tools.history import HISTORY
from sojourn.tools.texts import text
from sojourn.tools.types import Effect, Outcome, Tool, failed, said

HITS = 10
LISTED_MOST = 100
"""Documents of one answer."""
_SNIPPET = 240
"""Characters of a hit."""
_SCOPES: dict[str, Scope] = {
    "notes": "session", "sessions": "session", "project": "project", "projects": "project", "global": "global",
}  # fmt: skip
"""By the first name of a path: where a search or a list looks."""
_READS = ("search", "read", "list")
_NEEDS = {
    "search": ("words",),
    "read": ("path",),
    "append": ("text",),
    "edit": ("path", "old", "new"),
    "write": ("path", "text"),
}
_EMPTY_IS_FINE = ("new",)
"""An edit may take a line out."""


def memory_effect(arguments: dict[str, Any]) -> Effect:
    """What a call can do: looking changes nothing, and what cannot be told is taken for a change."""
    return "read" if arguments.get("do") in _READS else "edit"


def call_shape(tool: Tool, **arguments: Any) -> str:
    """A call of the tool as a model may copy it. Raises ValueError where the tool's schema does not take the arguments:
    what is shown always works."""
    known = tool.schema.get("properties", {})
    strange = [name for name in arguments if name not in known]
    wrong = f"there is no argument {strange[0]}" if strange else check_arguments(arguments, tool.schema)
    if wrong:
        raise ValueError(f"{tool.name}: {wrong}")
    return f"{tool.name} {json.dumps(arguments, ensure_ascii=False)}"


async def _memory(arguments: dict[str, Any], desk: Desk) -> Outcome:
    if desk.memory is None:
        return failed("This session has no memory.", "Go on without it.")
    do = arguments["do"]
    for name in _NEEDS.get(do, ()):
        if not arguments.get(name, "").strip() and not (name in arguments and name in _EMPTY_IS_FINE):
            return failed(f"{do} needs {name}.", _example(do))
    path = arguments.get("path", "").strip()
    scope = _SCOPES.get(path.partition("/")[0])
    match do:
        case "search":
            return await _search(arguments["words"].strip(), scope, desk.memory)
        case "read":
            return await _read(path, desk.memory)
        case "list":
            return await _list(scope, desk.memory)
        case "append":
            document = await desk.memory.append(path or "notes", arguments["text"])
            return said(f"Added to {document.path}.")
        case "edit":
            return await _edit(path, arguments["old"], arguments["new"], desk.memory)
        case _:
            document = await desk.memory.write(path, arguments["text"])
            return said(f"Wrote {document.path}: {_lines(document.text)}.")


async def _search(words: str, scope: Scope | None, memory: Memory) -> Outcome:
    hits = await memory.search(words, scope=scope, limit=HITS)
    if hits:
        shape = call_shape(MEMORY, do="read", path=hits[0].path)
        return said("\n".join([*map(_hit, hits), f"[whole document: {shape}]"]))
    where = f"the {scope} memory" if scope else "memory"
    ways = ["fewer or rarer words"]
    if scope:
        ways.append(f"everywhere: {call_shape(MEMORY, do='search', words=words)}")
    ways.append(f"what was said or done in this session, by its exact words: {call_shape(HISTORY, search=words)}")
    return said("\n".join([f"Nothing found in {where}. Try, in this order:", *(f"- {way}" for way in ways)]))


def _hit(hit: MemoryHit) -> str:
    snippet = " ".join(hit.snippet.split())
    return f"{hit.path}:{hit.line} {snippet if len(snippet) <= _SNIPPET else snippet[: _SNIPPET - 1] + '…'}"


async def _read(path: str, memory: Memory) -> Outcome:
    document = await memory.read(path)
    if document is None:
        return failed(f"There is no document {path} yet.", f"What there is: {call_shape(MEMORY, do='list')}")
    if not document.text.strip():
        return said(f"{document.path} is empty.")
    return said(f"[{document.path}]\n{document.text}")


async def _list(scope: Scope | None, memory: Memory) -> Outcome:
    entries = await memory.entries(scope)
    if not entries:
        return said(f"There is nothing in {f'the {scope} memory' if scope else 'memory'} yet.")
    lines = [f"{one.path} ({one.tokens:,} tokens){f' {one.title}' if one.title else ''}" for one in entries[:LISTED_MOST]]
    if len(entries) > LISTED_MOST:
        lines.append(f"[{len(entries) - LISTED_MOST} more, older: find them with search]")
    return said("\n".join(lines))


async def _edit(path: str, old: str, new: str, memory: Memory) -> Outcome:
    if old == new:
        return failed("old and new are the same: nothing was changed.", "Give in new the text as it is to be.")
    document = await memory.edit(path, old, new)
    return said(f"Changed {document.path}.")


def _lines(body: str) -> str:
    count = len(body.splitlines())
    return f"{count} line{'s' if count != 1 else ''}"


def _example(do: str) -> str:
    samples = {"words": "release steps", "path": "project", "text": "- a line", "old": "port 80", "new": "port 8080"}
    return f"For example {call_shape(MEMORY, do=do, **{name: samples[name] for name in _NEEDS[do]})}"


MEMORY = Tool(
    name="memory",
    description=text("memory"),
    schema={
        "type": "object",
        "properties": {
            "do": {"enum": [*_READS, "append", "edit", "write"]},
            "words": {"type": "string"},
            "path": {"type": "string", "description": "notes, project, global, or as shown"},
            "text": {"type": "string"},
            "old": {"type": "string"},
            "new": {"type": "string"},
        },
        "required": ["do"],
    },
    effect="edit",
    subject="",
    run=_memory,
    effects=memory_effect,
)
"""``effect`` is the most that a call can do; ``memory_effect`` says it of one call."""
