"""Each rule of Responses: a request that is refused in its words, and one beside it that is accepted."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from provider.openai_pieces import HI, Body, function, item, items, output, said
from provider.pieces import png
from provider.raw import post, refusal
from provider.server import Call, Provider, Reply


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(lambda seen: "Fine.", limit=2_000, images_most=3) as running:
        yield running


RESPONSES: list[tuple[str, Body, str, Body]] = [
    ("input as an object", items(input={"role": "user"}), "Invalid type for 'input'", items()),
    (
        "item id twice",
        items(HI, said("assistant", "x", id="msg_1"), HI, said("assistant", "y", id="msg_1"), HI),
        "Duplicate item found with id msg_1.",
        items(HI, said("assistant", "x", id="msg_1"), HI, said("assistant", "y", id="msg_2"), HI),
    ),
    (
        "output of unknown parts",
        items(HI, item(), output(value=[{"type": "text", "text": "x"}])),
        "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', and 'input_file'.",
        items(HI, item(), output(value=[{"type": "input_text", "text": "x"}])),
    ),
    (
        "broken picture in an output",
        items(HI, item(), output(value=[{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}])),
        "You uploaded an unsupported image.",
        items(HI, item(), output(value=[{"type": "input_image", "image_url": "data:image/png;base64," + png(1, 1)}])),
    ),
    (
        "unknown field",
        items(messages=[]),
        "Unknown parameter: 'messages'.",
        items(store=False, include=["reasoning.encrypted_content"]),
    ),
    ("no input", {"model": "m"}, 'One of "input" or "previous_response_id"', {"model": "m", "input": "Hi"}),
    ("empty input", {"model": "m", "input": []}, 'One of "input" or "previous_response_id"', items()),
    (
        "previous response",
        items(previous_response_id="resp_1", store=False),
        "Previous response with id 'resp_1' not found.",
        items(),
    ),
    ("unknown item", items({"type": "text", "text": "x"}), "Invalid value: 'text'. Supported values are: 'message'", items()),
    (
        "field of an item",
        items({**HI, "about": 1}),
        "Unknown parameter: 'input[0].about'.",
        items({**HI, "status": "completed"}),
    ),
    (
        "role tool",
        items(said("tool", "x")),
        "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        items(said("developer", "x")),
    ),
    (
        "output by the user",
        items({**HI, "content": [{"type": "output_text", "text": "x"}]}),
        "Invalid value: 'output_text'. Supported values are: 'input_text' and 'input_image'.",
        items(),
    ),
    (
        "input by the assistant",
        items(HI, {**said("assistant", "x"), "content": [{"type": "input_text", "text": "x"}]}, HI),
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        items(HI, said("assistant", "x"), HI),
    ),
    (
        "part of Chat",
        items({**HI, "content": [{"type": "text", "text": "x"}]}),
        "Invalid value: 'text'. Supported values are: 'input_text' and 'input_image'.",
        items({"role": "user", "content": "x"}),
    ),
    ("blank part", items(said("user", " ")), "Invalid 'input[0].content[0].text': the text must not be empty", items()),
    (
        "blank message",
        items({"role": "user", "content": ""}),
        "Invalid 'input[0].content': the text must not be empty",
        items(),
    ),
    ("empty parts", items({"role": "user", "content": []}), "Invalid 'input[0].content': empty array.", items()),
    (
        "broken picture",
        items({"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}),
        "You uploaded an unsupported image.",
        items({"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64," + png(1, 1)}]}),
    ),
    (
        "four pictures",
        items({"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64," + png(1, 1)}] * 4}),
        "Too many images in request. Maximum is 3.",
        items(),
    ),
    (
        "no call id",
        items(HI, {"type": "function_call", "name": "read", "arguments": "{}"}),
        "Missing required parameter: 'input[1].call_id'.",
        items(HI, item(), output()),
    ),
    (
        "arguments as an object",
        items(HI, item(arguments={}), output()),
        "Invalid type for 'input[1].arguments': expected a string",
        items(HI, item(arguments="{}"), output()),
    ),
    (
        "broken arguments",
        items(HI, item(arguments="{"), output()),
        "Failed to parse tool call arguments as JSON",
        items(HI, item(arguments="{}"), output()),
    ),
    (
        "call without output",
        items(HI, item(), item("call_2"), output()),
        "No tool output found for function call call_2.",
        items(HI, item(), item("call_2"), output("call_2"), output()),
    ),
    (
        "output without call",
        items(HI, output()),
        "No tool call found for function call output with call_id call_1.",
        items(HI, item(), output()),
    ),
    (
        "output before the call",
        items(HI, output(), item()),
        "No tool call found for function call output with call_id call_1.",
        items(HI, item(), output()),
    ),
    (
        "output twice",
        items(HI, item(), output(), output()),
        "No tool call found for function call output with call_id call_1.",
        items(HI, item(), output()),
    ),
    (
        "call id twice",
        items(HI, item(), output(), item(), output()),
        "Invalid 'input[3].call_id': duplicate call id 'call_1'.",
        items(HI, item(), output(), item("call_2"), output("call_2")),
    ),
    (
        "call id of 65",
        items(HI, item("c" * 65), output("c" * 65)),
        "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64",
        items(HI, item("c" * 64), output("c" * 64)),
    ),
    (
        "id of another kind",
        items(HI, item(id="call_1"), output()),
        "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
        items(HI, item(id="fc_1"), output()),
    ),
    (
        "message id of another kind",
        items(HI, said("assistant", "x", id="fc_1"), HI),
        "Expected an ID that begins with 'msg'.",
        items(HI, said("assistant", "x", id="msg_1"), HI),
    ),
    (
        "output of another kind",
        items(HI, item(), output(value={"text": "x"})),
        "Invalid type for 'input[2].output'",
        items(HI, item(), output(value=[{"type": "input_text", "text": "x"}])),
    ),
    (
        "reasoning without a summary",
        items(HI, {"type": "reasoning", "id": "rs_1"}, item(), output()),
        "Missing required parameter: 'input[1].summary'.",
        items(HI, item(), output()),
    ),
    (
        "reasoning that was not stored",
        items(HI, {"type": "reasoning", "id": "rs_1", "summary": []}, item(), output()),
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
        items(HI, item(), output()),
    ),
    (
        "foreign reasoning",
        items(HI, {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}, item(), output()),
        "The encrypted content for item rs_1 could not be verified.",
        items(HI, item(), output()),
    ),
    (
        "reference to nothing",
        items(HI, {"type": "item_reference", "id": "msg_1"}),
        "Item with id 'msg_1' not found.",
        items(HI),
    ),
    (
        "nothing to answer",
        items(said("assistant", "x")),
        "at least one message of role 'user' is needed",
        items(HI, said("assistant", "x")),
    ),
    (
        "tool of Chat",
        items(tools=[function()]),
        "Missing required parameter: 'tools[0].name'.",
        items(tools=[{"type": "function", "name": "read", "parameters": {"type": "object"}}]),
    ),
    (
        "tool name of bad shape",
        items(tools=[{"type": "function", "name": "a b"}]),
        "Invalid 'tools[0].name': string does not match pattern.",
        items(tools=[{"type": "function", "name": "a_b"}]),
    ),
    (
        "longer than the window",
        items(said("user", "x" * 7_985)),
        "Your input exceeds the context window of this model.",
        items(said("user", "x" * 7_984)),
    ),
]


@pytest.mark.parametrize(("bad", "words", "good"), [pytest.param(*rest, id=name) for name, *rest in RESPONSES])
@pytest.mark.design("Q-3", "A-2")
def test_responses_rule(provider: Provider, bad: Body, words: str, good: Body) -> None:
    assert words in refusal(provider, "responses", bad)
    assert refusal(provider, "responses", good) == ""


def reasoned(provider: Provider, *, store: bool = False, **more: Any) -> list[Body]:
    """The items of an answer with two reasonings, a text and a call."""
    provider.then(Reply("Look.", thinking=["First.", "Second."], calls=[Call("read", {"path": "a"}, "call_1")]))
    body = items(HI, store=store, include=["reasoning.encrypted_content"], **more)
    found: list[Body] = post(provider, "responses", body)[1]["output"]
    assert [one["type"] for one in found] == ["reasoning", "reasoning", "message", "function_call"]
    return found


@pytest.mark.design("Q-3")
def test_reasoning_items_come_back_with_what_followed_them() -> None:
    with Provider() as provider:
        first, second, message, asked = reasoned(provider)
        provider.then(*["x"] * 5)

        def sent(*given: Body, **more: Any) -> str:
            return refusal(provider, "responses", items(HI, *given, **{"store": False, **more}))

        lost = "of type 'reasoning' was provided without its required following item."
        assert sent(first, second, message, asked, output()) == ""
        bare = [{key: value for key, value in one.items() if key != "id"} for one in (message, asked)]
        assert sent(first, second, *bare, output()) == ""
        assert f"Item '{first['id']}' {lost}" in sent(first, message, asked, output())
        assert f"Item '{second['id']}' {lost}" in sent(first, second, asked, output())
        assert f"Item '{second['id']}' {lost}" in sent(message, asked, output(), second)
        assert f"Item '{second['id']}' {lost}" in sent(first, second, said("assistant", "Other."), asked, output())
        assert sent(message, asked, output()) == (
            f"Item '{message['id']}' of type 'message' was provided without its required 'reasoning' item: '{second['id']}'."
        )
        assert sent(*bare, output()) == ""
        assert "could not be verified" in sent(
            {**first, "encrypted_content": second["encrypted_content"]}, second, message, asked, output()
        )
        assert "could not be verified" in sent(first, second, message, asked, output(), model="n")
        plain = [{key: value for key, value in one.items() if key != "encrypted_content"} for one in (first, second)]
        assert f"Item with id '{first['id']}' not found." in sent(*plain, message, asked, output())


@pytest.mark.design("Q-3")
def test_stored_items_need_no_encrypted_content() -> None:
    with Provider() as provider:
        first, second, message, asked = reasoned(provider, store=True)
        provider.then("x", "x")
        plain = [{key: value for key, value in one.items() if key != "encrypted_content"} for one in (first, second)]
        assert refusal(provider, "responses", items(HI, *plain, message, asked, output())) == ""
        assert refusal(provider, "responses", items(HI, {"type": "item_reference", "id": message["id"]})) == ""


def test_encrypted_content_is_given_to_who_asks_for_it() -> None:
    with Provider([Reply("x", thinking="Hm."), Reply("x", thinking="Hm.")]) as provider:
        assert "encrypted_content" not in post(provider, "responses", items(store=False))[1]["output"][0]
        asked = items(store=False, include=["reasoning.encrypted_content"])
        assert post(provider, "responses", asked)[1]["output"][0]["encrypted_content"].startswith("gAAAA")


@pytest.mark.design("A-2")
def test_overflow_inside_the_stream() -> None:
    body = items(said("user", "x" * 400), stream=True)
    with Provider(["x"], limit=100, overflow_in_stream=True) as provider:
        status, raw, _ = post(provider, "responses", body)
        assert status == 200
        events = [json.loads(line[6:]) for line in raw.decode().split("\n") if line.startswith("data: ")]
        assert [event["type"] for event in events] == ["response.created", "response.in_progress", "response.failed"]
        assert events[-1]["response"]["error"]["code"] == "context_length_exceeded"
        assert provider.refused[0].status == 200
        assert post(provider, "responses", {**body, "stream": False})[0] == 400
