"""The files of a session's folder, kept around each turn that may change them (W-12)."""

from collections.abc import Callable

from sojourn.agent.snapshot_types import Unavailable
from sojourn.agent.turn_snapshots import Files
from sojourn.agent.types import AgentEvent, Noticed
from sojourn.engine import Engine


class Kept:
    """Of one running session; without ``files`` nothing is kept."""

    def __init__(self, files: Files | None, engine: Engine, emit: Callable[[AgentEvent], None]) -> None:
        self._files = files
        self._engine = engine
        self._emit = emit
        self._told = False

    async def before_change(self) -> None:
        """Before each call that may change files. Where they cannot be kept, the person is told once: an undo will not take
        them back."""
        taken = await self._files.before_turn(self._engine) if self._files is not None else None
        if isinstance(taken, Unavailable) and not self._told:
            self._told = True
            self._emit(Noticed("files_not_kept", {"reason": taken.reason}))

    async def after_turn(self) -> None:
        if self._files is not None:
            await self._files.after_turn(self._engine)
