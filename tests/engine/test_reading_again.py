"""A session read again costs its newest window (R-10)."""

import asyncio

import msgspec
import pytest

from engine.sessions import user
from engine.telling import TRAITS, memory
from sojourn.base import SystemClock
from sojourn.engine import Engine
from sojourn.record import (
    Message,
    Session,
    Text,
)


@pytest.mark.design("R-10")
@pytest.mark.parametrize("number", [199, 200, 201, 400, 450])
def test_a_view_of_any_length_is_read_again_whole(number: int) -> None:
    async def main() -> None:
        store = await memory(SystemClock())
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
            await engine.observe(*(user(f"Message {n}.") for n in range(number)))
            level = engine.level().tokens
        async with await Engine.open(store=store, session_id=engine.session_id, traits=TRAITS) as again:
            assert [message.seq for message in again.in_view] == list(range(1, number + 1))
            assert again.level().tokens == level
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-10")
@pytest.mark.report(27, 68)
def test_of_a_view_far_over_the_limit_only_enough_is_read() -> None:
    async def main() -> None:
        store = await memory(SystemClock())
        async with await Engine.open(
            store=store, session=Session(id=""), traits=msgspec.structs.replace(TRAITS, limit=1_000_000)
        ) as engine:
            for _ in range(3):
                sized = [Message(id="", role="user", origin="user", parts=(Text("x", {"prose": 46}),)) for _ in range(200)]
                await engine.observe(*sized)  # 10,000 tokens
        for limit, read in ((8_000, 400), (10_000, 600), (9_999, 400)):
            traits = msgspec.structs.replace(TRAITS, limit=limit)
            async with await Engine.open(store=store, session_id=engine.session_id, traits=traits) as again:
                assert [message.seq for message in again.in_view] == list(range(601 - read, 601))
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-2")
def test_only_another_programs_summaries_stay_out_of_view_now_and_after_reopening() -> None:
    async def main() -> None:
        store = await memory(SystemClock())

        def message(origin: str, source: str) -> Message:
            return Message(id="", role="user", origin=origin, source=source, parts=(Text("Words."),))  # type: ignore[arg-type]

        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
            await engine.observe(
                message("import", "summary"),
                message("import", "meta"),
                message("engine", "summary"),
                message("import", "summary"),
            )
            assert [one.seq for one in engine.in_view] == [2, 3]
        async with await Engine.open(store=store, session_id=engine.session_id, traits=TRAITS) as again:
            assert [one.seq for one in again.in_view] == [2, 3]
        await store.close()

    asyncio.run(main())
