"""Who runs a session, looking only, and how it ends (R-11, C-17)."""

import asyncio
from typing import Any

import pytest

from engine.sessions import engine_for, prose, says, user, work
from engine.telling import NOW, TRAITS, Scripted, kinds, memory, notices, talked
from sojourn.base import CountingIds, ManualClock, SystemClock, UserMistake, WorkFailed
from sojourn.config import CheckpointSettings, Settings
from sojourn.engine import Engine, EngineEvent, session
from sojourn.engine.joining import _ago
from sojourn.record import (
    Checkpoint,
    Lease,
    Session,
)


@pytest.mark.design("R-11")
def test_a_session_open_for_reading_writes_nothing() -> None:
    async def main() -> None:
        store = await memory(SystemClock())
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            session_id = engine.session_id
        revision = await store.revision(session_id)
        async with await Engine.open(store=store, session_id=session_id, traits=TRAITS, read_only=True) as looking:
            context = await looking.context()
            assert (context.head, context.level, len(looking.in_view)) == (21, looking.level().tokens, 21)
            assert context.watermark == (await store.newest_checkpoint(session_id)).covered_seq  # type: ignore[union-attr]
            assert [message.seq for message in await looking.read(3, 5)] == [4, 5]
            assert await looking.search("part_7")
            assert len(await looking.search("read_file", limit=2)) <= 2
            assert await looking.write_checkpoint() is None
            assert (await looking.project()).level.tokens == context.level
            for act in (looking.observe(says("No.")), looking.rebuild(), looking.undo(), looking.pin("No.")):
                with pytest.raises(WorkFailed, match="open for reading only") as refused:
                    await act
                assert "fork" in refused.value.next_step
            assert await store.holder(session_id) is None
        assert await store.revision(session_id) == revision
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-11")
def test_the_lease_is_renewed_every_quarter_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assert session._RENEW_SECONDS == 5
    monkeypatch.setattr(session, "_RENEW_SECONDS", 0.005)

    async def main() -> None:
        clock = ManualClock()
        store = await memory(clock)
        engine = await Engine.open(store=store, session=Session(id=""), traits=TRAITS, clock=clock)
        lease = engine._state.lease
        assert isinstance(lease, Lease)
        assert lease.expires == NOW + 20_000
        clock.advance(15_000)
        await asyncio.sleep(0.05)
        held = await store.holder(engine.session_id)
        assert held is not None
        assert held.expires == NOW + 35_000
        assert engine._state.lease.epoch == lease.epoch  # type: ignore[union-attr]
        await engine.observe(user("Go."))
        assert await engine.close() is True
        assert await store.holder(engine.session_id) is None
        assert (await store.session(engine.session_id)) is not None  # a host's store stays open
        await store.close()

    asyncio.run(main())


@pytest.mark.design("C-17", "K-9")
def test_an_end_without_waiting_leaves_the_work_to_the_next_process() -> None:
    async def main() -> None:
        store = await memory(SystemClock())
        events: list[EngineEvent] = []
        settings = Settings(checkpoint=CheckpointSettings(thresholds=("20%",)))
        options: dict[str, Any] = {"store": store, "traits": TRAITS, "settings": settings, "on_event": events.append}
        engine = await Engine.open(session=Session(id=""), writer=Scripted(5.0), **options)
        await talked(engine, 14)
        await engine.project()
        await asyncio.sleep(0.01)
        assert await engine.close(wait=0) is False
        assert notices(events) == []
        assert not (await store.slot(engine.session_id)).running
        engine = await Engine.open(session_id=engine.session_id, writer=Scripted(0.01), **options)
        await talked(engine, 1)
        run = asyncio.create_task(engine.write_checkpoint())
        await asyncio.sleep(0)
        assert isinstance(await run, Checkpoint)
        assert await engine.close() is True
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-11")
@pytest.mark.parametrize(
    ("age", "words"), [(0, "0 s ago"), (119_999, "119 s ago"), (120_000, "2 min ago"), (3_600_000, "60 min ago")]
)
def test_since_when_a_session_is_held_in_words(age: int, words: str) -> None:
    assert _ago(NOW - age, ManualClock()) == words
    assert _ago(NOW + 5_000, ManualClock()) == "0 s ago"


@pytest.mark.design("R-4", "R-1")
def test_a_fork_has_its_parents_place_and_a_new_session_its_time() -> None:
    async def main() -> None:
        store, clock = await memory(SystemClock()), ManualClock()
        given = Session(id="", project_id="p", title="T", model="m", agent="a", mode="plan", cwd="/c")
        async with await Engine.open(store=store, session=given, traits=TRAITS, clock=clock, ids=CountingIds()) as engine:
            row = await store.session(engine.session_id)
            assert row is not None
            assert (row.created, row.updated) == (NOW, NOW)
            await engine.observe(user("Go."))
            window = (await engine.project()).window
            clock.advance(10)
            forked = await engine.fork()
            assert forked.id != engine.session_id
            fields = ("project_id", "title", "model", "agent", "mode", "cwd")
            assert [getattr(forked, field) for field in fields] == ["p", "T", "m", "a", "plan", "/c"]
            assert forked.fork_of is not None
            assert (forked.fork_of.session_id, forked.fork_of.window_id, forked.fork_of.seq) == (
                engine.session_id,
                window.id,
                1,
            )
            assert forked.created == NOW + 10
            early = await Engine.open(store=store, session=Session(id="ses_mine", created=7), traits=TRAITS, clock=clock)
            assert early.session_id == "ses_mine"
            assert (await store.session("ses_mine")).created == 7  # type: ignore[union-attr]
            await early.close()
        with pytest.raises(UserMistake, match="no session ses_none"):
            await Engine.open(store=store, session_id="ses_none", traits=TRAITS)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("W-3", "R-15")
def test_pins_share_two_thousand_tokens_to_the_last_one_and_outlive_the_process() -> None:
    async def main() -> None:
        store, clock = await memory(SystemClock()), ManualClock()
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS, clock=clock) as engine:
            count = engine._state.count
            first = await engine.pin(prose(1_200))
            rest = 2_000 - count(prose(1_200))
            words = prose(2_000, 3).split()
            tries = (" ".join(words[:n]) + " a" * more for n in range(rest // 2, 2_000) for more in range(4))
            fits = next(text for text in tries if count(text) == rest)
            over = next(text for n in range(1, 9) if count(text := fits + " tide" * n) > rest)
            with pytest.raises(UserMistake, match=f"takes {count(over):,} tokens; {rest:,} of 2,000 are free") as refused:
                await engine.pin(over)
            assert "take another pin away" in refused.value.next_step
            second = await engine.pin(fits)
            assert (second.text, second.created, second.id[:4]) == (fits, NOW, "pin_")
            with pytest.raises(UserMistake, match="0 of 2,000 are free"):
                await engine.pin("x")
            await engine.unpin(first.id)
            third = await engine.pin("x")
        async with await Engine.open(store=store, session_id=engine.session_id, traits=TRAITS) as again:
            assert [pin.id for pin in again._state.pins] == [second.id, third.id]
            await again.observe(user("Go."))
            opening = (await again.project()).window.opening
            pins = next(block.text for block in opening if block.section == "pins")
            assert f"- {fits}\n- x" in pins
            with pytest.raises(UserMistake, match=f"no pin {first.id}"):
                await again.unpin(first.id)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-4", "W-12")
def test_the_rows_of_undo_and_redo_name_exactly_what_they_take_back() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        clock = ManualClock()
        async with await engine_for(64_000, events=events, clock=clock) as engine:
            await engine.observe(user("One."), says("Yes."))
            await engine.project()
            await engine.observe(user("Two."))
            await work(engine, 12)
            await engine.rebuild()
            clock.advance(9)
            window = await engine.undo()
            assert (window.undo.kind, window.undo.after_seq, window.undo.upto_seq, window.undo.created) == (
                "window",
                0,
                15,
                NOW + 9,
            )
            assert window.undo.window_id is not None
            back = await engine.redo()
            assert back.what == f"the undo of {window.undo.window_id}"
            assert (back.undo.closes, back.undo.window_id, back.undo.kind) == (window.undo.id, window.undo.window_id, "window")
            assert engine._state.view.window.number == 2
            with pytest.raises(UserMistake, match="no undo"):
                await engine.redo()
            await engine.undo()
            turn = await engine.undo()
            assert (turn.what, turn.undo.kind, turn.undo.after_seq, turn.undo.upto_seq) == (
                "the turn at message 3",
                "turn",
                2,
                15,
            )
            assert turn.level == engine.level().tokens
            back = await engine.redo()
            assert back.what == "the undo of messages 3 to 15"
            assert (back.undo.after_seq, back.undo.upto_seq, back.undo.created) == (2, 15, NOW + 9)
            # The window's undo is the newest one that still stands.
            assert (await engine.redo()).undo.window_id == window.undo.window_id
            assert [detail["what"] for detail in kinds(events, "undone")][:2] == ["window 2", back_of(window.undo.window_id)]
            assert {detail["over_hard"] for detail in kinds(events, "undone")} == {False}

    asyncio.run(main())


def back_of(window_id: str | None) -> str:
    return f"the undo of {window_id}"
