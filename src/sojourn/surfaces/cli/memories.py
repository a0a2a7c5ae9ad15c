"""Memory as a person reaches it: whose it is, what a document is called here, how it is listed (Y-1, K-1)."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from sojourn.base import SystemClock, UserMistake
from sojourn.memory import Belonging, Document, Entry, Locator, MemoryHit, MemoryStore, Version
from sojourn.memory.documents import LocalMemory
from sojourn.memory.gate import not_its_own
from sojourn.memory.layout import locator_of
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import harmless, one_line, table
from sojourn.surfaces.cli.kinds import writer_word
from sojourn.surfaces.cli.options import documents, one_session, record
from sojourn.surfaces.cli.render import paint, short_moment, table_width
from sojourn.window.sections import row

_SNIPPET_INDENT = "    "


class Look(msgspec.Struct, frozen=True):
    """The store, and whose memory this command is about."""

    root: Path
    store: MemoryStore
    """Opened for whom it is about: nothing of another session or project is read, found or written."""
    belonging: Belonging

    async def faults(self) -> list[str]:
        """Files that nobody reads: wherever under the root they are, a person should know (report 83)."""
        return list(await LocalMemory(self.root).unreadable())

    def locator(self, named: str) -> Locator:
        """The document that a person means: ``project``, ``global``, ``notes``, ``facts/NAME``, or a path under the root as
        lists show it. Raises UserMistake where it is none, or the session that it belongs to was not named."""
        short = {"project": "MEMORY", "global": "MEMORY", "notes": "notes", "checkpoint": "checkpoint"}
        if named in ("notes", "checkpoint"):
            if not self.belonging.session_id:
                raise UserMistake(say("memory_needs_session", name=named), next_step=say("memory_needs_session_next"))
            return Locator("session", self.belonging.session_id, short[named])
        if named == "global":
            return Locator("global", "", short[named])
        if named == "project" or named.startswith("facts/"):
            key = short.get(named, named.removesuffix(".md"))
            return Locator("project", self.belonging.project_id, key)
        found = locator_of(self.root, named, (self.belonging.project_id,))
        if found is None:
            raise UserMistake(say("no_memory_path", path=named), next_step=say("no_memory_path_next"))
        if foreign := not_its_own(found, self.belonging):
            told = say("memory_of_another", path=named, reason=foreign)
            raise UserMistake(told, next_step=say("memory_of_another_next"))
        return found

    def name(self, locator: Locator, path: str) -> str:
        """The shortest text that ``locator`` takes for it; ``path`` is where it stands."""
        match locator.scope, locator.key:
            case "global", "MEMORY":
                return "global"
            case "project", "MEMORY":
                return "project"
            case "session", "notes" | "checkpoint":
                return locator.key
            case "project", key:
                return key
            case _:
                return self.shown(path)

    def shown(self, path: str) -> str:
        """A path below the root, with slashes."""
        return Path(path).relative_to(self.root).as_posix() if Path(path).is_relative_to(self.root) else path


@asynccontextmanager
async def look(session: str | None, of: str | None) -> AsyncIterator[Look]:
    """Memory of this folder's project and what is global; ``session`` adds that session's own, ``of`` names another
    folder. Nothing of another project or session (report 85)."""
    from sojourn.engine.project import project_of

    session_id, project_id = "", ""
    if session is not None:
        async with record() as store:
            found = await one_session(store, session)
            session_id, project_id = found.id, found.project_id
    if of is not None and not Path(of).is_dir():
        raise UserMistake(say("no_folder", path=of), next_step=say("name_a_folder"))
    if of is not None or not project_id:
        project_id = project_of(os.path.abspath(of or os.curdir))
    belonging = Belonging(session_id, project_id)
    yield Look(documents(), LocalMemory(documents(), clock=SystemClock(), belonging=belonging), belonging)


def cap_of(locator: Locator) -> int | None:
    """Tokens of the document that a window shows at most (W-3); None = none of it, it is looked up."""
    match locator.scope, locator.key:
        case "project", "MEMORY":
            return row("project_memory").cap
        case "global", "MEMORY":
            return row("global_memory").cap
        case "session", "notes":
            return row("notes").cap
        case _:
            return None


def too_long(memory: Look, entries: Sequence[Entry]) -> list[str]:
    """What to say of documents that a window cannot show whole (K-12)."""
    capped = ((one, cap_of(one.locator)) for one in entries)
    return [
        say("memory_long", name=memory.name(one.locator, one.path), tokens=one.tokens, cap=cap)
        for one, cap in capped
        if cap is not None and one.tokens > cap
    ]


# --- shown --------------------------------------------------------------------------------------------------------


def entries_report(memory: Look, entries: Sequence[Entry]) -> str:
    """A line a document."""
    keys = ("document", "tokens", "changed", "title")
    rows = [
        (memory.name(one.locator, one.path), f"{one.tokens:,}", short_moment(one.modified), one_line(one.title))
        for one in entries
    ]
    return table([say(f"column_{key}") for key in keys], rows, right=(1,), limit=table_width())


def hits_report(memory: Look, hits: Sequence[MemoryHit]) -> str:
    """Each hit with its place and its text."""
    told = []
    for hit in hits:
        told.append(paint(f"{memory.name(hit.locator, hit.path)}:{hit.line}", bold=True))
        told += [_SNIPPET_INDENT + line for line in harmless(hit.snippet).strip("\n").split("\n")]
    return "\n".join(told)


def versions_report(versions: Sequence[Version]) -> str:
    """A line an earlier text, newest first, numbered from 1."""
    keys = ("number", "replaced", "who", "lines", "text")
    rows = [
        (str(number), short_moment(one.replaced), writer_word(one.who), f"{len(one.text.splitlines()):,}", one_line(one.text))
        for number, one in enumerate(versions, 1)
    ]
    return table([say(f"column_{key}") for key in keys], rows, right=(0, 3), limit=table_width())


def document_json(memory: Look, one: Document) -> dict[str, Any]:
    """``{"name", "path", "file", "scope", "scope_id", "key", "sha", "modified", "text"}``."""
    name = memory.name(one.locator, one.path)
    fields = {"name": name, "path": memory.shown(one.path), "file": one.path, **msgspec.to_builtins(one.locator)}
    return {**fields, "sha": one.sha, "modified": one.modified, "text": one.text}


def entry_json(memory: Look, one: Entry) -> dict[str, Any]:
    """``{"name", "path", "scope", "scope_id", "key", "title", "tokens", "cap", "modified"}``."""
    fields = {"name": memory.name(one.locator, one.path), "path": memory.shown(one.path), **msgspec.to_builtins(one.locator)}
    return {**fields, "title": one.title, "tokens": one.tokens, "cap": cap_of(one.locator), "modified": one.modified}


def hit_json(memory: Look, one: MemoryHit) -> dict[str, Any]:
    """``{"name", "path", "line", "snippet", "score", ...}``."""
    fields = {"name": memory.name(one.locator, one.path), "path": memory.shown(one.path), **msgspec.to_builtins(one.locator)}
    return {**fields, "line": one.line, "snippet": one.snippet, "score": one.score}


def version_json(number: int, one: Version) -> dict[str, Any]:
    """``{"number", "sha", "text", "who", "replaced"}``."""
    return {"number": number, **msgspec.to_builtins(one)}
