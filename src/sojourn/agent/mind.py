"""What a session keeps beside its conversation: memory, tasks, the accepted plan, the skills in use (W-9, Y-1, Y-3)."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from sojourn.agent.calling import Charge
from sojourn.agent.permissions import PLAN_MODE
from sojourn.agent.remembering import Remembering, recall
from sojourn.agent.state import plan_to_accept, standing
from sojourn.agent.tasks import Registry, todos
from sojourn.base import Clock, SojournError
from sojourn.config import Settings
from sojourn.engine import Engine
from sojourn.memory import Belonging
from sojourn.reminders import Todo
from sojourn.window import OpeningSection


class Mind:
    """Of one running session. ``root``: the folder of its memory documents; None = it has none."""

    def __init__(
        self, engine: Engine, charge: Charge, settings: Settings, clock: Clock, root: Path | None, turn: Callable[[], int]
    ) -> None:
        """``turn``: the seq of the message that began the turn; notes and facts name it."""
        self.tasks = Registry(engine, clock)
        self.memory: Remembering | None = None
        self.recall = ""
        """The body of M-R7's reminder, as it was when the turn began; empty = there is nothing to recall."""
        self._engine = engine
        self._charge = charge
        self._root = "" if root is None else str(root)
        session = engine.session
        if engine.memory is not None:
            closed = "memory.disable_write" if settings.memory.disable_write else ""
            own = Belonging(session.id, session.project_id)
            self.memory = Remembering(engine.memory, own, clock=clock, turn=turn, root=self._root, closed=closed)

    @property
    def mode(self) -> str:
        """The permission mode in force (Y-6)."""
        return self._charge.mode

    @property
    def todos(self) -> tuple[Todo, ...]:
        """Open tasks, for their reminder."""
        return todos(self._engine.tasks)

    async def look(self) -> None:
        """Before a turn: whether there is anything to recall. Memory that cannot be read holds up no turn: a call of the tool
        says what is wrong."""
        with contextlib.suppress(SojournError):
            self.recall = await recall(self.memory, self._root, tasks=bool(self._engine.tasks))

    async def sections(self) -> tuple[OpeningSection, ...]:
        """Row 2b of a window that opens."""
        engine = self._engine
        return await standing(engine.store, engine.session, self._charge.mode, engine.window)

    async def leave(self, before: str, after: str) -> None:
        """The mode changes. Leaving plan mode accepts the plan that was made in it."""
        if before == PLAN_MODE and after != PLAN_MODE:
            seq = await plan_to_accept(self._engine.store, self._engine.session_id)
            if seq:
                await self._engine.accept_plan(seq)
