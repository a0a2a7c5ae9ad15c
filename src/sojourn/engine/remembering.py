"""What an opening shows of durable knowledge, and what a checkpoint gives to it (K-12, K-13, W-3 rows 5 to 8)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from sojourn.base import Item, Section, SojournError
from sojourn.checkpoint import Note, said_as
from sojourn.engine.state import State
from sojourn.memory import Belonging, Document, Locator, MemoryStore, Promoted, layout, note_entries, promote
from sojourn.record import Checkpoint, Text
from sojourn.window import OpeningSection, SectionName

NOTES_AT_ONCE = 2_000
"""Tokens of notes that one run takes in."""
_PROVEN = frozenset({Section.DIRECTIVES, Section.DECISIONS, Section.KNOWLEDGE, Section.ERRORS})
"""Sections whose items may be worth keeping for a whole project: the others speak of the moment."""


def belonging(state: State) -> Belonging:
    """Whose memory this session reads: its own, its project's, and what is global."""
    return Belonging(state.session.id, state.session.project_id)


async def memory_sections(state: State) -> tuple[OpeningSection, ...]:
    """Rows 5 to 8, read anew from the documents; what cannot be read is told, not silently left out."""
    memory = state.memory
    if memory is None:
        return ()
    rows: list[tuple[SectionName, Locator]] = [("global_memory", layout.global_memory()), ("notes", _notes(state))]
    if state.session.project_id:
        rows.insert(0, ("project_memory", layout.project_memory(state.session.project_id)))
    found: list[OpeningSection] = []
    shown: set[Locator] = {layout.checkpoint(state.session.id)}
    for name, locator in rows:
        document = await _read(state, memory, locator)
        if document is not None and document.text.strip():
            found.append(OpeningSection(name, document.text, document.path))
            shown.add(locator)
    index = await _index(state, memory, shown)
    return (*found, OpeningSection("memory_index", index)) if index else tuple(found)


async def notes_to_take(state: State) -> tuple[Note, ...]:
    """Entries of the session's notes that no checkpoint has taken in yet, oldest first, as many as one run can take in whole
    (K-13): what it is not shown to the end stays in the file. An entry too long for any run stays there for good."""
    memory = state.memory
    if memory is None or state.ports.settings.memory.disable_write:
        return ()
    document = await _read(state, memory, _notes(state))
    if document is None:
        return ()
    last = await state.ports.store.newest_checkpoint(state.session.id)
    taken = frozenset(last.notes) if last else frozenset()
    notes: list[Note] = []
    room = NOTES_AT_ONCE
    for sha, text in note_entries(document.text):
        size = state.count(text)
        if sha not in taken and size <= room:
            notes.append(Note(sha, text))
            room -= size
    return tuple(notes)


async def move_notes(state: State, *, into_file: Sequence[str], out_of_file: Sequence[str]) -> None:
    """After an undo or redo: entries, by their hashes, that a checkpoint had taken in come back from the document's earlier
    texts; those of one that holds again leave. What cannot be found or written is told."""
    memory = state.memory
    if memory is None or not (into_file or out_of_file):
        return
    try:
        if out_of_file:
            await memory.take_out(_notes(state), out_of_file, who="writer")
        present = await memory.read(_notes(state))
        there = {sha for sha, _ in note_entries(present.text)} if present else set()
        earlier = {sha: text for version in await memory.versions(_notes(state)) for sha, text in note_entries(version.text)}
        for sha in dict.fromkeys(into_file):
            if sha not in there and sha in earlier:
                await memory.append(_notes(state), earlier[sha], who="user")
    except SojournError as error:
        state.emit("notice", key="memory_failed", problem=str(error))


async def take_over(state: State, row: Checkpoint, before: Checkpoint | None) -> None:
    """After the commit of ``row``: the notes that it has taken in leave the file, and what is proven goes to the project's
    memory. What fails here is told; the checkpoint stands."""
    memory = state.memory
    if memory is None or state.ports.settings.memory.disable_write:
        return
    try:
        # Those of the run before, too: a crash may have come between its commit and this.
        taken = [*row.notes, *(before.notes if before else ())]
        if taken:
            await memory.take_out(_notes(state), taken, who="writer")
        facts = await _proven(state, row, before)
        if facts and state.session.project_id:
            done = await promote(memory, state.session.project_id, facts)
            if done.added or done.replaced:
                state.emit("promoted", added=done.added, replaced=done.replaced)
            if done.warning:
                state.notice("memory_too_long")
    except SojournError as error:
        state.emit("notice", key="memory_failed", problem=str(error))


async def _proven(state: State, row: Checkpoint, before: Checkpoint | None) -> list[Promoted]:
    """Items that the writer holds for durable: a rule in the words in which a message of the user says it, anything else once
    it has outlived a checkpoint. Nothing that a file, a result or the model says gets authority over later sessions."""
    date = datetime.fromtimestamp(state.ports.clock.now() / 1_000, UTC).date().isoformat()
    stood = {item.id for item in before.items} if before else set()
    found: list[Promoted] = []
    for item in row.items:
        if item.id not in row.promoted or item.section not in _PROVEN:
            continue
        if item.section is Section.DIRECTIVES:
            text, seq = await _as_the_user_says(state, item)
        else:
            text, seq = item.text if item.id in stood else "", max(item.sources, default=item.written_seq)
        if text:
            found.append(Promoted(_heading(item), text, state.session.id, seq, date))
    return found


async def _as_the_user_says(state: State, item: Item) -> tuple[str, int]:
    """The user's own words for it, and their message; "" = there are none."""
    for seq in reversed(item.sources):
        for message in await state.ports.store.messages(state.session.id, after=seq - 1, upto=seq):
            spoken = "\n".join(part.text for part in message.parts if isinstance(part, Text))
            if message.role == "user" and message.origin == "user" and (said := said_as(item.text, spoken)):
                return said, seq
    return (item.text, item.written_seq) if item.by == "user" else ("", 0)


def _heading(item: Item) -> Literal["Rules", "Decisions", "Durable knowledge"]:
    match item.section:
        case Section.DIRECTIVES:
            return "Rules"
        case Section.DECISIONS:
            return "Decisions"
        case _:
            return "Durable knowledge"


def _notes(state: State) -> Locator:
    return layout.notes(state.session.id)


async def _read(state: State, memory: MemoryStore, locator: Locator) -> Document | None:
    try:
        return await memory.read(locator)
    except SojournError as error:
        state.emit("notice", key="memory_failed", problem=str(error))
        return None


async def _index(state: State, memory: MemoryStore, shown: set[Locator]) -> str:
    """Row 8: paths of the documents that the opening does not show, newest first."""
    try:
        entries = await memory.entries(belonging(state))
    except SojournError as error:
        state.emit("notice", key="memory_failed", problem=str(error))
        return ""
    lines = [f"- {one.path}: {one.title}" if one.title else f"- {one.path}" for one in entries if one.locator not in shown]
    return "\n".join(lines)
