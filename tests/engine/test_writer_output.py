"""What a writer may answer with: no more than the session's model can (K-4)."""

import asyncio

import pytest

from engine.scribe import NO_TIERS, Scribe, scribe_engine, steps
from engine.sessions import user
from sojourn.record import Checkpoint
from sojourn.wire import Traits


@pytest.mark.design("K-4")
@pytest.mark.parametrize(("cap", "asked_for"), [(2_000, 2_000), (4_000, 4_000), (8_000, 4_000), (None, 4_000)])
def test_a_fork_asks_for_no_more_output_than_the_models_cap(cap: int | None, asked_for: int) -> None:
    async def main() -> None:
        scribe = Scribe()
        traits = Traits(name="test-model", limit=64_000, limit_source="test", output_cap=cap)
        async with await scribe_engine(scribe, traits=traits, settings=NO_TIERS) as engine:
            await engine.observe(user("Set up the station tables."))
            await steps(engine, 20)
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            assert row.mode == "fork"
            (asked,) = scribe.requests
            assert asked.settings.max_output == asked_for

    asyncio.run(main())
