"""Writers that answer what they are told to, and what an engine's events say."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from engine.sessions import prose, says, user
from sojourn.base import Item, ManualClock, Section
from sojourn.checkpoint import WriterFailed, WriterInput, Written
from sojourn.engine import Engine, EngineEvent
from sojourn.record import (
    Store,
)
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import Traits

TRAITS = Traits(name="test-model", limit=64_000)


NOW = 1_700_000_000_000
"""Where a ManualClock stands."""


def kinds(events: Sequence[EngineEvent], kind: str) -> list[dict[str, Any]]:
    return [event.detail for event in events if event.kind == kind]


def notices(events: Sequence[EngineEvent]) -> list[str]:
    return [detail["key"] for detail in kinds(events, "notice")]


async def memory(clock: object = None) -> Store:
    return await SqliteStore.open(None, clock=clock or ManualClock())  # type: ignore[arg-type]


class Scripted:
    """A model writer that answers as it is told, in turn; the last answer stands."""

    name: Literal["model", "extractive"] = "model"
    forks = False

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.runs: list[WriterInput] = []

    async def write(self, run: WriterInput) -> Written | WriterFailed:
        self.runs.append(run)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            return Written(items=(item(0),))
        return answer  # type: ignore[return-value]


def item(number: int, status: str = "open") -> Item:
    return Item(f"i{number}", Section("decisions"), f"Decision {number}.", (1,), status)  # type: ignore[arg-type]


async def talked(engine: Engine, rounds: int = 12) -> None:
    for number in range(rounds):
        await engine.observe(user(f"Question {number}?"), says(prose(900, number)))
