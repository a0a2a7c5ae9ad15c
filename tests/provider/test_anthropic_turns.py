"""The order of messages, and calls with their results: refused in the API's words, and one beside it accepted."""

from collections.abc import Iterator

import pytest

from provider.anthropic_pieces import ANYWHERE, CALL, MARK, RESULT, Body, assistant, body, image, system, text, user
from provider.pieces import png
from provider.raw import refusal
from provider.server import Provider


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(lambda seen: "Fine.", mid_system=True, limit=2_000) as running:
        yield running


GOOD = [user("Hi"), assistant(CALL), user(RESULT)]
RULES: list[tuple[str, Body, str, Body]] = [
    (
        "result for an id of bad shape",
        body(*GOOD[:2], user({**RESULT, "tool_use_id": "a b"})),
        "messages.2.content.0.tool_result.tool_use_id: String should match pattern",
        body(*GOOD),
    ),
    (
        "result as an object",
        body(*GOOD[:2], user({**RESULT, "content": {"a": 1}})),
        "messages.2.content.0.tool_result.content: Input should be a valid list",
        body(*GOOD),
    ),
    (
        "call inside a result",
        body(*GOOD[:2], user({**RESULT, "content": [CALL]})),
        "messages.2.content.0.tool_result.content.0: Input tag 'tool_use' found",
        body(*GOOD),
    ),
    (
        "mark inside a result counts",
        body(*GOOD[:2], user({**RESULT, "content": [text("x", cache_control=MARK)] * 5})),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        body(*GOOD[:2], user({**RESULT, "content": [text("x", cache_control=MARK)] * 4})),
    ),
    ("call by the user", body(user(CALL)), "messages.0: `tool_use` blocks can only be in `assistant` messages", body(*GOOD)),
    (
        "result by the assistant",
        body(user("Hi"), assistant(RESULT), user("x")),
        "messages.1: `tool_result` blocks can only be in `user` messages",
        body(*GOOD),
    ),
    (
        "picture by the assistant",
        body(user("Hi"), assistant(image(png(1, 1))), user("x")),
        "messages.1: `image` blocks can only be in `user` messages",
        body(user(image(png(1, 1)))),
    ),
    (
        "id of bad shape",
        body(user("Hi"), assistant({**CALL, "id": "call:1"}), user({**RESULT, "tool_use_id": "call:1"})),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        body(user("Hi"), assistant({**CALL, "id": "call_1-x"}), user({**RESULT, "tool_use_id": "call_1-x"})),
    ),
    (
        "name of bad shape in a call",
        body(user("Hi"), assistant({**CALL, "name": "a b"}), user(RESULT)),
        "messages.1.content.0.tool_use.name: String should match pattern",
        body(*GOOD),
    ),
    (
        "input as a string",
        body(user("Hi"), assistant({**CALL, "input": "{}"}), user(RESULT)),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
        body(user("Hi"), assistant({**CALL, "input": {}}), user(RESULT)),
    ),
    (
        "call id twice",
        body(*GOOD, assistant(CALL), user(RESULT)),
        "messages.3.content.0: `tool_use` ids must be unique",
        body(*GOOD, assistant({**CALL, "id": "toolu_2"}), user({**RESULT, "tool_use_id": "toolu_2"})),
    ),
    (
        "result without a call",
        body(user(RESULT)),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
        body(*GOOD),
    ),
    (
        "result of an earlier turn",
        body(*GOOD, assistant("x"), user(RESULT)),
        "messages.4.content.0: unexpected `tool_use_id` found",
        body(*GOOD, assistant("x"), user("y")),
    ),
    (
        "result twice",
        body(*GOOD[:2], user(RESULT, RESULT)),
        "messages.2.content.1: each tool_use must have a single result.",
        body(*GOOD[:2], user(RESULT, text("x"))),
    ),
    (
        "calls without results",
        body(user("Hi"), assistant(CALL, {**CALL, "id": "toolu_2"}, {**CALL, "id": "toolu_3"}), user(RESULT)),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2, toolu_3.",
        body(user("Hi"), assistant(CALL, {**CALL, "id": "toolu_2"}), user(RESULT, {**RESULT, "tool_use_id": "toolu_2"})),
    ),
    (
        "text before the result",
        body(*GOOD[:2], user(text("x"), RESULT)),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
        body(*GOOD[:2], user(RESULT, text("x"))),
    ),
    (
        "call at the end",
        body(user("Hi"), assistant(CALL), user("x")),
        "messages.1: `tool_use` ids were found without",
        body(*GOOD),
    ),
    (
        "system first",
        body(system("x"), user("Hi")),
        f"messages.0: use the top-level 'system' parameter for the initial system prompt{ANYWHERE}",
        body(user("Hi"), system("x")),
    ),
    (
        "system after the assistant",
        body(user("Hi"), assistant("x"), system("y"), user("z")),
        "messages.2: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool "
        f"result{ANYWHERE}",
        body(user("Hi"), system("y"), assistant("x"), user("z")),
    ),
    (
        "system before the user",
        body(user("Hi"), system("a"), system("b"), user("x")),
        f"messages.2: role 'system' must precede an 'assistant' message or end the array{ANYWHERE}",
        body(user("Hi"), system("a"), system("b")),
    ),
    (
        "system between call and result",
        body(user("Hi"), assistant(CALL), system("x"), user(RESULT)),
        "messages.2: role 'system' must follow",
        body(*GOOD, system("x")),
    ),
    (
        "empty system message",
        body(user("Hi"), system([])),
        "messages.1: system content must contain at least one block",
        body(user("Hi"), system([text("x")])),
    ),
    (
        "picture by the system",
        body(user("Hi"), system([image(png(1, 1))])),
        "messages.1: role 'system' supports text, tool_addition, and tool_removal blocks only",
        body(user("Hi"), system("x")),
    ),
]


@pytest.mark.parametrize(("bad", "words", "good"), [pytest.param(*rest, id=name) for name, *rest in RULES])
@pytest.mark.design("Q-3", "A-2")
def test_rule(provider: Provider, bad: Body, words: str, good: Body) -> None:
    assert words in refusal(provider, "anthropic", bad)
    assert refusal(provider, "anthropic", good) == ""


def test_messages_of_one_role_are_one_turn() -> None:
    second = {**CALL, "id": "toolu_2"}
    with Provider(lambda seen: "x") as provider:
        split = body(
            user("Hi"), assistant(CALL), assistant(second), user(RESULT), user({**RESULT, "tool_use_id": "toolu_2"}, text("x"))
        )
        assert refusal(provider, "anthropic", split) == ""
        late = body(
            user("Hi"), assistant(CALL), assistant(second), user(RESULT), user(text("x"), {**RESULT, "tool_use_id": "toolu_2"})
        )
        assert refusal(provider, "anthropic", late).startswith(
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2."
        )
