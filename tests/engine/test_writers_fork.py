"""How a writing model is asked: the live request up to the mark with one message more, or a request of its own (K-4, Q-7)."""

import asyncio

import msgspec
import pytest

from engine.scribe import (
    GOOD,
    NO_TIERS,
    TASK,
    Scribe,
    answered,
    body,
    calls_of,
    said,
    scribe_engine,
    settled,
    size,
    steps,
    text_of,
)
from engine.sessions import prose, reads, says, user
from sojourn.base import ErrorKind, ManualClock, Usage
from sojourn.config import Compaction
from sojourn.engine import Engine, EngineEvent
from sojourn.engine.types import Projected
from sojourn.engine.view import tokens_of
from sojourn.models import ENCODERS, canonical
from sojourn.prefix import build, section
from sojourn.record import Checkpoint, PrefixSnapshot
from sojourn.request import changed_part, units
from sojourn.wire import ModelError, ModelRequest

PROTOCOLS = ["anthropic", "chat", "responses", "gemini"]
DIGEST = "What the lines of recent activity at the opening stand for:"
TOOL = {
    "name": "read_file",
    "description": "Reads a file.",
    "schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


def prefix() -> PrefixSnapshot:
    rules = section("rules", "test", "system", "stable", "Keep to millimetres.")
    return build([rules, section("place", "test", "context", "dynamic", "You work in /data/tide.")], [TOOL])


def told(request: ModelRequest, protocol: str) -> list[bytes]:
    return units(request, ENCODERS[protocol])  # type: ignore[index]


def highest(request: ModelRequest) -> int:
    return max(part.about.seq or 0 for message in request.messages for part in message.parts)


# --- fork -------------------------------------------------------------------------------------------------------------


@pytest.mark.design("K-4", "K-5", "Q-2", "Q-7")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_fork_is_the_live_request_up_to_the_mark_and_one_message_more(protocol: str) -> None:
    async def main() -> None:
        scribe = Scribe(protocol=protocol)
        async with await scribe_engine(scribe, prefix=prefix(), fixed=None, settings=NO_TIERS) as engine:
            await engine.observe(user("Set up the station tables."))
            live: list[Projected] = await steps(engine, 20)
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            assert row.mode == "fork"
            (asked,) = scribe.requests
            own, newest = told(asked, protocol), told(live[-1].request, protocol)
            words = text_of(asked)
            assert TASK in words
            # Everything but the last unit is the live request, from its first byte on, exactly as far as the mark.
            assert own[:-1] == newest[: len(own) - 1]
            assert words.encode() in own[-1].replace(b"\\n", b"\n").replace(b'\\"', b'"') or TASK.encode() in own[-1]
            shown = next(one for one in live if one.upto_seq >= row.covered_seq)
            held = [one for one in live if one.upto_seq == row.covered_seq]
            assert held, "the mark is where a request ended"
            assert own[:-1] == told(held[0].request, protocol) == told(shown.request, protocol)
            assert highest(asked) == row.covered_seq < engine.head
            # The same holds of the body that leaves: settings of the cache key, system, tools, then message by message.
            mine, theirs = (ENCODERS[protocol](one) for one in (asked, held[0].request))  # type: ignore[index]
            differing = {key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key)}
            assert differing <= {
                "messages",
                "input",
                "contents",
                "max_tokens",
                "max_output_tokens",
                "max_completion_tokens",
            } | {"generationConfig"}
            assert asked.tools == held[0].request.tools
            assert asked.settings.cache_key == held[0].request.settings.cache_key
            assert asked.settings.max_output == min(4_000, held[0].request.settings.max_output or 4_000)
            assert changed_part(held[0].request, asked) is None

    asyncio.run(main())


@pytest.mark.design("K-4", "Q-5", "Q-7")
def test_a_forks_marks_stand_where_the_live_requests_stood() -> None:
    def marks(request: ModelRequest) -> set[tuple[str, int]]:
        places = {(f"system {block.mark}", at) for at, block in enumerate(request.system) if block.mark}
        return places | {(str(one.mark), at) for at, one in enumerate(request.messages) if one.mark}

    async def main() -> None:
        scribe = Scribe()
        async with await scribe_engine(scribe, prefix=prefix(), fixed=None, settings=NO_TIERS) as engine:
            await engine.observe(user("Set up the station tables."))
            live = await steps(engine, 20)
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            (asked,) = scribe.requests
            held = next(one.request for one in live if one.upto_seq == row.covered_seq)
            ends = {place for place in marks(held) if place[0] == "last"}
            assert ends <= marks(asked) <= marks(held)
            assert asked.messages[-1].mark is None
            assert ends == {("last", len(asked.messages) - 2)}

    asyncio.run(main())


@pytest.mark.design("A-7", "K-4", "Q-2", "Q-7", "R-15")
@pytest.mark.report(18)
def test_a_writer_changes_neither_the_record_nor_the_requests_nor_their_verdicts() -> None:
    async def ran(limit: int) -> tuple[list[bytes], list[tuple[str, tuple[str, ...], Usage | None]], list[str], int]:
        scribe = Scribe(limit=limit)
        async with await scribe_engine(scribe, prefix=prefix(), fixed=None, forks=limit > 0) as engine:
            await engine.observe(user("Set up the station tables."))
            live: list[Projected] = []
            for step in range(40):  # two tiers are crossed
                live += await steps(engine, 1, start=step) if step == 0 else [await one_more(engine, step, live[-1])]
                await settled(engine)
            calls = await calls_of(engine.store, engine.session_id, "main")
            history = [message.id for message in await engine.read(0, engine.head)]
            return (
                [canonical(ENCODERS["anthropic"](one.request)) for one in live],
                [(call.verdict, call.unit_hashes, call.usage) for call in calls],
                [str(len(history)), *(str(seq) for seq in range(1, engine.head + 1))],
                len(scribe.requests),
            )

    async def one_more(engine: Engine, step: int, before: Projected) -> Projected:
        return await answered(engine, reads(f"src/part_{step}.py", prose(1_000, step)), cached=before.level.tokens)

    async def main() -> None:
        forked, own = await ran(64_000), await ran(1)
        assert forked[3] >= 3
        assert forked[0] == own[0], "what was sent to the model in the meantime"
        assert forked[1] == own[1]
        verdicts = [verdict for verdict, _, _ in forked[1]]
        assert verdicts == ["first"] + ["hit"] * 39
        assert all(hashes[0] == f"+{shared}" for (_, hashes, _), shared in zip(forked[1], running(forked[1]), strict=True))
        assert forked[2] == own[2] == [str(41), *map(str, range(1, 42))]

    def running(calls: list[tuple[str, tuple[str, ...], Usage | None]]) -> list[int]:
        """How many units each request had in common with the one before: all of them."""
        whole, shared = 0, []
        for _, hashes, _ in calls:
            shared.append(whole)
            whole += len(hashes) - 1
        return shared

    asyncio.run(main())


@pytest.mark.design("K-4", "N7", "C-7")
@pytest.mark.parametrize(("waited", "mode"), [(0, "fork"), (299_999, "fork"), (300_000, "delta"), (3_600_000, "delta")])
def test_a_cold_cache_makes_a_request_of_its_own(waited: int, mode: str) -> None:
    async def main() -> None:
        scribe, clock = Scribe(), ManualClock()
        events: list[EngineEvent] = []
        async with await scribe_engine(scribe, prefix=prefix(), fixed=None, clock=clock, events=events) as engine:
            await engine.observe(user("Set up the station tables."))
            while size(engine) < 11_520:
                await steps(engine, 1, start=engine.head)
            assert not scribe.requests
            clock.advance(waited)
            await engine.project()
            await settled(engine)
            (asked,) = scribe.requests
            (row,) = await engine.store.checkpoints(engine.session_id)
            assert row.mode == mode
            assert (len(asked.tools) == 1) is (mode == "fork")
            assert ("Keep to millimetres." in body(asked, "anthropic")) is (mode == "fork")
            assert ("The record:" in text_of(asked)) is (mode == "delta")
            assert (await engine.project()).window.number == 1, "the policy is full: nothing is left for a cold cache"

    asyncio.run(main())


@pytest.mark.design("K-4")
def test_nothing_answered_yet_and_a_model_that_is_not_the_sessions_make_requests_of_their_own() -> None:
    async def mode(*, forks: bool, answers: bool, reports: bool = True) -> str:
        scribe = Scribe()
        traits = msgspec.structs.replace(scribe.traits, reports_cache=reports)
        async with await scribe_engine(scribe, traits=traits, settings=NO_TIERS, forks=forks) as engine:
            await engine.observe(user("Set up the station tables."))
            for step in range(20):
                if answers:
                    await steps(engine, 1, start=step)
                else:
                    await engine.project()
                    await engine.observe(reads(f"p{step}", prose(1_000, step)))
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            return row.mode

    async def main() -> None:
        assert await mode(forks=True, answers=True) == "fork"
        assert await mode(forks=False, answers=True) == "delta"
        assert await mode(forks=True, answers=False) == "delta"
        assert await mode(forks=True, answers=True, reports=False) == "delta"

    asyncio.run(main())


@pytest.mark.design("K-4", "C-9")
@pytest.mark.parametrize(("over", "mode"), [(0, "fork"), (1, "delta")])
def test_a_fork_is_asked_for_only_while_it_fits_with_6_000_to_spare(over: int, mode: str) -> None:
    async def ran(fixed: int) -> tuple[str, int]:
        """How it was asked, and the tokens of the live request up to the mark."""
        scribe = Scribe()
        settings = msgspec.structs.replace(NO_TIERS, compaction=Compaction(auto=False))
        async with await scribe_engine(scribe, fixed=fixed, settings=settings) as engine:
            await engine.observe(user("Set up the station tables."))
            for step in range(48):
                await engine.observe(reads(f"p{step}", prose(1_000, step)))
            await answered(engine, reads("last", prose(500)))
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            state = engine._state
            return row.mode, size(engine) - tokens_of(state.view.after(row.covered_seq), state.calibration, "test-model")

    async def main() -> None:
        _, shown = await ran(0)
        left = 64_000 - 6_000 - shown
        assert 4_000 < left < 16_000
        assert await ran(left + over) == (mode, 58_000 + over)

    asyncio.run(main())


@pytest.mark.design("K-4", "K-8", "C-10")
@pytest.mark.report(29)
def test_a_fork_that_the_provider_finds_too_long_becomes_a_request_of_its_own() -> None:
    async def main() -> None:
        too_long = ModelError(ErrorKind.CONTEXT_OVERFLOW, "too long", limit=9_000)
        scribe = Scribe(too_long)
        async with await scribe_engine(scribe, prefix=prefix(), fixed=None, settings=NO_TIERS) as engine:
            await engine.observe(user("Set up the station tables."))
            await steps(engine, 20)
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            assert row.mode == "delta"
            calls = await calls_of(engine.store, engine.session_id, "writer")
            assert len(calls) == len(scribe.requests) >= 4, "the limit that the refusal named is kept to"
            assert [bool(call.error) for call in calls] == [True] + [False] * (len(calls) - 1)
            assert calls[0].error.startswith("context_overflow: ")
            assert row.calls == tuple(call.id for call in calls)
            assert all(len(text_of(one)) // 4 < 9_000 for one in scribe.requests[1:])

    asyncio.run(main())


# --- the original of the digest ---------------------------------------------------------------------------------------


async def in_a_second_window(engine: Engine, scribe: Scribe) -> tuple[int, int]:
    """A window left by hand, from a checkpoint with a stretch behind it that the opening only digests: (mark, digest)."""
    await engine.observe(user("Set up the station tables."))
    await steps(engine, 16)
    first = await engine.write_checkpoint()
    assert isinstance(first, Checkpoint)
    await engine.observe(user("The datum of station 4 is 1187 millimetres, remember."), says("DATUM noted for station 4."))
    await steps(engine, 12, start=16)
    await engine.observe(says("Done with it."))
    done = await engine.rebuild()
    assert done.window is not None
    assert done.window.covered_seq == first.covered_seq < done.window.digest_seq
    return first.covered_seq, done.window.digest_seq


@pytest.mark.design("K-4", "W-2a")
def test_only_the_first_writer_of_a_window_is_shown_what_its_digest_stands_for() -> None:
    async def main() -> None:
        scribe = Scribe()
        async with await scribe_engine(scribe, settings=NO_TIERS) as engine:
            mark, digest = await in_a_second_window(engine, scribe)
            await steps(engine, 14, start=40)
            second = await engine.write_checkpoint()
            assert isinstance(second, Checkpoint)
            assert (second.mode, second.range) == ("fork", (mark, second.covered_seq))
            assert second.covered_seq > digest
            words = text_of(scribe.requests[1])
            assert words.startswith(DIGEST)
            shown = words[: words.index("Messages of the user:")]
            assert "DATUM noted for station 4." in shown
            assert f"m{digest} " in shown
            assert f"m{mark} " not in shown
            assert f"m{digest + 1} " not in shown
            assert "m0" not in shown
            # What the first has taken in is not sent again.
            await steps(engine, 14, start=60)
            third = await engine.write_checkpoint()
            assert isinstance(third, Checkpoint)
            assert third.mode == "fork"
            assert DIGEST not in text_of(scribe.requests[2])
            assert DIGEST not in text_of(scribe.requests[0]), "the start window stands for nothing"

    asyncio.run(main())


@pytest.mark.design("K-4", "K-8")
def test_when_the_first_writer_of_a_window_fails_the_next_is_shown_it() -> None:
    async def main() -> None:
        scribe = Scribe(GOOD, said(""), GOOD)
        async with await scribe_engine(scribe, settings=NO_TIERS) as engine:
            mark, _ = await in_a_second_window(engine, scribe)
            await steps(engine, 14, start=40)
            assert not isinstance(await engine.write_checkpoint(), Checkpoint)
            await steps(engine, 2, start=60)
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            assert row.range[0] == mark
            assert [text_of(one).startswith(DIGEST) for one in scribe.requests] == [False, True, True]

    asyncio.run(main())


@pytest.mark.design("K-4", "C-18")
@pytest.mark.parametrize(
    ("policy", "limit", "share", "size"),
    [("full", 64_000, 20, 600), ("balanced", 200_000, 5, 100), ("economy", 200_000, 5, 100)],
)
def test_the_original_has_a_share_of_the_trigger_and_the_newest_of_it(policy: str, limit: int, share: int, size: int) -> None:
    async def main() -> None:
        scribe = Scribe()
        settings = msgspec.structs.replace(NO_TIERS, compaction=Compaction(policy=policy))  # type: ignore[arg-type]
        async with await scribe_engine(scribe, limit=limit, settings=settings) as engine:
            await engine.observe(user("Set up the station tables."))
            await steps(engine, 6 * limit // 64_000)
            first = await engine.write_checkpoint()
            assert isinstance(first, Checkpoint)
            for number in range(13_000 // size + 3):
                await engine.observe(user(f"Part {number}."), says(prose(size, number)))
            done = await engine.rebuild()
            assert done.window is not None
            await steps(engine, 10 * limit // 64_000, start=40)
            room = engine._state.lines().trigger * share // 100
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            assert row.mode == "fork"
            words = text_of(scribe.requests[1])
            shown = words[: words.index("Messages of the user:")]
            originals = await engine.read(first.covered_seq, done.window.digest_seq)
            kept = [one for one in originals if f"m{one.seq} " in shown]
            assert kept == list(originals[-len(kept) :]), "the newest"
            took = tokens_of(kept, engine._state.calibration, "test-model")
            oldest = originals[-len(kept) - 1]
            assert took <= room < took + tokens_of([oldest], engine._state.calibration, "test-model")

    asyncio.run(main())


@pytest.mark.design("K-4")
def test_a_request_of_its_own_has_no_original_but_the_whole_stretch() -> None:
    async def main() -> None:
        scribe = Scribe()
        async with await scribe_engine(scribe, settings=NO_TIERS, forks=False) as engine:
            mark, _ = await in_a_second_window(engine, scribe)
            await steps(engine, 14, start=40)
            row = await engine.write_checkpoint()
            assert isinstance(row, Checkpoint)
            text = "".join(map(text_of, scribe.requests[1:]))
            assert DIGEST not in text
            assert "DATUM noted for station 4." in text
            assert all(f"m{seq} " in text for seq in range(mark + 1, row.covered_seq + 1))
            assert f"m{mark} " not in text
            assert f"m{row.covered_seq + 1} " not in text

    asyncio.run(main())
