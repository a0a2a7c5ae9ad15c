"""A session at work in a folder whose turns can be taken back."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from sojourn.agent.snapshots import Snapshots
from sojourn.agent.turn_snapshots import Files
from sojourn.agent.undoing import UndoneTurn, redo, rewind, undo
from sojourn.base import Finish, SystemClock
from sojourn.engine import Engine
from sojourn.record import Message, Session, Snapshot, Text, ToolCall, Touch
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import Traits

TRAITS = Traits(name="test-model", limit=64_000, limit_source="test", protocol="anthropic")


def user(text: str) -> Message:
    return Message(id="", role="user", origin="user", parts=(Text(text),))


def ran(name: str = "bash", *, touches: Sequence[Touch] = (), state: str = "completed") -> Message:
    call = ToolCall(call_id="c", name=name, arguments={}, state=state, result=(Text("ok"),), touches=tuple(touches))  # type: ignore[arg-type]
    return Message(id="", role="assistant", origin="model", parts=(call,), finish=Finish.TOOL_CALLS)


def says(text: str) -> Message:
    return Message(id="", role="assistant", origin="model", parts=(Text(text),), finish=Finish.STOP)


class Place:
    """A folder, a store and a session at work in it, as the agent's turn would drive them."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.work = base / "work"
        self.data = base / "data"
        self.work.mkdir(exist_ok=True)
        self.engine: Engine
        self.files: Files

    async def open(self, session_id: str | None = None, *, store: SqliteStore | None = None, **fields: object) -> "Place":
        self.data.mkdir(exist_ok=True)
        opened = store or await SqliteStore.open(self.base / "record.db", clock=SystemClock())
        session = None if session_id else Session(id="", **fields)  # type: ignore[arg-type]
        self.engine = await Engine.open(store=opened, session_id=session_id, session=session, traits=TRAITS)
        self.files = Files(self.data, self.work.resolve())
        return self

    async def close(self) -> None:
        await self.engine.close(wait=0)
        await self.engine.store.close()

    async def turn(
        self,
        prompt: str,
        change: Callable[[], object] | None = None,
        *,
        touches: Sequence[str] | None = None,
        tool: str = "",
        ends: bool = True,
    ) -> int:
        """One turn that changes files by a command, or (``touches``) by edits; answers the seq of its prompt."""
        stored = await self.engine.observe(user(prompt))
        await self.engine.project()
        if change is not None:
            await self.files.before_turn(self.engine)
            change()
            touched = [Touch(str(self.work / path), "edit") for path in touches or ()]
            await self.engine.observe(ran(tool or ("bash" if touches is None else "edit"), touches=touched))
        else:
            await self.engine.observe(ran("read"))
        if ends:
            await self.engine.observe(says("Done."))
            await self.files.after_turn(self.engine)
        return stored[0].seq

    def write(self, name: str, text: str) -> Callable[[], object]:
        path = self.work / name
        return lambda: (path.parent.mkdir(parents=True, exist_ok=True), path.write_text(text))

    def text(self, name: str) -> str | None:
        path = self.work / name
        return path.read_text() if path.exists() else None

    async def undo(self, **options: bool) -> UndoneTurn:
        return await undo(self.engine, data=self.data, **options)

    async def redo(self, **options: bool) -> UndoneTurn:
        return await redo(self.engine, data=self.data, **options)

    async def rewind(self, seq: int, **options: bool) -> UndoneTurn:
        return await rewind(self.engine, seq, data=self.data, **options)

    @property
    def seqs(self) -> list[int]:
        return [message.seq for message in self.engine.in_view]

    async def rows(self) -> list[Snapshot]:
        return list(await self.engine.store.snapshots(self.engine.session_id))

    def snapshots(self) -> Snapshots:
        return Snapshots(self.data, self.work.resolve())


def play(base: Path, story: Callable[[Place], Awaitable[None]], **fields: object) -> None:
    async def main() -> None:
        place = await Place(base).open(**fields)
        try:
            await story(place)
        finally:
            await place.close()

    asyncio.run(main())
