"""What leaves, protocol by protocol (A-1, Q-4)."""

import json
from base64 import b64decode

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


def responses(*messages, **more):
    return ENCODERS["responses"](request(*messages, **more))


def gemini(*messages, **more):
    return ENCODERS["gemini"](request(*messages, **more))


ALL = [anthropic, chat, responses, gemini]


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
            {"role": "system", "content": "one\n\ntwo"},
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


@pytest.mark.design("A-1", "Q-4")
def test_responses():
    body = responses(*TALK, system=SYSTEM, tools=TOOLS, max_output=100)
    image = {"type": "input_image", "image_url": "blob:abcd"}
    assert body == {
        "model": "m",
        "store": False,
        "max_output_tokens": 100,
        "tools": [
            {
                "type": "function",
                "name": "bash",
                "description": "runs",
                "parameters": {"type": "object", "b": 1, "a": 2},
                "strict": False,
            }
        ],
        "input": [
            {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "one"}]},
            {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "\n\ntwo"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}, image]},
            {"type": "reasoning", "id": "sig", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "reasoning", "summary": [], "encrypted_content": "xx"},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "b"}, {"type": "output_text", "text": "c"}],
            },
            {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"z":1,"a":"é"}'},
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [{"type": "input_text", "text": "r"}, {"type": "input_text", "text": "s"}, image],
            },
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "d"}]},
            {"type": "function_call", "call_id": "c2", "name": "bash", "arguments": "{}"},
            {"type": "function_call", "call_id": "c3", "name": "bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c2", "output": "r2"},
            {"type": "function_call_output", "call_id": "c3", "output": "r3"},
        ],
    }


@pytest.mark.design("A-1", "Q-3")
def test_responses_keeps_the_order_of_text_calls_and_thinking():
    thought = ReasoningPart("", "rs_1", "ENC", A)
    body = responses(WireMessage("assistant", (text("a"), thought, text("b"), CallPart("c", "bash", {}, A), text("c"))))
    kinds = [item["content"][0]["text"] if item["type"] == "message" else item["type"] for item in body["input"]]
    assert kinds == ["a", "reasoning", "b", "function_call", "c"]
    assert body["input"][1] == {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"}
    lines = responses(WireMessage("user", (ResultPart("c", "bash", (text("a"), text("b")), True, A),)))["input"]
    assert lines == [{"type": "function_call_output", "call_id": "c", "output": "a\nb"}]


@pytest.mark.design("A-1", "Q-4")
def test_gemini():
    body = gemini(*TALK, system=SYSTEM, tools=TOOLS, max_output=100)
    image = {"inlineData": {"mimeType": "image/png", "data": "blob:abcd"}}
    stand_in = body["contents"][1]["parts"][4].pop("thoughtSignature")
    assert b64decode(stand_in) == b"skip_thought_signature_validator"
    assert body["contents"][3]["parts"][0].pop("thoughtSignature") == stand_in
    assert body == {
        "model": "m",
        "generationConfig": {"maxOutputTokens": 100},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "bash", "description": "runs", "parametersJsonSchema": {"type": "object", "b": 1, "a": 2}}
                ]
            }
        ],
        "systemInstruction": {"parts": [{"text": "one"}, {"text": "\n\ntwo"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "a"}, image]},
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True, "thoughtSignature": "sig"},
                    {"text": ""},
                    {"text": "b"},
                    {"text": "c"},
                    {"functionCall": {"id": "c1", "name": "bash", "args": {"z": 1, "a": "é"}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c1", "name": "bash", "response": {"error": "r\ns"}}},
                    image,
                    {"text": "d"},
                ],
            },
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"id": "c2", "name": "bash", "args": {}}},
                    {"functionCall": {"id": "c3", "name": "bash", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c2", "name": "bash", "response": {"output": "r2"}}},
                    {"functionResponse": {"id": "c3", "name": "bash", "response": {"output": "r3"}}},
                ],
            },
        ],
    }


@pytest.mark.design("A-1", "Q-3")
@pytest.mark.report(62)
def test_gemini_only_the_first_call_without_a_signature_gets_the_stand_in():
    signed = CallPart("a", "bash", {}, A, {"thoughtSignature": "S"})
    plain = CallPart("b", "bash", {}, A, {"extra_content": 1})

    def signatures(*parts):
        encoded = gemini(WireMessage("assistant", parts))["contents"][0]["parts"]
        return [part.get("thoughtSignature", "")[:4] for part in encoded if "functionCall" in part]

    assert signatures(signed, plain) == ["S", ""]
    assert signatures(text("x"), plain, signed) == ["c2tp", "S"]
    assert signatures(plain, plain) == ["c2tp", ""]


@pytest.mark.design("A-1", "Q-3")
def test_gemini_pictures_of_results_follow_them_all():
    results = tuple(ResultPart(name, "view", (ImagePart("image/png", name, A), text(name)), False, A) for name in ("c1", "c2"))
    parts = gemini(WireMessage("user", (*results, text("d"))))["contents"][0]["parts"]
    assert [next(iter(part)) for part in parts] == ["functionResponse", "functionResponse", "inlineData", "inlineData", "text"]
    assert [part["inlineData"]["data"] for part in parts[2:4]] == ["blob:c1", "blob:c2"]


@pytest.mark.design("A-1", "Q-3")
def test_chat_plain_thinking_goes_back_and_signed_does_not():
    plain, signed = ReasoningPart("hm", "", "", A), ReasoningPart("ha", "sig", "", A)
    body = chat(WireMessage("assistant", (plain, signed, ReasoningPart(" so\ud800", "", "", A), text("ok"))))
    assert body["messages"] == [{"role": "assistant", "content": "ok", "reasoning_content": "hm so�"}]
    assert "reasoning_content" not in chat(WireMessage("assistant", (ReasoningPart("", "", "", A), text("ok"))))["messages"][0]


@pytest.mark.design("Q-4", "A-1")
@pytest.mark.parametrize("encode", ALL)
def test_where_things_come_from_is_never_sent(encode):
    sent = json.dumps(encode(*TALK, system=SYSTEM, tools=TOOLS))
    assert "about" not in sent
    assert "seq" not in sent


@pytest.mark.design("A-1")
@pytest.mark.parametrize("encode", ALL)
def test_nothing_empty_is_sent(encode):
    body = encode(WireMessage("user", (text("a"),)))
    assert not {"tools", "system", "systemInstruction", "generationConfig", "toolConfig", "include", "reasoning"} & set(body)
    assert len(body[{responses: "input", gemini: "contents"}.get(encode, "messages")]) == 1


@pytest.mark.design("A-1")
def test_output_limits():
    assert anthropic()["max_tokens"] == 8_192, "the protocol demands one"
    assert "max_tokens" not in chat()
    assert "max_output_tokens" not in responses()
    assert (chat(max_output=9)["max_tokens"], responses(max_output=9)["max_output_tokens"]) == (9, 9)
    assert gemini(max_output=9)["generationConfig"] == {"maxOutputTokens": 9}


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
@pytest.mark.parametrize(
    ("budget", "most", "sent"),
    [
        ("2000", 2_001, 2_000),
        ("2000", 2_000, 1_999),
        ("2000", 1_999, 1_998),
        ("8191", None, 8_191),
        ("8192", None, 8_191),
        ("1024", 1_025, 1_024),
        ("99999", 1_025, 1_024),
        ("1024", 1_024, None),
        ("99999", 9, None),
    ],
)
def test_a_budget_fits_into_the_output(budget, most, sent):
    body = anthropic(thinking=budget, max_output=most)
    assert body.get("thinking") == (None if sent is None else {"type": "enabled", "budget_tokens": sent})
    assert body["max_tokens"] == (most or 8_192), "the limit stays as it was set"
    assert anthropic(thinking="off", max_output=9)["thinking"] == {"type": "disabled"}
    assert anthropic(thinking="high", max_output=9)["thinking"] == {"type": "adaptive"}


@pytest.mark.design("A-1")
@pytest.mark.parametrize(
    ("value", "effort"),
    [
        ("1", "low"),
        ("2048", "low"),
        ("2049", "medium"),
        ("12288", "medium"),
        ("12289", "high"),
        ("xhigh", "xhigh"),
        ("off", "none"),
    ],
)
def test_budgets_as_efforts(value, effort):
    assert chat(thinking=value)["reasoning_effort"] == effort
    assert responses(thinking=value)["reasoning"] == {"effort": effort}


@pytest.mark.design("A-1")
def test_thinking_that_the_model_decides_on():
    assert "reasoning_effort" not in chat(thinking="adaptive")
    body = responses(thinking="adaptive")
    assert "reasoning" not in body
    assert body["include"] == ["reasoning.encrypted_content"]


@pytest.mark.design("A-1", "Q-3")
def test_responses_thinking_comes_back_encrypted():
    assert responses(thinking="high")["include"] == ["reasoning.encrypted_content"]
    assert "include" not in responses(thinking="off")
    assert all(responses(thinking=one)["store"] is False for one in (None, "off", "high"))


@pytest.mark.design("A-1")
def test_gemini_thinking():
    def thinking(value, model="gemini-3-pro"):
        return gemini(thinking=value, model=model)["generationConfig"]["thinkingConfig"]

    assert thinking("off") == {"thinkingBudget": 0}
    assert thinking("2000") == {"thinkingBudget": 2_000, "includeThoughts": True}
    assert thinking("adaptive") == {"thinkingBudget": -1, "includeThoughts": True}
    assert thinking("high") == {"thinkingLevel": "HIGH", "includeThoughts": True}
    older = {effort: thinking(effort, "models/gemini-2.5-flash") for effort in ("minimal", "low", "medium", "high")}
    assert [one["thinkingBudget"] for one in older.values()] == [512, 1_024, 8_192, 24_576]


@pytest.mark.design("Q-5")
def test_the_cache_key_is_an_own_field_of_responses_only():
    assert responses(cache_key="ses_1")["prompt_cache_key"] == "ses_1"
    assert "prompt_cache_key" not in responses()
    for encode in (anthropic, chat, gemini):
        assert encode(cache_key="ses_1") == encode()


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
    assert all("tool_choice" not in encode() for encode in ALL)
    assert [responses(tool_choice=one)["tool_choice"] for one in expected] == [
        "auto", "none", "required", "required", {"type": "function", "name": "bash"},
    ]  # fmt: skip
    modes = [gemini(tool_choice=one)["toolConfig"]["functionCallingConfig"] for one in expected]
    assert modes == [
        {"mode": "AUTO"}, {"mode": "NONE"}, {"mode": "ANY"}, {"mode": "ANY"},
        {"mode": "ANY", "allowedFunctionNames": ["bash"]},
    ]  # fmt: skip


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
    for encode in (chat, responses, gemini):
        assert encode(marked, system=(SystemBlock("one", A, "stable"),)) == encode(
            WireMessage("user", marked.parts), system=(SystemBlock("one", A),)
        )


@pytest.mark.design("Q-5", "Q-6")
def test_a_system_message_carries_no_mark():
    for parts in ((text("a"),), (text("a"), text("b"))):
        marked, plain = (anthropic(WireMessage("system", parts, mark)) for mark in ("last", None))
        assert marked == plain


@pytest.mark.design("A-1")
def test_picture_data_is_put_in_where_there_is_some():
    picture = WireMessage("user", (ImagePart("image/png", "abcd", A, "QUJD"),))
    assert anthropic(picture)["messages"][0]["content"][0]["source"]["data"] == "QUJD"
    assert chat(picture)["messages"][0]["content"][0]["image_url"]["url"] == "data:image/png;base64,QUJD"
    assert responses(picture)["input"][0]["content"] == [{"type": "input_image", "image_url": "data:image/png;base64,QUJD"}]
    assert gemini(picture)["contents"][0]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]


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
    assert anthropic(middle)["messages"] == [{"role": "system", "content": "note"}]
    assert chat(middle)["messages"] == [{"role": "system", "content": "note"}]
    assert responses(middle)["input"] == [
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "note"}]}
    ]
    two = WireMessage("system", (text("a"), text("b")))
    assert anthropic(two)["messages"] == [
        {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ]
    assert chat(two)["messages"] == [{"role": "system", "content": "a\n\nb"}]
    assert [block["text"] for block in responses(two)["input"][0]["content"]] == ["a", "b"]


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
@pytest.mark.parametrize("encode", ALL)
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
@pytest.mark.parametrize("protocol", list(ENCODERS))
def test_the_encoder_reuses_what_it_encoded(protocol):
    encoder, encode = Encoder(protocol), ENCODERS[protocol]
    first = request(TALK[0], *step(1), *step(2, "last"))
    before = encoder.encode(first)
    second = request(TALK[0], *first.messages[1:4], *step(2, "previous")[1:], *step(3, "last"))
    after = encoder.encode(second)
    assert after == encode(second)
    place = {"responses": "input", "gemini": "contents"}.get(protocol, "messages")
    assert all(one is two for one, two in zip(before[place][:3], after[place], strict=False))
    assert before == encode(first), "an earlier body stays as it was"
    joined = WireMessage("user", (*second.messages[-1].parts, text("and")), "last")
    third = request(*second.messages[:-1], joined)
    grown = encoder.encode(third)
    assert grown == encode(third)
    assert all(one is two for one, two in zip(after[place][:3], grown[place], strict=False)), "the last one may grow"


@pytest.mark.design("A-1", "Q-2")
@pytest.mark.parametrize("protocol", list(ENCODERS))
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


@pytest.mark.design("A-1", "Q-3")
def test_responses_is_asked_for_thinking_that_can_go_back_wherever_the_model_thinks():
    kept = ["reasoning.encrypted_content"]
    assert responses(keep_thinking=True)["include"] == kept
    assert "reasoning" not in responses(keep_thinking=True)
    assert responses(keep_thinking=True, thinking="high")["include"] == kept
    assert responses(thinking="high")["include"] == kept
    assert "include" not in responses(keep_thinking=True, thinking="off")
    assert "include" not in responses()
    assert chat(keep_thinking=True) == chat()
    assert anthropic(keep_thinking=True) == anthropic()
