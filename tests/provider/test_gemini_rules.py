"""Each rule of generateContent: a request that is refused in its words, and one beside it that is accepted."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from provider.pieces import png
from provider.raw import PATHS, heads, post, refusal
from provider.server import Call, Provider, Reply

Body = dict[str, Any]


def said(role: str, *parts: Any) -> Body:
    return {"role": role, "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def call(name: str = "read", args: Any = None, **more: Any) -> Body:
    return {"functionCall": {"name": name, "args": {"path": "a"} if args is None else args}, **more}


def result(name: str = "read", value: Any = None, **more: Any) -> Body:
    return {"functionResponse": {"name": name, "response": {"output": "x"} if value is None else value, **more}}


def tools(*declarations: Body) -> list[Body]:
    return [{"functionDeclarations": list(declarations)}]


def body(*contents: Body, **more: Any) -> Body:
    return copy.deepcopy({"contents": list(contents or [said("user", "Hi")]), **more})


HI = said("user", "Hi")
ASKS, ANSWERS = said("model", call()), said("user", result())
PICTURE = {"inlineData": {"mimeType": "image/png", "data": png(1, 1)}}
FULL = "GenerateContentRequest"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(lambda seen: "Fine.", limit=2_000, images_most=2) as running:
        yield running


RULES: list[tuple[str, Body, str, Body]] = [
    ("content as a list", {"contents": [["x"]]}, "Proto field is not repeating, cannot start list at 'contents[0]'.", body()),
    (
        "call without a name",
        body(HI, said("model", call("")), ANSWERS),
        f"* {FULL}.contents[1].parts[0].function_call.name: Name cannot be empty.\n",
        body(HI, ASKS, ANSWERS),
    ),
    (
        "JSON Schema inside a list",
        body(tools=tools({"name": "a", "parameters": {"type": "array", "items": {"oneOf": []}}})),
        "at 'tools[0].function_declarations[0].parameters.items'",
        body(tools=tools({"name": "a", "parameters": {"anyOf": [{"type": "string"}]}})),
    ),
    (
        "JSON Schema inside a choice",
        body(tools=tools({"name": "a", "parameters": {"anyOf": [{"const": 1}]}})),
        "at 'tools[0].function_declarations[0].parameters.any_of[0]'",
        body(tools=tools({"name": "a", "parameters": {"anyOf": [{"type": "string"}]}})),
    ),
    (
        "broken picture in a response",
        body(HI, ASKS, said("user", result(parts=[{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]))),
        "Unable to process input image.",
        body(HI, ASKS, said("user", result(parts=[PICTURE]))),
    ),
    (
        "arguments of the service's own spelling",
        body(said("user", {"inline_data": {"mime_type": "image/png", "data": "AAAA"}})),
        "Unable to process input image.",
        body(said("user", {"inline_data": {"mime_type": "image/png", "data": png(1, 1)}})),
    ),
    ("no contents", {"generationConfig": {}}, f"* {FULL}.contents: contents is not specified\n", body()),
    (
        "unknown field",
        body(system="x"),
        'Invalid JSON payload received. Unknown name "system": Cannot find field.',
        body(systemInstruction=said("user", "x")),
    ),
    (
        "unknown setting",
        body(generationConfig={"maxTokens": 1}),
        "Unknown name \"maxTokens\" at 'generation_config': Cannot find field.",
        body(generationConfig={"maxOutputTokens": 1}),
    ),
    (
        "unknown field of a part",
        body(said("user", {"text": "x", "about": 1})),
        "Unknown name \"about\" at 'contents[0].parts[0]': Cannot find field.",
        body(),
    ),
    (
        "role assistant",
        body(HI, said("assistant", "x"), HI),
        "Please use a valid role: user, model.",
        body(HI, said("model", "x"), HI),
    ),
    ("role system", body(HI, said("system", "x")), "Please use a valid role: user, model.", body()),
    (
        "model first",
        body(said("model", "x"), HI),
        "Please ensure that multiturn requests alternate between user and model.",
        body(HI, said("model", "x"), HI),
    ),
    (
        "user twice",
        body(HI, HI),
        "Please ensure that multiturn requests alternate between user and model.",
        body(said("user", "Hi", "Hi")),
    ),
    (
        "model twice",
        body(HI, said("model", "x"), said("model", "y"), HI),
        "Please ensure that multiturn requests alternate between user and model.",
        body(HI, said("model", "x", "y"), HI),
    ),
    (
        "model last",
        body(HI, said("model", "x")),
        "Please ensure that multiturn requests ends with a user role or a function response.",
        body(HI, said("model", "x"), HI),
    ),
    (
        "no parts",
        body({"role": "user", "parts": []}),
        f"* {FULL}.contents[0].parts: contents.parts must not be empty.\n",
        body(),
    ),
    (
        "empty text",
        body(said("user", "x", "")),
        f"* {FULL}.contents[0].parts[1].data: required oneof field 'data' must have one initialized field\n",
        body(said("user", "x", "y")),
    ),
    (
        "two kinds in a part",
        body(said("user", {"text": "x", **PICTURE})),
        "required oneof field 'data'",
        body(said("user", "x", PICTURE)),
    ),
    (
        "blank text",
        body(said("user", " ")),
        "Unable to submit request because it has an empty text parameter.",
        body(said("user", " x")),
    ),
    (
        "empty system",
        body(systemInstruction={"parts": [{"text": ""}]}),
        f"* {FULL}.system_instruction.parts[0].data: required oneof field",
        body(systemInstruction={"parts": [{"text": "x"}]}),
    ),
    (
        "call first",
        body(ASKS, ANSWERS),
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        body(HI, ASKS, ANSWERS),
    ),
    (
        "call after the model",
        body(HI, said("model", "x"), ASKS, ANSWERS),
        "Please ensure that function call turn comes immediately after a user turn",
        body(HI, said("model", "x", call()), ANSWERS),
    ),
    (
        "response without a call",
        body(HI, said("model", "x"), ANSWERS),
        "Please ensure that function response turn comes immediately after a function call turn.",
        body(HI, ASKS, ANSWERS),
    ),
    (
        "call without a response",
        body(HI, ASKS, HI),
        "Please ensure that the number of function response parts is equal to the number of function call parts",
        body(HI, ASKS, said("user", result(), "x")),
    ),
    (
        "one response for two calls",
        body(HI, said("model", call(), call("write")), ANSWERS),
        "Please ensure that the number of function response parts is equal",
        body(HI, said("model", call(), call("write")), said("user", result(), result("write"))),
    ),
    (
        "two responses for one call",
        body(HI, ASKS, said("user", result(), result())),
        "Please ensure that the number of function response parts is equal",
        body(HI, ASKS, ANSWERS),
    ),
    (
        "responses in two contents",
        body(HI, said("model", call(), call("write")), ANSWERS, said("user", result("write"))),
        "Please ensure that the number of function response parts is equal",
        body(HI, ASKS, ANSWERS),
    ),
    (
        "response of another name",
        body(HI, ASKS, said("user", result("write"))),
        "Please ensure that function response name and id match",
        body(HI, ASKS, ANSWERS),
    ),
    (
        "response of another id",
        body(HI, said("model", {"functionCall": {"id": "a", "name": "read"}}), said("user", result(id="b"))),
        "Please ensure that function response name and id match",
        body(HI, said("model", {"functionCall": {"id": "a", "name": "read"}}), said("user", result(id="a"))),
    ),
    (
        "call id twice",
        body(HI, said("model", *[{"functionCall": {"id": "a", "name": "read"}}] * 2), said("user", *[result(id="a")] * 2)),
        "Please ensure that function call ids are unique.",
        body(HI, ASKS, ANSWERS),
    ),
    (
        "response without a name",
        body(HI, ASKS, said("user", result(""))),
        f"* {FULL}.contents[2].parts[0].function_response.name: Name cannot be empty.\n",
        body(HI, ASKS, ANSWERS),
    ),
    (
        "response as a text",
        body(HI, ASKS, said("user", result(value="x"))),
        "Invalid value at 'contents[2].parts[0].function_response.response' "
        '(type.googleapis.com/google.protobuf.Struct), "x"',
        body(HI, ASKS, ANSWERS),
    ),
    (
        "arguments as a text",
        body(HI, said("model", call(args="{}")), ANSWERS),
        "Invalid value at 'contents[1].parts[0].function_call.args'",
        body(HI, said("model", call(args={})), ANSWERS),
    ),
    (
        "field of a call",
        body(HI, said("model", {"functionCall": {"name": "read", "arguments": {}}}), ANSWERS),
        "Unknown name \"arguments\" at 'contents[1].parts[0].function_call'",
        body(HI, ASKS, ANSWERS),
    ),
    (
        "tool name of bad shape",
        body(tools=tools({"name": "a b"})),
        "Invalid function name. Must start with a letter or an underscore.",
        body(tools=tools({"name": "a.b:c-d"})),
    ),
    ("tool name of 65", body(tools=tools({"name": "a" * 65})), "Invalid function name.", body(tools=tools({"name": "a" * 64}))),
    (
        "tool name with a digit first",
        body(tools=tools({"name": "1a"})),
        "Invalid function name.",
        body(tools=tools({"name": "_1a"})),
    ),
    (
        "tool twice",
        body(tools=tools({"name": "a"}, {"name": "a"})),
        "Duplicate function declaration found: a",
        body(tools=tools({"name": "a"}, {"name": "b"})),
    ),
    (
        "field of a tool",
        body(tools=tools({"name": "a", "input_schema": {}})),
        "Unknown name \"inputSchema\" at 'tools[0].function_declarations[0]'",
        body(tools=tools({"name": "a", "description": "x"})),
    ),
    (
        "JSON Schema as parameters",
        body(tools=tools({"name": "a", "parameters": {"type": "object", "$schema": "x"}})),
        "Unknown name \"$schema\" at 'tools[0].function_declarations[0].parameters'",
        body(tools=tools({"name": "a", "parametersJsonSchema": {"type": "object", "$schema": "x"}})),
    ),
    (
        "JSON Schema inside parameters",
        body(tools=tools({"name": "a", "parameters": {"type": "object", "properties": {"p": {"const": 1}}}})),
        "Unknown name \"const\" at 'tools[0].function_declarations[0].parameters.properties[p]'",
        body(tools=tools({"name": "a", "parameters": {"type": "object", "properties": {"p": {"type": "string"}}}})),
    ),
    (
        "both schemas",
        body(tools=tools({"name": "a", "parameters": {}, "parametersJsonSchema": {}})),
        "only one of parameters and parameters_json_schema may be set",
        body(tools=tools({"name": "a"})),
    ),
    (
        "forced without tools",
        body(toolConfig={"functionCallingConfig": {"mode": "ANY"}}),
        "Function calling config is set without function_declarations.",
        body(tools=tools({"name": "a"}), toolConfig={"functionCallingConfig": {"mode": "ANY"}}),
    ),
    (
        "no base64",
        body(said("user", {"inlineData": {"mimeType": "image/png", "data": "%"}})),
        "Base64 decoding failed",
        body(said("user", PICTURE)),
    ),
    (
        "no picture",
        body(said("user", {"inlineData": {"mimeType": "text/plain", "data": "AAAA"}})),
        "Unsupported MIME type: text/plain",
        body(said("user", PICTURE)),
    ),
    (
        "another media type",
        body(said("user", {"inlineData": {"mimeType": "image/jpeg", "data": png(1, 1)}})),
        "Unable to process input image.",
        body(said("user", PICTURE)),
    ),
    (
        "three pictures",
        body(said("user", *[PICTURE] * 3)),
        "The number of images (3) exceeds the maximum number of images allowed (2).",
        body(said("user", *[PICTURE] * 2)),
    ),
    (
        "signature that is no base64",
        body(HI, said("model", call(thoughtSignature="%")), ANSWERS),
        "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed",
        body(HI, said("model", call(thoughtSignature="skip_thought_signature_validator")), ANSWERS),
    ),
    (
        "foreign signature",
        body(HI, said("model", call(thoughtSignature="AAAA")), ANSWERS),
        "Thought signature is not valid",
        body(HI, ASKS, ANSWERS),
    ),
    (
        "longer than the window",
        body(said("user", "x" * 7_985)),
        "The input token count (2001) exceeds the maximum number of tokens allowed (2000).",
        body(said("user", "x" * 7_984)),
    ),
]


@pytest.mark.parametrize(("bad", "words", "good"), [pytest.param(*rest, id=name) for name, *rest in RULES])
@pytest.mark.design("Q-3", "A-2")
def test_rule(provider: Provider, bad: Body, words: str, good: Body) -> None:
    assert words in refusal(provider, "gemini", bad)
    assert refusal(provider, "gemini", good) == ""


def test_a_refusal_has_the_shape_of_the_protocol(provider: Provider) -> None:
    status, answer, _ = post(provider, "gemini", body(HI, HI))
    words = "Please ensure that multiturn requests alternate between user and model."
    assert (status, answer) == (400, {"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}})


def test_head() -> None:
    with Provider(["x", "x"], models={"test-model"}) as provider:
        status, answer, _ = post(provider, "gemini", body(), headers=heads("gemini", None))
        assert (status, answer["error"]["status"]) == (403, "PERMISSION_DENIED")
        assert answer["error"]["message"].startswith("Method doesn't allow unregistered callers")
        status, answer, _ = post(provider, "gemini", body(), headers=heads("gemini", "other"))
        assert (status, answer["error"]["message"]) == (400, "API key not valid. Please pass a valid API key.")
        assert answer["error"]["details"][0]["reason"] == "API_KEY_INVALID"
        status, answer, _ = post(provider, "gemini", body(), path="/v1beta/models/other:generateContent")
        assert (status, answer["error"]["status"]) == (404, "NOT_FOUND")
        assert answer["error"]["message"].startswith("models/other is not found for API version v1beta")
        assert post(provider, "gemini", body(), headers=heads("gemini", None), path=PATHS["gemini"] + "?key=test-key")[0] == 200
        assert post(provider, "gemini", body(), path="/v1/models/test-model:generateContent")[0] == 200


@pytest.mark.design("Q-3")
def test_a_signature_comes_back_on_the_call_it_stood_on() -> None:
    missing = (
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing "
        "thought_signature may lead to degraded model performance. Additional data, function call `default_api:read` , "
        "position 2."
    )
    first, second = Call("read", {"path": "a"}), Call("read", {"path": "b"})
    with Provider([Reply(thinking="Hm.", calls=[first, second])]) as provider:
        parts = post(provider, "gemini", body())[1]["candidates"][0]["content"]["parts"]
        assert [sorted(part) for part in parts] == [["functionCall", "thoughtSignature"], ["functionCall"]]
        plain = [{"functionCall": part["functionCall"]} for part in parts]
        moved = [plain[0], {**plain[1], "thoughtSignature": parts[0]["thoughtSignature"]}]
        results = said("user", result(), result())
        provider.then("x", "x", "x")

        def sent(given: list[Body], *after: Body, path: str = "") -> str:
            status, answer, _ = post(provider, "gemini", body(HI, said("model", *given), results, *after), path=path)
            return "" if status == 200 else str(answer["error"]["message"])

        assert sent(parts) == ""
        assert missing in sent(plain)
        assert missing in sent(moved)
        both = [parts[0], moved[1]]
        assert "Thought signature is not valid" in sent(both)
        assert "Thought signature is not valid" in sent(
            [{**parts[0], "functionCall": {**plain[0]["functionCall"], "args": {}}}, parts[1]]
        )
        assert "Thought signature is not valid" in sent(parts, path="/v1beta/models/other:generateContent")
        assert sent(plain, path="/v1beta/models/other:generateContent") == ""
        # A turn that is over is not checked for missing ones.
        assert sent(plain, said("model", "Done."), HI) == ""


@pytest.mark.design("Q-3")
def test_a_signature_at_the_end_of_a_text() -> None:
    with Provider([Reply("Fine.", thinking="Hm."), "x", "x"]) as provider:
        parts = post(provider, "gemini", body())[1]["candidates"][0]["content"]["parts"]
        assert parts[0] == {"text": "Fine."}
        assert sorted(parts[1]) == ["text", "thoughtSignature"]
        assert refusal(provider, "gemini", body(HI, said("model", *parts), HI)) == ""
        assert refusal(provider, "gemini", body(HI, said("model", parts[0]), HI)) == ""
