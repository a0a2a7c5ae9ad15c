"""Earlier texts of a document (K-12): files in ``<root>/.versions/<document>/``, the newest 50."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from sojourn.memory.files import as_text, make_folders, read, sha_of, sync_folder
from sojourn.memory.types import Version, Who

KEPT = 50
_NAME = re.compile(r"(\d{6,})-(\d+)-([a-z]+)\.md")


def folder_of(root: Path, parts: Sequence[str]) -> Path:
    """Where a document's earlier texts lie; ``parts``: of its path below the root."""
    return root.joinpath(".versions", *parts[:-1], parts[-1].removesuffix(".md"))


def keep(folder: Path, path: Path, *, who: Who, now: int) -> Path:
    """Keeps the file as the newest version, durably, before it is replaced. Raises OSError.

    A second name for the same file where the disk allows it: what an editor writes into it in the moment of replacing is
    kept too. To be called under the document's lock.
    """
    make_folders(folder)
    found = _files(folder)
    kept = folder / f"{(found[-1].number if found else 0) + 1:06}-{max(now, 0)}-{who}.md"
    try:
        os.link(path, kept)
    except OSError:
        shutil.copyfile(path, kept)
        kept.chmod(0o600)
        with kept.open("rb") as file:
            os.fsync(file.fileno())
    sync_folder(folder)
    return kept


def prune(folder: Path) -> None:
    """Removes all but the newest 50."""
    for one in _files(folder)[:-KEPT]:
        one.path.unlink(missing_ok=True)


def listing(folder: Path, present: str | None) -> tuple[Version, ...]:
    """Newest first, at most 50. A newest one that is the ``present`` text is left out: it was never replaced."""
    result: list[Version] = []
    for one in reversed(_files(folder)):
        content = read(one.path)
        if content is None:  # pruned meanwhile
            continue
        text = as_text(content.data)
        if result or text != present:
            result.append(Version(sha_of(text), text, one.who, one.replaced))
    return tuple(result[:KEPT])


class _Kept(NamedTuple):
    number: int
    replaced: int
    who: Who
    path: Path


def _files(folder: Path) -> list[_Kept]:
    """Oldest first."""
    if not folder.is_dir():
        return []
    found = ((path, _NAME.fullmatch(path.name)) for path in folder.iterdir())
    return sorted(_Kept(int(name[1]), int(name[2]), _who(name[3]), path) for path, name in found if name)


def _who(word: str) -> Who:
    return next((who for who in get_args(Who) if who == word), "user")
