"""Our clients against a real server and a real model: llama.cpp behind three protocols, on loopback.

Runs where ``.venv-model`` is installed (``python scripts/real_model install``); with ``SOJOURN_REAL_MODEL=1`` it is
installed first. The model is very small (135 million parameters): what it says is looked at only where it is sure to say
it.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.base import ErrorKind, Finish
from sojourn.models.connect import connect
from sojourn.models.types import Api, Target
from sojourn.wire import (
    About,
    CallEvent,
    CallPart,
    Event,
    FinishEvent,
    ModelError,
    ModelRequest,
    RequestSettings,
    ResultPart,
    SystemBlock,
    TextEvent,
    TextPart,
    Tool,
    Traits,
    UsageEvent,
    WireMessage,
)

_SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "real_model"
_READY = _SCRIPT.parent.parent / ".venv-model" / ".ready"
_WINDOW = 4_096
ABOUT = About("user")
APIS: list[Api] = ["chat", "responses", "anthropic"]
READ = Tool(
    "read",
    "Reads a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    ABOUT,
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The server's address; it runs as long as the tests of this module."""
    if not _READY.is_file():
        if os.environ.get("SOJOURN_REAL_MODEL") != "1":
            pytest.skip("the real model is not installed (python scripts/real_model install, or SOJOURN_REAL_MODEL=1)")
        subprocess.run([sys.executable, str(_SCRIPT), "install"], check=True)
    command = [sys.executable, str(_SCRIPT), "serve"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        try:
            assert running.stdout is not None
            line = next((line for line in running.stdout if line.startswith("listening ")), "")
            assert line, "the server ended before it was ready"
            yield line.split()[1]
        finally:
            assert running.stdin is not None
            running.stdin.close()
            try:
                running.wait(10)
            finally:
                running.kill()


def target(server: str, api: Api) -> Target:
    traits = Traits(name="smollm2", protocol=api, limit=_WINDOW, output_cap=256, images=False, marks=0)
    return Target(traits=traits, base_url=server + ("" if api == "anthropic" else "/v1"), key="none", key_from="none needed")


def user(*texts: str) -> WireMessage:
    return WireMessage("user", tuple(TextPart(text, ABOUT) for text in texts))


def request(*messages: WireMessage, tools: tuple[Tool, ...] = (), system: str = "Be brief.", most: int = 48) -> ModelRequest:
    return ModelRequest((SystemBlock(system, ABOUT),), tools, messages, RequestSettings(model="smollm2", max_output=most))


async def _no_blobs(address: str) -> bytes | None:
    raise AssertionError(f"no picture was sent: {address}")


def ask(server: str, api: Api, sent: ModelRequest, until: Callable[[Event], bool] = lambda event: False) -> list[Event]:
    """All events of one answer; stops listening after the first for which ``until`` holds."""

    async def main() -> list[Event]:
        model = connect(target(server, api), _no_blobs)
        events: list[Event] = []
        try:
            stream: Any = model.stream(sent)
            async for event in stream:
                events.append(event)
                if until(event):
                    break
            await stream.aclose()
        finally:
            await model.close()
        return events

    return asyncio.run(asyncio.wait_for(main(), 240))


def last_two(events: list[Event]) -> tuple[UsageEvent, FinishEvent]:
    usage, finish = events[-2:]
    assert isinstance(usage, UsageEvent)
    assert isinstance(finish, FinishEvent)
    return usage, finish


@pytest.mark.design("A-1")
@pytest.mark.parametrize("api", APIS)
def test_an_answer_is_streamed(server: str, api: Api) -> None:
    sent = request(user("What is the capital of France?"))
    events = ask(server, api, sent)
    pieces = [event.text for event in events if isinstance(event, TextEvent)]
    assert "Paris" in "".join(pieces)
    assert len(pieces) > 2
    usage, finish = last_two(events)
    assert finish.finish is Finish.STOP
    assert 15 < usage.usage.input < 60
    assert 4 < usage.usage.output < 49
    # The second time everything but the end of the prompt comes from the server's cache.
    again, _ = last_two(ask(server, api, sent))
    assert again.usage.input == usage.usage.input
    assert again.usage.cached == again.usage.input - 1


@pytest.mark.design("A-1", "A-6")
@pytest.mark.parametrize("api", APIS)
def test_a_tool_is_called_and_its_result_sent_back(server: str, api: Api) -> None:
    question = user("Read the file notes.txt")
    events = ask(server, api, request(question, tools=(READ,)))
    (call,) = [event for event in events if isinstance(event, CallEvent)]
    assert (call.name, call.arguments, call.raw_arguments) == ("read", {"path": "notes.txt"}, "")
    assert call.call_id
    assert last_two(events)[1].finish is Finish.TOOL_CALLS
    asked = WireMessage("assistant", (CallPart(call.call_id, call.name, call.arguments, ABOUT, call.extra),))
    result = ResultPart(call.call_id, call.name, (TextPart("Buy milk.", ABOUT),), False, ABOUT)
    after = ask(server, api, request(question, asked, WireMessage("user", (result,)), tools=(READ,), most=8))
    usage, _ = last_two(after)
    before, _ = last_two(events)
    assert usage.usage.input > before.usage.input
    assert (usage.usage.cached or 0) >= before.usage.input - 8


@pytest.mark.design("A-8")
@pytest.mark.parametrize("api", APIS)
def test_an_answer_is_cut_at_its_limit(server: str, api: Api) -> None:
    events = ask(server, api, request(user("Write a long story about a dog."), most=6))
    usage, finish = last_two(events)
    assert usage.usage.output == 6
    if api == "responses":
        assert finish.raw == "completed"  # all that this server says of an answer it cut
    else:
        assert finish.finish is Finish.LENGTH


@pytest.mark.design("A-2")
@pytest.mark.parametrize("api", APIS)
def test_a_request_longer_than_the_window(server: str, api: Api) -> None:
    with pytest.raises(ModelError) as refused:
        ask(server, api, request(user("word " * 5_000)))
    assert refused.value.kind is ErrorKind.CONTEXT_OVERFLOW
    assert refused.value.limit == _WINDOW
    assert refused.value.used is not None
    assert refused.value.used > 5_000


@pytest.mark.design("A-1")
@pytest.mark.parametrize("api", APIS)
def test_an_answer_can_be_left_in_the_middle(server: str, api: Api) -> None:
    counting = request(user("Write a long story about a dog."), most=200)
    events = ask(server, api, counting, until=lambda event: isinstance(event, TextEvent))
    assert [type(event) for event in events] == [TextEvent]
    # The server has one place: the next answer comes only if the one before was given up.
    assert "Paris" in "".join(
        event.text
        for event in ask(server, api, request(user("What is the capital of France?")))
        if isinstance(event, TextEvent)
    )
