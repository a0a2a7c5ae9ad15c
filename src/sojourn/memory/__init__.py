"""Durable knowledge: layout, documents, index, recall, write gate (Y-1, Y-2, K-1, K-12, K-13).

Where a document lives: ``sojourn.memory.layout`` (``layout.notes(session_id)``, ``layout.path_of``).
"""

from sojourn.memory import layout
from sojourn.memory.documents import LocalMemory
from sojourn.memory.erasing import erase_sessions, scrub_documents
from sojourn.memory.facts import Fact, parse_fact, render_fact, write_fact
from sojourn.memory.layout import locator_of, path_of
from sojourn.memory.notes import append_note
from sojourn.memory.notes import entries as note_entries
from sojourn.memory.promotion import LOADED, Promoted, Promotion, promote
from sojourn.memory.types import Belonging, Document, Entry, Locator, MemoryHit, MemoryStore, Scope, Version, Who

__all__ = [
    "LOADED",
    "Belonging",
    "Document",
    "Entry",
    "Fact",
    "LocalMemory",
    "Locator",
    "MemoryHit",
    "MemoryStore",
    "Promoted",
    "Promotion",
    "Scope",
    "Version",
    "Who",
    "append_note",
    "erase_sessions",
    "layout",
    "locator_of",
    "note_entries",
    "parse_fact",
    "path_of",
    "promote",
    "render_fact",
    "scrub_documents",
    "write_fact",
]
