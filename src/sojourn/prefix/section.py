"""One section of the prefix (P-1)."""

from typing import Literal

import msgspec

from sojourn.meter import estimate_text, total

Target = Literal["system", "context"]
Hint = Literal["stable", "dynamic"]


class PrefixSection(msgspec.Struct, frozen=True):
    """``target``: a system block, or a user-role context block. ``hint``: whether it is the same in every window."""

    name: str
    source: str
    """Where it comes from: ``sojourn``, ``environment``, ``git``, ``instructions``, a host's own name."""
    target: Target
    hint: Hint
    text: str
    """Without blank lines around it; may be empty, then it is left out."""
    tokens: int = 0
    """Uncalibrated estimate."""


def section(name: str, source: str, target: Target, hint: Hint, text: str) -> PrefixSection:
    """A section with its text cleaned (blank lines around it, lone surrogates) and counted."""
    clean = text.encode("utf-8", "replace").decode().strip("\r\n")
    return PrefixSection(name, source, target, hint, clean, total(estimate_text(clean)))
