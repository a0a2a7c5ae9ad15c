"""What an undo does to files, written down before it does it: a crash in between is recognised and mended (W-12, R-12).

Beside a folder's snapshots stand ``pending.json`` (the act under way) and ``undone/<session>/<undo>.json`` (what each
undo moved: a redo moves exactly that back).
"""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from sojourn.agent.putting_back import remains, remove_empty, state
from sojourn.agent.snapshot_types import Move, same, shown
from sojourn.agent.snapshots import Snapshots
from sojourn.agent.undo_plan import Line
from sojourn.base import WorkFailed
from sojourn.record import Store

_LOG_MOST = 1 << 20
"""Bytes of the log of snapshots; beyond, its older half goes."""


class Act(msgspec.Struct, frozen=True):
    """One undo or redo with its files."""

    session_id: str
    kind: Literal["undo", "redo"]
    token: str
    undos: int
    """Rows of undos that the session had before: one more, and the act was done."""
    moves: tuple[Move, ...]
    folders: tuple[bytes, ...] = ()
    """Folders that the moves make."""
    closes: str = ""
    """The undo that the redo ends."""


class Settled(msgspec.Struct, frozen=True):
    """An act that a crash had cut off was put back."""

    put_back: tuple[str, ...]
    stuck: tuple[str, ...] = ()
    """Somebody has changed these since: they were left."""


class Journal:
    """Of one folder. Only for one who holds its lock."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots
        self._pending = snapshots.folder / "pending.json"
        self._undone = snapshots.folder / "undone"
        self._log = snapshots.folder / "taken.jsonl"

    def is_open(self) -> bool:
        """Whether an act was begun and not ended, by a crash or by one who is still at it."""
        return self._pending.exists()

    def begin(self, act: Act) -> None:
        """Durable when it returns."""
        aside = self._pending.with_suffix(".new")
        with open(aside, "wb") as file:
            file.write(msgspec.json.encode(act))
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, self._pending)

    def drop(self) -> None:
        """The act was not done, and its files are as they were."""
        self._pending.unlink(missing_ok=True)

    def done(self, act: Act, undo_id: str) -> None:
        """The act was done under the row ``undo_id``."""
        if act.kind == "redo":
            self._kept(act.session_id, act.closes).unlink(missing_ok=True)
            return self.drop()
        kept = self._kept(act.session_id, undo_id)
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.replace(self._pending, kept)

    def moves_of(self, session_id: str, undo_id: str) -> tuple[Move, ...]:
        """What the undo moved; () = no files."""
        try:
            return msgspec.json.decode(self._kept(session_id, undo_id).read_bytes(), type=Act).moves
        except FileNotFoundError:
            return ()

    def forget(self, session_id: str) -> None:
        """Nothing of this session can be redone any more."""
        shutil.rmtree(self._undone / session_id, ignore_errors=True)

    async def settle(self, store: Store) -> Settled | None:
        """Ends an act that a crash cut off: done where its row is in the record, else its files are put back."""
        act = await asyncio.to_thread(self._cut_off)
        if act is None:
            return None
        rows = await store.undos(act.session_id)
        if len(rows) > act.undos:
            await asyncio.to_thread(self.done, act, rows[act.undos].id)
            return None
        return await self._put_back(act)

    async def _put_back(self, act: Act) -> Settled:
        root = os.fsencode(self._snapshots.root)
        await asyncio.to_thread(shutil.rmtree, remains(root, act.token), ignore_errors=True)
        back, stuck = await asyncio.to_thread(_ways_back, root, act.moves)
        await self._snapshots.put(back, act.token)
        await asyncio.to_thread(remove_empty, root, act.folders)
        await asyncio.to_thread(self.drop)
        return Settled(tuple(shown(move.path) for move in back), tuple(map(shown, stuck)))

    def _cut_off(self) -> Act | None:
        try:
            return msgspec.json.decode(self._pending.read_bytes(), type=Act)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise WorkFailed(
                f"{self._pending} is damaged", next_step="Look at the folder's files, then remove that file."
            ) from error

    def _kept(self, session_id: str, undo_id: str) -> Path:
        return self._undone / session_id / f"{undo_id}.json"

    # --- who took what when ------------------------------------------------------------------------------------------

    def note(self, line: Line) -> None:
        """A snapshot was taken."""
        with open(self._log, "ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")
            long = file.tell() > _LOG_MOST
        if long:
            whole = self._log.read_bytes()
            aside = self._log.with_suffix(".new")
            aside.write_bytes(whole[whole.index(b"\n", len(whole) // 2) + 1 :])
            os.replace(aside, self._log)

    def lines(self) -> list[Line]:
        """In order. A line that a crash cut off is no line."""
        found: list[Line] = []
        with contextlib.suppress(FileNotFoundError):
            for line in self._log.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError):
                    found.append(msgspec.json.decode(line, type=Line))
        return found


def _ways_back(root: bytes, moves: Sequence[Move]) -> tuple[list[Move], list[bytes]]:
    back: list[Move] = []
    stuck: list[bytes] = []
    for move in moves:
        now = state(root, move.path)
        made = now == move.wanted or (same(now, move.wanted) and not same(now, move.present))
        if made:
            back.append(Move(move.path, move.wanted, move.present))
        elif not same(now, move.present):
            stuck.append(move.path)
    return back, stuck
