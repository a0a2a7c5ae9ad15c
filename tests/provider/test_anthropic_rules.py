"""Each rule of the Messages API: a request that is refused in its words, and one beside it that is accepted."""

from collections.abc import Iterator

import pytest

from provider.anthropic_pieces import CALL, MARK, RESULT, TOOL, Body, assistant, body, image, text, user
from provider.pieces import png
from provider.raw import post, refusal
from provider.server import Provider


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(lambda seen: "Fine.", mid_system=True, limit=2_000) as running:
        yield running


GOOD = [user("Hi"), assistant(CALL), user(RESULT)]
RULES: list[tuple[str, Body, str, Body]] = [
    ("messages as an object", {**body(), "messages": {}}, "messages: Input should be a valid list", body()),
    ("a message as a text", {**body(), "messages": ["Hi"]}, "messages.0: Input should be a valid dictionary", body()),
    ("no role", {**body(), "messages": [{"content": "Hi"}]}, "messages.0.role: Field required", body()),
    (
        "content as an object",
        body({"role": "user", "content": {"text": "x"}}),
        "messages.0.content: Input should be a valid list",
        body(),
    ),
    ("max_tokens as a text", body(max_tokens="9"), "max_tokens: Input should be a valid integer", body(max_tokens=9)),
    ("tools as an object", body(tools={}), "tools: Input should be a valid list", body(tools=[])),
    (
        "a tool of the server",
        body(tools=[{**TOOL, "type": "function"}]),
        "tools.0: Input tag 'function' found",
        body(tools=[{**TOOL, "type": "custom"}]),
    ),
    (
        "schema as a text",
        body(tools=[{**TOOL, "input_schema": "x"}]),
        "tools.0.custom.input_schema: Input should be a valid dictionary",
        body(tools=[TOOL]),
    ),
    (
        "schema without a type",
        body(tools=[{**TOOL, "input_schema": {}}]),
        "tools.0.custom.input_schema.type: Field required",
        body(tools=[TOOL]),
    ),
    (
        "description of a tool as a list",
        body(tools=[{**TOOL, "description": []}]),
        "tools.0.custom.description: Input should be a valid string",
        body(tools=[TOOL]),
    ),
    ("empty system", body(system=""), "system: text content blocks must be non-empty", body(system="x")),
    ("system as an object", body(system={"text": "x"}), "system: Input should be a valid list", body(system=[])),
    ("a picture in system", body(system=[image(png(1, 1))]), "system.0.type: Input should be 'text'", body(system=[text("x")])),
    ("text as a number", body(user(text(1))), "messages.0.content.0.text.text: Input should be a valid string", body()),
    ("text without text", body(user({"type": "text"})), "messages.0.content.0.text.text: Field required", body()),
    (
        "field of a mark",
        body(user(text("x", cache_control={**MARK, "scope": "global"}))),
        "cache_control.ephemeral.scope: Extra inputs are not permitted",
        body(user(text("x", cache_control=MARK))),
    ),
    (
        "picture by address",
        body(user({"type": "image", "source": {"type": "address"}})),
        "messages.0.content.0.image.source: Input tag 'address' found",
        body(),
    ),
    (
        "field of a picture",
        body(user({"type": "image", "source": {**image(png(1, 1))["source"], "detail": "low"}})),
        "image.source.base64.detail: Extra inputs are not permitted",
        body(),
    ),
    ("picture without data", body(user(image(""))), "image.source.base64.data: Input should be a valid string", body()),
    ("no max_tokens", {"model": "m", "messages": [user("Hi")]}, "max_tokens: Field required", body()),
    ("max_tokens below 0", body(max_tokens=-1), "max_tokens: must be greater than or equal to 0", body(max_tokens=0)),
    (
        "max_tokens above the cap",
        body(max_tokens=128_001),
        "max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens for m",
        body(max_tokens=128_000),
    ),
    ("no model", {"max_tokens": 1, "messages": [user("Hi")]}, "model: Field required", body()),
    ("unknown field", body(reasoning_effort="low"), "reasoning_effort: Extra inputs are not permitted", body(top_k=3)),
    (
        "a field of a beta",
        body(context_management={}),
        "context_management: Extra inputs are not permitted",
        body(speed="standard"),
    ),
    ("no messages", {"model": "m", "max_tokens": 1}, "messages: Field required", body()),
    ("empty messages", {**body(), "messages": []}, "messages: at least one message is required", body()),
    (
        "role tool",
        body(user("Hi"), {"role": "tool", "content": "x"}),
        'messages: Unexpected role "tool".',
        body(user("Hi"), user("x")),
    ),
    ("field in a message", body({**user("Hi"), "name": "x"}), "messages.0.name: Extra inputs are not permitted", body()),
    ("no content", body({"role": "user"}), "messages.0.content: Field required", body()),
    (
        "assistant first",
        body(assistant("Hi"), user("Hi")),
        'messages: first message must use the "user" role',
        body(user("Hi"), user("Hi")),
    ),
    (
        "assistant last",
        body(user("Hi"), assistant("Hi")),
        "This model does not support assistant message prefill.",
        body(user("Hi"), assistant("Hi"), user("Go")),
    ),
    (
        "empty message",
        body(user("Hi"), {"role": "user", "content": []}),
        "messages.1: all messages must have non-empty content",
        body(user("Hi"), user("x")),
    ),
    (
        "empty string",
        body({"role": "user", "content": ""}),
        "messages.0: all messages must have non-empty content",
        body(user("x")),
    ),
    (
        "empty text",
        body(user(text("Hi"), text(""))),
        "messages: text content blocks must be non-empty",
        body(user(text("Hi"), text("x"))),
    ),
    (
        "blank text",
        body(user(text(" \n"))),
        "messages: text content blocks must contain non-whitespace text",
        body(user(text(" \nx"))),
    ),
    (
        "blank string",
        body(user("Hi"), user(" ")),
        "messages: text content blocks must contain non-whitespace text",
        body(user("Hi"), user(" x")),
    ),
    (
        "blank text in a result",
        body(*GOOD[:2], user({**RESULT, "content": [text("")]})),
        "messages: text content blocks must be non-empty",
        body(*GOOD[:2], user({**RESULT, "content": ""})),
    ),
    (
        "blank system",
        body(system=[text(" ")]),
        "system: text content blocks must contain non-whitespace text",
        body(system=[text("x")]),
    ),
    (
        "mark on an empty text",
        body(user(text("Hi"), text("", cache_control=MARK))),
        "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
        body(user(text("Hi"), text("x", cache_control=MARK))),
    ),
    (
        "mark of another kind",
        body(user(text("x", cache_control={"type": "persistent"}))),
        "messages.0.content.0.text.cache_control: Input tag 'persistent'",
        body(user(text("x", cache_control=MARK))),
    ),
    (
        "mark for two minutes",
        body(user(text("x", cache_control={**MARK, "ttl": "2m"}))),
        "messages.0.content.0.text.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
        body(user(text("x", cache_control={**MARK, "ttl": "1h"}))),
    ),
    (
        "five marks",
        body(
            user(*[text("x", cache_control=MARK)] * 3),
            tools=[{**TOOL, "cache_control": MARK}],
            system=[text("s", cache_control=MARK)],
        ),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        body(
            user(*[text("x", cache_control=MARK)] * 2),
            tools=[{**TOOL, "cache_control": MARK}],
            system=[text("s", cache_control=MARK)],
        ),
    ),
    (
        "the mark of the whole request is the fifth",
        body(user(*[text("x", cache_control=MARK)] * 4), cache_control=MARK),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        body(user(*[text("x", cache_control=MARK)] * 3), cache_control=MARK),
    ),
    (
        "long mark behind a short one",
        body(user(text("x", cache_control=MARK), text("y", cache_control={**MARK, "ttl": "1h"}))),
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.",
        body(user(text("x", cache_control={**MARK, "ttl": "1h"}), text("y", cache_control=MARK))),
    ),
    (
        "unknown block",
        body(user({"type": "input_text", "text": "x"})),
        "messages.0.content.0: Input tag 'input_text' found",
        body(user(text("x"))),
    ),
    (
        "unknown field of a block",
        body(user(text("x", about=1))),
        "messages.0.content.0.text.about: Extra inputs are not permitted",
        body(user(text("x"))),
    ),
    (
        "tool name of bad shape",
        body(tools=[{**TOOL, "name": "a.b"}]),
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        body(tools=[{**TOOL, "name": "a" * 128}]),
    ),
    (
        "tool name too long",
        body(tools=[{**TOOL, "name": "a" * 129}]),
        "tools.0.custom.name: String should match pattern",
        body(tools=[TOOL]),
    ),
    (
        "tool twice",
        body(tools=[TOOL, TOOL]),
        "tools: Tool names must be unique.",
        body(tools=[TOOL, {**TOOL, "name": "write"}]),
    ),
    ("tool without schema", body(tools=[{"name": "a"}]), "tools.0.custom.input_schema: Field required", body(tools=[TOOL])),
    (
        "schema of a list",
        body(tools=[{**TOOL, "input_schema": {"type": "array"}}]),
        "tools.0.custom.input_schema.type: Input should be 'object'",
        body(tools=[{**TOOL, "input_schema": {"type": "object"}}]),
    ),
    (
        "field of a tool",
        body(tools=[{**TOOL, "parameters": {}}]),
        "tools.0.custom.parameters: Extra inputs are not permitted",
        body(tools=[{**TOOL, "strict": True}]),
    ),
    (
        "choice without tools",
        body(tool_choice={"type": "auto"}),
        "tool_choice: tool_choice may only be specified while providing tools",
        body(tools=[TOOL], tool_choice={"type": "auto"}),
    ),
    (
        "choice of an unknown tool",
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "x"}),
        "tool_choice: Tool 'x' not found in provided tools",
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "read"}),
    ),
    (
        "choice in another protocol's words",
        body(tools=[TOOL], tool_choice="auto"),
        "tool_choice: Input tag 'auto'",
        body(tools=[TOOL], tool_choice={"type": "none"}),
    ),
    (
        "thinking of unknown kind",
        body(thinking={"type": "high"}),
        "thinking: Input tag 'high'",
        body(thinking={"type": "adaptive"}),
    ),
    (
        "thinking without budget",
        body(thinking={"type": "enabled"}),
        "thinking.enabled.budget_tokens: Field required",
        body(thinking={"type": "disabled"}),
    ),
    (
        "budget too small",
        body(max_tokens=2000, thinking={"type": "enabled", "budget_tokens": 1023}),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        body(max_tokens=2000, thinking={"type": "enabled", "budget_tokens": 1024}),
    ),
    (
        "budget not below max_tokens",
        body(max_tokens=1024, thinking={"type": "enabled", "budget_tokens": 1024}),
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
        body(max_tokens=1025, thinking={"type": "enabled", "budget_tokens": 1024}),
    ),
    (
        "budget where it adapts",
        body(thinking={"type": "adaptive", "budget_tokens": 1024}),
        "thinking.adaptive.budget_tokens: Extra inputs are not permitted",
        body(thinking={"type": "adaptive", "display": "summarized"}),
    ),
    (
        "forced tool with thinking",
        body(tools=[TOOL], tool_choice={"type": "any"}, thinking={"type": "adaptive"}),
        "Thinking may not be enabled when tool_choice forces tool use.",
        body(tools=[TOOL], tool_choice={"type": "any"}),
    ),
    (
        "temperature with thinking",
        body(temperature=0, thinking={"type": "adaptive"}),
        "`temperature` may only be set to 1 when thinking is enabled",
        body(temperature=0),
    ),
    (
        "unknown effort",
        body(output_config={"effort": "minimal"}),
        "output_config.effort: Input should be",
        body(output_config={"effort": "max"}),
    ),
    (
        "foreign thinking",
        body(user("Hi"), assistant({"type": "thinking", "thinking": "x", "signature": "abc"}, text("y")), user("z")),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        body(user("Hi"), assistant(text("y")), user("z")),
    ),
    (
        "thinking without signature",
        body(user("Hi"), assistant({"type": "thinking", "thinking": "x"}, text("y")), user("z")),
        "messages.1.content.0.thinking.signature: Field required",
        body(user("Hi"), assistant(text("y")), user("z")),
    ),
    (
        "marked thinking",
        body(user("Hi"), assistant({"type": "thinking", "thinking": "x", "signature": "s", "cache_control": MARK}), user("z")),
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        body(user("Hi"), assistant(text("y", cache_control=MARK)), user("z")),
    ),
    (
        "foreign redacted thinking",
        body(user("Hi"), assistant({"type": "redacted_thinking", "data": "x"}, text("y")), user("z")),
        "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
        body(user("Hi"), assistant(text("y")), user("z")),
    ),
    (
        "media type",
        body(user(image(png(1, 1), "image/bmp"))),
        "messages.0.content.0.image.source.base64.media_type: Input should be",
        body(user(image(png(1, 1)))),
    ),
    (
        "another media type",
        body(user(image(png(1, 1), "image/jpeg"))),
        "messages.0.content.0.image.source.base64.data: Image does not match the provided media type image/jpeg",
        body(user(image(png(1, 1)))),
    ),
    (
        "no base64",
        body(user(image("%%%%"))),
        "messages.0.content.0.image.source.base64.data: The image data is not valid base64",
        body(user(image(png(1, 1)))),
    ),
    ("no picture", body(user(image("AAAA"))), "Could not process image", body(user(image(png(1, 1))))),
    (
        "a data URL",
        body(
            user(
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "data:image/png;base64," + png(1, 1)},
                }
            )
        ),
        "The image data is not valid base64",
        body(user(image(png(1, 1)))),
    ),
    (
        "side above 8,000",
        body(user(image(png(8001, 1)))),
        "At least one of the image dimensions exceed max allowed size: 8000 pixels",
        body(user(image(png(8000, 1)))),
    ),
    (
        "21 pictures of 2,001",
        body(user(*[image(png(1, 1))] * 20, image(png(2001, 1)))),
        "messages.0.content.20.image.source.base64.data: At least one of the image dimensions exceed max allowed size "
        "for many-image requests: 2000 pixels",
        body(user(*[image(png(1, 1))] * 20, image(png(2000, 1)))),
    ),
    (
        "a picture in a result counts",
        body(*GOOD[:2], user({**RESULT, "content": [image(png(2001, 1))]}, *[image(png(1, 1))] * 20)),
        "for many-image requests: 2000 pixels",
        body(*GOOD[:2], user({**RESULT, "content": [image(png(2001, 1))]}, *[image(png(1, 1))] * 19)),
    ),
    (
        "101 pictures",
        body(user(*[image(png(1, 1))] * 101)),
        "too many images and documents: 101 + 0 > 100",
        body(user(*[image(png(1, 1))] * 100)),
    ),
    (
        "a picture in an error",
        body(*GOOD[:2], user({**RESULT, "is_error": True, "content": [image(png(1, 1))]})),
        "content of `tool_result` blocks with `is_error` must be text only",
        body(*GOOD[:2], user({**RESULT, "is_error": True, "content": "no"})),
    ),
    (
        "longer than the window",
        body(user("x" * 7_985)),
        "prompt is too long: 2001 tokens > 2000 maximum",
        body(user("x" * 7_984)),
    ),
]


@pytest.mark.parametrize(("bad", "words", "good"), [pytest.param(*rest, id=name) for name, *rest in RULES])
@pytest.mark.design("Q-3", "A-2")
def test_rule(provider: Provider, bad: Body, words: str, good: Body) -> None:
    assert words in refusal(provider, "anthropic", bad)
    assert refusal(provider, "anthropic", good) == ""


def test_a_refusal_has_the_shape_of_the_protocol(provider: Provider) -> None:
    status, answer, headers = post(provider, "anthropic", body(max_tokens=-1))
    number = provider.seen[-1].number
    assert status == 400
    assert answer == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "max_tokens: must be greater than or equal to 0"},
        "request_id": f"req_{number:06d}",
    }
    assert headers["request-id"] == f"req_{number:06d}"
    seen = provider.seen[-1]
    assert (seen.status, seen.problems, seen.ok, seen.bill.cost) == (400, [answer["error"]["message"]], False, 0.0)
