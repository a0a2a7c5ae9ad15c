"""A memory folder for tests: two sessions, two projects, a clock that stands still."""

from pathlib import Path

from sojourn.base import ManualClock
from sojourn.memory import Belonging, LocalMemory, layout

SESSION, OTHER_SESSION = "ses_1", "ses_2"
PROJECT, OTHER_PROJECT = "/home/ada/tide", "/home/ada/watch"
OWN = Belonging(SESSION, PROJECT)
OTHER = Belonging(OTHER_SESSION, OTHER_PROJECT)

NOTES = layout.notes(SESSION)
MEMORY = layout.project_memory(PROJECT)
GLOBAL = layout.global_memory()
PROGRESS = layout.progress(SESSION, "T1")
CHECKPOINT = layout.checkpoint(SESSION)

START = 1_700_000_000_000


def person(root: Path) -> LocalMemory:
    """Opened by a person's own command."""
    return LocalMemory(root, clock=ManualClock(START))


def session(root: Path, task_id: str = "") -> LocalMemory:
    """Opened for the session."""
    return person(root).gate(OWN, task_id)
