"""Single cases that random stories do not reach, or may not reach yet."""

import asyncio
from pathlib import Path

import pytest

from provider.server import Call, Provider, Reply
from sojourn.agent.types import WindowOpened
from sojourn.base import Finish
from sojourn.config import Settings
from sojourn.config.settings import ModelSettings
from sojourn.models.types import Api
from wire.rig import APIS, Rig, check


@pytest.mark.design("Q-3")
@pytest.mark.parametrize("api", APIS)
def test_half_a_character_leaves_as_something_that_can_be_sent(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider(["Yes.", "Still."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                await rig.open()
                assert (await rig.agent.turn("half a pair \ud83d and a byte \udc80")).finish is Finish.STOP
                await rig.again()
                assert (await rig.agent.turn("And?")).finish is Finish.STOP
                await check(rig)
                assert "half a pair" in provider.requests[-1].said("user")

    asyncio.run(main())


@pytest.mark.design("K-10", "W-2a")
def test_half_a_character_survives_a_window(tmp_path: Path) -> None:
    async def main() -> None:
        with Provider(["Yes.", *[Reply("On.", calls=[Call("read", {"path": "a.txt"})])] * 3, "Done.", "Still."]) as provider:
            async with Rig(tmp_path, provider, "chat") as rig:
                (rig.folder / "a.txt").write_text("words\n" * 50)
                await rig.open()
                await rig.agent.turn("Never write to \udc80.txt, always use half a pair \ud83d.")
                await rig.agent.turn("Read.")
                await rig.agent.engine.rebuild()
                assert (await rig.agent.turn("And?")).finish is Finish.STOP
                assert len(rig.of(WindowOpened)) == 1
                await check(rig)

    asyncio.run(main())


@pytest.mark.design("Q-3", "A-1")
def test_responses_keeps_thinking_where_nobody_said_how_much(tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([Reply("I look.", thinking="Hm.", calls=[Call("read", {"path": "a.txt"})]), "Done."]) as provider:
            async with Rig(tmp_path, provider, "responses") as rig:
                await rig.open()
                assert (await rig.agent.turn("Go.")).finish is Finish.STOP
                first, second = (seen.body for seen in provider.requests)
                assert first["include"] == second["include"] == ["reasoning.encrypted_content"]
                assert [item["encrypted_content"] != "" for item in second["input"] if item["type"] == "reasoning"] == [True]
                await check(rig)

    asyncio.run(main())


@pytest.mark.design("Q-3")
@pytest.mark.report(63)
def test_a_blank_message_behind_thinking_goes_with_it(tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([Reply(" ", thinking="Hm.", calls=[Call("read", {"path": "a.txt"})]), "Done."]) as provider:
            async with Rig(tmp_path, provider, "responses") as rig:
                rig.settings = Settings(model=ModelSettings(thinking="high"))
                await rig.open()
                assert (await rig.agent.turn("Go.")).finish is Finish.STOP

    asyncio.run(main())
