"""A refusal teaches a smaller window, never a larger one (C-1, C-10)."""

import asyncio

import pytest

from engine.sessions import engine_for, user, work
from engine.telling import kinds
from sojourn.base import ErrorKind
from sojourn.engine import EngineEvent
from sojourn.wire import ModelError


@pytest.mark.design("C-1", "C-10", "M-2")
@pytest.mark.parametrize(("named", "limit"), [(63_999, 63_999), (64_000, 64_000), (64_001, 64_000), (200_000, 64_000)])
def test_a_limit_that_a_refusal_names_counts_where_it_is_smaller(named: int, limit: int) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, events=events) as engine:
            await engine.observe(user("Rename the drain task."))
            await work(engine, 20)
            await engine.recover(ModelError(ErrorKind.CONTEXT_OVERFLOW, "too long", limit=named))
            assert engine.traits.limit == limit
            assert engine.traits.limit_source == ("learned" if limit < 64_000 else "test")
            assert kinds(events, "limit_learned") == ([{"limit": limit}] if limit < 64_000 else [])

    asyncio.run(main())
