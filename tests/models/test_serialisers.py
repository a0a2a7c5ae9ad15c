"""What leaves, protocol by protocol (A-1, Q-4)."""

import json

import pytest

from sojourn.models import ENCODERS, Encoder, canonical, safe_text
from sojourn.wire import (
    About,
    CallPart,
    ImagePart,
    ModelRequest,
    ReasoningPart,
    RequestSettings,
    ResultPart,
    SystemBlock,
    TextPart,
    Tool,
    WireMessage,
)  # fmt: skip

A = About("x", "name", 7, 9)
PICTURE = ImagePart("image/png", "abcd", A)


def text(value):
    return TextPart(value, A)


def request(*messages, system=(), tools=(), **settings):
    return ModelRequest(system, tools, messages, RequestSettings(**({"model": "m"} | settings)))


def anthropic(*messages, **more):
    return ENCODERS["anthropic"](request(*messages, **more))


def chat(*messages, **more):
    return ENCODERS["chat"](request(*messages, **more))


TALK = (
    WireMessage("user", (text("a"), PICTURE)),
    WireMessage(
        "assistant",
        (
            ReasoningPart("hm", "sig", "", A),
            ReasoningPart("", "", "xx", A),
            text("b"),
            text("c"),
            CallPart("c1", "bash", {"z": 1, "a": "é"}, A),
        ),
    ),
    WireMessage("user", (ResultPart("c1", "bash", (text("r"), text("s"), PICTURE), True, A), text("d"))),
    WireMessage("assistant", (CallPart("c2", "bash", {}, A), CallPart("c3", "bash", {}, A))),
    WireMessage("user", (ResultPart("c2", "bash", (text("r2"),), False, A), ResultPart("c3", "bash", (text("r3"),), False, A))),
)
SYSTEM = (SystemBlock("one", A), SystemBlock("\n\ntwo", A))
TOOLS = (Tool("bash", "runs", {"type": "object", "b": 1, "a": 2}, A),)


@pytest.mark.design("A-1", "Q-4")
def test_anthropic():
    body = anthropic(*TALK, system=SYSTEM, tools=TOOLS, max_output=100)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "blob:abcd"}}
    assert body == {
        "model": "m",
        "max_tokens": 100,
        "tools": [{"name": "bash", "description": "runs", "input_schema": {"type": "object", "b": 1, "a": 2}}],
        "system": [{"type": "text", "text": "one"}, {"type": "text", "text": "\n\ntwo"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a"}, image]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "redacted_thinking", "data": "xx"},
                    {"type": "text", "text": "b"},
                    {"type": "text", "text": "c"},
                    {"type": "tool_use", "id": "c1", "name": "bash", "input": {"z": 1, "a": "é"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "r"}, {"type": "text", "text": "s"}, image],
                        "is_error": True,
                    },
                    {"type": "text", "text": "d"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "c2", "name": "bash", "input": {}},
                    {"type": "tool_use", "id": "c3", "name": "bash", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "r2"}]},
                    {"type": "tool_result", "tool_use_id": "c3", "content": [{"type": "text", "text": "r3"}]},
                ],
            },
        ],
    }


@pytest.mark.design("A-1", "Q-4")
def test_chat():
    body = chat(*TALK, system=SYSTEM, tools=TOOLS, max_output=100)
    image = {"type": "image_url", "image_url": {"url": "blob:abcd"}}
    assert body == {
        "model": "m",
        "max_tokens": 100,
        "tools": [
            {
                "type": "function",
                "function": {"name": "bash", "description": "runs", "parameters": {"type": "object", "b": 1, "a": 2}},
            }
        ],
        "messages": [
            {"role": "system", "content": "one"},
            {"role": "system", "content": "\n\ntwo"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, image]},
            {
                "role": "assistant",
                "content": "b\n\nc",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"z":1,"a":"é"}'}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "r\ns"},
            {"role": "user", "content": [image, {"type": "text", "text": "d"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c2", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
                    {"id": "c3", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c2", "content": "r2"},
            {"role": "tool", "tool_call_id": "c3", "content": "r3"},
        ],
    }


@pytest.mark.design("Q-4", "A-1")
@pytest.mark.parametrize("encode", [anthropic, chat])
def test_where_things_come_from_is_never_sent(encode):
    sent = json.dumps(encode(*TALK, system=SYSTEM, tools=TOOLS))
    assert "about" not in sent
    assert "seq" not in sent


@pytest.mark.design("A-1")
@pytest.mark.parametrize("encode", [anthropic, chat])
def test_nothing_empty_is_sent(encode):
    body = encode(WireMessage("user", (text("a"),)))
    assert "tools" not in body
    assert "system" not in body
    assert len(body["messages"]) == 1


@pytest.mark.design("A-1")
def test_output_limits():
    assert anthropic()["max_tokens"] == 8_192, "the protocol demands one"
    assert "max_tokens" not in chat()


@pytest.mark.design("A-1", "Q-2")
def test_thinking():
    assert "thinking" not in anthropic()
    assert anthropic(thinking="off")["thinking"] == {"type": "disabled"}
    assert anthropic(thinking="2000")["thinking"] == {"type": "enabled", "budget_tokens": 2_000}
    assert anthropic(thinking="adaptive")["thinking"] == {"type": "adaptive"}
    assert "output_config" not in anthropic(thinking="adaptive")
    high = anthropic(thinking="high")
    assert (high["thinking"], high["output_config"]) == ({"type": "adaptive"}, {"effort": "high"})
    assert "reasoning_effort" not in chat()
    assert chat(thinking="high")["reasoning_effort"] == "high"
    assert chat(thinking="off")["reasoning_effort"] == "none"


@pytest.mark.design("A-1")
def test_tool_choice():
    expected = {
        "auto": ({"type": "auto"}, "auto"),
        "none": ({"type": "none"}, "none"),
        "any": ({"type": "any"}, "required"),
        "required": ({"type": "any"}, "required"),
        "bash": ({"type": "tool", "name": "bash"}, {"type": "function", "function": {"name": "bash"}}),
    }
    for choice, (one, two) in expected.items():
        assert anthropic(tool_choice=choice)["tool_choice"] == one
        assert chat(tool_choice=choice)["tool_choice"] == two
    assert "tool_choice" not in anthropic()
    assert "tool_choice" not in chat()


@pytest.mark.design("Q-5")
def test_marks_stand_on_the_last_block_that_can_carry_one():
    body = anthropic(
        WireMessage("user", (text("a"), text("b")), mark="opening"),
        WireMessage("assistant", (text("c"), ReasoningPart("t", "s", "", A), ReasoningPart("", "", "x", A)), mark="last"),
        system=(SystemBlock("one", A, "stable"), SystemBlock("two", A)),
    )
    ephemeral = {"type": "ephemeral"}
    assert [block.get("cache_control") for block in body["system"]] == [ephemeral, None]
    assert [block.get("cache_control") for block in body["messages"][0]["content"]] == [None, ephemeral]
    assert [block.get("cache_control") for block in body["messages"][1]["content"]] == [ephemeral, None, None]
    marked = WireMessage("user", (text("a"), text("b")), mark="last")
    assert chat(marked, system=(SystemBlock("one", A, "stable"),)) == chat(
        WireMessage("user", marked.parts), system=(SystemBlock("one", A),)
    )


@pytest.mark.design("A-1")
def test_picture_data_is_put_in_where_there_is_some():
    picture = WireMessage("user", (ImagePart("image/png", "abcd", A, "QUJD"),))
    assert anthropic(picture)["messages"][0]["content"][0]["source"]["data"] == "QUJD"
    assert chat(picture)["messages"][0]["content"][0]["image_url"]["url"] == "data:image/png;base64,QUJD"


@pytest.mark.design("A-1")
def test_a_picture_alone_in_a_result():
    body = chat(WireMessage("user", (ResultPart("c", "view", (PICTURE,), False, A),)))
    assert [message["role"] for message in body["messages"]] == ["tool", "user"]
    assert body["messages"][0]["content"] == ""


@pytest.mark.design("A-1")
def test_pictures_of_several_results_follow_them_all_in_order():
    results = tuple(ResultPart(name, "view", (ImagePart("image/png", name, A), text(name)), False, A) for name in ("c1", "c2"))
    body = chat(WireMessage("user", (*results, text("d"), PICTURE)))
    assert [message["role"] for message in body["messages"]] == ["tool", "tool", "user"]
    urls = [block.get("image_url", {}).get("url") for block in body["messages"][2]["content"]]
    assert urls == ["blob:c1", "blob:c2", None, "blob:abcd"]


@pytest.mark.design("Q-6")
def test_system_messages_in_the_middle():
    middle = WireMessage("system", (text("note"),))
    assert anthropic(middle)["messages"] == [{"role": "system", "content": [{"type": "text", "text": "note"}]}]
    assert chat(middle)["messages"] == [{"role": "system", "content": "note"}]


@pytest.mark.design("R-3")
def test_provider_fields_of_calls():
    call = CallPart("c", "bash", {}, A, {"extra_content": {"sig": 1}, "other": 2})
    assert chat(WireMessage("assistant", (call,)))["messages"][0]["tool_calls"][0] == {
        "id": "c",
        "type": "function",
        "function": {"name": "bash", "arguments": "{}"},
        "extra_content": {"sig": 1},
    }
    assert anthropic(WireMessage("assistant", (call,)))["messages"][0]["content"][0] == {
        "type": "tool_use", "id": "c", "name": "bash", "input": {},
    }  # fmt: skip


@pytest.mark.design("Q-2")
def test_canonical_bytes():
    assert canonical({"b": 1, "a": [True, None, "é"]}) == '{"b":1,"a":[true,null,"é"]}'.encode()
    assert canonical({"x\ud800": ["\udc00y", ("\ud83d\ude00",)], "n": 1}) == '{"x�":["�y",["😀"]],"n":1}'.encode()


@pytest.mark.design("Q-2")
def test_lone_surrogates_are_made_safe():
    assert safe_text("a\ud800b") == "a�b"
    assert safe_text("\ud83d\ude00") == "😀"
    assert safe_text("plain é 😀") == "plain é 😀"


@pytest.mark.design("A-1", "Q-3")
@pytest.mark.parametrize("encode", [anthropic, chat])
def test_no_text_can_make_a_body_that_cannot_be_sent(encode):
    bad = "a\ud800"
    body = encode(
        WireMessage("user", (text(bad),)),
        WireMessage("assistant", (text(bad), CallPart("c", "bash", {bad: [bad]}, A))),
        WireMessage("user", (ResultPart("c", "bash", (text(bad),), False, A), text(bad), text(bad))),
        WireMessage("system", (text(bad),)),
        system=(SystemBlock(bad, A),),
        tools=(Tool("t", bad, {"description": bad}, A),),
    )
    sent = json.dumps(body, ensure_ascii=False).encode()
    assert "a�".encode() in sent


def step(number, mark=None):
    return (
        WireMessage("assistant", (text(f"s{number}"), CallPart(f"c{number}", "bash", {}, A))),
        WireMessage("user", (ResultPart(f"c{number}", "bash", (text("r"),), False, A),), mark=mark),
    )


@pytest.mark.design("A-1")
@pytest.mark.parametrize("protocol", ["anthropic", "chat"])
def test_the_encoder_reuses_what_it_encoded(protocol):
    encoder, encode = Encoder(protocol), ENCODERS[protocol]
    first = request(TALK[0], *step(1), *step(2, "last"))
    before = encoder.encode(first)
    second = request(TALK[0], *first.messages[1:4], *step(2, "previous")[1:], *step(3, "last"))
    after = encoder.encode(second)
    assert after == encode(second)
    assert all(one is two for one, two in zip(before["messages"][:3], after["messages"], strict=False))
    assert before == encode(first), "an earlier body stays as it was"
    joined = WireMessage("user", (*second.messages[-1].parts, text("and")), "last")
    third = request(*second.messages[:-1], joined)
    grown = encoder.encode(third)
    assert grown == encode(third)
    assert all(one is two for one, two in zip(after["messages"][:3], grown["messages"], strict=False)), "the last one may grow"


@pytest.mark.design("A-1", "Q-2")
@pytest.mark.parametrize("protocol", ["anthropic", "chat"])
def test_the_encoder_follows_any_change(protocol):
    encoder, encode = Encoder(protocol), ENCODERS[protocol]
    long = (TALK[0], *step(1), *step(2, "last"))
    marked = WireMessage(long[2].role, long[2].parts, "opening")
    other = WireMessage(long[2].role, (text("other"),), "opening")
    turned = WireMessage("assistant", long[2].parts, "opening")
    changed = (marked, other, marked, turned)
    variants = [long, long[:4], long[:1], (), *((*long[:2], one, *long[3:]) for one in changed)]
    variants += [long, (*long[:-1], *step(9)), (*step(5), *long[1:])]
    for messages in variants:
        for system in ((), SYSTEM):
            current = request(*messages, system=system, tools=TOOLS)
            assert encoder.encode(current) == encode(current)
