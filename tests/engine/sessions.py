"""Made-up sessions for the engine's tests: messages as a host would observe them."""

import asyncio

from sojourn.base import CountingIds, Finish, ManualClock
from sojourn.config import Settings
from sojourn.engine import Engine, EngineEvent
from sojourn.record import Message, Session, Text, ToolCall
from sojourn.wire import Traits

WORDS = (
    "tide", "gauge", "harbour", "offset", "station", "reading", "batch",
    "column", "datum", "millimetre", "schedule", "window", "ledger", "anchor",
)  # fmt: skip


def prose(tokens: int, seed: int = 0) -> str:
    """About so many tokens of plain words, in lines."""
    words = [WORDS[(seed * 7 + i * 3 + i // 11) % len(WORDS)] for i in range(tokens)]
    return "\n".join(" ".join(words[i : i + 12]) for i in range(0, len(words), 12))


def user(text: str) -> Message:
    return Message(id="", role="user", origin="user", parts=(Text(text),))


def says(text: str, finish: Finish = Finish.STOP) -> Message:
    return Message(id="", role="assistant", origin="model", parts=(Text(text),), finish=finish)


def reads(path: str, result: str, call_id: str = "") -> Message:
    """An assistant message with one completed call."""
    call = ToolCall(
        call_id=call_id or f"call_{path}",
        name="read_file",
        arguments={"path": path},
        state="completed",
        result=(Text(result),),
    )
    return Message(id="", role="assistant", origin="model", parts=(call,), finish=Finish.TOOL_CALLS)


async def engine_for(
    limit: int = 32_000, *, fixed: int = 0, events: list[EngineEvent] | None = None, **options: object
) -> Engine:
    """An engine in memory with a still clock and counted ids."""
    ids = options.pop("ids", None) or CountingIds()
    return await Engine.open(
        session=options.pop("session", None) or Session(id=""),
        traits=Traits(name="test-model", limit=limit, limit_source="test", protocol=options.pop("protocol", "anthropic")),
        settings=options.pop("settings", None) or Settings(),
        fixed=fixed,
        clock=options.pop("clock", None) or ManualClock(),
        ids=ids,
        on_event=events.append if events is not None else None,
        **options,  # type: ignore[arg-type]
    )


async def work(engine: Engine, steps: int, tokens: int = 1_000, *, start: int = 0) -> None:
    """Steps of work: each projects, then observes a call with a result of so many tokens."""
    for step in range(start, start + steps):
        await engine.project()
        await asyncio.sleep(0)  # a model's answer takes time: a writer in the background gets its turn
        await engine.observe(reads(f"src/part_{step}.py", prose(tokens, step)))
