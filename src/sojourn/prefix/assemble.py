"""From sections to the exact blocks that are sent (P-2, P-7). Pure: the same input, the same bytes, the same id."""

import json
from collections.abc import Iterable
from hashlib import sha256
from itertools import pairwise
from typing import Any

from sojourn.base import UserMistake
from sojourn.meter import estimate_text, estimate_value, total
from sojourn.prefix.section import PrefixSection
from sojourn.prefix.texts import text
from sojourn.record import Block, PrefixSnapshot

IDENTITY_LINE = "identity_line"
"""The section that is the first system block."""
SKILLS = "skills"
"""The context section that stands by itself, before the others."""


def build(sections: Iterable[PrefixSection], tools: Iterable[dict[str, Any]]) -> PrefixSnapshot:
    """The snapshot: up to three system blocks (identity line; all other stable; dynamic); of the context the skills, then
    the rest between an opening and a closing line; the tools sorted by name, keys of their schemas sorted too.

    Sections keep their order within system/stable, system/dynamic, context/stable, context/dynamic. Every block but the
    first of its kind begins with its own blank line. ``tokens`` counts system, context and tools.
    Raises UserMistake for two tools of one name.
    """
    present = [one for one in sections if one.text.strip()]
    stable = [one for one in present if one.target == "system" and one.hint == "stable"]
    groups = (
        (IDENTITY_LINE, [one for one in stable if one.name == IDENTITY_LINE]),
        ("stable", [one for one in stable if one.name != IDENTITY_LINE]),
        ("dynamic", [one for one in present if one.target == "system" and one.hint == "dynamic"]),
    )
    blocks: list[Block] = []
    for name, members in groups:
        if members:
            blocks.append(_block(name, "\n\n".join(one.text for one in members), first=not blocks))
    context = _context(
        [one for hint in ("stable", "dynamic") for one in present if one.target == "context" and one.hint == hint]
    )
    schemas = _tools(tools)
    tokens = sum(block.tokens for block in (*blocks, *context)) + sum(_tool_tokens(tool) for tool in schemas)
    return PrefixSnapshot(_id(tuple(blocks), context, schemas), tuple(blocks), context, schemas, tokens)


def _context(sections: list[PrefixSection]) -> tuple[Block, ...]:
    texts = [(one.name, one.text) for one in sections if one.name == SKILLS]
    others = [(one.name, one.text) for one in sections if one.name != SKILLS]
    if others:
        texts += [("context_opening", text("context_opening")), *others, ("context_closing", text("context_closing"))]
    return tuple(_block(name, body, first=index == 0) for index, (name, body) in enumerate(texts))


def _block(name: str, body: str, *, first: bool) -> Block:
    whole = body if first else f"\n\n{body}"
    return Block(name, whole, total(estimate_text(whole)))


def _tools(tools: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    ordered = sorted(
        ({"name": tool["name"], "description": tool["description"], "schema": _sorted(tool["schema"])} for tool in tools),
        key=lambda tool: str(tool["name"]),
    )
    for one, two in pairwise(ordered):
        if one["name"] == two["name"]:
            raise UserMistake(f"two tools are called {one['name']}", next_step="Rename one of them or take it away.")
    return tuple(ordered)


def _sorted(value: Any) -> Any:
    """The same JSON value whatever order its author, or a server that reconnects, gave the keys in."""
    match value:
        case dict():
            return {key: _sorted(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [_sorted(one) for one in value]
        case _:
            return value


def _tool_tokens(tool: dict[str, Any]) -> int:
    return (
        total(estimate_text(tool["name"])) + total(estimate_text(tool["description"])) + total(estimate_value(tool["schema"]))
    )


def _id(system: tuple[Block, ...], context: tuple[Block, ...], tools: tuple[dict[str, Any], ...]) -> str:
    """Of what is sent only: a better estimate of the same bytes is the same prefix."""
    sent = {"system": [block.text for block in system], "context": [block.text for block in context], "tools": tools}
    return sha256(json.dumps(sent, separators=(",", ":")).encode()).hexdigest()
