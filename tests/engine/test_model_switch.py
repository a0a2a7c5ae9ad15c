"""Another model in the middle of a session with a writer: it fits before anything is sent, or nothing changes (C-16)."""

import asyncio
from typing import Any

import pytest

from engine.scribe import (
    GOOD,
    NO_TIERS,
    TASK,
    Scribe,
    answered,
    body,
    calls_of,
    keys,
    of,
    pairs_hold,
    said,
    scribe_engine,
    steps,
)
from engine.sessions import prose, reads, says, user
from sojourn.base import ErrorKind, ManualClock, Usage, UserMistake
from sojourn.checkpoint import ExtractiveWriter, Writer
from sojourn.engine import Engine, EngineEvent
from sojourn.meter import estimate_text, total
from sojourn.models import ENCODERS, canonical
from sojourn.record import Checkpoint, Text
from sojourn.record.sqlite import SqliteStore
from sojourn.request import problems, units
from sojourn.wire import ModelError, ModelRequest, Traits

LARGE = Traits(name="test-model", limit=400_000, limit_source="catalogue")
SMALL = Traits(name="small", limit=100_000, limit_source="catalogue")
SENTINEL = "The datum of station 4 is 1187 millimetres."


def tokens(request: ModelRequest) -> int:
    """Of all its words, as the meter counts them."""
    return total(estimate_text(body(request, "anthropic")))


async def grown(scribe: Scribe, *, events: list[EngineEvent] | None = None, **options: Any) -> Engine:
    """A session of about 300,000 tokens on a model of 400,000; nothing of it is covered yet."""
    given: dict[str, Any] = {"traits": LARGE, "fixed": 5_000, "settings": NO_TIERS, "events": events} | options
    engine = await scribe_engine(scribe, **given)
    await engine.observe(user(f"Set up the station tables. {SENTINEL}"))
    for turn in range(31):
        await engine.observe(
            user(f"Part {turn}."), reads(f"src/part_{turn}.py", prose(8_000, turn)), says(f"Part {turn} is done.")
        )
    await answered(engine, reads("src/last.py", prose(3_000)))
    assert 290_000 < engine.level().tokens < 330_000
    return engine


@pytest.mark.design("C-16", "C-9", "K-4", "K-8")
@pytest.mark.report(118)
@pytest.mark.parametrize("case", ["writes", "fails", "covered already", "extraction"])
def test_a_session_of_300k_moves_to_a_model_of_100k_before_anything_is_sent(case: str) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        scribe = Scribe(*([said("")] * 9 if case == "fails" else []), limit=400_000)
        writer: dict[str, Writer] = {"writer": ExtractiveWriter()} if case == "extraction" else {}
        async with await grown(scribe, events=events, **writer) as engine:
            row = await engine.write_checkpoint() if case == "covered already" else None
            asked = len(scribe.requests)
            sent = len(await calls_of(engine.store, engine.session_id, "main"))
            done = await engine.set_model(SMALL, label="test/small")
            assert done is not None
            assert done.window is not None
            window = done.window
            assert (window.kind, window.reason, window.number) == ("rebuild", "model_switch", 2)
            assert window.outcome == {"writes": "rebuilt", "covered already": "rebuilt"}.get(case, "extracted")
            assert (window.hard, window.trigger) == (95_000, 90_000)
            assert done.level_after < 60_000 < 290_000 < done.level_before
            assert len(scribe.requests) - asked == {"writes": len(scribe.requests), "fails": len(scribe.requests)}.get(case, 0)
            if isinstance(row, Checkpoint):
                assert window.checkpoint_id == row.id
            # No request went to the new model that it could not hold, and the writer's own were small enough for it.
            assert len(await calls_of(engine.store, engine.session_id, "main")) == sent
            projected = await engine.project()
            assert projected.request.settings.model == "small"
            assert projected.level.tokens < projected.lines.trigger == 90_000
            assert projected.window.id == window.id
            assert problems(projected.request, "anthropic") == []
            text = body(projected.request, "anthropic")
            assert SENTINEL in text
            assert TASK not in text
            assert tokens(projected.request) < 90_000
            await pairs_hold(engine.store, engine.session_id)
            # The call rows of the writer name the model that wrote.
            assert {call.model for call in await calls_of(engine.store, engine.session_id, "writer")} <= {"test-model"}
            await engine.observe(says("Going on with the small one."))
            stored = await engine.store.session(engine.session_id)
            assert stored is not None
            assert stored.model == "test/small"

    asyncio.run(main())


@pytest.mark.design("C-16")
@pytest.mark.report(118)
def test_back_again_nothing_opens_and_what_was_said_meanwhile_is_in_view() -> None:
    async def main() -> None:
        async with await grown(Scribe(limit=400_000)) as engine:
            await engine.set_model(SMALL, label="test/small")
            await answered(engine, says("Said by the small one."))
            windows = list(await engine.store.windows(engine.session_id))
            small = units((await engine.project()).request, ENCODERS["anthropic"])
            assert await engine.set_model(LARGE, label="test/large") is None
            assert engine.level().estimated, "what the other one counted is another tokenizer's"
            projected = await engine.project()
            assert projected.request.settings.model == "test-model"
            assert (projected.lines.effective, projected.lines.full_trigger) == (400_000, 360_000)
            assert projected.lines.trigger == 90_000, "a window keeps the trigger that it opened with"
            text = body(projected.request, "anthropic")
            assert "Said by the small one." in text
            assert units(projected.request, ENCODERS["anthropic"])[1:] == small[1:], "all but the model's name"
            assert list(await engine.store.windows(engine.session_id)) == windows
            done = await engine.rebuild()
            assert done.window is not None
            assert done.window.trigger == 360_000

    asyncio.run(main())


@pytest.mark.design("C-16", "C-1")
@pytest.mark.report(118)
def test_a_model_that_cannot_hold_the_fixed_part_is_refused_and_the_session_goes_on_as_it_was() -> None:
    async def main() -> None:
        scribe = Scribe(limit=400_000)
        async with await grown(scribe) as engine:
            before = (engine.traits, engine.session, engine.window, engine.level(), engine.head)
            stored = await engine.store.session(engine.session_id)
            request = units((await engine.project()).request, ENCODERS["anthropic"])
            with pytest.raises(UserMistake, match=r"19,999 tokens is too small.* 5,000 tokens, so at least 20,000") as refused:
                await engine.set_model(Traits(name="tiny", limit=19_999), label="test/tiny")
            assert refused.value.next_step
            assert (engine.traits, engine.session, engine.window, engine.level(), engine.head) == before
            assert await engine.store.session(engine.session_id) == stored
            assert units((await engine.project()).request, ENCODERS["anthropic"]) == request
            assert scribe.requests == []
            await answered(engine, says("As before."))
            done = await engine.set_model(Traits(name="tiny", limit=20_000), label="test/tiny")
            assert done is not None
            assert done.window is not None
            assert (await engine.project()).level.tokens <= 19_000

    asyncio.run(main())


@pytest.mark.design("C-16", "A-7", "M-2")
def test_a_model_that_the_view_fits_takes_it_over_as_it_is() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await scribe_engine(Scribe(), traits=LARGE, settings=NO_TIERS, events=events) as engine:
            await engine.observe(user("Go."))
            await steps(engine, 35, 2_000)
            assert 80_000 < engine.level().tokens < 90_000
            assert await engine.set_model(SMALL) is None
            assert (await engine.project()).window.number == 1
            assert keys(events) == []
            await engine.observe(says("x"))
            # The next answer is anchored by the new model's own count.
            await engine.observe_usage(Usage(fresh=70_000, cached=0, output=25))
            assert engine.level().tokens == 70_025
            assert not engine.level().estimated
            # One that it does not fit opens at its trigger, not below: 72,000 of 80,000.
            assert (await engine.set_model(Traits(name="smaller", limit=80_000))) is not None
            assert of(events, "window_opened")[-1]["window"].reason == "model_switch"

    asyncio.run(main())


@pytest.mark.design("C-16", "C-10")
@pytest.mark.report(118)
def test_the_switch_holds_when_the_new_model_turns_out_smaller_than_it_said() -> None:
    async def main() -> None:
        async with await grown(Scribe(limit=400_000)) as engine:
            await engine.set_model(SMALL, label="test/small")
            await engine.observe(user("Go on."))
            first = await engine.project()
            again = await engine.recover(ModelError(ErrorKind.CONTEXT_OVERFLOW, "too long", limit=32_000))
            assert again.lines.effective == 32_000
            assert again.level.tokens <= again.lines.hard
            assert canonical(ENCODERS["anthropic"](again.request)) != canonical(ENCODERS["anthropic"](first.request))
            last = again.request.messages[-1].parts[-1]
            assert "Go on." in getattr(last, "text", "")

    asyncio.run(main())


@pytest.mark.design("C-16", "R-10")
@pytest.mark.report(118)
@pytest.mark.parametrize("by", ["engine", "label"])
def test_a_session_of_300k_that_is_opened_again_with_a_model_of_100k_fits_before_its_first_request(by: str) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        clock = ManualClock()
        store = await SqliteStore.open(None, clock=clock)
        engine = await grown(Scribe(limit=400_000), store=store, clock=clock, ids=None)
        await engine.close()
        scribe = Scribe(GOOD, GOOD, GOOD, GOOD, GOOD, name="small", limit=100_000)
        async with await scribe_engine(
            scribe, traits=SMALL, store=store, clock=clock, ids=None, session_id=engine.session_id, events=events, fixed=5_000,
            settings=NO_TIERS,
        ) as again:  # fmt: skip
            if by == "label":
                assert await again.set_model(SMALL, label="test/small") is None
            await again.observe(user("Go on."))
            projected = await again.project()
            assert projected.window.number == 2
            assert projected.level.tokens < 90_000
            assert projected.request.settings.model == "small"
            assert SENTINEL in body(projected.request, "anthropic")
            whole = [message for message in await again.read(0, again.head) for part in message.parts if isinstance(part, Text)]
            assert len(whole) == 1 + 2 * 31 + 1, "nothing left the record"
            assert scribe.requests
            assert all(tokens(one) < 100_000 - 4_000 for one in scribe.requests)
            await pairs_hold(store, again.session_id)
        await store.close()

    asyncio.run(main())
