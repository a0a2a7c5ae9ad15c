"""A session that is closed, killed or opened twice: the same requests, nothing lost, one runner (R-9 to R-12)."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.sessions import prose, reads, says, user
from sojourn.base import SystemClock, UserMistake, WorkFailed
from sojourn.engine import Engine
from sojourn.models import anthropic, chat
from sojourn.record import Message, Session, Text, ToolCall
from sojourn.record.sqlite import SqliteStore
from sojourn.request import problems, units
from sojourn.wire import Traits

TRAITS = Traits(name="test-model", limit=32_000, limit_source="test")


async def _open(store: SqliteStore, session_id: str | None, **options: object) -> Engine:
    session = None if session_id else Session(id="")
    return await Engine.open(store=store, session_id=session_id, session=session, traits=TRAITS, **options)  # type: ignore[arg-type]


@pytest.mark.design("Q-2", "R-5", "P-7")
@pytest.mark.report(45)
def test_a_resumed_request_is_the_old_one_plus_the_new_tail(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "s.db", clock=SystemClock())
        async with await _open(store, None) as engine:
            session_id = engine.session_id
            await engine.observe(user("Go."))
            for step in range(40):
                await engine.project()
                await engine.observe(reads(f"p{step}.py", prose(1_000, step)))
            last = await engine.project()
            assert last.window.number > 1
        await store.close()
        store = await SqliteStore.open(tmp_path / "s.db", clock=SystemClock())
        async with await _open(store, session_id) as engine:
            await engine.observe(says("Going on."), user("And now?"))
            first = await engine.project()
        await store.close()
        for encode in (anthropic.encode, chat.encode):
            before, after = (units(one.request, encode) for one in (last, first))
            assert after[: len(before)] == before
            assert len(after) > len(before)

    asyncio.run(main())


@pytest.mark.design("R-12", "Q-3")
@pytest.mark.report(58)
def test_a_call_without_a_result_is_shown_as_interrupted_and_the_session_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "s.db", clock=SystemClock())
        async with await _open(store, None) as engine:
            session_id = engine.session_id
            running = ToolCall(call_id="c1", name="bash", arguments={"command": "make release"}, state="running")
            await engine.observe(
                user("Release it."), Message(id="", role="assistant", origin="model", parts=(Text("Releasing."), running))
            )
        async with await _open(store, session_id) as engine:
            await engine.observe(user("Continue."))
            projected = await engine.project()
            for protocol in ("anthropic", "chat"):
                assert problems(projected.request, protocol) == []
            assert "outcome unknown" in str(projected.request)
            assert "make release" in str(projected.request)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-11")
@pytest.mark.report(106)
def test_a_second_runner_is_told_who_holds_the_session_and_may_look(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "s.db", clock=SystemClock())
        other = await SqliteStore.open(tmp_path / "s.db", clock=SystemClock())
        async with await _open(store, None) as engine:
            await engine.observe(user("Mine."))
            with pytest.raises(UserMistake, match=f"process {os.getpid()}") as held:
                await _open(other, engine.session_id)
            assert "read-only" in held.value.next_step
            async with await _open(other, engine.session_id, read_only=True) as looking:
                assert looking.level().tokens == engine.level().tokens
                assert (await looking.context()).head == 1
                with pytest.raises(WorkFailed, match="reading only"):
                    await looking.observe(user("Not mine."))
            await engine.observe(says("Still mine."))
        async with await _open(other, engine.session_id) as engine:
            assert engine.head == 2
        await other.close()
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-9", "R-11")
@pytest.mark.report(107)
def test_a_holder_that_was_overtaken_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "s.db", clock=SystemClock())
        async with await _open(store, None) as engine:
            await engine.observe(user("One."))
            await store.release(engine._state.lease)  # type: ignore[arg-type]
            async with await _open(store, engine.session_id) as newer:
                await newer.observe(says("Two."))
                with pytest.raises(WorkFailed, match="another process"):
                    await engine.observe(says("Two as well."))
            stored = await store.messages(engine.session_id)
            assert [message.parts[0].text for message in stored] == ["One.", "Two."]  # type: ignore[union-attr]
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-11", "K-9")
def test_a_writer_that_died_with_its_process_frees_the_slot(tmp_path: Path) -> None:
    async def main() -> None:
        from sojourn.record import Fence, SetSlot, Slot

        store = await SqliteStore.open(tmp_path / "s.db", clock=SystemClock())
        async with await _open(store, None) as engine:
            session_id = engine.session_id
            epoch = engine._state.lease.epoch  # type: ignore[union-attr]
            await store.commit(
                session_id, Fence(epoch=epoch, slot_generation=0), [SetSlot(Slot(running=True, generation=1, mark=5))]
            )
        async with await _open(store, session_id):
            slot = await store.slot(session_id)
            assert (slot.running, slot.generation) == (False, 2)
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-12", "T-4")
def test_killed_at_hundreds_of_points_nothing_acknowledged_is_lost_and_the_next_request_is_valid(tmp_path: Path) -> None:
    tests = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, str(tests / "engine" / "crash_nursery.py"), str(tmp_path / "s.db"), "200", "30", "7"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent / 'src'}"},
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    rounds, acknowledged = map(int, done.stdout.split())
    assert rounds >= 40  # all 200 on a quiet machine; the time is bounded on a loaded one
    assert acknowledged > rounds
