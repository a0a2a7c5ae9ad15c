"""The snapshots around a session's turns: what an undo of a turn puts its files back to (W-12)."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from sojourn.agent.snapshot_types import NONE_TAKEN, Taken, Unavailable
from sojourn.agent.snapshots import SECONDS, Snapshots
from sojourn.agent.undo_journal import Journal, Settled
from sojourn.agent.undo_plan import Line
from sojourn.base import Clock, Ids, SystemClock, SystemIds, WorkFailed, finish_first
from sojourn.engine import Engine
from sojourn.record import Snapshot


class Files:
    """Of one running session in its folder ``root`` (a real path).

    Taken lazily, so that turns which only read cost nothing. A fork has snapshots of its own turns only: the files of the
    turns that it shares were its parent's work and are not taken back from it.
    """

    def __init__(
        self,
        data: Path,
        root: Path,
        *,
        ids: Ids | None = None,
        clock: Clock | None = None,
        environ: Mapping[str, str] = os.environ,
        seconds: float = SECONDS,
    ) -> None:
        self._snapshots = Snapshots(data, root, environ=environ, seconds=seconds)
        self._journal = Journal(self._snapshots)
        self._root = root
        self._clock = clock or SystemClock()
        self._ids = ids or SystemIds(self._clock)
        self._turn: int | None = None
        """The message that the turn under way begins with, once it has a snapshot (or a row that says why not)."""
        self._seconds = seconds
        self._late = 0
        """How often it took too long. After the second time none is tried any more: it would hold up every turn."""

    async def before_turn(self, engine: Engine) -> Taken | Unavailable | None:
        """To be called before every call that may change something; the first one of a turn takes the snapshot. Answers what
        came of it; None = there is one already.

        What a person writes while the turn runs begins a turn of its own: it can be taken back alone.
        """
        turns = await engine.store.turns(engine.session_id, upto=engine.head, limit=1)
        turn = turns[0].message.seq if turns else 0
        if turn == self._turn:
            return None
        return await finish_first(self._between(engine, turn)) if self._turn is not None else await self._before(engine, turn)

    async def _before(self, engine: Engine, turn: int) -> Taken | Unavailable:
        taken = await self._take(engine, turn, "before_turn")
        await self._put(engine, taken, turn, "before_turn")
        self._turn = turn
        return taken

    async def _between(self, engine: Engine, turn: int) -> Taken | Unavailable:
        await self.after_turn(engine)
        return await self._before(engine, turn)

    async def after_turn(self, engine: Engine) -> None:
        """The turn has ended, however it did: its second snapshot, where there was a first. To be shielded from cancels."""
        turn, self._turn = self._turn, None
        if turn is not None:
            taken = await self._take(engine, turn, "after_turn")
            await self._put(engine, taken, engine.head, "after_turn")

    async def settle(self, engine: Engine) -> Settled | None:
        """Ends an undo that a crash cut off in this folder; to be called when a session is opened, before its first turn.

        Answers what was put back, if anything was. Raises WorkFailed where that is not possible.
        """
        if not await asyncio.to_thread(self._journal.is_open):
            return None  # nobody is waited for who works on the folder's snapshots meanwhile
        async with self._snapshots.hold():
            return await self._journal.settle(engine.store)

    async def _take(self, engine: Engine, turn: int, when: Literal["before_turn", "after_turn"]) -> Taken | Unavailable:
        if self._late > 1:
            return Unavailable("looking at the files took too long twice")
        began = asyncio.get_running_loop().time()
        try:
            async with self._snapshots.hold():
                await self._journal.settle(engine.store)
                taken = await self._snapshots.take_held()
                if isinstance(taken, Taken):
                    self._journal.note(Line(engine.session_id, turn, when, taken.tree))
                    self._journal.forget(engine.session_id)
                    return taken
        except (WorkFailed, OSError) as error:
            taken = Unavailable(str(error))
        if asyncio.get_running_loop().time() - began >= self._seconds:
            self._late += 1
        return taken

    async def _put(
        self, engine: Engine, taken: Taken | Unavailable, at_seq: int, when: Literal["before_turn", "after_turn"]
    ) -> None:
        tree = taken.tree if isinstance(taken, Taken) else NONE_TAKEN + taken.reason
        row = Snapshot(
            id=self._ids.new("snap"), at_seq=at_seq, tree=tree, root=str(self._root), when=when, created=self._clock.now()
        )
        await engine.put_snapshot(row)
