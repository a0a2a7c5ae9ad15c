"""Nothing that was sent changes, and nothing of it is cut later (R-5, Q-2)."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.holding import sent, text_of
from engine.sessions import engine_for, prose, says, user, work
from sojourn.base import Finish, WorkFailed
from sojourn.engine import Engine, EngineEvent, Projected
from sojourn.models import ENCODERS
from sojourn.prefix import build, section
from sojourn.record import (
    Message,
    Reminder,
    Text,
    ToolCall,
)
from sojourn.request import units


class Burst(msgspec.Struct, frozen=True):
    """One step: the sizes in tokens of its results, what a person or the host adds, whether the turn ends."""

    results: tuple[int, ...]
    said: int = 0
    listed: str = ""
    ends: bool = False


bursts = st.builds(
    Burst,
    st.lists(st.sampled_from([5, 400, 1_500, 4_000]), min_size=1, max_size=6).map(tuple),
    st.sampled_from([0, 0, 20, 3_000, 30_000]),
    st.sampled_from(["", "todo: one", "todo: two, three"]),
    st.booleans(),
)


async def play(engine: Engine, history: Sequence[Burst]) -> tuple[int, int]:
    """Requests seen to extend the one before, and cut messages."""
    last: Projected | None = None
    extended, cut = 0, 0
    await engine.observe(user("Begin."))
    for number, burst in enumerate(history):
        calls = tuple(
            ToolCall(
                f"c{number}_{i}", "read_file", {"path": f"{i}"}, state="completed", result=(Text(prose(size, number + i)),)
            )
            for i, size in enumerate(burst.results)
        )
        answer = Message(id="", role="assistant", origin="model", parts=calls, finish=Finish.TOOL_CALLS)
        for message in (answer, says("Done.") if burst.ends else None, burst.said, burst.listed):
            if isinstance(message, int):
                message = user(prose(message, number)) if message else None  # noqa: PLW2901
            elif isinstance(message, str):
                note = Message(id="", role="user", origin="engine", source="todo", parts=(Reminder("todo", message),))
                message = note if message else None  # noqa: PLW2901
            if message is not None:
                await engine.observe(message)
            try:
                projected = await engine.project()
            except WorkFailed as stop:
                assert "stopped" in str(stop)
                return extended, cut
            if last is not None and last.window.number == projected.window.number:
                before = sent(last)
                assert sent(projected)[: len(before)] == before
                extended += 1
                trims = (await engine.store.window(projected.window.id)).trims  # type: ignore[union-attr]
                assert trims[: len(last.window.trims)] == last.window.trims
                assert all(trim.seq > last.upto_seq for trim in trims[len(last.window.trims) :]), "what was sent is not cut"
            last = projected
            cut = max(cut, len(projected.window.trims))
    return extended, cut


@pytest.mark.design("W-8", "Q-2", "N6")
@pytest.mark.report(52, 53)
@settings(max_examples=50, deadline=None, print_blob=False)
@given(st.lists(bursts, min_size=2, max_size=14), st.sampled_from([12_000, 24_000, 64_000]))
def test_nothing_that_was_sent_changes_inside_a_window_whatever_comes_in(history: list[Burst], limit: int) -> None:
    async def main() -> None:
        async with await engine_for(limit) as engine:
            await play(engine, history)

    asyncio.run(main())


@pytest.mark.design("W-8", "C-6")
@pytest.mark.report(52, 53)
def test_what_is_cut_is_cut_before_it_is_first_sent_and_stays_so() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(24_000, events=events) as engine:
            await engine.observe(user("Begin."))
            await work(engine, 12)
            await engine.rebuild()
            before = await engine.project()
            await engine.observe(user(prose(30_000)))
            cut = await engine.project()
            assert [event.detail["messages"] for event in events if event.kind == "incoming_cut"] == [[engine.head]]
            assert sent(cut)[: len(sent(before))] == sent(before)
            await engine.observe(says("Read."), user("And now?"))
            later = await engine.project()
            assert later.window.id == cut.window.id
            assert sent(later)[: len(sent(cut))] == sent(cut)
            stored = await engine.read(engine.head - 3, engine.head - 2)
            assert text_of(stored[0]) == prose(30_000)
        async with await engine_for(64_000) as engine:
            history = [Burst((1_500, 4_000), said=20, listed=f"todo: {n}", ends=n % 3 == 0) for n in range(12)]
            extended, _ = await play(engine, history)
            assert extended > 30

    asyncio.run(main())


@pytest.mark.design("P-7", "Q-5", "W-9")
@pytest.mark.report(56)
@pytest.mark.parametrize("protocol", ["anthropic", "chat"])
def test_system_tools_and_rules_are_the_same_bytes_in_every_window_with_a_mark_at_their_end(protocol: str) -> None:
    snapshot = build(
        [
            section("role", "test", "system", "stable", "You keep tide gauges."),
            section("clock", "test", "system", "dynamic", "Today is a Tuesday."),
            section("rules", "test", "context", "stable", "# Rules\nStore every time in UTC."),
        ],
        [
            {"name": name, "description": f"{name} it", "schema": {"type": "object", "properties": {}}}
            for name in ("write", "read")
        ],
    )

    def fixed(projected: Projected) -> list[bytes]:
        body = units(projected.request, ENCODERS[protocol])  # type: ignore[index]
        opening_at = next(n for n, unit in enumerate(body) if b"[sojourn]" in unit or b"Begin." in unit)
        return body[:opening_at]

    async def main() -> None:
        async with await engine_for(64_000, prefix=snapshot, fixed=None, protocol=protocol) as engine:  # type: ignore[arg-type]
            await engine.observe(user("Begin."))
            await work(engine, 30)
            seen = [await engine.project()]
            for turn in range(3):
                await (engine.compact() if turn == 1 else engine.rebuild())
                await engine.observe(user(f"Turn {turn}."))
                await work(engine, 15, start=40 + 20 * turn)
                seen.append(await engine.project())
            assert [one.window.number for one in seen] == [1, 2, 3, 4]
            assert len({tuple(fixed(one)) for one in seen}) == 1
            text = b"\n".join(fixed(seen[0]))
            for piece in (b"tide gauges", b"a Tuesday", b"every time in UTC", b"write it", b"read it"):
                assert piece in text
            if protocol == "anthropic":
                stable = {tuple(block.mark for block in one.request.system) for one in seen}
                assert stable == {("stable", None)}

    asyncio.run(main())
