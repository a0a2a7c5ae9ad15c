"""What a tool is: a name, a description, a schema, what it does to the world, and how to run it (Y-5)."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from sojourn.record import ResultPart, Text, Touch
from sojourn.tools.desk import Desk

Effect = Literal["read", "edit", "execute"]
"""``read`` changes nothing; ``edit`` changes files at ``subject``; ``execute`` can do anything."""


class Outcome(msgspec.Struct, frozen=True):
    """What a call came to. The text is whole: the one central cap is applied where results are taken in (Y-5)."""

    parts: tuple[ResultPart, ...]
    error: bool = False
    touches: tuple[Touch, ...] = ()

    @property
    def text(self) -> str:
        """Its text parts, one below the other."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


Run = Callable[[dict[str, Any], Desk], Awaitable[Outcome]]


class Tool(msgspec.Struct, frozen=True):
    """One tool. ``schema`` is JSON Schema of an object; ``description`` is the model's, English, short (P-8)."""

    name: str
    description: str
    schema: dict[str, Any]
    effect: Effect
    subject: str
    """The argument that a permission rule's pattern is matched against: ``path``, ``command``; empty = none."""
    run: Run
    """Called by ``tools.run`` only, which checks the arguments first. May raise OSError, SojournError, UnicodeError."""
    effects: Callable[[dict[str, Any]], Effect] | None = None
    """What one call does, where calls differ; ``effect`` is then the most that any can do."""

    def listed(self) -> dict[str, Any]:
        """As it stands in a prefix."""
        return {"name": self.name, "description": self.description, "schema": self.schema}


def said(text: str, *touches: Touch) -> Outcome:
    """The outcome of a call that went well."""
    return Outcome((Text(text),), touches=touches)


def failed(text: str, next_step: str = "") -> Outcome:
    """The outcome of a call that did not: what was wrong, and what to do next."""
    return Outcome((Text(f"{text}\n{next_step}" if next_step else text),), error=True)
