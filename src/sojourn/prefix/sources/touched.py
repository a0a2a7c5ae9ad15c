"""Rule files of folders that the session did not start in: found when something there is touched first (P-5)."""

import os
import time
from pathlib import Path

import msgspec

from sojourn.config.settings import Instructions as InstructionSettings
from sojourn.prefix.diagnostic import Diagnostic
from sojourn.prefix.sources.file_head import real
from sojourn.prefix.sources.instructions import names, wanted_names
from sojourn.prefix.sources.levels import others_write
from sojourn.prefix.sources.rule_file import RuleFile, includes, read

_FOREIGN = frozenset({"node_modules", "site-packages", ".git"})
"""What lies below came with a dependency: its rule files are for those who work on it."""
_SETTLED = 100_000_000
"""Nanoseconds: a folder that changed less than this before it was looked at may change again with the same time."""
_MOST = 4_096


class _Seen(msgspec.Struct, frozen=True):
    modified: int
    present: frozenset[str]


_seen: dict[tuple[Path, tuple[str, ...]], _Seen] = {}
"""Which rule files a folder has, for as long as the folder's own time stands."""


def nested_rules(
    root: Path,
    touched: Path,
    loaded: frozenset[Path],
    settings: InstructionSettings,
    notes: list[Diagnostic] | None = None,
) -> tuple[RuleFile, ...]:
    """The rule files on the way from ``root`` to what was touched that are not in ``loaded`` (real paths), farthest first.

    Cheap enough to be asked after each call of a tool: one ``stat`` a folder. Nothing is read outside ``root``, below
    installed dependencies, or, where ``root`` is no repository, in folders that other users can write. What could not
    be read is appended to ``notes``.
    """
    found: dict[Path, RuleFile] = {}
    told = [] if notes is None else notes
    base = real(root)
    for folder in _folders(base, touched):
        for name in wanted_names(settings, _present(folder, names(settings))):
            path = folder / name
            if real(path) in loaded:
                continue
            file, problems = read(path, base)
            told += problems
            if file is None or not file.text.strip() or file.real in loaded:
                continue
            found.setdefault(file.real, file)
            included, problems = includes(file, base)
            told += problems
            for one in included:
                if one.real not in loaded and one.text.strip():
                    found.setdefault(one.real, one)
    return tuple(found.values())


def _folders(base: Path, touched: Path) -> list[Path]:
    place = real(base / touched)
    if not place.is_relative_to(base):
        return []
    parts = place.relative_to(base).parts
    if not _FOREIGN.isdisjoint(parts):
        return []
    folders = [base]
    for part in parts:
        folders.append(folders[-1] / part)
    if os.path.exists(base / ".git"):
        return folders
    return [folder for folder in folders if not others_write(folder)]


def _present(folder: Path, possible: tuple[str, ...]) -> frozenset[str]:
    """Which of the names the folder has; none where it is a file or not there."""
    try:
        modified = folder.stat().st_mtime_ns
    except OSError:
        return frozenset()
    key = (folder, possible)
    known = _seen.get(key)
    if known is not None and known.modified == modified:
        return known.present
    present = frozenset(name for name in possible if os.path.lexists(folder / name))
    if time.time_ns() - modified > _SETTLED:
        if len(_seen) >= _MOST:
            _seen.clear()
        _seen[key] = _Seen(modified, present)
    return present
