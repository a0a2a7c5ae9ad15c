"""What a session keeps beside its messages: prefix, pins, inbox, forks, calls (R-4, R-7, R-9, R-15, P-7)."""

import asyncio

import msgspec
import pytest

from engine.sessions import engine_for, prose, reads, says, user, work
from sojourn.base import Finish, Item, Section, SystemClock, Usage, UserMistake
from sojourn.checkpoint import WriterInput, Written
from sojourn.engine import Engine
from sojourn.models import ENCODERS
from sojourn.prefix import build, section
from sojourn.record import Fence, ForkOf, InboxRow, Message, PrefixSnapshot, PutInbox, Session, Text, ToolCall
from sojourn.record.sqlite import SqliteStore
from sojourn.request import units
from sojourn.wire import Traits

TRAITS = Traits(name="test-model", limit=64_000)


def prefix(rules: str) -> PrefixSnapshot:
    return build([section("rules", "test", "system", "stable", rules)], [])


@pytest.mark.design("P-7", "R-7", "W-9")
@pytest.mark.report(48)
def test_a_session_keeps_its_frozen_prefix_until_the_next_window() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS, prefix=prefix("Rules v1")) as engine:
            session_id = engine.session_id
            await engine.observe(user("Go."))
            await work(engine, 20)
            first = await engine.project()
        async with await Engine.open(store=store, session_id=session_id, traits=TRAITS, prefix=prefix("Rules v2")) as engine:
            resumed = await engine.project()
            assert resumed.request.system == first.request.system
            assert "Rules v1" in resumed.request.system[0].text
            await engine.rebuild()
            rebuilt = await engine.project()
            assert "Rules v2" in rebuilt.request.system[0].text
        async with await Engine.open(store=store, session_id=session_id, traits=TRAITS) as engine:
            assert (await engine.project()).request.system == rebuilt.request.system
        await store.close()

    asyncio.run(main())


@pytest.mark.design("W-3", "R-15")
@pytest.mark.report(14)
def test_a_pin_stands_in_every_later_window_until_it_is_taken_away() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            pin = await engine.pin("Do not use the arrow library today.")
            await work(engine, 130)
            opened = [w for w in await engine.store.windows(engine.session_id) if w.kind == "rebuild"]
            assert len(opened) >= 2
            for window in opened:
                assert "Do not use the arrow library today." in "".join(block.text for block in window.opening)
            await engine.unpin(pin.id)
            done = await engine.rebuild()
            assert done.window is not None
            assert "arrow library" not in "".join(b.text for b in done.window.opening if b.section == "pins")
            with pytest.raises(UserMistake, match="no pin"):
                await engine.unpin("pin_none")

    asyncio.run(main())


@pytest.mark.design("W-3")
def test_a_pin_that_does_not_fit_is_refused_when_it_is_made() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            with pytest.raises(UserMistake, match=r"2,000 of 2,000 are free"):
                await engine.pin(prose(4_000))
            with pytest.raises(UserMistake, match="empty"):
                await engine.pin(" \n")
            await engine.pin(prose(1_200))
            with pytest.raises(UserMistake, match="are free"):
                await engine.pin(prose(1_200, 1))
            assert len(await engine.store.pins(engine.session_id)) == 1

    asyncio.run(main())


@pytest.mark.design("R-9")
@pytest.mark.report(104)
def test_text_sent_to_a_running_session_enters_at_the_next_safe_point_once() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."), reads("a.py", "x = 1"))
            for number in (1, 2):
                row = PutInbox(InboxRow(id=f"in{number}", text=f"Also look at part {number}.", created=number))
                await engine.store.commit(engine.session_id, Fence(epoch=0), [row])
            request = (await engine.project()).request
            assert "Also look at part 1." in str(request.messages[-1])
            assert "Also look at part 2." in str(request.messages[-1])
            assert list(await engine.store.inbox(engine.session_id)) == []
            await engine.project()
            texts = [m.parts[0].text for m in await engine.store.messages(engine.session_id) if m.role == "user"]  # type: ignore[union-attr]
            assert texts == ["Go.", "Also look at part 1.", "Also look at part 2."]

    asyncio.run(main())


@pytest.mark.design("R-4")
def test_a_fork_begins_with_the_parents_view_and_goes_its_own_way() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            await engine.rebuild()
            await engine.observe(says("Done so far."))
            parent = await engine.project()
            forked = await engine.fork()
            async with await Engine.open(store=store, session_id=forked.id, traits=TRAITS) as branch:
                assert (await branch.project()).request.messages == parent.request.messages
                stored = await branch.observe(user("Another way."))
                assert stored[0].seq == engine.head + 1
            await engine.observe(user("The same way."))
            assert "Another way." not in str((await engine.project()).request)
        assert len(await store.messages(forked.id)) == 23
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-4")
def test_a_fork_at_a_message_asks_as_its_parent_asked_there() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            await engine.rebuild()
            await engine.observe(says("Done so far."))
            then, head = await engine.project(), engine.head
            window = engine.window.id
            await engine.accept_plan(head)
            await engine.observe(user("Now the wrong way."))
            await engine.observe(says("As you say."))
            await engine.rebuild()
            await engine.observe(user("Stop."))
            await engine.undo()
            forked = await engine.fork(at=head)
            assert (forked.head, forked.plan_seq) == (head, head)
            assert forked.fork_of == ForkOf(engine.session_id, window, head)
            async with await Engine.open(store=store, session_id=forked.id, traits=TRAITS) as branch:
                assert (await branch.project()).request.messages == then.request.messages
                with pytest.raises(UserMistake, match="no undo"):
                    await branch.redo()
                await branch.observe(user("The right way."))
                assert "The right way." in str((await branch.project()).request)
            earlier = await engine.fork(at=head - 1)
            assert (earlier.head, earlier.plan_seq) == (head - 1, 0)
            count = len(await store.sessions())
            for absent in (0, engine.head, engine.head + 1):  # the newest is undone
                with pytest.raises(UserMistake, match=f"no message m{absent} in its view") as caught:
                    await engine.fork(at=absent)
                assert caught.value.next_step
            assert len(await store.sessions()) == count
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-15", "Q-2")
def test_each_call_has_a_row_with_the_hashes_of_what_is_new_in_it() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            for step in range(3):
                await engine.project()
                await engine.observe(reads(f"p{step}.py", f"value = {step}"))
                await engine.observe_usage(Usage(fresh=100 * step + 50, output=7), finish=Finish.TOOL_CALLS)
            calls = await engine.store.calls(engine.session_id)
            assert [call.upto_seq for call in calls] == [1, 2, 3]
            assert [call.usage.fresh for call in calls if call.usage] == [50, 150, 250]
            assert [call.message_id is not None for call in calls] == [True] * 3
            # settings and the user's text; then a call and its result more in each.
            assert [call.unit_hashes[0] for call in calls] == ["+0", "+2", "+4"]
            assert [len(call.unit_hashes) - 1 for call in calls] == [2, 2, 2]

    asyncio.run(main())


def test_usage_before_any_request_is_a_mistake() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            with pytest.raises(UserMistake, match="before any project"):
                await engine.observe_usage(Usage(fresh=1))

    asyncio.run(main())


@pytest.mark.design("P-7", "W-12")
def test_undoing_a_window_brings_its_prefix_back() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS, prefix=prefix("Rules v1")) as engine:
            await engine.observe(user("Go."))
            await work(engine, 20)
            first = await engine.project()
            engine.offer_prefix(prefix("Rules v2"))
            await engine.rebuild()
            assert "Rules v2" in (await engine.project()).request.system[0].text
            await engine.undo()
            again = await engine.project()
            assert units(again.request, ENCODERS["anthropic"]) == units(first.request, ENCODERS["anthropic"])
        await store.close()

    asyncio.run(main())


@pytest.mark.design("Q-2", "S-8")
def test_looking_changes_nothing_and_a_result_settled_after_a_look_reaches_the_model() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            call = ToolCall(call_id="c", name="bash", arguments={"command": "make"}, state="running")
            (message,) = await engine.observe(Message(id="", role="assistant", origin="model", parts=(call,)))
            await engine.context()
            done = msgspec.structs.replace(call, state="completed", result=(Text("built in 3 s"),))
            await engine.settle(message.id, 0, done)
            request = str((await engine.project()).request)
            assert "built in 3 s" in request
            assert "outcome unknown" not in request

    asyncio.run(main())


@pytest.mark.design("C-2")
def test_a_request_asks_for_no_more_than_the_model_can_give() -> None:
    async def main() -> None:
        for protocol, cap, asked in (
            ("anthropic", 2_000, 2_000),
            ("anthropic", None, 32_000),
            ("anthropic", 100_000, 63_994),
            ("chat", 100_000, 63_994),
            ("chat", None, None),
            ("gemini", None, None),
        ):
            traits = Traits(name="test-model", limit=64_000, output_cap=cap, protocol=protocol)  # type: ignore[arg-type]
            async with await Engine.open(session=Session(id=""), traits=traits) as engine:
                await engine.observe(user("Go."))
                projected = await engine.project()
                assert projected.level.tokens == 6
                assert projected.request.settings.max_output == asked

    asyncio.run(main())


@pytest.mark.design("R-9")
def test_the_same_message_again_stands_in_the_view_once() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            message = msgspec.structs.replace(user("Go."), id="msg_mine")
            first = await engine.observe(message)
            again = await engine.observe(message)
            assert [one.seq for one in first] == [one.seq for one in again] == [1]
            assert [one.seq for one in engine.in_view] == [1]

    asyncio.run(main())


@pytest.mark.design("M-2", "R-4")
def test_after_an_undone_turn_the_level_rests_on_no_call_of_it() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."), says("Gone."), user("And on."))
            await engine.project()
            await engine.observe(says("Far on."))
            await engine.observe_usage(Usage(fresh=60_000, output=5))
            assert engine.level().tokens > 60_000
            undone = await engine.undo()
            assert undone.level < 1_000
            assert not undone.over_hard

    asyncio.run(main())


@pytest.mark.design("R-1")
def test_a_window_that_is_refused_leaves_no_session_behind() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        with pytest.raises(UserMistake, match="too small"):
            await Engine.open(store=store, session=Session(id=""), traits=Traits(limit=7_999))
        assert list(await store.sessions()) == []
        await store.close()

    asyncio.run(main())


@pytest.mark.design("K-6")
def test_no_writers_answer_is_taken_unseen() -> None:
    async def main() -> None:
        class Loose:
            name = "model"
            forks = False

            async def write(self, run: WriterInput) -> Written:
                good = Item("k1", Section.KNOWLEDGE, "password = hunter2hunter2 for the gauge", sources=(1, 9_999))
                return Written((good, Item("k2", "gossip", "x"), Item("k3", Section.NEXT, "  ")))  # type: ignore[arg-type]

        async with await engine_for(64_000, writer=Loose()) as engine:
            await engine.observe(user("Go."))
            await work(engine, 14)
            row = await engine.store.newest_checkpoint(engine.session_id)
            assert row is not None
            (item,) = row.items
            assert "hunter2" not in item.text
            assert item.sources == (1,)
            assert len(row.refused) == 2

    asyncio.run(main())
