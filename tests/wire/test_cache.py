"""What the provider's cache gives and costs over a session, by the provider's own bill."""

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from provider.server import Call, Provider, Reply, Seen
from sojourn.agent.types import Metered, WindowOpened
from sojourn.base import Finish
from sojourn.models.types import Api
from sojourn.record import Text
from sojourn.tools import CORE, Desk, Outcome, Tool
from wire.rig import APIS, Rig, check, left


def read(number: int) -> Reply:
    return Reply(f"Step {number}: I read on.", calls=[Call("read", {"path": "a.txt", "offset": 1 + 60 * number, "limit": 60})])


def put_text(rig: Rig, lines: int = 4_000) -> None:
    (rig.folder / "a.txt").write_text("\n".join(f"{n}: line of a file with numbers such as {n * 17}" for n in range(lines)))


def marks(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(marks(one) for one in value.values())
    return sum(marks(one) for one in value) if isinstance(value, list) else 0


async def windows(rig: Rig) -> dict[int, str | None]:
    """The window of each body that left, by the provider's number."""
    return {seen.number: call.window_id for seen, call in zip(left(rig.provider), await rig.calls(), strict=True)}


@pytest.mark.design("Q-5", "Q-2", "A-7")
def test_over_sixty_steps_the_marks_pay(tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([*map(read, range(59)), "Done."]) as provider:
            async with Rig(tmp_path, provider, "anthropic", limit=40_000) as rig:
                put_text(rig)
                await rig.open()
                ended = await rig.agent.turn("Read it all.")
                assert (ended.finish, ended.steps) == (Finish.STOP, 60)
                await check(rig)
                sent = provider.requests
                assert len(sent) == 60
                share = sum(seen.bill.read for seen in sent) / sum(seen.bill.input for seen in sent)
                assert share > 0.85, share
                assert [marks(seen.body) for seen in sent[:2]] == [3, 4]
                assert max(marks(seen.body) for seen in sent) == 4
                within = await windows(rig)
                opened = 0
                for before, seen in pairwise(sent):
                    if within[before.number] == within[seen.number]:
                        assert seen.bill.read == before.bill.input, "all of the request before it"
                        assert seen.bill.fresh == 0
                    else:
                        opened += 1
                        stable = sum(
                            unit.tokens for unit in seen.units if unit.label.startswith(("tool ", "system 1", "system 2"))
                        )
                        assert seen.bill.read >= stable > 1_024, "tools and the stable system block survive the window"
                assert opened == len(rig.of(WindowOpened)) >= 1
                assert provider.bill() < 0.35 * sum(seen.bill.input for seen in sent)

    asyncio.run(main())


@pytest.mark.design("Q-5", "A-7")
@pytest.mark.parametrize("api", ["chat", "responses", "gemini"])
def test_prefix_caches_are_read_too(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([*map(read, range(39)), "Done."]) as provider:
            async with Rig(tmp_path, provider, api, limit=40_000) as rig:
                put_text(rig)
                await rig.open()
                assert (await rig.agent.turn("Read it all.")).finish is Finish.STOP
                await check(rig)
                sent = provider.requests
                share = sum(seen.bill.read for seen in sent) / sum(seen.bill.input for seen in sent)
                assert share > 0.85, share

    asyncio.run(main())


@pytest.mark.design("A-7")
def test_a_cache_that_expired_is_told_as_such(tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([*map(read, range(8)), "Done.", "Again.", "Once more."]) as provider:
            async with Rig(tmp_path, provider, "anthropic", limit=64_000) as rig:
                put_text(rig)
                await rig.open()
                await rig.agent.turn("Read.")
                rig.pass_time(299)
                await rig.agent.turn("Still there?")
                assert rig.of(Metered)[-1].verdict == "hit", "every read keeps it"
                rig.pass_time(360)
                await rig.agent.turn("And now?")
                assert rig.of(Metered)[-1].verdict == "ttl_expired"
                assert provider.requests[-1].bill.read == 0
                await check(rig, may_break=["ttl_expired"])
                assert provider.breaks() == [], "nothing of ours broke it"

    asyncio.run(main())


@pytest.mark.design("P-7", "Q-2", "Q-5")
@pytest.mark.report(45, 47)
@pytest.mark.parametrize("api", APIS)
def test_headless_the_cached_part_grows_with_every_run(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([*map(read, range(6)), "One.", read(6), "Two.", read(7), "Three.", read(8), "Four."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                put_text(rig)
                await rig.open(surface="terminal")
                await rig.agent.turn("Begin.")
                reads: list[int] = []
                for prompt in ("And?", "Go on.", "End."):
                    last = provider.requests[-1]
                    await rig.again()
                    rig.pass_time(60)
                    await rig.agent.turn(prompt)
                    first = provider.requests[-2]
                    units = [unit.data for unit in last.units]
                    assert [unit.data for unit in first.units][: len(units)] == units, "the old request and a new tail"
                    assert len(first.units) >= len(units) + 2
                    assert first.bill.read >= last.bill.input - 128
                    reads.append(first.bill.read)
                assert reads == sorted(set(reads))
                assert {event.verdict for event in rig.of(Metered)[1:]} == {"hit"}
                await check(rig)

    asyncio.run(main())


def fixed_part(seen: Seen) -> list[bytes]:
    """Tools and system blocks."""
    if seen.api in ("anthropic", "gemini"):
        return [unit.data for unit in seen.units if unit.label.startswith(("tool ", "system "))]
    tools = [unit.data for unit in seen.units if unit.label.startswith("tool ")]
    system = []
    for unit in seen.units:
        if unit.label.startswith("message"):
            if b'"role":"system"' not in unit.data and b'"role":"developer"' not in unit.data:
                break
            system.append(unit.data)
    return [*tools, *system, *(unit.data for unit in seen.units if unit.label.startswith("system "))]


@pytest.mark.design("P-7", "Q-5")
@pytest.mark.report(54, 56)
@pytest.mark.parametrize("api", APIS)
def test_a_rebuild_keeps_tools_and_system_byte_for_byte(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([*map(read, range(12)), "Done.", "After.", "More."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                put_text(rig)
                (rig.folder / "AGENTS.md").write_text("Be brief.\n")
                await rig.open()
                await rig.agent.turn("Read.")
                before = provider.requests[-1]
                rebuilt = await rig.agent.engine.rebuild()
                assert rebuilt.window is not None
                assert rebuilt.window.number == 2
                await rig.agent.turn("Go on.")
                after = provider.requests[-1]
                assert fixed_part(after) == fixed_part(before)
                assert len(fixed_part(after)) >= 8
                await check(rig)
                verdicts = [call.verdict for call in await rig.calls()]
                assert verdicts[-1] == "new_window"
                if api == "anthropic":
                    assert after.bill.read > 1_024

    asyncio.run(main())


# --- tools that come and go --------------------------------------------------------------------------------------------


async def _said(arguments: dict[str, Any], desk: Desk) -> Outcome:
    return Outcome((Text(f"ticket {arguments}"),))


def served(name: str) -> Tool:
    schema = {"type": "object", "properties": {"id": {"type": "string"}, "a": {"type": "string"}}, "required": ["id"]}
    return Tool(name, f"Asks the server for {name}.", schema, "read", "", _said)


@pytest.mark.design("P-7", "Q-2")
@pytest.mark.report(51)
@pytest.mark.parametrize("api", APIS)
def test_a_tool_server_that_reconnects_costs_nothing(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        one, two = (served("tickets"), served("assign")), (served("wiki"), served("edit_wiki"))
        with Provider([Reply("", calls=[Call("wiki", {"id": "7"})]), "One.", "Two.", "Three."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                await rig.open(tools=(*CORE, *one, *two))
                await rig.agent.turn("Begin.")
                await rig.again(tools=(*CORE, *two, *one))
                await rig.agent.turn("The first server came back later.")
                swapped = [
                    msgspec.structs.replace(tool, schema={name: tool.schema[name] for name in reversed(tool.schema)})
                    for tool in reversed((*two, *one, *CORE))
                ]
                await rig.again(tools=swapped)
                await rig.agent.turn("All of them in another order, their schemas too.")
                await check(rig)
                assert provider.breaks() == []
                assert len({tuple(fixed_part(seen)) for seen in provider.requests}) == 1
                assert provider.requests[0].tools == sorted(provider.requests[0].tools)
                assert {event.verdict for event in rig.of(Metered)[1:]} == {"hit"}

    asyncio.run(main())


@pytest.mark.design("P-7")
@pytest.mark.report(51)
@pytest.mark.parametrize("api", APIS)
def test_a_tool_that_is_new_on_resume_is_offered_with_the_next_window(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([*map(read, range(8)), "One.", "Two.", Reply(calls=[Call("wiki", {"id": "7"})]), "Three."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                put_text(rig)
                await rig.open()
                await rig.agent.turn("Begin.")
                await rig.again(tools=(*CORE, served("wiki")))
                await rig.agent.turn("Is there a wiki?")
                assert "wiki" not in provider.requests[-1].tools
                assert provider.breaks() == []
                await rig.agent.engine.rebuild()
                ended = await rig.agent.turn("And now?")
                assert ended.finish is Finish.STOP
                assert "wiki" in provider.requests[-1].tools
                assert "ticket" in provider.requests[-1].said("tool" if api != "anthropic" else "user")
                await check(rig)

    asyncio.run(main())
