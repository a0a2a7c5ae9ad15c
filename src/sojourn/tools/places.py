"""Paths: what an argument really names (links followed, so that a rule judges the real place), and what comes near it."""

import difflib
import os
import stat as modes
from itertools import islice
from pathlib import Path

from sojourn.base import UserMistake

_NAMES_MOST = 2_000
"""Entries of a folder that are looked at for a name that comes near."""


def real(root: Path, given: str) -> Path:
    """The real path of ``given`` (Y-6): ``~`` expanded, relative to ``root``, every link followed, also where the end of
    it does not exist yet. Raises UserMistake for an empty path and for one that no system takes (a NUL, half a character)."""
    if not given.strip() or "\0" in given or not _has_bytes(given):
        raise UserMistake(f"{given!r} is no path.", next_step="Give a file's or folder's path.")
    return Path(os.path.realpath(os.path.join(root, os.path.expanduser(given))))


def _has_bytes(given: str) -> bool:
    try:
        os.fsencode(given)
    except UnicodeEncodeError:
        return False
    return True


def shown(root: Path, path: Path) -> str:
    """Relative where it lies inside ``root``, else whole."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def kind(stat: os.stat_result) -> str:
    """``file``, or in words what it is instead: reading a pipe would wait for ever."""
    if modes.S_ISREG(stat.st_mode):
        return "file"
    return "a folder" if modes.S_ISDIR(stat.st_mode) else "a device, pipe or socket"


def missing(root: Path, path: Path) -> str:
    """What to say of a path where nothing is: the names that come near, or the folder that is missing."""
    folder = path.parent
    if not folder.is_dir():
        there = next((parent for parent in folder.parents if parent.is_dir()), folder.anchor)
        return f"Its folder does not exist; the nearest that does: {shown(root, Path(there))}"
    names = nearest(folder, path.name)
    if names:
        return f"Names near it: {', '.join(shown(root, folder / name) for name in names)}"
    return f"Nothing in {shown(root, folder)} has a name like it: look with glob."


def nearest(folder: Path, name: str) -> list[str]:
    """At most three names in the folder that are like ``name``, the likest first: other case, other ending, misspelt."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, _NAMES_MOST))
    except OSError:
        return []
    plain = name.casefold()
    stem = os.path.splitext(plain)[0]
    same = [one for one in names if one.casefold() == plain]
    same += [one for one in names if one not in same and os.path.splitext(one.casefold())[0] == stem]
    folded = {one.casefold(): one for one in names}
    like = [folded[one] for one in difflib.get_close_matches(plain, folded, n=3, cutoff=0.7)]
    return list(dict.fromkeys([*same, *like]))[:3]
