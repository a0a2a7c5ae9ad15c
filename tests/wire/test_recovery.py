"""When the provider refuses, falls over or goes away: what is asked again, what is said; the session goes on (C-10)."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from provider.server import Call, Fault, Provider, Reply, Seen
from sojourn.agent.types import Noticed, Retrying, WindowOpened
from sojourn.base import ErrorKind, Finish
from sojourn.config import Settings
from sojourn.config.settings import ModelSettings
from sojourn.models.types import Api
from wire.rig import APIS, Rig, check, left, turn_cut


def read(number: int, lines: int = 60) -> Reply:
    return Reply("I read on.", calls=[Call("read", {"path": "a.txt", "offset": 1 + lines * number, "limit": lines})])


def put_text(rig: Rig) -> None:
    (rig.folder / "a.txt").write_text("\n".join(f"{n}: line of a file with numbers such as {n * 17}" for n in range(4_000)))


OVERFLOWS: list[tuple[Api, dict[str, Any], bool]] = [
    ("anthropic", {}, True),
    ("chat", {}, True),
    ("chat", {"dialect": "llama.cpp"}, True),
    ("responses", {}, False),
    ("responses", {"overflow_in_stream": True}, False),
    ("gemini", {}, True),
]
"""Protocol, terms, and whether the words name the limit."""


@pytest.mark.design("C-10", "A-2", "Q-3")
@pytest.mark.parametrize(("api", "terms", "named"), OVERFLOWS)
def test_a_limit_smaller_than_thought_ends_in_a_smaller_window(
    api: Api, terms: dict[str, Any], named: bool, tmp_path: Path
) -> None:
    async def main() -> None:
        limit = 16_000
        with Provider([*map(read, range(24)), "Done."], limit=limit, **terms) as provider:
            async with Rig(tmp_path, provider, api, limit=64_000) as rig:
                put_text(rig)
                await rig.open()
                ended = await rig.agent.turn("Read it all.")
                assert (ended.finish, ended.text) == (Finish.STOP, "Done.")
                refused = provider.refused
                assert refused
                assert len({seen.raw for seen in provider.requests}) == len(provider.requests), "never the same request twice"
                learned = [event.detail["limit"] for event in rig.of(Noticed) if event.key == "limit_learned"]
                assert learned == ([limit] if named else [])
                if named:
                    assert len(refused) == 1
                    assert rig.agent.engine.traits.limit == limit
                assert rig.of(WindowOpened)[0].reason == "overflow"
                calls = await rig.calls()
                assert {call.error.split(":")[0] for call in calls if call.error} == {"context_overflow"}
                assert len([call for call in calls if call.error]) == len(refused)
                assert rig.waits == []

    asyncio.run(main())


@pytest.mark.design("C-10", "C-2")
@pytest.mark.parametrize("api", ["anthropic"])
def test_a_model_whose_output_cap_is_unknown_answers(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider(["Done."], output_cap=64_000) as provider:
            async with Rig(tmp_path, provider, api, limit=128_000) as rig:
                await rig.open()
                ended = await rig.agent.turn("Hello.")
                assert (ended.finish, ended.text) == (Finish.STOP, "Done."), ended
                assert rig.of(WindowOpened) == []

    asyncio.run(main())


TOO_MUCH_ASKED = {
    "anthropic": "input length and `max_tokens` exceed context limit: 1423 + 62697 > 16000, decrease input length or "
    "`max_tokens` and try again",
    "chat": "This model's maximum context length is 16000 tokens. However, you requested 64120 tokens (1423 in the messages, "
    "62697 in the completion). Please reduce the length of the messages or completion.",
}


@pytest.mark.design("C-10", "C-2")
@pytest.mark.parametrize("api", ["anthropic", "chat"])
def test_where_only_the_output_asked_for_is_too_much_less_is_asked_for(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider(["Done."]) as provider:
            async with Rig(tmp_path, provider, api, limit=64_000, output_cap=63_000) as rig:
                await rig.open()
                provider.fail_next(1, Fault("overflow", message=TOO_MUCH_ASKED[api]))
                ended = await rig.agent.turn("Hello.")
                assert (ended.finish, ended.text) == (Finish.STOP, "Done."), ended
                first, second = provider.requests
                assert second.body["max_tokens"] + 1_423 <= 16_000 < first.body["max_tokens"]
                assert second.body["messages"] == first.body["messages"]
                assert rig.of(WindowOpened) == []

    asyncio.run(main())


MALFORMED = {
    "anthropic": "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
    "chat": "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    "responses": "No tool output found for function call call_1.",
    "gemini": "Please ensure that the number of function response parts is equal to the number of function call parts.",
}


class Malformed(Provider):
    """Refuses every request, or the next few, as malformed."""

    def __init__(self, *script: Any, api: Api) -> None:
        super().__init__(list(script))
        self.api = api
        self.left = 0
        """How many more."""

    def _check_body(self, seen: Seen) -> dict[str, Any]:
        from provider.refusal import Refused

        body = super()._check_body(seen)
        if self.left:
            self.left -= 1
            raise Refused(MALFORMED[self.api])
        return body


@pytest.mark.design("C-10", "A-2")
@pytest.mark.parametrize("api", APIS)
def test_a_history_that_is_called_malformed_is_sent_once_only(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        malformed = Malformed(*map(read, range(6)), "Done.", "Better.", "Back.", api=api)
        with malformed as provider:
            async with Rig(tmp_path, provider, api) as rig:
                put_text(rig)
                await rig.open()
                await rig.agent.turn("Read.")
                malformed.left = 1
                ended = await rig.agent.turn("Go on.")
                assert (ended.finish, ended.text) == (Finish.STOP, "Better.")
                assert provider.requests[-1].raw != provider.requests[-2].raw
                malformed.left = 99
                before = len(provider.requests)
                ended = await rig.agent.turn("And now?")
                assert ended.finish is Finish.ERROR
                assert ended.error.startswith("stopped: the provider refused")
                assert ended.next_step
                tried = provider.requests[before:]
                assert len({seen.raw for seen in tried}) == len(tried) <= 5
                malformed.left = 0
                assert (await rig.agent.turn("Still there?")).text == "Back."

    asyncio.run(main())


@pytest.mark.design("A-3", "C-10")
@pytest.mark.parametrize("api", APIS)
def test_what_passes_is_asked_again_visibly(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([read(0), "Done."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                put_text(rig)
                await rig.open()
                for kind, more in (("500", {}), ("529", {}), ("429", {"retry_after": 17})):
                    provider.fail_next(1, kind, **more)
                ended = await rig.agent.turn("Read.")
                assert (ended.finish, ended.text, ended.steps) == (Finish.STOP, "Done.", 2)
                told = rig.of(Retrying)
                kinds = [ErrorKind.OVERLOADED, ErrorKind.UNAVAILABLE]
                assert [event.attempt for event in told] == [1, 2, 3]
                assert all(event.error in kinds for event in told[:2])
                assert told[2].error is ErrorKind.RATE_LIMITED
                assert [event.wait for event in told] == rig.waits
                assert rig.waits[2] >= 17
                assert len({seen.raw for seen in provider.requests[:4]}) == 1
                await check(rig)
                assert len(await rig.calls()) == 2

    asyncio.run(main())


@pytest.mark.design("A-3", "R-4")
@pytest.mark.parametrize("kind", ["cut", "bad event", "stream error", "close", "empty", "bad json", "502 html"])
@pytest.mark.parametrize("api", APIS)
def test_an_answer_that_breaks_off_is_void_and_asked_again(api: Api, kind: Any, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([Reply("The whole answer, at last.", pieces=4), "Next."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                await rig.open()
                provider.fail_next(1, Fault(kind, after=4))
                ended = await rig.agent.turn("Say it.")
                assert (ended.finish, ended.text) == (Finish.STOP, "The whole answer, at last."), ended
                assert len(rig.of(Retrying)) == 1
                await rig.agent.turn("And?")
                said = left(provider)[-1].said("assistant")
                assert said.count("answer, at last") == 1
                await check(rig, whole=kind not in ("stream error",))

    asyncio.run(main())


@pytest.mark.design("A-3", "C-10")
@pytest.mark.parametrize("api", APIS)
def test_an_outage_for_good_ends_the_turn_and_not_the_session(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([read(0), "Done.", "Here again."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                put_text(rig)
                await rig.open()
                await rig.agent.turn("Read.")
                provider.fail_next(6, "503")
                ended = await rig.agent.turn("Go on.")
                assert ended.finish is Finish.ERROR
                assert "asked 6 times" in ended.error
                assert ended.next_step
                assert len(provider.requests) == 8
                assert len(rig.waits) == 5
                assert rig.of(WindowOpened) == []
                ended = await rig.agent.turn("Are you there?")
                assert (ended.finish, ended.text) == (Finish.STOP, "Here again.")
                assert "Go on." in provider.requests[-1].said("user")
                provider.fail_next(1, "429", retry_after=3_600)
                ended = await rig.agent.turn("More?")
                assert "1 h 0 min" in ended.error
                assert len(rig.waits) == 5
                await rig.again()
                provider.then("After all.")
                assert (await rig.agent.turn("Now?")).text == "After all."
                await check(rig)

    asyncio.run(main())


@pytest.mark.design("A-2", "C-10")
@pytest.mark.parametrize(
    ("api", "kind"),
    # Google says the same of a quota for the minute and for the day: that one is asked again.
    [(api, kind) for api in APIS for kind in ("401", "403", "404", "quota", "413") if (api, kind) != ("gemini", "quota")],
)
def test_what_no_repetition_cures_is_said_at_once(api: Api, kind: Any, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider(["Mended."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                await rig.open()
                provider.fail_next(1 if kind != "413" else 9, kind)
                ended = await rig.agent.turn("Hello.")
                assert ended.finish is Finish.ERROR
                assert ended.error
                assert ended.next_step
                assert "test-key" not in ended.error + ended.next_step
                assert rig.waits == []
                provider._faults.clear()
                assert (await rig.agent.turn("Again.")).text == "Mended."

    asyncio.run(main())


@pytest.mark.design("A-3")
def test_a_server_that_says_nothing_is_given_up_after_the_silence(tmp_path: Path) -> None:
    async def main() -> None:
        with Provider(["Here."]) as provider:
            async with Rig(tmp_path, provider, "chat") as rig:
                await rig.open(silence=0.2)
                provider.fail_next(1, "hang")
                provider.fail_next(1, "hang mid")
                ended = await rig.agent.turn("Hello?")
                assert (ended.finish, ended.text) == (Finish.STOP, "Here.")
                assert ["no word from the provider" in event.message for event in rig.of(Retrying)] == [True, True]

    asyncio.run(main())


# --- thinking ----------------------------------------------------------------------------------------------------------


NOBODY = base64.b64encode(b"skip_thought_signature_validator").decode()
"""Google's own word for a call that another model made."""


def thought(seen: Seen) -> list[str]:
    """Thinking blocks of a body, as they left."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            signed = value.get("thoughtSignature", NOBODY) != NOBODY
            if value.get("type") in ("thinking", "redacted_thinking", "reasoning") or signed:
                found.append(json.dumps({key: one for key, one in value.items() if key != "cache_control"}, sort_keys=True))
            for one in value.values():
                walk(one)
        elif isinstance(value, list):
            for one in value:
                walk(one)

    walk(seen.body)
    return found


THINKERS: list[Api] = ["anthropic", "responses", "gemini"]
LOOK = Reply("I look.", thinking=["First.", "Second."], calls=[Call("read", {"path": "a.txt", "limit": 3})])


@pytest.mark.design("Q-3", "Q-2")
@pytest.mark.report(60)
@pytest.mark.parametrize("api", THINKERS)
def test_thinking_goes_back_byte_for_byte(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        again = Reply("", thinking="第三。\n", redacted="s3cret" if api == "anthropic" else "", calls=LOOK.calls)
        with Provider([LOOK, again, Reply("Done.", thinking="Last."), "Next."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                put_text(rig)
                rig.settings = Settings(model=ModelSettings(thinking="high"))
                await rig.open()
                await rig.agent.turn("Look twice.")
                await rig.again()
                await rig.agent.turn("And?")
                counts = [len(thought(seen)) for seen in provider.requests]
                assert counts == sorted(counts)
                assert counts[0] == 0
                assert counts[1] >= 1
                assert counts[2] > counts[1]
                assert counts[3] > counts[2] or api == "gemini", (
                    "Google's signatures stand on calls; that of a text may stay behind"
                )
                for before, after in zip(provider.requests, provider.requests[1:], strict=False):
                    assert thought(after)[: len(thought(before))] == thought(before)
                await check(rig)

    asyncio.run(main())


@pytest.mark.design("Q-3", "C-16")
@pytest.mark.report(62)
@pytest.mark.parametrize("api", THINKERS)
def test_thinking_of_one_model_is_not_sent_to_another(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        with Provider([LOOK, LOOK, "Done.", LOOK, "Other.", "Back."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                put_text(rig)
                rig.settings = Settings(model=ModelSettings(thinking="high"))
                await rig.open()
                await rig.agent.turn("Look.")
                assert thought(provider.requests[-1])
                first = rig.traits
                rig.traits = msgspec.structs.replace(first, name="other-model")
                await rig.again()
                ended = await rig.agent.turn("Who are you?")
                assert (ended.finish, ended.text) == (Finish.STOP, "Other.")
                mine, *_, last = [seen for seen in provider.requests if seen.model == "other-model"]
                assert thought(mine) == []
                assert len(thought(last)) >= 1
                rig.traits = first
                await rig.again()
                assert (await rig.agent.turn("And you?")).text == "Back."
                assert [seen.problems for seen in provider.refused] == []

    asyncio.run(main())


@pytest.mark.design("W-2", "Q-3")
@pytest.mark.report(61)
@pytest.mark.parametrize(
    ("api", "thinking"),
    [
        ("anthropic", None),
        ("anthropic", "2048"),
        ("responses", "high"),
        ("gemini", None),
    ],
)
def test_after_a_rebuild_no_thinking_of_the_old_window_is_sent(api: Api, thinking: str | None, tmp_path: Path) -> None:
    async def main() -> None:
        steps = [
            Reply("On.", thinking=f"Thought {n}.", calls=[Call("read", {"path": "a.txt", "offset": 1 + 90 * n, "limit": 90})])
            for n in range(14)
        ]
        with Provider([*steps, "Done."]) as provider:
            async with Rig(tmp_path, provider, api, limit=16_000) as rig:
                put_text(rig)
                rig.settings = Settings(model=ModelSettings(thinking=thinking))
                await rig.open()
                assert (await rig.agent.turn("Read.")).finish is Finish.STOP
                await check(rig)
                opened = rig.of(WindowOpened)
                assert opened
                calls = await rig.calls()
                windows = [call.window_id for call in calls]
                first = windows.index(windows[-1])
                carried = {one for seen in provider.requests[:first] for one in thought(seen)}
                assert carried
                for seen in provider.requests[first:]:
                    assert not carried.intersection(thought(seen))
                assert "Thought" not in " ".join(thought(provider.requests[first]))

    asyncio.run(main())


@pytest.mark.design("R-12", "Q-3")
@pytest.mark.parametrize("api", APIS)
def test_a_call_that_was_stopped_is_answered_as_interrupted(api: Api, tmp_path: Path) -> None:
    async def main() -> None:
        slow = Reply(
            "", calls=[Call("bash", {"command": "touch begun; sleep 20"}), Call("read", {"path": "a.txt", "limit": 2})]
        )
        with Provider([slow, "Good."]) as provider:
            async with Rig(tmp_path, provider, api) as rig:
                put_text(rig)
                await rig.open()
                ended = await turn_cut(rig, "Work.", (rig.folder / "begun").exists)
                assert ended.finish is Finish.INTERRUPTED
                await rig.again()
                assert (await rig.agent.turn("Go on.")).text == "Good."
                assert provider.requests[-1].raw.decode().count("interrupted: outcome unknown") == 2
                await check(rig)

    asyncio.run(main())


@pytest.mark.design("C-16", "Q-3", "A-1")
@pytest.mark.report(62)
@pytest.mark.parametrize("call_id", ["functions.read:0", "chatcmpl-tool-0123456789abcdef0123456789abcdef"])
def test_a_session_moves_from_protocol_to_protocol(call_id: str, tmp_path: Path) -> None:
    async def main() -> None:
        odd = [Call("read", {"path": "a.txt", "limit": 2}, call_id), Call("nothing_like_it", {}, "9")]
        with Provider([]) as provider:
            async with Rig(tmp_path, provider, "chat") as rig:
                put_text(rig)
                rig.settings = Settings(model=ModelSettings(thinking="high"))
                for number, api in enumerate(["chat", *APIS, *reversed(APIS)]):
                    rig.api = api
                    rig.traits = msgspec.structs.replace(
                        rig.traits,
                        protocol=api,
                        name=f"model-{api}",
                        thinking=api != "chat",
                        marks=4 if api == "anthropic" else 0,
                    )
                    await (rig.again() if rig.session_id else rig.open())
                    calls = odd if api == "chat" else [Call("read", {"path": "a.txt", "limit": 2})]
                    thinking = "" if api == "chat" else "Hm."
                    provider.then(Reply("I look.", thinking=thinking, calls=calls), f"Answer {number}.")
                    ended = await rig.agent.turn(f"Question {number}?")
                    assert (ended.finish, ended.text) == (Finish.STOP, f"Answer {number}."), (
                        api,
                        ended.error,
                        [seen.problems for seen in provider.refused],
                    )
                assert [seen.problems for seen in provider.refused] == []
                said = provider.requests[-1].said()
                assert all(f"Answer {number}." in said for number in range(8))
                assert rig.of(WindowOpened) == []

    asyncio.run(main())
