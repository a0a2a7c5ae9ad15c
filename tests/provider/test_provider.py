"""The provider as the official SDKs see it: every protocol, whole and streamed."""

import asyncio
import json
import urllib.request
from typing import Any

import anthropic
import openai
import pytest
from google.genai import types as google

from provider.raw import heads, post
from provider.sdks import claude, gemini, gpt
from provider.server import Call, Provider, Reply, Seen

HI: Any = [{"role": "user", "content": "Hi"}]
FULL = Reply(
    "Let me look.",
    thinking="First think.",
    calls=[Call("read", {"path": "a.py"}), Call("run", {"command": "ls"}, "own_id")],
    pieces=5,
)


# -- Anthropic


@pytest.mark.design("A-1")
def test_messages_whole_and_streamed_are_the_same() -> None:
    with Provider([FULL, FULL]) as provider, claude(provider) as client:
        whole = client.messages.create(model="m", max_tokens=9, messages=HI)
        with client.messages.stream(model="m", max_tokens=9, messages=HI) as stream:
            events = [event.type for event in stream]
            streamed = stream.get_final_message()
        for message in (whole, streamed):
            thinking, text, read, run = message.content
            assert (thinking.type, thinking.thinking) == ("thinking", "First think.")
            assert (text.type, text.text) == ("text", "Let me look.")
            assert (read.type, read.name, read.input) == ("tool_use", "read", {"path": "a.py"})
            assert (run.type, run.id, run.input) == ("tool_use", "own_id", {"command": "ls"})
            assert (message.stop_reason, message.model, message.role) == ("tool_use", "m", "assistant")
            assert message.usage.output_tokens == 3 + 3 + (8 + 1 + 4) + (8 + 1 + 4)
        assert events.count("signature") == 1
        assert events.count("input_json") == 2 + 3 + 4
        assert [seen.stream for seen in provider.seen] == [False, True]
        given = {block.signature for message in (whole, streamed) for block in message.content if block.type == "thinking"}
        assert len(given) == 2
        assert given <= provider.memory.thoughts.keys()


def test_the_events_of_messages() -> None:
    reply = Reply("Hello", thinking="Hm", redacted="x", calls=[Call("read", {"a": 1}, "t1")], pieces=3)
    with Provider([reply]) as provider:
        body = {"model": "m", "max_tokens": 9, "messages": HI, "stream": True}
        status, raw, headers = post(provider, "anthropic", body)
        assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        frames = [frame.split("\n") for frame in raw.decode().split("\n\n") if frame]
        assert all(name == "event: " + json.loads(data[6:])["type"] for name, data in frames)
        events = [json.loads(data[6:]) for _, data in frames]
        assert [event["type"] for event in events[:2]] == ["message_start", "ping"]
        assert events[0]["message"]["usage"]["input_tokens"] == 5
        blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
        assert [block["type"] for block in blocks] == ["thinking", "redacted_thinking", "text", "tool_use"]
        assert (blocks[0]["thinking"], blocks[0]["signature"], blocks[2]["text"], blocks[3]["input"]) == ("", "", "", {})
        deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
        assert [delta["type"] for delta in deltas] == [
            "thinking_delta", "signature_delta", "text_delta", "text_delta", "input_json_delta", "input_json_delta",
            "input_json_delta", "input_json_delta",
        ]  # fmt: skip
        assert [delta["partial_json"] for delta in deltas[4:]] == ["", '{"a', '":1', "}"]
        assert [event["index"] for event in events if event["type"] == "content_block_stop"] == [0, 1, 2, 3]
        assert events[-2]["delta"]["stop_reason"] == "tool_use"
        assert events[-2]["usage"]["output_tokens"] == provider.requests[0].bill.output
        assert events[-1] == {"type": "message_stop"}


# -- OpenAI


@pytest.mark.design("A-1")
def test_chat_whole_and_streamed() -> None:
    with Provider([FULL, FULL]) as provider, gpt(provider) as client:
        choice = client.chat.completions.create(model="m", messages=HI).choices[0]
        assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Let me look.")
        assert choice.message.model_extra == {"reasoning_content": "First think."}
        assert choice.message.tool_calls is not None
        assert [call.to_dict()["function"] for call in choice.message.tool_calls] == [
            {"name": "read", "arguments": '{"path":"a.py"}'},
            {"name": "run", "arguments": '{"command":"ls"}'},
        ]
        options: Any = {"stream_options": {"include_usage": True}}
        chunks = list(client.chat.completions.create(model="m", messages=HI, stream=True, **options))
        deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
        assert "".join(delta.content or "" for delta in deltas) == "Let me look."
        assert "".join((delta.model_extra or {}).get("reasoning_content", "") for delta in deltas) == "First think."
        pieces = [piece for delta in deltas for piece in delta.tool_calls or []]
        assert [(piece.index, piece.id) for piece in pieces if piece.id] == [(0, "call_000003"), (1, "own_id")]
        arguments = [
            "".join(piece.function.arguments or "" for piece in pieces if piece.function and piece.index == at) for at in (0, 1)
        ]
        assert arguments == ['{"path":"a.py"}', '{"command":"ls"}']
        assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"
        assert chunks[-1].choices == []
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.prompt_tokens == 5


def test_chat_reports_usage_in_a_stream_only_when_asked() -> None:
    with Provider(lambda seen: "x") as provider, gpt(provider) as client:
        assert [chunk.usage for chunk in client.chat.completions.create(model="m", messages=HI, stream=True)] == [None] * 3
        raw = post(provider, "chat", {"model": "m", "messages": HI, "stream": True})[1]
        assert raw.endswith(b"data: [DONE]\n\n")


@pytest.mark.design("A-1")
def test_responses_whole_and_streamed() -> None:
    with Provider([FULL, FULL]) as provider, gpt(provider) as client:
        whole = client.responses.create(model="m", input="Hi", store=False, include=["reasoning.encrypted_content"])
        with client.responses.stream(model="m", input="Hi", store=False, include=["reasoning.encrypted_content"]) as stream:
            events = list(stream)
            streamed = stream.get_final_response()
        for response in (whole, streamed):
            assert [item.type for item in response.output] == ["reasoning", "message", "function_call", "function_call"]
            assert response.output_text == "Let me look."
            assert response.output[0].to_dict()["summary"] == [{"text": "First think.", "type": "summary_text"}]
            assert [item.to_dict()["arguments"] for item in response.output[2:]] == ['{"path":"a.py"}', '{"command":"ls"}']
            assert response.output[3].to_dict()["call_id"] == "own_id"
            assert response.status == "completed"
            assert response.usage is not None
            assert (response.usage.input_tokens, response.usage.output_tokens_details.reasoning_tokens) == (5, 3)
        kinds = [event.type for event in events]
        assert kinds[:2] == ["response.created", "response.in_progress"]
        assert kinds[-1] == "response.completed"
        assert kinds.count("response.reasoning_summary_text.delta") == 3
        assert kinds.count("response.output_text.delta") == 3
        assert kinds.count("response.function_call_arguments.delta") == 3 + 4
        assert [event.sequence_number for event in events] == list(range(len(events)))


# -- Gemini


@pytest.mark.design("A-1")
def test_gemini_whole_and_streamed() -> None:
    shown = google.GenerateContentConfig(thinking_config=google.ThinkingConfig(include_thoughts=True))
    with Provider([FULL, FULL]) as provider, gemini(provider) as client:
        whole = client.models.generate_content(model="m", contents="Hi", config=shown)
        chunks = list(client.models.generate_content_stream(model="m", contents="Hi"))
        assert whole.candidates is not None
        assert whole.candidates[0].content is not None
        parts = whole.candidates[0].content.parts or []
        assert [(part.text, part.thought) for part in parts[:2]] == [("First think.", True), ("Let me look.", None)]
        assert [part.function_call.args for part in parts[2:] if part.function_call] == [{"path": "a.py"}, {"command": "ls"}]
        assert [bool(part.thought_signature) for part in parts[2:]] == [True, False]
        assert whole.usage_metadata is not None
        assert (whole.usage_metadata.prompt_token_count, whole.usage_metadata.thoughts_token_count) == (5, 3)
        assert "".join(chunk.text or "" for chunk in chunks if chunk.candidates and not chunk.function_calls) == "Let me look."
        assert [call.name for chunk in chunks for call in chunk.function_calls or []] == ["read", "run"]
        reasons = [chunk.candidates[0].finish_reason for chunk in chunks if chunk.candidates]
        assert reasons == [None] * (len(chunks) - 1) + [google.FinishReason.STOP]
        assert [seen.path for seen in provider.seen] == [
            f"/v1beta/models/m:{name}" for name in ("generateContent", "streamGenerateContent")
        ]
        assert provider.seen[1].query == "alt=sse"


def test_a_signature_goes_through_the_sdk_and_back() -> None:
    with Provider([FULL, "Done."]) as provider, gemini(provider) as client:
        answer = client.models.generate_content(model="m", contents="Hi")
        assert answer.candidates is not None
        assert answer.candidates[0].content is not None
        results = [
            google.Part.from_function_response(name="read", response={"output": "x"}),
            google.Part(function_response=google.FunctionResponse(id="own_id", name="run", response={"output": "y"})),
        ]
        contents: Any = [google.UserContent("Hi"), answer.candidates[0].content, google.UserContent(results)]
        assert client.models.generate_content(model="m", contents=contents).text == "Done."
        assert provider.breaks() == []


# -- finishing


@pytest.mark.design("A-8", "A-2")
@pytest.mark.parametrize(
    ("finish", "words"),
    [
        ("", ("end_turn", "stop", "completed", None, "STOP")),
        ("length", ("max_tokens", "length", "incomplete", "max_output_tokens", "MAX_TOKENS")),
        ("refusal", ("refusal", "stop", "completed", None, "SAFETY")),
        ("filter", ("refusal", "content_filter", "incomplete", "content_filter", "PROHIBITED_CONTENT")),
        ("window", ("model_context_window_exceeded", "length", "incomplete", "max_output_tokens", "MAX_TOKENS")),
        ("odd_word", ("odd_word", "odd_word", "incomplete", "odd_word", "odd_word")),
    ],
)
def test_finish(finish: str, words: tuple[str | None, ...]) -> None:
    with Provider(lambda seen: Reply("Half", finish=finish)) as provider:
        assert post(provider, "anthropic", {"model": "m", "max_tokens": 9, "messages": HI})[1]["stop_reason"] == words[0]
        assert post(provider, "chat", {"model": "m", "messages": HI})[1]["choices"][0]["finish_reason"] == words[1]
        response = post(provider, "responses", {"model": "m", "input": "Hi"})[1]
        assert (response["status"], (response["incomplete_details"] or {}).get("reason")) == words[2:4]
        answer = post(provider, "gemini", {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]})[1]
        assert answer["candidates"][0]["finishReason"] == words[4]


def test_a_refusal_in_openais_fields() -> None:
    with Provider(lambda seen: Reply("No.", finish="refusal", pieces=1)) as provider, gpt(provider) as client:
        message = client.chat.completions.create(model="m", messages=HI).choices[0].message
        assert (message.content, message.refusal) == (None, "No.")
        chunks = client.chat.completions.create(model="m", messages=HI, stream=True)
        assert "".join(chunk.choices[0].delta.refusal or "" for chunk in chunks) == "No."
        content = client.responses.create(model="m", input="Hi").output[0].to_dict()["content"]
        assert content == [{"type": "refusal", "refusal": "No."}]


@pytest.mark.design("A-6")
def test_arguments_that_are_broken() -> None:
    broken = Reply(calls=[Call("read", '{"path": "a', "c1")])
    with (
        Provider(lambda seen: broken) as provider,
        claude(provider) as client,
        gpt(provider) as other,
        gemini(provider) as third,
    ):
        raw = post(provider, "anthropic", {"model": "m", "max_tokens": 9, "messages": HI, "stream": True})[1]
        assert b'"partial_json": "{\\"path\\": \\"a"' in raw
        whole = client.messages.create(model="m", max_tokens=9, messages=HI)
        assert whole.content[0].to_dict()["input"] == {}
        call = (other.chat.completions.create(model="m", messages=HI).choices[0].message.tool_calls or [])[0]
        assert call.to_dict()["function"] == {"name": "read", "arguments": '{"path": "a'}
        assert other.responses.create(model="m", input="Hi").output[0].to_dict()["arguments"] == '{"path": "a'
        answer = third.models.generate_content(model="m", contents="Hi")
        assert answer.candidates is not None
        assert answer.candidates[0].finish_reason == google.FinishReason.MALFORMED_FUNCTION_CALL
        assert answer.candidates[0].content is None


# -- usage in other shapes


@pytest.mark.design("A-7")
def test_shapes_of_usage() -> None:
    words = "x" * 5_200
    mark = {"cache_control": {"type": "ephemeral"}}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "text", "text": words, **mark}]}]}
    chat = {"model": "m", "messages": [{"role": "user", "content": words}]}
    with Provider(["x", "x"]) as provider:
        post(provider, "anthropic", body)
        post(provider, "chat", chat)

        def usage(shape: Any, api: str, request: dict[str, Any]) -> Any:
            provider.then(Reply("x", usage=shape))
            return post(provider, api, request)[1]

        assert usage("plain", "anthropic", body)["usage"] == {"input_tokens": 1_304, "output_tokens": 1}
        swapped = usage("swapped", "anthropic", body)["usage"]
        assert (swapped["input_tokens"], swapped["cache_read_input_tokens"]) == (1_304, 1_304)
        assert usage("none", "anthropic", body)["usage"] == {"input_tokens": 0, "output_tokens": 0}
        late = usage("late", "anthropic", {**body, "stream": True}).decode()
        start, end = (
            json.loads(line[6:]) for line in late.split("\n") if 'message_start",' in line or 'message_delta",' in line
        )
        assert start["message"]["usage"]["cache_read_input_tokens"] == 0
        assert end["usage"]["cache_read_input_tokens"] == 1_304
        assert usage("normal", "chat", chat)["usage"]["prompt_tokens_details"]["cached_tokens"] == 1_280
        assert usage("plain", "chat", chat)["usage"] == {"prompt_tokens": 1_304, "completion_tokens": 1, "total_tokens": 1_305}
        swapped = usage("swapped", "chat", chat)["usage"]
        assert (swapped["prompt_tokens"], swapped["prompt_tokens_details"]["cached_tokens"]) == (24, 1_280)
        hits = usage("hits", "chat", chat)["usage"]
        assert (hits["prompt_tokens"], hits["prompt_cache_hit_tokens"], hits["prompt_cache_miss_tokens"]) == (1_304, 1_280, 24)
        choice = usage("choice", "chat", chat)
        assert "usage" not in choice
        assert choice["choices"][0]["usage"]["prompt_tokens"] == 1_304
        assert "usage" not in usage("none", "chat", chat)
        streamed = usage("choice", "chat", {**chat, "stream": True, "stream_options": {"include_usage": True}}).decode()
        assert streamed.count('prompt_tokens"') == 1


# -- what is seen


def test_what_is_seen() -> None:
    with Provider(["x"]) as provider, claude(provider) as client:
        client.messages.create(model="m", max_tokens=9, messages=HI, system="Be brief.", extra_headers={"X-Session": "s1"})
        provider.settle()
        (seen,) = provider.seen
        assert (seen.number, seen.api, seen.method, seen.path, seen.query) == (1, "anthropic", "POST", "/v1/messages", "")
        assert (seen.headers["authorization"], seen.headers["x-session"]) == ("Bearer test-key", "s1")
        assert json.loads(seen.raw) == seen.body
        assert (seen.model, seen.stream, seen.status, seen.ok, seen.done, seen.gone, seen.fault) == (
            "m",
            False,
            200,
            True,
            True,
            False,
            "",
        )
        assert [unit.label for unit in seen.units] == ["system 1", "settings", "message 1 user part 1"]
        assert seen.units[0].data == b'{"role":"system","part":{"type":"text","text":"Be brief."}}'
        assert '"Be brief."' in seen.said("system")
        assert seen.said("user") == seen.last == '{"role":"user","part":{"type":"text","text":"Hi"}}'


def test_the_body_is_kept_byte_for_byte() -> None:
    raw = '{"model": "m",  "max_tokens":9,\n"messages":[{"role":"user","content":"\\u00e9 é"}]}'.encode()
    with Provider(["x"]) as provider:
        assert post(provider, "anthropic", raw)[0] == 200
        assert provider.seen[0].raw == raw
        assert provider.seen[0].last == '{"role":"user","part":{"type":"text","text":"é é"}}'


def test_a_function_as_script_sees_the_request() -> None:
    def answer(seen: Seen) -> Reply | str:
        return Reply(calls=[Call("read", {})]) if "tool_result" not in seen.last else f"Answer {seen.number}"

    with Provider(answer) as provider, claude(provider) as client:
        asked = client.messages.create(model="m", max_tokens=9, messages=HI).content[0]
        assert asked.type == "tool_use"
        result: Any = {"type": "tool_result", "tool_use_id": asked.id, "content": "x"}
        more: Any = [*HI, {"role": "assistant", "content": [asked.to_dict()]}, {"role": "user", "content": [result]}]
        done = client.messages.create(model="m", max_tokens=9, messages=more).content[0]
        assert done.to_dict()["text"] == "Answer 2"
        assert provider.breaks() == []


def test_a_script_at_its_end_is_raised_on_leaving() -> None:
    with (
        pytest.raises(AssertionError, match="no answer for request 2"),
        Provider(["x"]) as provider,
        claude(provider) as client,
    ):
        client.messages.create(model="m", max_tokens=9, messages=HI)
        with pytest.raises(anthropic.InternalServerError, match="no answer for request 2"):
            client.messages.create(model="m", max_tokens=9, messages=HI)


def test_an_error_of_the_script_is_raised_on_leaving() -> None:
    def answer(seen: Seen) -> str:
        raise ValueError("what the test did not expect")

    with pytest.raises(ValueError, match="did not expect"), Provider(answer) as provider, gpt(provider) as client:
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="m", messages=HI)
        assert provider.requests[0].status == 500


def test_models_and_counting_use_no_answer() -> None:
    with Provider(["x"], models={"a", "b"}, limit=9_000, output_cap=700) as provider:
        with claude(provider) as client:
            assert [(model.id, model.max_input_tokens, model.max_tokens) for model in client.models.list()] == [
                ("a", 9_000, 700),
                ("b", 9_000, 700),
            ]
            assert client.messages.count_tokens(model="a", messages=HI).input_tokens == 5
        with gpt(provider) as other:
            assert [model.id for model in other.models.list()] == ["a", "b"]
        with gemini(provider) as third:
            assert [(model.name, model.input_token_limit) for model in third.models.list()] == [
                ("models/a", 9_000),
                ("models/b", 9_000),
            ]
        assert provider.requests == []
        assert {seen.api for seen in provider.seen} == {"models", "count"}
        status, answer, _ = post(provider, "chat", b"{}", path="/v1/embeddings")
        assert (status, answer["error"]["message"]) == (404, "Invalid URL (POST /v1/embeddings)")
        request = urllib.request.Request(provider.url + "/v1/models", headers=heads("chat", "wrong"))
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 401
        refused.value.close()


def test_llama_cpp_says_its_window() -> None:
    with Provider(key=None, dialect="llama.cpp", limit=4_096) as provider, gpt(provider) as client:
        (model,) = client.models.list()
        assert model.to_dict()["meta"] == {"n_ctx_train": 4_096, "n_ctx": 4_096}


def test_it_serves_async_clients_in_the_same_process() -> None:
    async def ask(client: anthropic.AsyncAnthropic, number: int) -> str:
        async with client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": f"n{number}"}]
        ) as stream:
            return await stream.get_final_text()

    async def main(provider: Provider) -> list[str]:
        async with anthropic.AsyncAnthropic(base_url=provider.url, api_key="test-key", max_retries=0) as client:
            return await asyncio.gather(*[ask(client, number) for number in range(20)])

    with Provider(lambda seen: Reply(seen.last[-5:-3], pieces=1, pause=0.001)) as provider:
        assert asyncio.run(main(provider)) == [f"n{number}"[-2:] for number in range(20)]
        assert sorted(seen.number for seen in provider.requests) == list(range(1, 21))


def test_delay_and_pause_take_real_time() -> None:
    with Provider([Reply("abcd", pieces=1, delay=0.05, pause=0.01)]) as provider:
        post(provider, "chat", {"model": "m", "messages": HI, "stream": True})
        (seen,) = provider.requests
        assert seen.ok


def test_leaving_ends_what_still_runs() -> None:
    import threading
    import time

    done: list[Any] = []

    def ask() -> None:
        try:
            done.append(post(provider, "chat", {"model": "m", "messages": HI, "stream": True}))
        except Exception as error:  # noqa: BLE001 - looked at below
            done.append(error)

    with Provider([Reply("x" * 100, pieces=1, pause=5)]) as provider:
        thread = threading.Thread(target=ask)
        thread.start()
        provider.wait(1)
        begun = time.monotonic()
    thread.join(5)
    assert time.monotonic() - begun < 3
    assert len(done) == 1
