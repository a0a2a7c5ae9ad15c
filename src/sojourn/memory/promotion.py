"""Facts proven durable go to the project's memory, each with where it comes from (K-12)."""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from sojourn.memory import layout
from sojourn.memory.contradiction import contradicted, line_of, same
from sojourn.memory.facts import HEADING
from sojourn.memory.front_matter import one_line
from sojourn.memory.outline import bullets, put_under
from sojourn.memory.revise import revise
from sojourn.memory.types import Document, MemoryStore, Who
from sojourn.meter import estimate_text, total

LOADED = 10_000
"""Tokens of project memory that a rebuild loads (W-3)."""

_SOURCE = re.compile(r" \(\S+ m\d+, \d{4}-\d\d-\d\d\)$")


class Promoted(msgspec.Struct, frozen=True):
    section: Literal["Rules", "Decisions", "Durable knowledge"]
    text: str
    session_id: str
    seq: int
    """Of the message that it rests on."""
    date: str
    """``2026-11-30``."""

    @property
    def line(self) -> str:
        """``- <text> (<session> m<seq>, <date>)``."""
        return f"- {one_line(self.text)} ({self.session_id} m{self.seq}, {self.date})"


class Promotion(msgspec.Struct, frozen=True):
    """What became of the facts."""

    document: Document | None
    """None = there was nothing to add, and no document yet."""
    added: tuple[str, ...]
    """Lines that are new."""
    replaced: tuple[tuple[str, str], ...]
    """(old line, new line): the old one contradicted it, and stands in the document's versions."""
    known: tuple[str, ...]
    """Texts that stood there already."""
    warning: str
    """For the person: the document has more tokens than a rebuild loads. Empty = it has not."""


async def promote(store: MemoryStore, project_id: str, facts: Sequence[Promoted], *, who: Who = "writer") -> Promotion:
    """Adds the facts to the project's MEMORY, each at the end of its section; a contradicted line gives way, in its place.

    The document is read again before each try, so that lines written meanwhile stay. Raises as ``MemoryStore.edit``.
    """
    merged = _Merged("", (), (), ())

    def change(before: str) -> str:
        nonlocal merged
        merged = merge(before, facts)
        return merged.text

    document = await revise(store, layout.project_memory(project_id), change, who=who)
    return Promotion(document, merged.added, merged.replaced, merged.known, _warning(document))


class _Merged(msgspec.Struct, frozen=True):
    text: str
    added: tuple[str, ...]
    replaced: tuple[tuple[str, str], ...]
    known: tuple[str, ...]


def merge(text: str, facts: Sequence[Promoted]) -> _Merged:
    """The text of the document with the facts in it, in their order. The index of facts is left alone."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    added: list[str] = []
    replaced: list[tuple[str, str]] = []
    known: list[str] = []
    for fact in facts:
        if not one_line(fact.text):
            continue
        there = [(number, _SOURCE.sub("", said)) for number, heading, said in bullets(lines) if heading != HEADING]
        new, olds = line_of(one_line(fact.text)), [line_of(said) for _, said in there]
        if any(same(new, old) for old in olds):
            known.append(fact.text)
        elif (which := contradicted(new, olds)) is not None:
            number = there[which][0]
            replaced.append((lines[number], fact.line))
            lines[number] = fact.line
        else:
            lines = put_under(lines or ["# Project memory"], fact.section, fact.line)
            added.append(fact.line)
    changed = added or replaced
    return _Merged("\n".join(lines) + "\n" if changed else text, tuple(added), tuple(replaced), tuple(known))


def _warning(document: Document | None) -> str:
    tokens = total(estimate_text(document.text)) if document else 0
    if document is None or tokens <= LOADED:
        return ""
    return (
        f"{document.path} has about {tokens:,} tokens; a rebuild loads {LOADED:,} of them: shorten it, or move facts to files."
    )
