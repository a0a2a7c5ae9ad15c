"""The live demonstration's stage: a scratch repository, a script that works on it, and what has to survive."""

import shutil
from pathlib import Path

import msgspec

from sojourn.lab.scene.facts import PLANTED, Planted
from sojourn.lab.scene.making import make
from sojourn.models.scripted import Plan


class Scene(msgspec.Struct, frozen=True):
    title: str
    plan: Plan
    facts: tuple[Planted, ...]


def set_up(folder: Path) -> Scene:
    """Makes the scratch repository in the folder, which must be empty; deterministic. Takes a fraction of a second."""
    # Imported here: the day's text is not needed to name the types.
    from sojourn.lab.scene.story import story

    make(folder)
    return Scene("lockerd: a working day with three bugs", story(git=shutil.which("git") is not None), PLANTED)


__all__ = ["Planted", "Scene", "set_up"]
