"""An answer's life in the record: its call before the request leaves, its parts as they come, its end (R-15, A-7)."""

import asyncio

import msgspec
import pytest

from engine.sessions import engine_for, prose, reads, says, user
from sojourn.base import Finish, ManualClock, Usage, UserMistake
from sojourn.engine.looking import numbered_request, request_of
from sojourn.models import ENCODERS, canonical
from sojourn.prefix import build, section
from sojourn.record import Notice, Session, Text, ToolCall
from sojourn.record.sqlite import SqliteStore
from sojourn.request import changed_part
from sojourn.wire import Traits

USAGE = Usage(fresh=100, cached=0, written=900, output=20)


def a_prefix(words: str = "You are here.", tools: tuple[str, ...] = ("read",)):
    sections = [section("identity_line", "sojourn", "system", "stable", words)]
    return build(sections, [{"name": name, "description": f"{name} it", "schema": {"type": "object"}} for name in tools])


def body(request) -> bytes:
    return canonical(ENCODERS["anthropic"](request))


@pytest.mark.design("R-15", "R-4")
def test_the_call_and_the_shell_of_its_answer_stand_in_the_record_before_the_request_leaves() -> None:
    async def main() -> None:
        engine = await engine_for()
        await engine.observe(user("go"))
        projected = await engine.project()
        answer = await engine.start_answer()
        (call,) = await engine.store.calls(engine.session_id)
        assert (call.id, call.message_id, call.upto_seq) == (answer.call_id, answer.message_id, projected.upto_seq)
        assert call.ended is None
        assert call.usage is None
        shell = await engine.store.message(engine.session_id, answer.message_id)
        assert shell is not None
        assert (shell.seq, shell.parts, shell.finish) == (answer.seq, (), None)
        await engine.settle_parts(answer.message_id, {0: Text("on the way")})
        calls = {1: ToolCall("c1", "read", {"path": "a"})}
        await engine.end_answer(calls, finish=Finish.TOOL_CALLS, usage=USAGE)
        (call,) = await engine.store.calls(engine.session_id)
        assert (call.usage, call.finish, call.verdict) == (USAGE, Finish.TOOL_CALLS, "first")
        stored = await engine.store.message(engine.session_id, answer.message_id)
        assert stored is not None
        assert [type(part).__name__ for part in stored.parts] == ["Text", "ToolCall"]
        assert stored.finish is Finish.TOOL_CALLS
        assert engine.level().tokens == USAGE.input + USAGE.output, "the level rests on what was reported"
        done = msgspec.structs.replace(calls[1], state="completed", result=(Text("text of a"),))
        await engine.settle_parts(answer.message_id, {1: done})
        second = await engine.project()
        text = body(second.request).decode()
        assert text.index("on the way") < text.index('"c1"') < text.index("text of a")
        with pytest.raises(UserMistake, match="without a request"):
            await (await engine_for()).start_answer()

    asyncio.run(main())


@pytest.mark.design("R-12", "C-10")
def test_an_answer_that_failed_leaves_its_error_and_no_trace_in_the_next_request() -> None:
    async def main() -> None:
        engine = await engine_for()
        await engine.observe(user("go"))
        first = await engine.project()
        await engine.start_answer()
        await engine.end_answer({}, finish=Finish.ERROR, error="unavailable: no route")
        (call,) = await engine.store.calls(engine.session_id)
        assert (call.error, call.finish, call.usage) == ("unavailable: no route", Finish.ERROR, None)
        again = await engine.project()
        assert again.request.messages == first.request.messages
        await engine.start_answer()
        await engine.end_answer({0: Text("half a sent")}, finish=Finish.INTERRUPTED)
        await engine.observe(user("go on"))
        assert "half a sent" in body((await engine.project()).request).decode(), "what was said before the stop stays"

    asyncio.run(main())


@pytest.mark.design("R-15", "A-3")
def test_a_request_that_leaves_again_after_settled_parts_has_a_row_of_its_own() -> None:
    async def main() -> None:
        engine = await engine_for()
        await engine.observe(user("go"))
        await engine.project()
        first = await engine.start_answer()
        await engine.settle_parts(first.message_id, {0: Text("begun")})
        await engine.end_answer({}, finish=Finish.ERROR, error="overloaded: busy")
        second = await engine.start_answer(again=True)
        await engine.end_answer({0: Text("whole")}, finish=Finish.STOP, usage=USAGE)
        one, two = await engine.store.calls(engine.session_id)
        assert (one.message_id, two.message_id) == (first.message_id, second.message_id)
        assert (one.upto_seq, two.upto_seq) == (1, 1)
        assert one.error
        assert not two.error

    asyncio.run(main())


@pytest.mark.design("A-7")
def test_each_answer_is_judged_by_what_the_cache_should_have_given() -> None:
    async def main() -> None:
        clock = ManualClock()
        store = await SqliteStore.open(None, clock=clock)
        session = await store.create(Session(id="ses", model="test-model"))
        options = {"store": store, "session_id": session.id, "session": session, "clock": clock}

        async def step(engine, text: str, cached: int | None, input: int = 10_000) -> str:
            await engine.observe(user(text))
            await engine.project()
            await engine.start_answer()
            usage = Usage(fresh=input - (cached or 0), cached=cached, output=5)
            watched = await engine.end_answer({0: Text("ok")}, finish=Finish.STOP, usage=usage)
            return watched.verdict

        engine = await engine_for(prefix=a_prefix(), **options)
        assert await step(engine, "one", 0) == "first"
        assert await step(engine, "two", 9_990) == "hit"
        assert await step(engine, "three", 8_000) == "hit", "2,000 tokens less are no drop"
        assert await step(engine, "four", 7_999) == "unknown"
        assert await step(engine, "five", None) == "not_reported"
        assert await step(engine, "six", 9_990) == "hit"
        clock.advance(300_000)
        assert await step(engine, "seven", 0) == "unknown", "at its last second the cache still holds"
        clock.advance(300_001)
        assert await step(engine, "eight", 0) == "ttl_expired"
        assert await engine.change_prefix(a_prefix("You are here now."), "style")
        assert await step(engine, "nine", 0) == "prefix_changed: system/identity_line"
        await engine.rebuild()
        assert await step(engine, "ten", 0) in ("new_window", "unknown")
        await engine.close()
        resumed = await engine_for(prefix=a_prefix("Another day."), **options)
        assert await step(resumed, "eleven", 9_990) == "hit", "a resumed session knows what was sent before"
        verdicts = [call.verdict for call in await store.calls(session.id)]
        assert verdicts[:3] == ["first", "hit", "hit"]
        await resumed.close()

    asyncio.run(main())


@pytest.mark.design("A-7", "C-12")
def test_a_new_window_is_named_as_the_reason_of_a_smaller_read() -> None:
    async def main() -> None:
        engine = await engine_for(limit=24_000)
        verdicts: list[tuple[bool, str]] = []
        last = ""
        for number in range(16):
            await engine.observe(user(f"task {number}"))
            projected = await engine.project()
            await engine.start_answer()
            size = projected.level.tokens
            new = bool(verdicts) and projected.window.id != last
            last = projected.window.id
            cached = 0 if new or not verdicts else size - 100
            usage = Usage(fresh=size - cached, cached=cached, output=2_200)
            watched = await engine.end_answer({0: Text(prose(2_200, number))}, finish=Finish.STOP, usage=usage)
            verdicts.append((new, watched.verdict))
        assert (True, "new_window") in verdicts
        assert all(verdict == "hit" for new, verdict in verdicts[1:] if not new)
        assert all(verdict == "new_window" for new, verdict in verdicts[1:] if new)

    asyncio.run(main())


@pytest.mark.design("P-7")
@pytest.mark.report(48)
def test_a_prefix_changes_inside_a_window_for_a_named_reason_and_says_its_price() -> None:
    async def main() -> None:
        clock = ManualClock()
        store = await SqliteStore.open(None, clock=clock)
        session = await store.create(Session(id="ses"))
        events: list = []
        options = {"store": store, "session_id": session.id, "session": session, "clock": clock}
        old, new = a_prefix(), a_prefix(tools=("read", "write"))
        engine = await engine_for(prefix=old, events=events, **options)
        await engine.observe(user("go"), says(prose(500)))
        await engine.project()
        assert not await engine.change_prefix(old, "tools"), "the same bytes are no change"
        assert await engine.change_prefix(new, "tools")
        (event,) = [event for event in events if event.kind == "prefix_changed"]
        assert event.detail["reason"] == "tools"
        assert (event.detail["before"], event.detail["after"]) == (old.id, new.id)
        assert event.detail["part"] == "the end of the tools"
        assert event.detail["tokens_afresh"] > 400
        (message,) = [m for m in await store.messages(session.id) if m.source == "prefix_changed"]
        (notice,) = message.parts
        assert isinstance(notice, Notice)
        assert notice.detail["after"] == new.id
        projected = await engine.project()
        assert [tool.name for tool in projected.request.tools] == ["read", "write"]
        assert "prefix changed" not in body(projected.request).decode(), "a notice is for people"
        await engine.start_answer()
        await engine.end_answer({0: Text("ok")}, finish=Finish.STOP, usage=USAGE)
        await engine.close()
        resumed = await engine_for(prefix=a_prefix("Other words."), **options)
        assert resumed.prefix is not None
        assert resumed.prefix.id == new.id, "what was in force last is in force again"
        await resumed.close()

    asyncio.run(main())


@pytest.mark.design("R-15", "N6")
def test_every_request_can_be_made_again_from_the_record() -> None:
    async def main() -> None:
        engine = await engine_for(limit=24_000, prefix=a_prefix())
        bodies = []
        for number in range(22):
            await engine.observe(user(f"task {number}"))
            projected = await engine.project()
            bodies.append(body(projected.request))
            await engine.start_answer()
            usage = Usage(fresh=projected.level.tokens, output=2_500)
            await engine.end_answer({0: Text(prose(2_500, number))}, finish=Finish.STOP, usage=usage)
            if number == 5:
                await engine.undo()
        store, session_id = engine.store, engine.session_id
        assert len(await store.windows(session_id)) > 2
        for number, sent in enumerate(bodies, 1):
            call, request = await numbered_request(store, session_id, number)
            assert body(request) == sent, f"request {number}"
            assert call.upto_seq
        for wrong in (0, len(bodies) + 1):
            with pytest.raises(UserMistake, match="there is no request"):
                await numbered_request(store, session_id, wrong)

    asyncio.run(main())


@pytest.mark.design("A-7")
def test_the_first_part_that_differs_is_named_with_what_lies_before_it() -> None:
    async def main() -> None:
        engine = await engine_for(prefix=a_prefix())
        await engine.observe(user("go"), reads("a.py", "text of a"))
        one = (await engine.project()).request
        await engine.observe(says("done"), user("more"))
        two = (await engine.project()).request
        assert changed_part(one, two) is None
        back = changed_part(two, one)
        assert back is not None
        assert "message 3" in back.part
        model = msgspec.structs.replace(two, settings=msgspec.structs.replace(two.settings, model="other"))
        assert changed_part(one, model).part == "settings"
        no_tools = msgspec.structs.replace(two, tools=())
        assert changed_part(one, no_tools).part == "tool read"
        assert changed_part(no_tools, one).part == "the end of the tools"

    asyncio.run(main())


@pytest.mark.design("P-4", "W-9")
def test_the_sources_of_the_prefix_are_read_anew_for_each_window() -> None:
    async def main() -> None:
        read = 0

        async def refresh():
            nonlocal read
            read += 1
            return a_prefix(f"Read {read} times.")

        engine = await engine_for(limit=24_000, prefix=a_prefix("Read at the start."), refresh_prefix=refresh)
        await engine.observe(user("go"))
        assert "Read at the start." in body((await engine.project()).request).decode()
        assert read == 0, "the first window has what was read when the session was opened"
        for number in range(12):
            await engine.observe(says(prose(2_000, number)), user("more"))
            await engine.project()
        assert engine.window.number > 1
        assert f"Read {read} times." in body((await engine.project()).request).decode()

    asyncio.run(main())


@pytest.mark.design("R-15")
def test_a_stored_request_needs_only_its_row() -> None:
    async def main() -> None:
        engine = await engine_for(prefix=a_prefix(), protocol="chat")
        await engine.observe(user("go"))
        sent = (await engine.project()).request
        await engine.start_answer()
        await engine.end_answer({0: Text("ok")}, finish=Finish.STOP, usage=USAGE)
        (call,) = await engine.store.calls(engine.session_id)
        made = await request_of(engine.store, engine.session_id, call)
        assert canonical(ENCODERS["chat"](made)) == canonical(ENCODERS["chat"](sent))
        assert msgspec.convert(call.settings["traits"], Traits).protocol == "chat"

    asyncio.run(main())
