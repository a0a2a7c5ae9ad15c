"""Undo, redo and rewind with the files of the turns: conversation and files, both or neither (W-12, report 109)."""

import asyncio
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from sojourn.agent.putting_back import Differs, folders_to_make
from sojourn.agent.snapshot_types import Unavailable, shown
from sojourn.agent.snapshots import Snapshots
from sojourn.agent.undo_files import ALONE, Intended, forward, intended, pairs_for
from sojourn.agent.undo_journal import Act, Journal
from sojourn.base import SojournError, SystemClock, SystemIds, UserMistake, WorkFailed, finish_first
from sojourn.config import folders
from sojourn.engine import Engine, Undone
from sojourn.record import Message, Snapshot, Text, Undo, standing_undos

_NAMED = 10
"""Files that a message names."""
_PROMPT = 60
"""Characters of a turn's prompt."""


class UndoneTurn(msgspec.Struct, frozen=True):
    """What an undo, redo or rewind did. Paths are relative to the working folder, as people read them."""

    kind: Literal["window", "turn", "turns"]
    what: str
    """``window 3``, ``the turn at message 412``, ``3 turns, back to before message 7``."""
    prompt: str
    """The first words of the turn (of the earliest one); empty for a window."""
    level: int
    over_hard: bool
    steps: tuple[Undone, ...]
    """What the engine did, in order."""
    restored: tuple[str, ...] = ()
    """Files that have the content of before again (after a redo: of after)."""
    removed: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()
    """Of these, the ones that were not as the turn had left them."""
    left: tuple[str, ...] = ()
    """Files that the turn changed and that stay as they are: no snapshot holds them (ignored, too large, elsewhere)."""


async def undo(engine: Engine, *, files: bool = True, force: bool = False, data: Path | None = None) -> UndoneTurn:
    """Takes back the newest window (files stay) or turn (its files with it).

    ``data``: the folder beside whose record the snapshots are; None = the person's. Raises UserMistake where there is
    nothing to undo; WorkFailed, with nothing undone, where the files cannot be taken back: changed since (``force`` takes
    them back all the same), no snapshot, a folder that may not be written. ``files`` False leaves them alone.
    """
    acting = _Acting(engine, data, files=files, force=force)
    return await finish_first(acting.undo())


async def redo(engine: Engine, *, files: bool = True, force: bool = False, data: Path | None = None) -> UndoneTurn:
    """Takes back the newest undo, until the next message: its files are put forward again. Errors as of ``undo``."""
    acting = _Acting(engine, data, files=files, force=force)
    return await finish_first(acting.redo())


async def rewind(engine: Engine, seq: int, *, files: bool = True, force: bool = False, data: Path | None = None) -> UndoneTurn:
    """Undoes turns until the conversation ends before the user's message ``seq``, files with them: as one act, all or
    nothing. Raises UserMistake where no message of the user in view has this number; else errors as of ``undo``."""
    acting = _Acting(engine, data, files=files, force=force)
    return await finish_first(acting.rewind(seq))


class _Acting:
    """One act on one session."""

    def __init__(self, engine: Engine, data: Path | None, *, files: bool, force: bool) -> None:
        self._engine = engine
        self._data = data or folders(os.environ).data
        self._files = files
        self._force = force
        self._clock = SystemClock()
        self._ids = SystemIds(self._clock)

    # --- undo --------------------------------------------------------------------------------------------------------

    async def undo(self) -> UndoneTurn:
        await self._settle()
        turn = await self._newest()
        if turn is None or not self._files:
            return await self._conversation(turn)
        pairs = (await pairs_for(self._engine, [turn])).get(turn.seq)
        if pairs is None:
            return await self._conversation(turn)
        snapshots = self._snapshots(pairs[0].root)
        async with snapshots.hold():
            found = await intended(self._engine, snapshots, [(turn, pairs)])
            self._refuse(found)
            if found.moves:
                await self._put_row(snapshots, found.tree)
            undone = await self._both(snapshots, await self._act(snapshots, "undo", found))
        return _told(undone, _words(turn), found)

    async def _act(self, snapshots: Snapshots, kind: Literal["undo", "redo"], found: Intended, closes: str = "") -> Act:
        undos = await self._engine.store.undos(self._engine.session_id)
        folders = await asyncio.to_thread(folders_to_make, os.fsencode(snapshots.root), found.moves)
        token = secrets.token_hex(6)
        return Act(self._engine.session_id, kind, token, len(undos), found.moves, folders, closes)

    async def _conversation(self, turn: Message | None) -> UndoneTurn:
        """A window, or a turn whose files nobody asks for or that has none."""
        undone = await self._engine.undo()
        return _told(undone, _words(turn) if turn is not None else "", Intended())

    async def _both(self, snapshots: Snapshots, act: Act) -> Undone:
        """The files, then the row; if the row cannot be written, the files again."""
        journal = Journal(snapshots)
        row = self._engine.undo if act.kind == "undo" else self._engine.redo
        if not act.moves:
            return await row()
        await asyncio.to_thread(journal.begin, act)
        try:
            await snapshots.put(act.moves, act.token)
        except Differs as error:
            journal.drop()
            raise WorkFailed(
                f"nothing was changed: somebody changes these files right now: {_listed(error.paths)}",
                next_step="Wait until nothing changes them, then try again.",
            ) from error
        except SojournError as error:
            await journal.settle(self._engine.store)
            raise WorkFailed(f"nothing was changed: {error}", next_step=error.next_step or ALONE) from error
        try:
            undone = await row()
        except BaseException:
            await journal.settle(self._engine.store)
            raise
        await asyncio.to_thread(journal.done, act, undone.undo.id)
        return undone

    # --- redo --------------------------------------------------------------------------------------------------------

    async def redo(self) -> UndoneTurn:
        await self._settle()
        newest = await self._newest_undo()
        if newest is None or newest.kind == "window" or not self._files or self._engine.head > newest.upto_seq:
            return _told(await self._engine.redo(), "", Intended())
        prompt = await self._prompt_of(newest)
        for root in await self._roots():
            snapshots = self._snapshots(root)
            async with snapshots.hold():
                moved = Journal(snapshots).moves_of(self._engine.session_id, newest.id)
                if moved:
                    found = await asyncio.to_thread(forward, snapshots.root, moved)
                    return await self._put_forward(snapshots, newest, found, prompt)
        return _told(await self._engine.redo(), prompt, Intended())

    async def _put_forward(self, snapshots: Snapshots, undone: Undo, found: Intended, prompt: str) -> UndoneTurn:
        self._refuse(found)
        if found.conflicts:
            await self._keep(snapshots)
        return _told(await self._both(snapshots, await self._act(snapshots, "redo", found, undone.id)), prompt, found)

    # --- rewind ------------------------------------------------------------------------------------------------------

    async def rewind(self, seq: int) -> UndoneTurn:
        await self._settle()
        turns = await self._turns_from(seq)
        if self._files:
            await self._look_ahead(turns)
        steps: list[UndoneTurn] = []
        try:
            while await self._newest_turn() >= seq:
                steps.append(await self.undo())
        except BaseException as error:
            await self._again(steps, error)
            raise
        return _several(steps, len(turns), seq, _words(turns[-1]))

    async def _look_ahead(self, turns: Sequence[Message]) -> None:
        """Whatever stands against any of the undos is found before the first of them is made."""
        pairs = await pairs_for(self._engine, turns)
        for root in dict.fromkeys(found[0].root for found in pairs.values()):
            here = [
                (turn, pairs[turn.seq]) for turn in reversed(turns) if turn.seq in pairs and pairs[turn.seq][0].root == root
            ]
            snapshots = self._snapshots(root)
            async with snapshots.hold():
                self._refuse(await intended(self._engine, snapshots, here))

    async def _again(self, steps: Sequence[UndoneTurn], error: BaseException) -> None:
        """A later undo failed: those that were made are taken back."""
        try:
            for _ in steps:
                await self.redo()
        except SojournError as second:
            raise WorkFailed(
                f"the rewind stopped: {error}; the {len(steps)} undos already made stand, because: {second}",
                next_step="Conversation and files agree as they are now. Redo takes the undos back one by one.",
            ) from error

    # --- what stands against it, what is kept ------------------------------------------------------------------------

    def _refuse(self, found: Intended) -> None:
        if found.conflicts and not self._force:
            raise WorkFailed(
                f"nothing was changed: {found.why}: {_listed(found.conflicts)}",
                next_step="--force takes them back all the same, --no-files leaves files alone.",
            )

    async def _keep(self, snapshots: Snapshots) -> None:
        taken = await snapshots.take_held()
        if isinstance(taken, Unavailable):
            raise WorkFailed(f"the files cannot be looked at: {taken.reason}", next_step=ALONE)
        await self._put_row(snapshots, taken.tree)

    async def _put_row(self, snapshots: Snapshots, tree: str) -> None:
        """What stands there now can be found again whatever the undo does."""
        row = Snapshot(
            id=self._ids.new("snap"),
            at_seq=self._engine.head,
            tree=tree,
            root=str(snapshots.root),
            when="before_undo",
            created=self._clock.now(),
        )
        await self._engine.put_snapshot(row)

    # --- what the record says ----------------------------------------------------------------------------------------

    async def _settle(self) -> None:
        """An act that a crash cut off is ended first, in every folder that the session has snapshots of."""
        for root in await self._roots():
            snapshots = self._snapshots(root)
            if await asyncio.to_thread(snapshots.folder.exists):
                async with snapshots.hold():
                    await Journal(snapshots).settle(self._engine.store)

    async def _newest(self) -> Message | None:
        """The user's message of the turn that ``Engine.undo`` would take back; None = it would take a window, or nothing."""
        store, session_id = self._engine.store, self._engine.session_id
        window = await store.newest_window(session_id)
        turns = await store.turns(session_id, upto=self._engine.head, limit=1)
        if not turns:
            return None
        turn = turns[0].message
        opened = window is not None and window.kind != "start" and window.opened_at_seq >= turn.seq
        return None if opened else turn

    async def _newest_turn(self) -> int:
        """The message that the newest turn in view begins with; 0 = there is none."""
        turns = await self._engine.store.turns(self._engine.session_id, upto=self._engine.head, limit=1)
        return turns[0].message.seq if turns else 0

    async def _turns_from(self, seq: int) -> list[Message]:
        """The turns in view from the one at ``seq`` on, the newest first."""
        limit = 50
        while True:
            turns = await self._engine.store.turns(self._engine.session_id, upto=self._engine.head, limit=limit)
            found = [turn.message for turn in turns if turn.message.seq >= seq]
            if found and found[-1].seq == seq:
                return found
            if len(found) < len(turns) or len(turns) < limit:
                near = f"The next turn begins with message {found[-1].seq}." if found else "Take one of the turns in view."
                raise UserMistake(f"no turn in view begins with message {seq}", next_step=near)
            limit *= 4

    async def _newest_undo(self) -> Undo | None:
        standing = standing_undos(await self._engine.store.undos(self._engine.session_id))
        return standing[-1] if standing else None

    async def _prompt_of(self, row: Undo) -> str:
        first = await self._engine.store.messages(
            self._engine.session_id, after=row.after_seq, upto=row.after_seq + 1, include_undone=True
        )
        return _words(first[0]) if first else ""

    async def _roots(self) -> list[str]:
        """The folders that the session has snapshots of, the newest first."""
        rows = await self._engine.store.snapshots(self._engine.session_id)
        return list(dict.fromkeys(row.root for row in reversed(rows)))

    def _snapshots(self, root: str) -> Snapshots:
        return Snapshots(self._data, Path(root))


def _told(undone: Undone, prompt: str, files: Intended) -> UndoneTurn:
    moves = files.moves
    return UndoneTurn(
        kind="turn" if undone.undo.kind == "turn" else "window",
        what=undone.what,
        prompt=prompt,
        level=undone.level,
        over_hard=undone.over_hard,
        steps=(undone,),
        restored=tuple(shown(move.path) for move in moves if move.wanted is not None),
        removed=tuple(shown(move.path) for move in moves if move.wanted is None),
        forced=tuple(map(shown, files.conflicts)),
        left=files.left,
    )


def _several(steps: Sequence[UndoneTurn], turns: int, seq: int, prompt: str) -> UndoneTurn:
    """One account of many: a file counts by what became of it last."""
    fate: dict[str, bool] = {}
    for step in steps:
        fate |= dict.fromkeys(step.restored, True) | dict.fromkeys(step.removed, False)
    last = steps[-1]
    return UndoneTurn(
        kind="turns",
        what=f"{turns} turn{'s' if turns > 1 else ''}, back to before message {seq}",
        prompt=prompt,
        level=last.level,
        over_hard=last.over_hard,
        steps=tuple(undone for step in steps for undone in step.steps),
        restored=tuple(sorted(path for path, stays in fate.items() if stays)),
        removed=tuple(sorted(path for path, stays in fate.items() if not stays)),
        forced=tuple(dict.fromkeys(path for step in steps for path in step.forced)),
        left=tuple(dict.fromkeys(path for step in steps for path in step.left)),
    )


def _words(message: Message) -> str:
    text = " ".join(" ".join(part.text for part in message.parts if isinstance(part, Text)).split())
    return text if len(text) <= _PROMPT else f"{text[: _PROMPT - 1].rstrip()}…"


def _listed(paths: Sequence[bytes]) -> str:
    names = ", ".join(map(shown, paths[:_NAMED]))
    return names if len(paths) <= _NAMED else f"{names} and {len(paths) - _NAMED} more"
