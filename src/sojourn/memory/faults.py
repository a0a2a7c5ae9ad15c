"""What is wrong in the folder: said to the person, not skipped in silence (report 83)."""

import os
from collections.abc import Sequence
from pathlib import Path

from sojourn.base import SojournError
from sojourn.memory.files import is_text, read
from sojourn.memory.layout import locator_of


def faults(root: Path, within: Sequence[str] | None = None) -> tuple[str, ...]:
    """``<path>: <what is wrong>`` of every file that is outside the layout, a link, or not to be read; sorted.

    ``within``: the folders below the root to look at; None = all. Names that begin with a dot are not ours to judge.
    """
    found: list[str] = []

    def closed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            found.append(f"{error.filename}: cannot be read ({error.strerror})")

    for top in [root] if within is None else [root / one for one in within]:
        for folder, folders, files in os.walk(top, onerror=closed):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in [*files, *(name for name in folders if Path(folder, name).is_symlink())]:
                path = Path(folder, name)
                if not name.startswith(".") and (why := _fault(root, path)):
                    found.append(f"{path}: {why}")
    return tuple(sorted(found))


def _fault(root: Path, path: Path) -> str:
    if path.is_symlink():
        return "a link: it is not followed"
    if locator_of(root, path) is None:
        return "outside the layout of memory: it is never read"
    try:
        content = read(path)
    except SojournError as error:
        return str(error).removeprefix(f"{path} ")
    if content is not None and not is_text(content.data):
        return "not UTF-8: it is read with replacement characters and never written over"
    return ""
