"""Each rule of Chat Completions, and what it has in common with Responses: refused in its words, and one beside it accepted."""

from collections.abc import Iterator

import pytest

from provider.openai_pieces import HI, USER, Body, asks, call, chat, function, item, items, output, picture, said, tool
from provider.pieces import png
from provider.raw import heads, post, refusal
from provider.server import Call, Provider, Reply


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(lambda seen: "Fine.", limit=2_000, images_most=3) as running:
        yield running


CHAT: list[tuple[str, Body, str, Body]] = [
    ("messages as a text", chat(messages="Hi"), "Invalid type for 'messages'", chat()),
    ("content as a number", chat({"role": "user", "content": 1}), "Invalid type for 'messages[0].content'", chat()),
    (
        "call id as a number",
        chat(USER, asks({**call(), "id": 1}), tool()),
        "Invalid type for 'messages[1].tool_calls[0].id': expected a string, but got an integer instead.",
        chat(USER, asks(), tool()),
    ),
    (
        "field of a call",
        chat(USER, asks({**call(), "extra": {}}), tool()),
        "Unknown parameter: 'messages[1].tool_calls[0].extra'.",
        chat(USER, asks(), tool()),
    ),
    (
        "tool without a type",
        chat(tools=[{"function": {"name": "read"}}]),
        "Invalid value: 'None'. Supported values are: 'function' and 'custom'.",
        chat(tools=[function()]),
    ),
    (
        "calls by a tool",
        chat(USER, asks(), {**tool(), "tool_calls": [call()]}),
        "Unknown parameter: 'messages[2].tool_calls'.",
        chat(USER, asks(), tool()),
    ),
    ("no model", {"messages": [USER]}, "you must provide a model parameter", chat()),
    ("unknown field", chat(thinking={}), "Unrecognized request argument supplied: thinking", chat(reasoning_effort="low")),
    (
        "both limits",
        chat(max_tokens=1, max_completion_tokens=1),
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time",
        chat(max_completion_tokens=1),
    ),
    (
        "above the cap",
        chat(max_tokens=128_001),
        "max_tokens is too large: 128001. This model supports at most 128000",
        chat(max_tokens=128_000),
    ),
    (
        "stream options without a stream",
        chat(stream_options={"include_usage": True}),
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        chat(),
    ),
    ("no messages", {"model": "m"}, "Missing required parameter: 'messages'.", chat()),
    ("empty messages", {"model": "m", "messages": []}, "Invalid 'messages': empty array.", chat()),
    (
        "unknown role",
        chat({"role": "model", "content": "x"}),
        "Invalid value: 'model'. Supported values are: 'system', 'assistant'",
        chat({"role": "developer", "content": "x"}, USER),
    ),
    ("field in a message", chat({**USER, "about": 1}), "Unknown parameter: 'messages[0].about'.", chat({**USER, "name": "x"})),
    (
        "reasoning in a message",
        chat(USER, {"role": "assistant", "content": "x", "reasoning_content": "y"}, USER),
        "Unknown parameter: 'messages[1].reasoning_content'.",
        chat(USER, {"role": "assistant", "content": "x"}, USER),
    ),
    (
        "null content",
        chat(USER, {"role": "assistant", "content": None}, USER),
        "Invalid value for 'content': expected a string, got null.",
        chat(USER, asks(), tool(), USER),
    ),
    (
        "empty parts",
        chat({"role": "user", "content": []}),
        "Invalid 'messages[0].content': empty array.",
        chat({"role": "user", "content": [{"type": "text", "text": "x"}]}),
    ),
    (
        "blank message",
        chat({"role": "system", "content": " "}, USER),
        "the message at position 0 with role 'system' must not be empty",
        chat({"role": "system", "content": "x"}, USER),
    ),
    (
        "blank answer",
        chat(USER, {"role": "assistant", "content": ""}, USER),
        "the message at position 1 with role 'assistant' must not be empty",
        chat(USER, asks(content=""), tool(content=""), USER),
    ),
    (
        "blank part",
        chat({"role": "user", "content": [{"type": "text", "text": ""}]}),
        "Invalid 'messages[0].content[0].text': the text must not be empty",
        chat(),
    ),
    (
        "part of another protocol",
        chat({"role": "user", "content": [{"type": "input_text", "text": "x"}]}),
        "Invalid value: 'input_text'. Supported values are: 'text' and 'image_url'.",
        chat(),
    ),
    (
        "picture by a tool",
        chat(USER, asks(), tool(content=[picture()])),
        "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user'",
        chat(USER, asks(), tool(), {"role": "user", "content": [picture()]}),
    ),
    (
        "no data URL",
        chat({"role": "user", "content": [{"type": "image_url", "image_url": {"url": png(1, 1)}}]}),
        "Expected a valid URL",
        chat({"role": "user", "content": [picture()]}),
    ),
    (
        "no picture",
        chat({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:text/plain;base64,AAAA"}}]}),
        "Invalid MIME type. Only image types are supported.",
        chat(),
    ),
    ("broken picture", chat({"role": "user", "content": [picture("AAAA")]}), "You uploaded an unsupported image.", chat()),
    ("no base64", chat({"role": "user", "content": [picture("%%%%")]}), "Invalid base64 image_url", chat()),
    (
        "four pictures",
        chat({"role": "user", "content": [picture()] * 4}),
        "Too many images in request. Maximum is 3.",
        chat({"role": "user", "content": [picture()] * 3}),
    ),
    (
        "result without a call",
        chat(USER, tool()),
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        chat(USER, asks(), tool()),
    ),
    (
        "result behind the user",
        chat(USER, asks(), USER, tool()),
        "An assistant message with 'tool_calls' must be followed by tool messages",
        chat(USER, asks(), tool(), USER),
    ),
    (
        "result twice",
        chat(USER, asks(), tool(), tool()),
        "messages with role 'tool' must be a response",
        chat(USER, asks(), tool()),
    ),
    (
        "no id in a result",
        chat(USER, asks(), {"role": "tool", "content": "x"}),
        "Missing required parameter: 'messages[2].tool_call_id'.",
        chat(USER, asks(), tool()),
    ),
    (
        "calls without results",
        chat(USER, asks(call(), call("call_2"), call("call_3")), tool()),
        "The following tool_call_ids did not have response messages: call_2, call_3",
        chat(USER, asks(call(), call("call_2")), tool("call_2"), tool()),
    ),
    (
        "call at the end",
        chat(USER, asks()),
        "The following tool_call_ids did not have response messages: call_1",
        chat(USER, asks(), tool()),
    ),
    (
        "call id twice",
        chat(USER, asks(), tool(), asks(), tool()),
        "Invalid 'messages[3].tool_calls[0].id': duplicate tool call id 'call_1'.",
        chat(USER, asks(), tool(), asks(call("call_2")), tool("call_2")),
    ),
    (
        "call id of 41",
        chat(USER, asks(call("c" * 41)), tool("c" * 41)),
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a "
        "string with length 41 instead.",
        chat(USER, asks(call("c" * 40)), tool("c" * 40)),
    ),
    (
        "empty calls",
        chat(USER, asks(content="x", tool_calls=[]), USER),
        "Invalid 'messages[1].tool_calls': empty array.",
        chat(USER, {"role": "assistant", "content": "x"}, USER),
    ),
    ("calls by the user", chat({**USER, "tool_calls": [call()]}), "Unknown parameter: 'messages[0].tool_calls'.", chat()),
    (
        "arguments as an object",
        chat(USER, asks(call(arguments={})), tool()),
        "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead.",
        chat(USER, asks(call(arguments="{}")), tool()),
    ),
    (
        "broken arguments",
        chat(USER, asks(call(arguments='{"a')), tool()),
        "Failed to parse tool call arguments as JSON",
        chat(USER, asks(call(arguments='{"a": 1}')), tool()),
    ),
    (
        "arguments that are a list",
        chat(USER, asks(call(arguments="[]")), tool()),
        "expected a JSON object, but got an array instead.",
        chat(USER, asks(call(arguments="{}")), tool()),
    ),
    (
        "no type of a call",
        chat(USER, asks({**call(), "type": ""}), tool()),
        "Missing required parameter: 'messages[1].tool_calls[0].type'.",
        chat(USER, asks(), tool()),
    ),
    ("no tools", chat(tools=[]), "Invalid 'tools': empty array.", chat(tools=[function()])),
    (
        "choice without tools",
        chat(tool_choice="auto"),
        "'tool_choice' is only allowed when 'tools' are specified.",
        chat(tools=[function()], tool_choice="auto"),
    ),
    (
        "parallel without tools",
        chat(parallel_tool_calls=True),
        "'parallel_tool_calls' is only allowed when 'tools' are specified.",
        chat(tools=[function()], parallel_tool_calls=True),
    ),
    (
        "choice of an unknown tool",
        chat(tools=[function()], tool_choice={"type": "function", "function": {"name": "x"}}),
        "function 'x' is not in 'tools'",
        chat(tools=[function()], tool_choice={"type": "function", "function": {"name": "read"}}),
    ),
    (
        "choice in another protocol's words",
        chat(tools=[function()], tool_choice="any"),
        "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
        chat(tools=[function()], tool_choice="required"),
    ),
    (
        "tool name of bad shape",
        chat(tools=[function("a.b")]),
        "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        chat(tools=[function("a_b")]),
    ),
    (
        "tool name of 65",
        chat(tools=[function("a" * 65)]),
        "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64",
        chat(tools=[function("a" * 64)]),
    ),
    (
        "tool of another protocol",
        chat(tools=[{"type": "function", "name": "read"}]),
        "Missing required parameter: 'tools[0].function.name'.",
        chat(tools=[function()]),
    ),
    (
        "field of a tool",
        chat(tools=[function(input_schema={})]),
        "Unknown parameter: 'tools[0].function.input_schema'.",
        chat(tools=[function(description="x", strict=True)]),
    ),
    (
        "schema of a list",
        chat(tools=[function(parameters={"type": "array"})]),
        "Invalid schema for function 'read'",
        chat(tools=[function(parameters={"type": "object"})]),
    ),
    (
        "longer than the window",
        chat({"role": "user", "content": "x" * 7_985}),
        "This model's maximum context length is 2000 tokens. However, your messages resulted in 2001 tokens.",
        chat({"role": "user", "content": "x" * 7_984}),
    ),
]


@pytest.mark.parametrize(("bad", "words", "good"), [pytest.param(*rest, id=name) for name, *rest in CHAT])
@pytest.mark.design("Q-3", "A-2")
def test_chat_rule(provider: Provider, bad: Body, words: str, good: Body) -> None:
    assert words in refusal(provider, "chat", bad)
    assert refusal(provider, "chat", good) == ""


def test_a_refusal_has_the_shape_of_the_protocol(provider: Provider) -> None:
    status, answer, _ = post(provider, "chat", chat(USER, asks(call("c" * 41)), tool("c" * 41)))
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert (answer["error"]["param"], answer["error"]["code"]) == ("messages[1].tool_calls[0].id", "string_above_max_length")
    _, answer, _ = post(provider, "chat", chat({"role": "user", "content": "x" * 9_000}))
    assert (answer["error"]["param"], answer["error"]["code"]) == ("messages", "context_length_exceeded")
    _, answer, _ = post(provider, "responses", items(said("user", "x" * 9_000)))
    assert (answer["error"]["param"], answer["error"]["code"]) == ("input", "context_length_exceeded")
    status, answer, _ = post(
        provider, "responses", items(HI, {"type": "reasoning", "id": "rs_9", "summary": []}, item(), output())
    )
    assert (status, answer["error"]["param"], answer["error"]["code"]) == (404, "input", None)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_head(api: str) -> None:
    body = chat() if api == "chat" else items()
    with Provider(["x"], models={"m"}) as provider:
        status, answer, _ = post(provider, api, body, headers=heads(api, None))
        assert (status, answer["error"]["type"], answer["error"]["code"]) == (401, "invalid_request_error", None)
        assert answer["error"]["message"].startswith("You didn't provide an API key.")
        status, answer, _ = post(provider, api, body, headers=heads(api, "another-key"))
        assert (status, answer["error"]["code"]) == (401, "invalid_api_key")
        assert answer["error"]["message"].startswith("Incorrect API key provided: anot*****-key.")
        status, answer, _ = post(provider, api, {**body, "model": "n"})
        assert (status, answer["error"]["code"]) == (404, "model_not_found")
        assert answer["error"]["message"] == "The model `n` does not exist or you do not have access to it."
        assert post(provider, api, body)[0] == 200
    with Provider(["x"], key=None, refuse_fields={"temperature"}) as provider:
        assert (
            refusal(provider, api, {**body, "temperature": 0})
            == "Unsupported parameter: 'temperature' is not supported with this model."
        )
        assert post(provider, api, body, headers=heads(api, None))[0] == 200


def test_llama_cpp() -> None:
    with Provider(lambda seen: "x", dialect="llama.cpp", limit=100) as provider:
        assert (
            refusal(
                provider,
                "chat",
                chat(USER, {"role": "assistant", "content": "x", "reasoning_content": "y"}, USER, cache_prompt=True),
            )
            == ""
        )
        status, answer, _ = post(provider, "chat", chat({"role": "user", "content": "x" * 400}))
        assert status == 400
        assert answer == {
            "error": {
                "code": 400,
                "message": "request (104 tokens) exceeds the available context size (100 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 104,
                "n_ctx": 100,
            }
        }
        status, answer, _ = post(provider, "chat", chat(USER, asks(call(arguments="{")), tool()))
        assert status == 500


def test_llama_cpp_on_its_other_addresses() -> None:
    said = "request (101 tokens) exceeds the available context size (100 tokens), try increasing it"
    with Provider([Reply("Half", finish="length")], dialect="llama.cpp", limit=100) as provider:
        long = {"role": "user", "content": "x" * 388}
        for api, more in (("anthropic", {"max_tokens": 9, "messages": [long]}), ("responses", {"input": [long]})):
            _, answer, _ = post(provider, api, {"model": "m", **more})
            assert answer["error"]["message"] == said
            assert (answer["error"]["type"], answer["error"]["n_ctx"]) == ("exceed_context_size_error", 100)
        cut = post(provider, "responses", {"model": "m", "input": "Hi"})[1]
        assert (cut["status"], cut["incomplete_details"]) == ("completed", None)
        assert cut["usage"] == {
            "input_tokens": 5,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 1,
            "total_tokens": 6,
        }


def test_templates_that_want_turns() -> None:
    late = chat(USER, {"role": "assistant", "content": "x"}, {"role": "system", "content": "y"}, USER)
    twice = chat(USER, asks(), tool(), USER)
    with Provider(lambda seen: "x", alternate=True) as provider:
        assert refusal(provider, "chat", late) == "System message must be at the beginning."
        assert refusal(provider, "chat", twice) == "Conversation roles must alternate user/assistant/user/assistant/..."
        assert refusal(provider, "chat", chat({"role": "system", "content": "y"}, USER, asks(), tool())) == ""
    with Provider(lambda seen: "x") as provider:
        assert refusal(provider, "chat", late) == ""
        assert refusal(provider, "chat", twice) == ""


@pytest.mark.design("Q-3")
def test_deepseek_wants_its_reasoning_back_inside_a_tool_run() -> None:
    with Provider([Reply(thinking="Hm.", calls=[Call("read", {}, "call_1")])], dialect="deepseek") as provider:
        assert post(provider, "chat", chat())[1]["choices"][0]["message"]["reasoning_content"] == "Hm."
        provider.then("x", "x")
        lost = "The `reasoning_content` in the thinking mode must be passed back to the API."
        assert refusal(provider, "chat", chat(USER, asks(), tool())) == lost
        assert refusal(provider, "chat", chat(USER, asks(reasoning_content="Hm"), tool())) == lost
        assert refusal(provider, "chat", chat(USER, asks(reasoning_content="Hm."), tool())) == ""
        assert refusal(provider, "chat", chat(USER, asks(), tool(), USER)) == ""
