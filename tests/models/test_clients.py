"""The four clients over a real socket and the real SDKs (A-1, A-2)."""

import asyncio
import json
import subprocess
import sys

import pytest

from models.loopback import ASK, CUT, HELD, HELLO, PROTOCOLS, WORDS, Answer, Server, answers, client, events, fails
from sojourn.base import ErrorKind, Finish, Usage
from sojourn.models import ENCODERS, canonical
from sojourn.models.clients.anthropic import Client as AnthropicClient
from sojourn.models.clients.chat import Client
from sojourn.models.clients.openai import is_official
from sojourn.models.types import Target
from sojourn.wire import (
    About,
    CallPart,
    FinishEvent,
    ImagePart,
    ModelError,
    ModelRequest,
    ReasoningPart,
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

A = About("x")
RICH = ModelRequest(
    (SystemBlock("one", A, "stable"), SystemBlock("é 漢字", A)),
    (Tool("bash", "runs", {"type": "object", "z": 1, "a": 2.5}, A),),
    (
        WireMessage("user", (TextPart("a\u2028b \ud800", A),)),
        WireMessage(
            "assistant",
            (ReasoningPart("t", "sig", "enc", A), TextPart("ok", A), CallPart("c", "bash", {"b": 1, "a": "é"}, A)),
        ),
        WireMessage("user", (ResultPart("c", "bash", (TextPart("r", A),), True, A), TextPart("on", A)), "last"),
    ),
    RequestSettings("some/model-1", 99, "high", "auto", "ses_1"),
)  # fmt: skip


def run(main):
    return asyncio.run(main())


@pytest.mark.design("A-1")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer(protocol):
    got, seen = asyncio.run(answers(protocol, *events(*HELLO[protocol])))
    assert got == [
        TextEvent("hel"),
        TextEvent("lo"),
        UsageEvent(Usage(fresh=7, output=3)),
        FinishEvent(Finish.STOP, WORDS[protocol]),
    ]
    assert len(seen) == 1


@pytest.mark.design("A-1")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_in_single_bytes(protocol):
    """Pieces of a stream end anywhere: in a word, in a character."""
    stream = "".join(events(*HELLO[protocol])).replace("hel", "é漢😀\u2028")
    got, _ = asyncio.run(answers(protocol, *(bytes([byte]) for byte in stream.encode())))
    assert [event.text for event in got if isinstance(event, TextEvent)] == ["é漢😀\u2028", "lo"]


@pytest.mark.design("A-1")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_signs_of_life_are_no_events(protocol):
    whole = events(*HELLO[protocol])
    got, _ = asyncio.run(answers(protocol, ": waiting\n\n", *(piece for one in whole for piece in (one, ": still here\n\n"))))
    assert [event.text for event in got if isinstance(event, TextEvent)] == ["hel", "lo"]
    assert got[-1].finish is Finish.STOP


PATHS = {
    "anthropic": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1/models/some%2Fmodel-1:streamGenerateContent?alt=sse",
}
ASKED = {
    "anthropic": {"stream": True},
    "chat": {"stream": True, "stream_options": {"include_usage": True}},
    "responses": {"stream": True},
    "gemini": {},
}


@pytest.mark.design("A-1", "Q-2", "Q-4")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_leaves_is_byte_for_byte_what_the_serialiser_gives(protocol):
    async def main():
        async with Server(Answer(*events(*HELLO[protocol]))) as server:
            one = client(protocol, server.url, headers={"X-Team": "blue"})
            _ = [event async for event in one.stream(RICH)]
            _ = [event async for event in one.stream(RICH)]
            await one.close()
            assert server.connections == 1, "a connection is used again"
            return server.seen

    first, second = run(main)
    encoded = ENCODERS[protocol](RICH)
    if protocol == "gemini":
        del encoded["model"]  # it stands in the address
    assert first.body == canonical(encoded | ASKED[protocol])
    assert second.body == first.body
    assert first.path == PATHS[protocol]
    assert first.headers["content-type"] == "application/json"
    assert first.headers["x-team"] == "blue"
    assert first.headers.get("authorization" if protocol != "gemini" else "x-goog-api-key", "").endswith("the-key")


@pytest.mark.design("A-1")
def test_compatible_servers_get_the_key_in_the_older_header_too():
    _, seen = asyncio.run(answers("anthropic", *events(*HELLO["anthropic"])))
    assert seen[0].headers["x-api-key"] == "the-key"
    assert seen[0].headers["authorization"] == "Bearer the-key"


@pytest.mark.design("A-1")
@pytest.mark.parametrize(
    ("url", "twice"), [("https://api.anthropic.com", False), ("", False), ("https://gateway.example", True)]
)
def test_the_official_server_gets_it_once(monkeypatch, url, twice):
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)

    async def main():
        one = AnthropicClient(Target(Traits(name="m"), url, "k", "x"))
        connection = await one._connected()
        headers, address = dict(connection.default_headers), str(connection.base_url)
        await one.close()
        return headers, address

    headers, address = run(main)
    assert ("X-Api-Key" in headers) == twice
    assert address.startswith(url or "https://api.anthropic.com")


@pytest.mark.design("A-1")
@pytest.mark.parametrize(
    ("protocol", "suffix", "path"),
    [
        ("anthropic", "/v1", "/v1/messages"),
        ("anthropic", "/v1/", "/v1/messages"),
        ("anthropic", "/api/anthropic", "/api/anthropic/v1/messages"),
        ("gemini", "/v1beta", "/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("gemini", "/proxy/v1alpha/", "/proxy/v1alpha/models/m:streamGenerateContent?alt=sse"),
        ("gemini", "/proxy", "/proxy/v1/models/m:streamGenerateContent?alt=sse"),
    ],
)
def test_an_address_with_its_version_and_without(protocol, suffix, path):
    async def main():
        async with Server(Answer(*events(*HELLO[protocol]))) as server:
            one = client(protocol, server.url + suffix)
            _ = [event async for event in one.stream(ASK)]
            await one.close()
            return server.seen[0].path

    assert run(main) == path


@pytest.mark.design("A-1", "Q-5")
@pytest.mark.parametrize("official", [None, True, False])
def test_fields_that_only_the_official_server_takes(official):
    async def main():
        async with Server(Answer(*events(*HELLO["chat"]))) as server:
            one = client("chat", server.url, official=official)
            _ = [event async for event in one.stream(RICH)]
            await one.close()
            return server.seen[0].body

    body = run(main)
    assert (b'"max_completion_tokens":99' in body) == (official is True)
    assert (b'"max_tokens":99' in body) == (official is not True)
    assert (b'"prompt_cache_key":"ses_1"' in body) == (official is True)


@pytest.mark.design("A-1", "Q-5")
@pytest.mark.parametrize(
    ("url", "official", "fields"),
    [
        ("https://api.openai.com/v1", None, {"max_completion_tokens": 99, "prompt_cache_key": "ses_1"}),
        ("https://api.openai.com/v1", False, {"max_tokens": 99}),
        ("https://gateway.example/v1", None, {"max_tokens": 99}),
        ("https://gateway.example/v1", True, {"max_completion_tokens": 99, "prompt_cache_key": "ses_1"}),
    ],
)
def test_the_address_tells_unless_it_is_said(url, official, fields):
    one = Client(Target(Traits(name="m", protocol="chat"), url, "k", "x"), official=official)
    names = ("max_tokens", "max_completion_tokens", "prompt_cache_key")
    body = one._body(RICH)
    assert {name: body[name] for name in names if name in body} == fields
    assert list(body)[:2] == ["model", next(iter(fields))], "the order stays"
    assert "prompt_cache_key" not in one._body(ASK), "nothing is sent of what is not set"


@pytest.mark.design("A-1", "Q-5")
def test_which_server_is_official():
    official = ("", "https://api.openai.com/v1", "https://eu.api.openai.com/v1", "https://openai.com")
    assert all(is_official(url) for url in official)
    foreign = (
        "http://localhost:11434/v1",
        "https://notopenai.com/v1",
        "https://openai.com.example/v1",
        "https://x.example/openai.com",
    )
    assert not any(is_official(url) for url in foreign)  # fmt: skip


@pytest.mark.design("A-1")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pictures_get_their_bytes(protocol):
    async def blobs(address):
        return b"ABC" if address == "abcd" else None

    async def main():
        async with Server(Answer(*events(*HELLO[protocol]))) as server:
            one = client(protocol, server.url, blobs)
            pictures = (ImagePart("image/png", "abcd", A), ImagePart("image/png", "lost", About("image", "x.png")))
            request = ModelRequest((), (), (WireMessage("user", (*pictures, TextPart("look", A))),), RequestSettings("m"))
            _ = [event async for event in one.stream(request)]
            await one.close()
            return server.seen[0].body

    body = run(main)
    assert b"QUJD" in body
    assert b"blob:" not in body
    assert b"[picture x.png: image/png; its bytes are gone]" in body


ERRORS = [
    (401, '{"error":{"message":"bad key"}}', ErrorKind.AUTH_FAILED),
    (429, '{"error":{"message":"slow down"}}', ErrorKind.RATE_LIMITED),
    (500, '{"error":{"message":"oops"}}', ErrorKind.UNAVAILABLE),
    (529, '{"error":{"message":"overloaded"}}', ErrorKind.OVERLOADED),
    (400, '{"error":{"message":"prompt is too long: 270000 tokens > 262144 maximum"}}', ErrorKind.CONTEXT_OVERFLOW),
    (502, "<html>bad gateway</html>", ErrorKind.UNAVAILABLE),
]


@pytest.mark.design("A-2", "A-3")
@pytest.mark.parametrize(("status", "body", "kind"), ERRORS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_refusals_are_classified_and_never_repeated_by_the_sdk(protocol, status, body, kind):
    async def main():
        async with Server(Answer(body, status=status, headers={"Retry-After": "7"})) as server:
            one = client(protocol, server.url)
            with pytest.raises(ModelError) as caught:
                _ = [event async for event in one.stream(ASK)]
            await one.close()
            return caught.value, len(server.seen)

    error, requests = run(main)
    assert error.kind == kind
    assert requests == 1
    if kind is ErrorKind.RATE_LIMITED:
        assert error.retry_after == 7
    if kind is ErrorKind.CONTEXT_OVERFLOW:
        assert (error.limit, error.used) == (262_144, 270_000)


@pytest.mark.design("A-2")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_that_breaks_off(protocol):
    whole = events(*HELLO[protocol])
    for pieces in ((*whole[:3], CUT), whole[:3] if protocol != "gemini" else whole[:1], ("",), ()):
        error = fails(protocol, *pieces)
        assert error.kind is ErrorKind.UNAVAILABLE


@pytest.mark.design("A-2")
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("odd", ["{", "[1]", '"x"', '{"type":7,"choices":[5],"candidates":[5]}', "null"])
def test_events_that_cannot_be_read(protocol, odd):
    whole = HELLO[protocol]
    error = fails(protocol, *events(*whole[:2]), f"event: x\ndata: {odd}\n\n")
    assert error.kind is ErrorKind.UNAVAILABLE


@pytest.mark.design("A-2")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_event_of_the_wrong_shape_names_the_answer(protocol):
    wrong = {
        "anthropic": {"type": "content_block_delta", "index": 5, "delta": {"type": "text_delta", "text": "x"}},
        "chat": {"choices": [{"delta": {"content": 5}}]},
        "responses": {"type": "response.output_text.delta"},
        "gemini": {"candidates": [{"content": {"parts": [{"functionCall": {"id": "c"}}]}}]},
    }
    error = fails(protocol, *events(wrong[protocol]))
    assert error.kind is ErrorKind.UNAVAILABLE
    assert "cannot be read" in str(error)


EMPTY = {
    "anthropic": [HELLO["anthropic"][0], *HELLO["anthropic"][6:]],
    "chat": [HELLO["chat"][0], *HELLO["chat"][3:]],
    "responses": [HELLO["responses"][0], HELLO["responses"][5]],
    "gemini": [{"candidates": [{"finishReason": "STOP"}]}],
}


@pytest.mark.design("A-2")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_empty_answer(protocol):
    error = fails(protocol, *events(*EMPTY[protocol]))
    assert error.kind is ErrorKind.UNAVAILABLE
    assert "empty answer" in str(error)


IN_STREAM = {
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "chat": {"error": {"code": 502, "message": "engine overloaded", "type": "overloaded_error"}},
    "responses": {"type": "error", "code": "server_overloaded", "message": "overloaded", "param": None},
    "gemini": {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}},
}


@pytest.mark.design("A-2")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_error_in_the_middle_of_a_stream(protocol):
    error = fails(protocol, *events(*HELLO[protocol][:1], IN_STREAM[protocol]))
    assert error.kind is ErrorKind.OVERLOADED


@pytest.mark.design("A-2")
def test_an_error_of_gemini_outside_of_any_event():
    bare = (
        '{\n  "error": {\n    "code": 503,\n    "message": "The model is overloaded.",\n    "status": "UNAVAILABLE"\n  }\n}\n'
    )
    for pieces in ((*events(*HELLO["gemini"][:1]), bare), (bare,), (bare.replace("\n", "\r\n"),)):
        assert fails("gemini", *pieces).kind is ErrorKind.OVERLOADED


@pytest.mark.design("A-1")
def test_gemini_events_in_other_line_ends():
    stream = "".join(events(*HELLO["gemini"]))
    for text in (
        stream.replace("\n", "\r\n"),
        stream.replace("data: ", "data:"),
        "id: 1\nevent: x\nretry: 3\n" + stream,
        stream[:-2],
    ):
        got, _ = asyncio.run(answers("gemini", text))
        assert [event.text for event in got if isinstance(event, TextEvent)] == ["hel", "lo"]
    first, second = (one["candidates"][0] for one in HELLO["gemini"])
    parts = json.dumps({"candidates": [first]}, indent=1).splitlines()
    several = "".join(f"data: {line}\n" for line in parts) + "\n" + events({"candidates": [second]})[0]
    got, _ = asyncio.run(answers("gemini", several))
    assert [event.text for event in got if isinstance(event, TextEvent)] == ["hel", "lo"]


@pytest.mark.design("A-2")
def test_a_response_that_failed():
    failed = {"type": "response.failed", "response": {"error": {"code": "context_length_exceeded", "message": "too long"}}}
    assert fails("responses", *events(HELLO["responses"][0], failed)).kind is ErrorKind.CONTEXT_OVERFLOW
    failed = {"type": "response.failed", "response": {"error": None}}
    assert fails("responses", *events(failed)).kind is ErrorKind.UNAVAILABLE


@pytest.mark.design("A-1")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_closing_the_iterator_closes_the_connection(protocol):
    async def main():
        whole = events(*HELLO[protocol])
        async with Server(Answer(*whole[: 4 if protocol != "gemini" else 1], HELD)) as server:
            one = client(protocol, server.url)
            stream = one.stream(ASK)
            assert await anext(stream) == TextEvent("hel")
            assert not server.gone.is_set()
            await stream.aclose()
            await asyncio.wait_for(server.gone.wait(), 5)
            await one.close()

    run(main)


@pytest.mark.design("A-1", "A-3")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_cancelled_request_is_cancelled(protocol):
    async def main():
        async with Server(Answer(HELD)) as server:
            one = client(protocol, server.url)
            await one.warm()
            task = asyncio.ensure_future(anext(one.stream(ASK)))
            await asyncio.wait_for(server.asked.wait(), 5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(server.gone.wait(), 5)
            await one.close()

    run(main)


@pytest.mark.design("A-2")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_silent_server(protocol):
    error = fails(protocol, *events(*HELLO[protocol][:1]), HELD, silence=0.2)
    assert error.kind is ErrorKind.UNAVAILABLE
    assert str(error) == "no word from the provider for 0.2 s"
    error = fails(protocol, HELD, silence=0.2)
    assert error.kind is ErrorKind.UNAVAILABLE


@pytest.mark.design("A-2")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_server_and_no_address(protocol):
    async def main(url):
        one = client(protocol, url)
        with pytest.raises(ModelError) as caught:
            _ = [event async for event in one.stream(ASK)]
        await one.close()
        return caught.value

    closed = asyncio.run(main("http://127.0.0.1:1"))
    assert closed.kind is ErrorKind.UNAVAILABLE
    assert "connection" in str(closed)
    wrong = asyncio.run(main("localhost:11434"))
    assert wrong.kind is ErrorKind.AUTH_FAILED
    assert "--base-url" in wrong.next_step


@pytest.mark.design("A-1")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_two_streams_at_once_and_use_after_close(protocol):
    async def main():
        async with Server(Answer(*events(*HELLO[protocol]))) as server:
            one = client(protocol, server.url)

            async def ask():
                return [event async for event in one.stream(ASK)]

            first, second = await asyncio.gather(ask(), ask())
            assert first == second
            await one.close()
            await one.close()
            assert await ask() == first
            await one.close()
            assert len(server.seen) == 3

    run(main)


@pytest.mark.design("A-1")
@pytest.mark.parametrize("key", ["schlüssel", "sch\nl", "sch\x00l"])
def test_a_key_that_no_header_can_hold(key):
    one = Client(Target(Traits(name="m", protocol="chat"), "http://127.0.0.1:1", key, "OPENAI_API_KEY"))
    with pytest.raises(ModelError) as caught:
        asyncio.run(one.warm())
    assert caught.value.kind is ErrorKind.AUTH_FAILED
    assert "OPENAI_API_KEY" in str(caught.value)
    assert "sch" not in str(caught.value)


@pytest.mark.design("A-1")
@pytest.mark.parametrize(("key", "sent"), [(" the-key\n", "the-key"), ("", "none")])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_key_with_space_around_and_none(protocol, key, sent):
    async def main():
        async with Server(Answer(*events(*HELLO[protocol]))) as server:
            one = client(protocol, server.url, key=key)
            _ = [event async for event in one.stream(ASK)]
            await one.close()
            return server.seen[0].headers

    headers = run(main)
    assert headers["authorization" if protocol != "gemini" else "x-goog-api-key"].removeprefix("Bearer ") == sent


@pytest.mark.design("A-1")
def test_an_sdk_that_is_not_installed():
    class Without(Client):
        sdk = "no_such_sdk"

    async def main():
        one = Without(Target(Traits(name="m", protocol="chat"), "http://127.0.0.1:1", "k", "x"))
        return [event async for event in one.stream(ASK)]

    with pytest.raises(ModelError) as caught:
        asyncio.run(main())
    assert caught.value.kind is ErrorKind.AUTH_FAILED
    assert caught.value.next_step == 'pip install "sojourn[openai]"'


@pytest.mark.design("A-1")
def test_importing_a_client_imports_no_sdk():
    names = [f"sojourn.models.clients.{protocol}" for protocol in PROTOCOLS]
    sdks = ("anthropic", "openai", "google.genai", "httpx2", "pydantic")
    code = f"import sys, {', '.join(names)}; print([name for name in {sdks} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


PAGE = "<!doctype html>\n<html><head><title>Intranet</title></head><body>data: none\n\nevent: none</body></html>\n"


@pytest.mark.design("A-2")
@pytest.mark.parametrize("kind", ["text/html", "TEXT/HTML; charset=utf-8", "text/plain", "application/octet-stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_page_in_place_of_an_answer_is_a_wrong_address(protocol, kind):
    error = fails(protocol, PAGE, headers={"Content-Type": kind})
    assert error.kind is ErrorKind.AUTH_FAILED
    assert str(error).startswith("there is no such service at this address: it answers with " + kind.lower().split(";")[0])
    assert "--base-url" in error.next_step
    assert "http://127.0.0.1:" in error.next_step
    assert "alt=sse" not in error.next_step
    ends = {"anthropic": "/v1/messages.", "chat": "/v1/chat/completions.", "responses": "/v1/responses."}
    assert error.next_step.endswith(ends.get(protocol, ":streamGenerateContent."))
    assert fails(protocol, "<html></html>", headers={"Content-Type": kind}).kind is ErrorKind.AUTH_FAILED


@pytest.mark.design("A-2")
@pytest.mark.parametrize("kind", ["text/html", "text/plain", "", "application/x-ndjson"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_under_a_wrong_type_is_still_one(protocol, kind):
    got, _ = asyncio.run(answers(protocol, *events(*HELLO[protocol]), headers={"Content-Type": kind}))
    assert got[0] == TextEvent("hel")
    broken = fails(protocol, events(*HELLO[protocol])[0], "data: {\n\n", headers={"Content-Type": kind})
    assert broken.kind is ErrorKind.UNAVAILABLE


@pytest.mark.design("A-2")
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json", ""])
@pytest.mark.parametrize("said", ["", '{"id": "broken", "content": [', "data: {\n\n"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nothing_and_nonsense_are_worth_a_repetition_and_come_with_advice(protocol, said, kind):
    error = fails(protocol, *([said] if said else []), headers={"Content-Type": kind})
    assert error.kind is ErrorKind.UNAVAILABLE
    assert f"Look whether 127.0.0.1 is up and speaks {protocol}" in error.next_step
