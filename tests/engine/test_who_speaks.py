"""Whose words are whose: tools, files and writers never speak for the user (M-R5, P-2)."""

import asyncio

import pytest

from engine.holding import encode, sent, text_of
from engine.sessions import engine_for, says, user, work
from sojourn.base import Finish, SystemClock
from sojourn.engine import Engine, Projected
from sojourn.record import (
    Message,
    Reasoning,
    Session,
    Text,
)
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import ReasoningPart, TextPart, Traits


@pytest.mark.design("R-2", "W-1")
@pytest.mark.report(18, 91)
def test_nothing_of_the_engines_becomes_a_message_or_is_quoted_as_the_users() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            said = ["Keep heights in millimetres.", "Now the second batch.\n[sojourn] is our name too"]
            await engine.observe(user(said[0]))
            note = Message(id="", role="user", origin="engine", source="todo", parts=(Text("NOTE OF THE ENGINE"),))
            await engine.observe(note)
            await work(engine, 60)
            await engine.observe(says("First batch done."), user(said[1]))
            await work(engine, 60, start=60)
            await engine.compact()
            await engine.rebuild()
            projected = await engine.project()
            windows = await engine.store.windows(engine.session_id)
            assert len(windows) >= 4
            stored = await engine.store.messages(engine.session_id)
            assert len(stored) == engine.head == 124, "only what was observed is a message"
            assert [m.origin for m in stored].count("user") == 2
            assert [turn.message.seq for turn in await engine.store.turns(engine.session_id, upto=engine.head)] == [64, 1]
            whole = {line for text in said for line in text.split("\n")}
            for window in windows[1:]:
                blocks = "".join(block.text for block in window.opening)
                quoted = [line[2:] for line in blocks.split("\n") if line.startswith("> ")]
                assert quoted
                assert set(quoted) <= whole
                assert "NOTE OF THE ENGINE" not in blocks
                assert blocks.count("This message opens a new context window") == 1, "no opening stands in the next one"
            own = {text_of(message) for message in stored if message.origin == "user"}
            for wire in projected.request.messages:
                for part in wire.parts:
                    if wire.role == "user" and isinstance(part, TextPart) and part.about.kind not in ("opening", "context"):
                        assert part.text in own

    asyncio.run(main())


@pytest.mark.design("W-12", "R-2")
@pytest.mark.report(65)
def test_undo_lists_and_titles_look_at_what_the_user_said_only() -> None:
    async def main() -> None:
        async with await engine_for(64_000) as engine:
            engine_note = Message(id="", role="user", origin="engine", source="todo", parts=(Text("Engine text."),))
            foreign = Message(id="", role="user", origin="import", source="summary", parts=(Text("SUMMARY of it all"),))
            await engine.observe(engine_note, foreign, user("Rename the drain task."), says("Renamed."))
            await engine.observe(engine_note, foreign)
            await work(engine, 30)
            await engine.rebuild()
            await engine.observe(engine_note)
            session = await engine.store.session(engine.session_id)
            assert session is not None
            assert session.title == "Rename the drain task."
            turns = await engine.store.turns(engine.session_id, upto=engine.head)
            assert [turn.message.seq for turn in turns] == [3]
            assert (await engine.undo()).what == "window 2"
            assert (await engine.undo()).what == "the turn at message 3"
            with pytest.raises(Exception, match="nothing to undo"):
                await engine.undo()

    asyncio.run(main())


@pytest.mark.design("Q-3", "R-3")
@pytest.mark.report(60, 62)
def test_thinking_goes_back_byte_for_byte_to_the_model_that_signed_it_and_to_no_other() -> None:
    thought = "  Hm…\t基准 \r\n\n trailing  "

    async def main() -> None:
        store = await SqliteStore.open(None, clock=SystemClock())
        tide = Traits("tide-1", limit=64_000, thinking=True)

        def thinking(projected: Projected) -> list[tuple[str, str, str]]:
            parts = [part for message in projected.request.messages for part in message.parts]
            return [(part.text, part.signature, part.redacted) for part in parts if isinstance(part, ReasoningPart)]

        async with await Engine.open(store=store, session=Session(id=""), traits=tide) as engine:
            signed = Reasoning(thought, "anthropic", "tide-1", "c2ln=")
            hidden = Reasoning("", "anthropic", "tide-1", redacted="cmVk==")
            parts = (signed, hidden, Text("Fine."))
            await engine.observe(user("Go."))
            await engine.observe(
                Message(id="", role="assistant", origin="model", model="tide-1", parts=parts, finish=Finish.STOP)
            )
            await engine.observe(user("On."))
            mixed = (signed, Reasoning("other", "anthropic", "ebb-2", "sig"), Text("Half."))
            await engine.observe(Message(id="", role="assistant", origin="model", parts=mixed, finish=Finish.STOP), user("On."))
            first = await engine.project()
            assert thinking(first) == [(thought, "c2ln=", ""), ("", "", "cmVk==")], "of the mixed message none goes"
            body = encode(first.request)
            assert [b for b in body["messages"][1]["content"] if b["type"] == "thinking"] == [
                {"type": "thinking", "thinking": thought, "signature": "c2ln="}
            ]
        for other in (Traits("ebb-2", limit=64_000, thinking=True), Traits("tide-1", limit=64_000, thinking=False)):
            async with await Engine.open(store=store, session_id=engine.session_id, traits=other) as again:
                projected = await again.project()
                assert thinking(projected) == []
                assert "Fine." in str(projected.request)
                assert "Half." in str(projected.request)
        async with await Engine.open(store=store, session_id=engine.session_id, traits=tide) as again:
            assert sent(await again.project()) == sent(first)
        await store.close()

    asyncio.run(main())
