"""One change of a document: read again under its lock, the old text kept, the new one put in place (Y-2, report 79)."""

from collections.abc import Callable
from pathlib import Path

from sojourn.base import UserMistake, WorkFailed
from sojourn.memory import versions
from sojourn.memory.files import as_text, guarded, is_text, put, read
from sojourn.memory.locks import held
from sojourn.memory.types import Who
from sojourn.record.codec import plain

Change = Callable[[str | None], str | None]
"""From the text that stands there (None = no document) to the new one; the same or None = leave it. May raise UserMistake."""

_TRIES = 50


def change_file(root: Path, parts: tuple[str, ...], change: Change, *, who: Who, now: int) -> None:
    """Changes the document at ``parts`` below the root; durable when it returns. Blocks, so it runs in a thread.

    Raises UserMistake (what ``change`` raises, a link, a file that is not UTF-8) and WorkFailed (the disk refuses); then the
    document is as it was.
    """
    path = guarded(root, root.joinpath(*parts))
    try:
        with held(root, "/".join(parts)):
            _change(path, versions.folder_of(root, parts), change, who, now)
    except OSError as error:
        raise WorkFailed(
            f"{path} could not be written: {error.strerror or error}",
            next_step="The document is as it was; free the path (space, rights) and try again.",
        ) from error


def _change(path: Path, kept_in: Path, change: Change, who: Who, now: int) -> None:
    """Again from the start whenever another program, which knows nothing of locks, writes the file meanwhile."""
    ours: bytes | None = None
    theirs: bytes | None = None
    for _ in range(_TRIES):
        found = read(path)
        there = found.data if found else None
        if there != ours:
            theirs = None  # yet another text stands there: that one counts
        base = there if theirs is None else theirs
        try:
            after = _after(path, base, change)
        except UserMistake:
            if theirs is not None:
                put(path, theirs, over=there)  # what came between wins
            raise
        if after is None or after == there:
            return
        kept = versions.keep(kept_in, path, who=who, now=now) if there is not None else None
        try:
            done = put(path, after, over=there)
        except BaseException:
            if kept is not None:
                kept.unlink(missing_ok=True)
            raise
        if kept is None:
            if done:
                return
            continue
        if not done:
            kept.unlink(missing_ok=True)
            continue
        written = kept.read_bytes()
        if written == there:
            versions.prune(kept_in)
            return
        ours, theirs = after, written  # an editor wrote into it in the very moment: its text is what the change applies to
    raise WorkFailed(f"{path} does not keep still: another program writes it all the time", next_step="End that program first.")


def _after(path: Path, base: bytes | None, change: Change) -> bytes | None:
    """The new bytes; those of ``base`` where nothing changes."""
    before = None if base is None else as_text(base)
    text = change(before)
    if text is None or text == before:
        return base
    if base is not None and not is_text(base):
        raise UserMistake(f"{path} is not UTF-8 text: nothing is written over it", next_step="Save it as UTF-8 first.")
    return plain(text).replace("\r\n", "\n").encode()
