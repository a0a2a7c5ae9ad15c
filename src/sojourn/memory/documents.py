"""The local store: plain files that a person can edit (K-1, Y-2)."""

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from sojourn.base import Clock, SystemClock, UserMistake, finish_first
from sojourn.memory import layout, recall, versions
from sojourn.memory.faults import faults
from sojourn.memory.files import as_text, guarded, read, sha_of
from sojourn.memory.gate import Act, not_its_own, refusal
from sojourn.memory.index import Index
from sojourn.memory.notes import without
from sojourn.memory.types import Belonging, Document, Entry, Locator, MemoryHit, Scope, Version, Who
from sojourn.memory.writing import Change, change_file


class LocalMemory:
    """A ``MemoryStore`` of Markdown files below a folder.

    Opened without a session it is a person's own: it reads everything and writes as ``user`` only. ``gate`` opens it for a
    session: nothing of another session or project is read, found or written (report 85).
    """

    def __init__(
        self, root: Path, *, clock: Clock | None = None, belonging: Belonging | None = None, task_id: str = ""
    ) -> None:
        self.root = Path(os.path.abspath(root))  # a link to the root stays one; ``..`` does not
        self._clock = clock or SystemClock()
        self._belonging = belonging
        self._task_id = task_id
        self._index = Index(self.root)

    def gate(self, belonging: Belonging, task_id: str = "") -> "LocalMemory":
        """The same documents for one session; ``task_id``: the task of a sub-agent, whose progress it may write."""
        return LocalMemory(self.root, clock=self._clock, belonging=belonging, task_id=task_id)

    async def read(self, locator: Locator) -> Document | None:
        """The document as it stands; None = there is none. UserMistake: another session's or project's, a link, no document.
        WorkFailed: it cannot be read."""
        self._see(locator)
        return await asyncio.to_thread(self._read, locator)

    async def entries(self, belonging: Belonging, scope: Scope | None = None) -> Sequence[Entry]:
        """As ``MemoryStore.entries``."""
        self._look(belonging)
        found = await asyncio.to_thread(self._index.entries, layout.tops(belonging, scope))
        known = (belonging.project_id,)
        made = (self._entry(one.path, one.title, one.tokens, one.modified, known) for one in found)
        return tuple(one for one in made if one)

    async def append(self, locator: Locator, text: str, *, who: Who) -> Document:
        """As ``MemoryStore.append``: one blank line before it. UserMistake: an empty text."""
        block = text.strip("\n")
        if not block.strip():
            raise UserMistake("there is nothing to append: the text is empty", next_step="Give a text.")

        def change(before: str | None) -> str:
            above = (before or "").rstrip("\n")
            return f"{above}\n\n{block}\n" if above.strip() else f"{block}\n"

        return await self._write(locator, "append", change, who)

    async def edit(self, locator: Locator, old: str, new: str, *, who: Who) -> Document:
        """As ``MemoryStore.edit``. UserMistake: ``old`` stands there not at all, or more than once."""

        def change(before: str | None) -> str:
            if before is None:
                _refuse(self._name(locator), "there is no such document", "Write or append it first.")
            if not old or old not in before or before.find(old) != before.rfind(old):
                said = "is empty" if not old else "stands there more than once" if old in before else "does not stand there"
                next_step = "Read the document again and give a passage that stands there once."
                _refuse(self._name(locator), f"the text to replace {said}", next_step)
            return before.replace(old, new)

        return await self._write(locator, "edit", change, who)

    async def write(self, locator: Locator, text: str, *, who: Who, expected: str | None) -> Document:
        """As ``MemoryStore.write``. UserMistake: the document is not what ``expected`` says."""

        def change(before: str | None) -> str:
            if (before is None) != (expected is None) or (before is not None and sha_of(before) != expected):
                said = "there is a document already" if expected is None else "it has changed since it was read"
                _refuse(self._name(locator), said, "Read it again, and write or edit what is there now.")
            return text

        return await self._write(locator, "write", change, who)

    async def take_out(self, locator: Locator, entries: Sequence[str], *, who: Who) -> Document | None:
        """As ``MemoryStore.take_out``, for notes. None = there is no such document."""
        if locator.key != "notes":
            _refuse(self._name(locator), "only notes are a list of entries", "Edit the document instead.")
        seen = frozenset(entries)

        def change(before: str | None) -> str | None:
            return None if before is None else without(before, seen)

        await self._changed(locator, "take_out", change, who)
        return await self.read(locator)

    async def versions(self, locator: Locator) -> Sequence[Version]:
        """As ``MemoryStore.versions``: at most 50."""
        self._see(locator)
        return await asyncio.to_thread(self._versions, locator)

    async def search(
        self, query: str, belonging: Belonging, *, scope: Scope | None = None, limit: int = 10
    ) -> Sequence[MemoryHit]:
        """As ``MemoryStore.search``."""
        self._look(belonging)
        return await asyncio.to_thread(recall.search, self._index, query, belonging, scope, limit)

    async def unreadable(self) -> Sequence[str]:
        """As ``MemoryStore.unreadable``: ``<path>: <what is wrong>``, sorted; opened for a session: of its own folders."""
        within = None if self._belonging is None else layout.tops(self._belonging)
        return await asyncio.to_thread(faults, self.root, within)

    async def _write(self, locator: Locator, act: Act, change: Change, who: Who) -> Document:
        await self._changed(locator, act, change, who)
        written = await self.read(locator)
        if written is None:
            _refuse(self._name(locator), "it was removed as soon as it was written", "Try again.")
        return written

    async def _changed(self, locator: Locator, act: Act, change: Change, who: Who) -> None:
        """A cancel that comes meanwhile is raised when the change is done or refused: never half known."""
        parts = layout.parts_of(locator)
        if why := refusal(who, act, locator, self._belonging, self._task_id):
            _refuse(self._name(locator), why, "Write where you may: notes, or the memory of this project.")
        work = asyncio.to_thread(change_file, self.root, parts, change, who=who, now=self._clock.now())
        await finish_first(work)

    def _read(self, locator: Locator) -> Document | None:
        path = layout.path_of(self.root, locator)
        found = read(guarded(self.root, path))
        if found is None:
            return None
        text = as_text(found.data)
        return Document(locator, text, sha_of(text), found.stat.st_mtime_ns // 1_000_000, str(path))

    def _versions(self, locator: Locator) -> Sequence[Version]:
        present = self._read(locator)
        folder = versions.folder_of(self.root, layout.parts_of(locator))
        return versions.listing(folder, present.text if present else None)

    def _entry(self, path: str, title: str, tokens: int, modified: int, known: Iterable[str]) -> Entry | None:
        locator = layout.locator_of(self.root, path, known)
        return None if locator is None else Entry(locator, str(self.root / path), title, tokens, modified)

    def _see(self, locator: Locator) -> None:
        layout.parts_of(locator)
        if self._belonging is not None and (why := not_its_own(locator, self._belonging)):
            _refuse(self._name(locator), why, "Look at this session's, this project's or global memory.")

    def _look(self, belonging: Belonging) -> None:
        own = self._belonging
        if own is not None and layout.tops(own) != layout.tops(belonging):
            raise UserMistake(
                "this memory was opened for another session or project", next_step="Search with the session's own ids."
            )

    def _name(self, locator: Locator) -> str:
        return "/".join(layout.parts_of(locator))


def _refuse(name: str, why: str, next_step: str) -> NoReturn:
    raise UserMistake(f"{name}: {why}", next_step=next_step)
