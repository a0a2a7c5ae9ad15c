"""The files of a session's folder, kept around each turn that may change them (W-12)."""

from collections.abc import Callable

from sojourn.agent.snapshot_types import Unavailable
from sojourn.agent.turn_snapshots import Files
from sojourn.agent.types import AgentEvent, Noticed
from sojourn.base import SojournError
from sojourn.engine import Engine


class Kept:
    """Of one running session; without ``files`` nothing is kept."""

    def __init__(self, files: Files | None, engine: Engine, emit: Callable[[AgentEvent], None]) -> None:
        self._files = files
        self._engine = engine
        self._emit = emit
        self._told = False

    async def settle(self) -> None:
        """When the session is opened: ends an undo that a crash has cut off in this folder. Where that cannot be done now, it
        is told, and tried again before the first snapshot."""
        if self._files is None:
            return
        try:
            await self._files.settle(self._engine)
        except SojournError as error:
            self._tell(str(error))

    async def before_change(self) -> None:
        """Before each call that may change files. Where they cannot be kept, the person is told once: an undo will not take
        them back."""
        taken = await self._files.before_turn(self._engine) if self._files is not None else None
        if isinstance(taken, Unavailable):
            self._tell(taken.reason)

    async def after_turn(self) -> None:
        """Never raises for what the store or the files do: the turn is over, and its answer stands."""
        if self._files is None:
            return
        try:
            await self._files.after_turn(self._engine)
        except SojournError as error:
            self._tell(str(error))

    def _tell(self, reason: str) -> None:
        if not self._told:
            self._told = True
            self._emit(Noticed("files_not_kept", {"reason": reason}))
