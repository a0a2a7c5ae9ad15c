"""Which prefix is asked for: the main agent's, or one of its variants (P-1, P-3)."""

from pathlib import Path
from typing import Literal

import msgspec

from sojourn.prefix.section import PrefixSection
from sojourn.prefix.styles import Style

Surface = Literal["terminal", "web", "acp"]


class Workflow(msgspec.Struct, frozen=True, kw_only=True, tag="workflow"):
    """A sub-agent that a script started: no person is there, only the script reads the result."""

    name: str = ""
    persona: str = ""


class Child(msgspec.Struct, frozen=True, kw_only=True, tag="child"):
    """A sub-agent that an agent started. Handed the parent's sources, it inherits the rules that the parent resolved."""

    prompt: str = ""
    """What it is for; takes the place of the role. Empty = the parent's role."""
    inject_instructions: bool = True


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a host decides about a prefix; the rest is in ``Sources``."""

    surface: Surface = "terminal"
    model: str = ""
    """provider/name."""
    tools: frozenset[str] = frozenset()
    """Names: nothing is said about tools that are not there."""
    skills: bool = True
    trusted: bool = True
    """Whether a person trusts the folder: if not, no text of its authors stands in a system block (M-R5)."""
    style: Style | None = None
    custom_prompt: str = ""
    """In place of the role and everything down to git (rows 2 to 10)."""
    actor: Workflow | Child | None = None
    """None = the main agent."""
    checkpoints: bool = True
    """Whether the view is rebuilt from checkpoints (C-14). A sub-agent's never is (C-8), whatever this says."""
    memory_root: Path | None = None
    """The folder of the memory documents; None = no memory."""
    memory_writing: bool = True
    memory_index: str = ""
    """Text of an index of memory that no opening shows (W-3 shows the project's ``MEMORY.md`` in each)."""
    sections: tuple[PrefixSection, ...] = ()
    """A host's own, behind ours of the same target and hint."""
