"""After a refusal and over the hard line: each way in order, then a stop that says why (C-6, C-10)."""

import asyncio

import pytest

from engine.sessions import engine_for, prose, says, user, work
from engine.telling import TRAITS, kinds, memory
from sojourn.base import ErrorKind, WorkFailed
from sojourn.engine import Engine, EngineEvent, recovery
from sojourn.meter import estimate_text, total
from sojourn.models import anthropic
from sojourn.record import (
    Message,
    Session,
)
from sojourn.request import units
from sojourn.wire import ModelError


class Switching:
    """Stands in for the ladder: notes what it was asked and changes nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, bool, tuple[float, ...], bool]] = []
        monkeypatch.setattr(recovery, "switch", self)

    async def __call__(self, state: object, reason: str, *, shares: tuple[float, ...], extract_first: bool) -> None:
        self.asked.append((reason, shares, extract_first))


LADDER, SMALLER, EXTRACT = ((1.0, 0.6, 0.35), False), ((0.35,), False), ((0.2,), True)


@pytest.mark.design("C-10")
@pytest.mark.report(15, 23)
@pytest.mark.parametrize(
    ("kind", "reason"), [(ErrorKind.CONTEXT_OVERFLOW, "overflow"), (ErrorKind.MALFORMED_REQUEST, "malformed")]
)
def test_a_refusal_is_answered_by_each_way_in_order_then_by_a_stop(
    monkeypatch: pytest.MonkeyPatch, kind: ErrorKind, reason: str
) -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."), says("Yes."), user("On."))
            await engine.project()
            asked = Switching(monkeypatch).asked
            with pytest.raises(WorkFailed, match="refused 1 request, the last with: no, truly no") as stop:
                await engine.recover(ModelError(kind, "no, truly no"))
            assert [one[1:] for one in asked] == [LADDER, LADDER, SMALLER, EXTRACT]
            assert {one[0] for one in asked} == {reason}
            assert "max_context" in stop.value.next_step
            with pytest.raises(WorkFailed, match="refused 1 request"):
                await engine.recover(ModelError(kind, "no"))
            # A step that ended starts anew; one that is still running does not.
            await engine.observe(Message(id="", role="assistant", origin="model"))
            assert engine._state.recoveries == 6
            await engine.observe(says("Worked."))
            assert (engine._state.recoveries, engine._state.refused) == (0, set())

    asyncio.run(main())


@pytest.mark.design("C-10", "M-2", "C-1")
@pytest.mark.report(121)
def test_the_numbers_of_a_refusal_are_taken_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await engine_for(64_000, events=events) as engine:
            await engine.observe(user("Go."), says(prose(1_000)), user("On."))
            estimated = (await engine.project()).level.tokens
            Switching(monkeypatch)
            with pytest.raises(WorkFailed):
                await engine.recover(ModelError(ErrorKind.CONTEXT_OVERFLOW, "no", limit=64_000, used=2 * estimated))
            assert (engine.level().tokens, engine.level().source) == (2 * estimated, "error")
            assert engine._state.count(prose(1_000)) > 1.3 * total(estimate_text(prose(1_000)))
            assert kinds(events, "limit_learned") == []
            with pytest.raises(WorkFailed):
                await engine.recover(ModelError(ErrorKind.CONTEXT_OVERFLOW, "no", limit=63_999))
            assert kinds(events, "limit_learned") == [{"limit": 63_999}]
            context = await engine.context()
            assert (context.limit_source, context.lines.effective) == ("learned", 63_999)

    asyncio.run(main())


@pytest.mark.design("C-6", "C-10")
@pytest.mark.report(22)
def test_room_is_made_by_cutting_then_smaller_then_extraction_then_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            await work(engine, 10)
            await engine.rebuild()
            asked = Switching(monkeypatch).asked
            lines: list[int] = []

            def cutting(works_at: int) -> object:
                async def cut(state: object, line: int) -> bool:
                    lines.append(line)
                    return len(lines) == works_at

                return cut

            await engine.observe(user("x " * 70_000))
            for works_at, ways in ((1, []), (2, [SMALLER]), (3, [SMALLER, EXTRACT])):
                monkeypatch.setattr(recovery, "cut_incoming", cutting(works_at))
                await engine.project()
                assert [one[1:] for one in asked] == ways
                assert {one[0] for one in asked} <= {"overflow"}
                assert lines == [60_800] * works_at
                asked.clear()
                lines.clear()
            monkeypatch.setattr(recovery, "cut_incoming", cutting(0))
            with pytest.raises(WorkFailed, match="newest messages alone do not fit") as stop:
                await engine.project()
            assert "path" in stop.value.next_step

    asyncio.run(main())


@pytest.mark.design("C-6", "R-5", "W-2", "Q-2")
def test_only_what_was_not_sent_is_cut_and_it_stays_so_after_reopening() -> None:
    async def main() -> None:
        store = await memory()
        events: list[EngineEvent] = []
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS, on_event=events.append) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            await engine.rebuild()
            await engine.observe(user(prose(9_000)))
            sent = units((await engine.project()).request, anthropic.encode)
            assert kinds(events, "incoming_cut") == []
            await engine.observe(user(prose(25_000)), user(prose(14_500, 5)))
            assert 57_600 < engine.level().tokens <= 60_800
            cut = await engine.project()
            # A cut is a little more than needed, never less.
            assert 54_000 < cut.level.tokens <= 57_600
            named = kinds(events, "incoming_cut")
            assert len(named) == 1
            assert set(named[0]["messages"]) <= {engine.head - 1, engine.head}
            assert {trim.seq for trim in cut.window.trims} == set(named[0]["messages"])
            cut_units = units(cut.request, anthropic.encode)
            assert cut_units[: len(sent)] == sent
            assert units((await engine.project()).request, anthropic.encode) == cut_units
            assert (await store.messages(engine.session_id))[-2].parts[0].text == prose(25_000)  # type: ignore[union-attr]
        async with await Engine.open(store=store, session_id=engine.session_id, traits=TRAITS) as again:
            assert again.level().tokens == cut.level.tokens
            assert units((await again.project()).request, anthropic.encode) == cut_units
        await store.close()

    asyncio.run(main())
