"""The smallest window and the longest history."""

import asyncio
import time
from pathlib import Path

import pytest

from provider.server import Call, Provider, Reply
from sojourn.agent.types import WindowOpened
from sojourn.base import Finish
from sojourn.models.types import Api
from sojourn.record import Message, Text, ToolCall
from wire.rig import APIS, Rig, check


@pytest.mark.design("N4", "C-9", "W-4")
@pytest.mark.report(124)
@pytest.mark.parametrize("api", APIS)
def test_forty_steps_in_sixteen_thousand_tokens(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        limit = 16_000
        steps = [
            Reply(f"Step {n}.", calls=[Call("read", {"path": "a.txt", "offset": 1 + 90 * n, "limit": 90})]) for n in range(39)
        ]
        with Provider([*steps, "Done."], limit=limit) as provider:
            async with Rig(tmp_path, provider, api, limit=limit) as rig:
                (rig.folder / "a.txt").write_text("\n".join(f"{n}: a line with numbers such as {n * 17}" for n in range(4_000)))
                await rig.open()
                ended = await rig.agent.turn("Read it all; never touch b.txt.")
                assert (ended.finish, ended.steps, ended.text) == (Finish.STOP, 40, "Done.")
                await check(rig)
                opened = rig.of(WindowOpened)
                assert len(opened) >= 2
                assert {event.reason for event in opened} == {"usage"}
                assert max(seen.bill.input for seen in provider.requests) <= limit
                assert "never touch b.txt" in provider.requests[-1].said("user")
                stored = await rig.store.messages(rig.session_id or "")
                calls = [part for message in stored for part in message.parts if isinstance(part, ToolCall)]
                assert len(calls) == 39, "nothing of the record is gone"
                assert all("a line with numbers" in str(call.result) for call in calls)

    asyncio.run(main())


WORDS = " ".join(f"word{n % 97} gauge{n % 31}" for n in range(900))


@pytest.mark.design("R-10", "C-8")
@pytest.mark.report(27, 34, 68)
@pytest.mark.parametrize("limit", [64_000, 1_000_000])
def test_a_history_of_a_million_tokens_opens_and_answers(limit: int, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider(["Here."], limit=limit) as provider:
            async with Rig(tmp_path, provider, "anthropic", limit=limit, output_cap=32_000) as rig:
                await rig.open()
                for turn in range(175):
                    await rig.agent.engine.observe(
                        Message(id="", role="user", origin="user", parts=(Text(f"Question {turn}. {WORDS}"),)),
                        Message(id="", role="assistant", origin="model", parts=(Text(f"Answer {turn}. {WORDS}"),)),
                    )
                level = rig.agent.engine.level().tokens
                assert level > 1_000_000
                began = time.process_time()
                await rig.again()
                ended = await rig.agent.turn("Where are we?")
                assert (ended.finish, ended.text) == (Finish.STOP, "Here."), ended
                assert time.process_time() - began < 10
                (sent,) = provider.requests
                assert sent.bill.input <= limit
                assert "Where are we?" in sent.said("user")
                assert "Question 174" in sent.said("user")
                await check(rig)

    asyncio.run(main())
