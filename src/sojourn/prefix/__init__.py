"""System blocks and context blocks: sections, sources, frozen snapshots (P-1 to P-7)."""

from sojourn.prefix.assemble import build
from sojourn.prefix.diagnostic import Diagnostic
from sojourn.prefix.escape import escape_reminders, wrap_reminder
from sojourn.prefix.section import PrefixSection, section
from sojourn.prefix.snapshot import gather, own_sections

__all__ = ["Diagnostic", "PrefixSection", "build", "escape_reminders", "gather", "own_sections", "section", "wrap_reminder"]
