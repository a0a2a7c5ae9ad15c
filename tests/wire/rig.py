"""A real agent over the real clients, against the strict provider; and what must hold of everything that left."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

from provider.server import Provider, Seen
from sojourn.agent import Agent
from sojourn.agent.types import AgentEvent, TurnEnded
from sojourn.base import ManualClock
from sojourn.checkpoint import ExtractiveWriter
from sojourn.config import Folders, Settings
from sojourn.engine.looking import main_calls, numbered_request
from sojourn.models.connect import connect
from sojourn.models.types import Api, Target
from sojourn.record import Call, Image, Store
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import Traits

APIS: list[Api] = ["anthropic", "chat", "responses", "gemini"]
KEY = "test-key"
NOON = int(datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp() * 1_000)


class Rig:
    """A folder, a record and a provider; agents are opened on them one after the other."""

    def __init__(self, base: Path, provider: Provider, api: Api, *, limit: int = 64_000, **traits: Any) -> None:
        self.base, self.provider, self.api = base, provider, api
        self.folder = base / "work"
        self.folder.mkdir(parents=True)
        self.clock = ManualClock(NOON)
        given: dict[str, Any] = {
            "name": "test-model",
            "provider": "test",
            "thinking": api in ("anthropic", "responses", "gemini"),
        }
        self.traits = Traits(**given | {"protocol": api, "limit": limit, "marks": 4 if api == "anthropic" else 0} | traits)
        self.settings = Settings()
        self.events: list[AgentEvent] = []
        self.waits: list[float] = []
        self.store: Store
        self.agent: Agent
        self.session_id: str | None = None
        self._client: Any = None
        self.said: Callable[[AgentEvent], None] = lambda event: None

    async def open(self, how: str = "", *, silence: float = 20.0, key: str = KEY, **options: Any) -> Agent:
        """A new session, or the one before resumed; the client is a new one each time, as in a new process."""
        if not hasattr(self, "store"):
            self.store = await SqliteStore.open(None, clock=self.clock)
        target = Target(self.traits, self.provider.base_url(self.api), key, "--api-key")
        model: Any = connect(target, self.store.blob)
        model._sleep = self._wait
        model._model._silence = silence
        self._client = model._model
        given: dict[str, Any] = {"mode": None if self.session_id else "full", "trusted": True, "environ": {}}
        given["writer"] = ExtractiveWriter()  # the provider's script is the conversation's
        home = self.base / "home"
        self.agent = await Agent.open(
            store=self.store,
            cwd=self.folder,
            model=model,
            settings=self.settings,
            how=how or ("resumed" if self.session_id else "new"),  # type: ignore[arg-type]
            session_id=self.session_id,
            on_event=self._hear,
            places=Folders(data=home / "data", config=home / "config", cache=home / "cache"),
            clock=self.clock,
            **given | options,
        )
        self.session_id = self.agent.session_id
        return self.agent

    async def again(self, **options: Any) -> Agent:
        """Closed and resumed."""
        await self.agent.close()
        return await self.open(**options)

    async def __aenter__(self) -> "Rig":
        return self

    async def __aexit__(self, *error: object) -> None:
        if hasattr(self, "agent"):
            await self.agent.close()
        if hasattr(self, "store"):
            await self.store.close()

    async def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)

    def _hear(self, event: AgentEvent) -> None:
        self.events.append(event)
        self.said(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def pass_time(self, seconds: float) -> None:
        """On our clock and on the provider's."""
        self.clock.advance(int(seconds * 1_000))
        self.provider.clock.advance(seconds)

    async def calls(self) -> Sequence[Call]:
        assert self.session_id is not None
        return await main_calls(self.store, self.session_id)

    async def picture(self, raw: bytes, pixels: tuple[int, int], name: str) -> Image:
        return Image(await self.store.put_blob(raw), "image/png", len(raw), pixels, name)

    async def body_of(self, number: int) -> bytes:
        """The bytes that the recorded call makes again."""
        assert self.session_id is not None
        call, request = await numbered_request(self.store, self.session_id, number)
        del call
        filled = await self._client._pictures.fill(request)
        body = self._client._body(filled)
        if self.api == "gemini":
            body = {name: value for name, value in body.items() if name != "model"}
        return bytes(self._client._bytes(body))


async def turn_cut(rig: Rig, prompt: str, until: Callable[[], bool]) -> TurnEnded:
    """A turn that a person interrupts."""
    turn = asyncio.create_task(rig.agent.turn(prompt))
    for _ in range(1_000):
        if until() or turn.done():
            break
        await asyncio.sleep(0.005)
    turn.cancel()
    return await turn


async def check(rig: Rig, *, may_break: Sequence[str] = (), whole: bool = True) -> None:
    """Of everything that left: nothing was refused; inside a window each body extends the one before; the rows agree.

    ``may_break``: verdict beginnings that are reasons of their own. ``whole``: calls and bodies are one to one.
    """
    provider = rig.provider
    await asyncio.to_thread(provider.settle)
    assert [seen.problems for seen in provider.refused if seen.units] == []
    sent = left(provider)
    assert {seen.status for seen in sent if seen.units} <= {200}
    every = await rig.calls()
    # An attempt that was void has a row of its own where it cost something; the body is the next one's.
    kept = [
        (number, call)
        for number, (call, after) in enumerate(zip_longest(every, every[1:]), 1)
        if after is None or not (call.error and after.upto_seq == call.upto_seq)
    ]
    calls = [call for _, call in kept]
    if whole:
        assert len(calls) == len(sent), ([(call.verdict, call.error) for call in calls], [seen.fault for seen in sent])
    window = {seen.number: call.window_id for seen, call in zip(sent, calls, strict=False)}
    verdict = {seen.number: call.verdict for seen, call in zip(sent, calls, strict=False)}
    for one in provider.breaks():
        reasons = window[one.before.number] != window[one.after.number] or any(
            verdict[one.after.number].startswith(reason) for reason in may_break
        )
        assert reasons, str(one)
    for (number, _), seen in zip(kept, sent, strict=whole):
        assert await rig.body_of(number) == seen.raw, f"request {number} is not made again as it left"
    answered = [call for call in every if call.usage is not None]
    if answered:
        assert answered[0].verdict in ("first", "unknown", "not_reported")
    for before, call in pairwise(answered):
        if (
            before.window_id == call.window_id
            and not call.error
            and not any(call.verdict.startswith(reason) for reason in may_break)
        ):
            assert call.verdict == "hit", (call.verdict, call.usage, before.usage)


def left(provider: Provider) -> list[Seen]:
    """The bodies that left, one for each call: what was asked again without a change counts once."""
    sent = provider.requests
    return [seen for seen, after in zip_longest(sent, sent[1:]) if after is None or after.raw != seen.raw]
