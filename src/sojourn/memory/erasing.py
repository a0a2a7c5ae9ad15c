"""A text, or sessions, out of the folder of memory: documents, earlier texts, what killed writers left, the index (R-16)."""

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sojourn.base import SojournError, WorkFailed
from sojourn.memory import layout, versions
from sojourn.memory.files import guarded, put, read
from sojourn.memory.index import Index, is_index
from sojourn.memory.locks import held

_EARLIER = ".versions"
_UNFINISHED = re.compile(r"\.[0-9a-f]{12}\..+|\..+\.tmp")
"""A file that a writer was about to put in place."""
_TOLD = 5
"""Files that are named."""


def scrub_documents(root: Path, text: str, marker: str) -> int:
    """Replaces the text by the marker in every file below the root; in how many it stood. Blocks. All else in a file, UTF-8 or
    not, stays byte for byte, and so do its rights; each document is read again under the lock that its writers take.

    Raises WorkFailed where a file could not be scrubbed: all others are.
    """
    wipe = _Wipe(text, marker)
    changed, failed = 0, list[str]()

    def closed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            failed.append(str(error))

    for parts in _documents(root, root, closed):
        try:
            with held(root, "/".join(parts)):
                earlier = versions.folder_of(root, parts)
                kept = sorted(earlier.iterdir()) if earlier.is_dir() else []
                changed += sum(_wiped(path, wipe) for path in (root.joinpath(*parts), *kept))
        except (SojournError, OSError) as error:
            failed.append(str(error))
    try:
        Index(root).forget()
    except WorkFailed as error:
        failed.append(str(error))
    if failed:
        raise WorkFailed(
            f"the text may still stand in the memory folder, {len(failed)} of its files: {'; '.join(failed[:_TOLD])}",
            next_step="Everything else is scrubbed. Free these files (rights, space) and run the same command again.",
        )
    return changed


def erase_sessions(root: Path, session_ids: Sequence[str]) -> int:
    """Removes the documents of these sessions with their earlier texts, and the index, which held their words; how many of the
    sessions had any. Blocks.

    Raises OSError where something cannot be removed, WorkFailed where a document is being written all the time, UserMistake
    for a folder that is a link: everything else is removed then.
    """
    had = 0
    failed: OSError | SojournError | None = None
    for session_id in session_ids:
        own = root.joinpath(*layout.top_parts("session", session_id))
        earlier = root / _EARLIER / own.relative_to(root)
        had += own.is_dir()
        try:
            for folder in (own, earlier):
                guarded(root, folder)
            for parts in (*_documents(root, own), *_documents(root, earlier)):
                with held(root, "/".join(parts)):  # a writer that has read the old text is waited for
                    root.joinpath(*parts).unlink(missing_ok=True)
                    if (kept := versions.folder_of(root, parts)).is_dir():
                        shutil.rmtree(kept)
            for folder in (own, earlier):
                if folder.is_dir():
                    shutil.rmtree(folder)
        except (OSError, SojournError) as error:
            failed = failed or error
    try:
        Index(root).forget()
    except WorkFailed as error:
        failed = failed or error
    if failed is not None:
        raise failed
    return had


class _Wipe:
    """Replaces a text in bytes, with the line ends of either kind."""

    def __init__(self, text: str, marker: str) -> None:
        lines = text.replace("\r\n", "\n")
        spellings = dict.fromkeys((text, lines, lines.replace("\n", "\r\n")))
        self._wanted = [spelling.encode("utf-8", "surrogateescape") for spelling in spellings]
        self._marker = marker.encode()

    def __call__(self, data: bytes) -> bytes:
        for wanted in self._wanted:
            data = data.replace(wanted, self._marker)
        return data


def _wiped(path: Path, wipe: _Wipe) -> bool:
    """Whether the text stood there. A link is not followed."""
    while not path.is_symlink() and path.is_file() and (found := read(path)) is not None:
        clean = wipe(found.data)
        if clean == found.data:
            return False
        if _UNFINISHED.fullmatch(path.name):
            path.unlink(missing_ok=True)  # one who is still about to put it in place is told that he could not
            return True
        if _put(path, clean, found.data, stat.S_IMODE(found.stat.st_mode)):
            return True
    return False


def _put(path: Path, clean: bytes, over: bytes, mode: int) -> bool:
    if os.name == "nt":
        path.chmod(stat.S_IREAD | stat.S_IWRITE)  # a file that is only to be read is not replaced there
    return put(path, clean, over=over, mode=mode)


def _documents(root: Path, top: Path, closed: Callable[[OSError], None] | None = None) -> Iterator[tuple[str, ...]]:
    """The parts below the root of every file in ``top``, and of every document that only earlier texts are left of. ``closed``
    is told of folders that cannot be looked into."""
    for folder, folders, files in os.walk(top, onerror=closed):
        inside = Path(folder).relative_to(root).parts
        folders[:] = sorted(name for name in folders if not name.startswith(".") or (not inside and name == _EARLIER))
        if inside[:1] == (_EARLIER,):
            if files and len(inside) > 1:
                yield (*inside[1:-1], f"{inside[-1]}.md")
        else:
            yield from ((*inside, name) for name in sorted(files) if inside or not is_index(name))
