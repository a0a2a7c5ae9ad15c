"""What is observed: ids, times, finishes, titles, the same ids again (R-4)."""

import asyncio

import msgspec
import pytest

from engine.sessions import engine_for, prose, says, user
from engine.telling import NOW
from sojourn.base import Finish, ManualClock, Usage, WorkFailed
from sojourn.meter import message_tokens, total
from sojourn.record import (
    File,
    Message,
    Session,
    Text,
    ToolCall,
)


@pytest.mark.design("R-2", "R-1")
def test_what_is_observed_gets_id_time_and_seq_and_the_session_its_title() -> None:
    async def main() -> None:
        clock = ManualClock()
        async with await engine_for(64_000, clock=clock) as engine:
            assert await engine.observe() == ()
            assert engine.head == 0
            engines = Message(id="own", role="user", origin="engine", source="todo", parts=(Text("Not a title."),), created=5)
            clock.advance(7)
            stored = await engine.observe(engines, says("Hello."), user("  \n"))
            assert [(m.seq, m.session_id) for m in stored] == [(n, engine.session_id) for n in (1, 2, 3)]
            assert (stored[0].id, stored[0].created, stored[1].created) == ("own", 5, NOW + 7)
            assert stored[1].id.startswith("msg_")
            assert (await engine.context()).title == ""
            await engine.observe(user("Rename  the\n drain task " + "x" * 100), user("Later words."))
            title = ("Rename the drain task " + "x" * 100)[:80]
            assert (await engine.context()).title == title
            await engine.observe(user("Other words."))
            row = await engine.store.session(engine.session_id)
            assert row is not None
            assert row.title == title
        async with await engine_for(64_000, session=Session(id="", title="Given")) as engine:
            await engine.observe(user("Not this."))
            assert (await engine.context()).title == "Given"

    asyncio.run(main())


@pytest.mark.design("R-4", "R-3", "M-2", "Y-5")
def test_a_result_that_comes_later_is_counted_capped_and_final() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            await engine.observe(user("Go."))
            await engine.project()
            call = ToolCall(call_id="c1", name="bash", arguments={"command": "make"}, state="running")
            message = Message(id="", role="assistant", origin="model", parts=(call,), finish=Finish.TOOL_CALLS)
            stored = (await engine.observe(message))[0]
            before = engine.level().tokens
            text = prose(20_000)
            await engine.settle(stored.id, 0, msgspec.structs.replace(call, state="completed", result=(Text(text),)))
            settled = engine.in_view[-1].parts[0]
            assert isinstance(settled, ToolCall)
            excerpt = settled.result[0]
            assert isinstance(excerpt, File)
            assert 7_500 < total(excerpt.tokens) <= 8_640
            assert engine.level().tokens == before + total(excerpt.tokens)
            with pytest.raises(WorkFailed):
                await engine.settle(stored.id, 0, msgspec.structs.replace(call, state="completed", result=(Text("Other."),)))
            assert engine.in_view[-1].parts[0] == settled
            request = (await engine.project()).request
            assert text[:200] in str(request).replace("\\n", "\n")

    asyncio.run(main())


@pytest.mark.design("R-15", "M-2", "M-5")
def test_a_calls_row_says_what_was_asked_answered_and_paid() -> None:
    async def main() -> None:
        clock = ManualClock()
        async with await engine_for(64_000, clock=clock) as engine:
            await engine.observe(user("Go."))
            projected = await engine.project()
            estimate = engine._state.view.estimate()
            answer = (await engine.observe(says("Done."), user("More."), says("Again.")))[0]
            clock.advance(900)
            await engine.observe_usage(Usage(fresh=4_000, output=9), finish=Finish.STOP, price=0.25)
            call = (await engine.store.calls(engine.session_id))[0]
            assert (call.purpose, call.upto_seq, call.window_id, call.message_id) == ("main", 1, projected.window.id, answer.id)
            assert (call.model, call.estimate, call.price, call.finish) == ("test-model", estimate, 0.25, Finish.STOP)
            assert (call.started, call.ended, call.usage) == (NOW + 900, NOW + 900, Usage(fresh=4_000, output=9))
            assert call.prefix_id is None
            # One report has taught the ratio: what came after the answer counts more than the estimate says.
            after = sum(total(message_tokens(m)) for m in engine.in_view[2:])
            assert engine.level().tokens > 4_009 + after

    asyncio.run(main())
