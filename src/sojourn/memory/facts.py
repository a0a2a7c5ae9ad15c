"""A fact a file: front matter and body, and its line in the index of the scope (K-1, Y-1)."""

import re

import msgspec

from sojourn.base import UserMistake
from sojourn.memory import layout
from sojourn.memory.front_matter import joined, one_line, split
from sojourn.memory.layout import Shared
from sojourn.memory.outline import bullets, put_under
from sojourn.memory.revise import revise
from sojourn.memory.types import Document, MemoryStore, Who

HEADING = "Facts"
"""Of the section of ``MEMORY.md`` that holds the index lines."""

_POINTS = re.compile(r"\[[^\]]*\]\((?:\./)?facts/([^)]+)\.md\)")


class Fact(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    """``build-needs-node-20``: also the file's name."""
    description: str = ""
    """One line: what a search or an index shows."""
    type: str = ""
    """user | feedback | project | reference, or any other word."""
    created: str = ""
    """A date, ``2026-11-30``."""
    source: str = ""
    """Where it was learnt: ``ses_x m12``."""
    body: str = ""


def parse_fact(name: str, text: str) -> Fact:
    """The fact in the text of a file called ``name``. Never raises: what is missing is empty."""
    fields, body = split(text)
    named = {key: one_line(fields.get(key, "")) for key in ("description", "type", "created", "source")}
    return Fact(name, body=body, **named)


def render_fact(fact: Fact) -> str:
    """The text of its file; ``parse_fact`` gives the fact back."""
    fields = {"name": fact.name, "description": fact.description, "type": fact.type}
    return joined(fields | {"created": fact.created, "source": fact.source}, fact.body)


def index_line(fact: Fact) -> str:
    """``- [title](facts/name.md) - description``."""
    said = one_line(fact.description) or one_line(next(iter(fact.body.strip().split("\n")), ""))
    return f"- [{fact.name.replace('-', ' ')}](facts/{fact.name}.md){f' - {said}' if said else ''}"


async def write_fact(store: MemoryStore, scope: Shared, scope_id: str, fact: Fact, *, who: Who) -> Document:
    """Writes the file and its line in the ``MEMORY`` of the scope; one of the same name is replaced and kept as a version.

    Raises UserMistake for a name that cannot be part of a path, a fact that says nothing, or one that ``who`` may not write.
    """
    locator = layout.fact(scope, scope_id, fact.name)
    if not fact.description.strip() and not fact.body.strip():
        raise UserMistake(f"the fact {fact.name!r} says nothing", next_step="Give it a description or a text.")
    text = render_fact(fact)
    written = await revise(store, locator, lambda _: text, who=who)
    if written is None:
        raise UserMistake(f"the fact {fact.name!r} was removed as it was written", next_step="Write it again.")
    await revise(store, layout.index_of(locator), lambda before: _indexed(before, fact), who=who)
    return written


def _indexed(text: str, fact: Fact) -> str:
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    wanted = index_line(fact)
    for number, _, bullet in bullets(lines):
        if (found := _POINTS.match(bullet)) and found[1] == fact.name:
            lines[number] = wanted
            return "\n".join(lines) + "\n"
    return "\n".join(put_under(lines, HEADING, wanted)) + "\n"
