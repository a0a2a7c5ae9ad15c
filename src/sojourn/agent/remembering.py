"""The session's memory as its ``memory`` tool has it: names for documents, notes as entries, nothing written unread (Y-1)."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import PurePath

import msgspec

from sojourn.base import Clock, UserMistake
from sojourn.memory import Belonging, Document, Entry, Locator, MemoryHit, MemoryStore, Scope
from sojourn.memory.facts import Fact, parse_fact, write_fact
from sojourn.memory.gate import not_its_own
from sojourn.memory.layout import Shared, locator_of, top_parts
from sojourn.memory.notes import append_note
from sojourn.reminders import bodies
from sojourn.tools import MEMORY, TASK, call_shape

CHECKPOINT = "checkpoint"
"""The key of a rendering that stands in the opening anyway."""


class Remembering:
    """``tools.Memory`` over a store, for one session, writing as its agent.

    A document is called ``notes``, ``project``, ``global`` or ``project/facts/<name>``; its path below the root, or the
    whole path as the prefix and an opening show it, is understood as well. ``turn`` gives the seq of the message that began
    the turn: notes and facts name it, and ``history`` reads on from there. ``closed``: the key of the setting that has
    writing switched off; empty = it is on. Reading does not depend on it (report 88). Each method raises UserMistake for
    what is not this session's (report 85).
    """

    def __init__(
        self,
        store: MemoryStore,
        belonging: Belonging,
        *,
        clock: Clock,
        turn: Callable[[], int],
        root: PurePath | str = "",
        closed: str = "",
    ) -> None:
        self._store = store
        self._belonging = belonging
        self._clock = clock
        self._turn = turn
        self._root = root
        self._closed = closed
        self._read: dict[Locator, str] = {}
        """What was read or written last, by hash: a whole document is only written over a text that the agent knows."""

    async def search(self, words: str, *, scope: Scope | None = None, limit: int = 10) -> Sequence[MemoryHit]:
        hits = await self._store.search(words, self._belonging, scope=scope, limit=limit)
        return [msgspec.structs.replace(hit, path=shown(hit.locator)) for hit in hits]

    async def entries(self, scope: Scope | None = None) -> Sequence[Entry]:
        found = await self._store.entries(self._belonging, scope)
        return [msgspec.structs.replace(one, path=shown(one.locator)) for one in found]

    async def read(self, path: str) -> Document | None:
        locator = self.locator(path)
        document = await self._store.read(locator)
        if document is None:
            self._read.pop(locator, None)
            return None
        return self._known(document)

    async def append(self, path: str, text: str) -> Document:
        locator = self._writable(path)
        if locator.key == "notes":
            now = self._clock.now()
            return _named(await append_note(self._store, locator.scope_id, text, turn=self._turn(), now=now, who="agent"))
        return _named(await self._store.append(locator, text, who="agent"))

    async def edit(self, path: str, old: str, new: str) -> Document:
        return _named(await self._store.edit(self._writable(path), old, new, who="agent"))

    async def write(self, path: str, text: str) -> Document:
        locator = self._writable(path)
        folder, _, name = locator.key.rpartition("/")
        if folder != "facts":
            return self._known(await self._store.write(locator, text, who="agent", expected=self._read.get(locator)))
        present = await self._store.read(locator)
        if present is not None and present.sha != self._read.get(locator):
            raise UserMistake(
                f"{shown(locator)} exists and you have not read it as it stands: nothing was written",
                next_step="Read it first, or take another name.",
            )
        fact = self._with_origin(parse_fact(name, text))
        shared: Shared = "project" if locator.scope == "project" else "global"
        return self._known(await write_fact(self._store, shared, locator.scope_id, fact, who="agent"))

    def _with_origin(self, fact: Fact) -> Fact:
        """When and where it was learnt, where its front matter does not say."""
        day = datetime.fromtimestamp(self._clock.now() / 1_000, UTC).date().isoformat()
        where = f"{self._belonging.session_id} m{self._turn()}"
        return msgspec.structs.replace(fact, created=fact.created or day, source=fact.source or where)

    def locator(self, path: str) -> Locator:
        """The document that a path means."""
        plain = path.strip().removesuffix(".md")
        first, _, rest = plain.partition("/")
        own = self._belonging
        if first in ("notes", CHECKPOINT, "tasks"):
            plain = "/".join((*top_parts("session", own.session_id), plain))
        elif first in ("MEMORY", "facts"):
            plain = "/".join((*top_parts("project", own.project_id), plain))
        elif first == "project":
            plain = "/".join((*top_parts("project", own.project_id), rest or "MEMORY"))
        elif plain == "global":
            plain = "global/MEMORY"
        locator = locator_of(self._root, f"{plain}.md", (own.project_id,))
        if locator is None:
            raise UserMistake(
                f"memory has no document {path!r}",
                next_step="There are notes, project, global, project/facts/<name> and global/facts/<name>.",
            )
        if foreign := not_its_own(locator, own):
            raise UserMistake(f"{path}: {foreign}", next_step="Take notes, project or global.")
        return locator

    def _writable(self, path: str) -> Locator:
        if self._closed:
            raise UserMistake(
                f"nothing was written: writing memory is switched off by {self._closed}",
                next_step="Go on without it; searching and reading work.",
            )
        return self.locator(path)

    def _known(self, document: Document) -> Document:
        self._read[document.locator] = document.sha
        return _named(document)


async def recall(memory: Remembering | None, folder: str = "", *, tasks: bool = False) -> str:
    """The body of M-R7's reminder: that there is memory, that there are tasks, and how to ask for them; "" = neither.

    It says nothing that changes from step to step, so that it is told again only when one of them comes or goes.
    """
    documents = await memory.entries() if memory is not None else ()
    return bodies.recall(
        (folder or "memory") if any(one.locator.key != CHECKPOINT for one in documents) else "",
        search=call_shape(MEMORY, do="search", words="words"),
        documents=call_shape(MEMORY, do="list"),
        tasks=call_shape(TASK, do="list") if tasks else "",
    )


def may_be_global(path: str) -> bool:
    """Whether ``Remembering.locator`` could take the path for a document of global memory, wherever the root is. No path that
    it does is missed; one of a project that is called ``global`` may count too."""
    even = path.strip().replace("\\", "/").casefold().removesuffix(".md")
    parts = [part for part in even.split("/") if part not in ("", ".")]
    return parts[:1] == ["global"] or parts[-2:-1] == ["global"] or parts[-3:-1] == ["global", "facts"]


def shown(locator: Locator) -> str:
    """The name of a document within its session: ``notes``, ``project``, ``global/facts/tabs``."""
    if locator.scope == "session":
        return locator.key
    return locator.scope if locator.key == "MEMORY" else f"{locator.scope}/{locator.key}"


def _named(document: Document) -> Document:
    return msgspec.structs.replace(document, path=shown(document.locator))
