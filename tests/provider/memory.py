"""What the provider gave, so that it knows its own when it comes back."""

import base64
import hashlib
import itertools
from dataclasses import dataclass, field

Thought = tuple[str, str, str]
"""Kind (``thinking``, ``redacted_thinking``), text, and signature or data."""


@dataclass(frozen=True)
class Reasoning:
    """A reasoning item that was given, and what followed it."""

    encrypted: str
    model: str
    follows: tuple[str, str]
    """``function_call`` and its call id, ``message`` and its text, ``reasoning`` and its id; empty = nothing did."""


@dataclass
class Memory:
    """Signatures and items by what identifies them."""

    thoughts: dict[str, tuple[str, Thought]] = field(default_factory=dict)
    """Anthropic: signature or data to the model and the block."""
    before_call: dict[str, tuple[Thought, ...]] = field(default_factory=dict)
    """Anthropic: call id to the thinking of its message. Chat: call id to (reasoning,)."""
    reasoning: dict[str, Reasoning] = field(default_factory=dict)
    """Responses: item id to what was given."""
    needs: dict[str, str] = field(default_factory=dict)
    """Responses: id of an item to the reasoning item that stood right before it."""
    stored: set[str] = field(default_factory=set)
    """Responses: ids of responses and items that were stored."""
    google: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Gemini: signature to the model and what it stood on (a call's name and arguments, or ``text``)."""
    google_calls: dict[str, str] = field(default_factory=dict)
    """Gemini: a call's name and arguments to its signature."""
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def number(self) -> int:
        """A new number for an id."""
        return next(self._numbers)

    def seal(self, *what: str) -> str:
        """A signature: base64, never twice the same."""
        digest = hashlib.sha512("\0".join((str(self.number()), *what)).encode("utf-8", "surrogatepass")).digest()
        return base64.b64encode(digest + digest[:32]).decode()
