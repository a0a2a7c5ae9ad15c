"""Coming back to a session: where it works, which prefix goes on, what an earlier process left open."""

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from sojourn.agent.prefixing import Surroundings
from sojourn.base import UserMistake
from sojourn.config import Settings
from sojourn.engine import Engine
from sojourn.engine.looking import prefix_in_force
from sojourn.record import Message, Part, PrefixSnapshot, Session, Store, ToolCall
from sojourn.tools import Desk

_STYLE = re.compile(r"^# Output style: (.*)$", re.MULTILINE)


class Goes(msgspec.Struct, frozen=True):
    """The prefix to open with. None = the stored one of the window goes on, whatever the folder says today (P-7)."""

    prefix: PrefixSnapshot | None
    reason: str = ""
    """Why it takes the place of the one in force, where there is one: ``model``, ``style`` or ``reload``."""


async def prefix_for(store: Store, session_id: str | None, label: str, surroundings: Surroundings) -> Goes:
    """Reads the folder as far as the session needs it."""
    session = await store.session(session_id) if session_id else None
    stored = await prefix_in_force(store, session.id) if session else None
    if session is None or stored is None:
        return Goes(await surroundings.prefix())
    style = surroundings.style.name if surroundings.style else ""
    if session.model != label:
        return Goes(await surroundings.prefix(), "model")
    if style != _style_of(stored):
        return Goes(await surroundings.prefix(), "style")
    if await _written_in(store, session) != str(surroundings.cwd):
        return Goes(await surroundings.prefix(), "reload")
    await surroundings.look()
    return Goes(None)


async def _written_in(store: Store, session: Session) -> str:
    """The folder that the prefix in force is of: a fork begins with its parent's."""
    fork = session.fork_of
    parent = await store.session(fork.session_id) if fork and fork.seq == session.head else None
    return parent.cwd if parent else session.cwd


def _style_of(prefix: PrefixSnapshot) -> str:
    found = next((found for block in prefix.system if (found := _STYLE.search(block.text))), None)
    return found[1] if found else ""


async def check_place(store: Store, session_id: str, root: Path) -> None:
    """Raises UserMistake for a session that works in another folder that is there: what it knows is of that one."""
    session = await store.session(session_id)
    if session is None or not session.cwd or session.cwd == str(root):
        return
    if await asyncio.to_thread(os.path.isdir, session.cwd):
        raise UserMistake(
            f"session {session.id} works in {session.cwd}, not in {root}",
            next_step=f"Go there, or begin a session here from its present view: --fork {session.id}",
        )


async def fork_of(store: Store, session_id: str | None, settings: Settings, root: Path) -> str:
    """A new session that begins with the present view of another, in this folder; its id."""
    parent = await Engine.open(store=store, session_id=session_id, settings=settings, read_only=True)
    async with parent:
        return (await parent.fork(cwd=str(root))).id


async def settle_left_open(engine: Engine, now: int) -> None:
    """Calls that a killed process left running: nobody knows how they ended, and nobody will (R-12)."""
    for message in engine.in_view:
        left: dict[int, Part] = {
            index: msgspec.structs.replace(part, state="interrupted", ended=now)
            for index, part in enumerate(message.parts)
            if isinstance(part, ToolCall) and part.state in ("pending", "running")
        }
        if left:
            await engine.settle_parts(message.id, left)


def remember_files(desk: Desk, view: Sequence[Message]) -> None:
    """Which files in the view were changed since the session saw them (Y-5's guard)."""
    last: dict[str, int] = {}
    for message in view:
        for part in message.parts:
            if isinstance(part, ToolCall) and part.state == "completed" and part.ended is not None:
                last |= {touch.path: part.ended for touch in part.touches}
    for path, ended in last.items():
        try:
            stat = os.stat(path)
        except OSError:
            continue
        desk.seen.note_earlier(Path(path), stat, ended)
