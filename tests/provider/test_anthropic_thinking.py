"""Thinking comes back as it was given, or not at all."""

from typing import Any

import pytest

from provider.anthropic_pieces import RESULT, Body, assistant, body, system, user
from provider.raw import post, refusal
from provider.server import Call, Provider, Reply


def think(provider: Provider, model: str = "m") -> tuple[list[Body], Body]:
    """The content of an answer with thinking and two calls, and the user message that answers them."""
    provider.then(
        Reply(
            "Look.",
            thinking=["First.", "Second."],
            calls=[Call("read", {"path": "a"}), Call("read", {"path": "b"})],
            redacted="?",
        )
    )
    content = post(provider, "anthropic", {**body(), "model": model})[1]["content"]
    results = [{**RESULT, "tool_use_id": block["id"]} for block in content if block["type"] == "tool_use"]
    return content, user(*results)


ON = {"type": "adaptive"}


@pytest.mark.design("Q-3")
@pytest.mark.report(62)
def test_thinking_in_a_tool_run() -> None:
    changed = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
    missing = (
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block"
    )
    with Provider() as provider:
        content, results = think(provider)
        assert [block["type"] for block in content] == [
            "thinking",
            "thinking",
            "redacted_thinking",
            "text",
            "tool_use",
            "tool_use",
        ]
        provider.then(*["x"] * 9)

        def sent(blocks: list[Body], *after: Body, **more: Any) -> str:
            return refusal(provider, "anthropic", body(user("Hi"), assistant(*blocks), results, *after, **more))

        assert sent(content, thinking=ON) == ""
        assert changed in sent([content[0], {**content[1], "thinking": "Other."}, *content[2:]], thinking=ON)
        assert changed in sent([content[0], *content[2:]], thinking=ON)
        assert changed in sent([content[1], content[0], *content[2:]], thinking=ON)
        assert changed in sent([*content[:2], *content[3:]], thinking=ON)
        assert missing in sent(content[3:], thinking=ON)
        # Without thinking nothing has to come back; what comes back must still be genuine.
        assert sent(content[3:]) == ""
        assert changed in sent([{**content[0], "thinking": "Other."}, *content[1:]])
        # A turn that is over may lose its thinking whole.
        assert sent(content[3:], assistant("Done."), user("Next."), thinking=ON) == ""
        # Words beside the results do not end the run.
        assert missing in sent(content[3:], user("Hurry."), thinking=ON)
        assert sent(content, user("Hurry."), thinking=ON) == ""


def test_thinking_is_not_the_end_of_a_message() -> None:
    with Provider([Reply("So.", thinking="Hm."), "x"]) as provider:
        first, text = post(provider, "anthropic", body())[1]["content"]
        assert refusal(provider, "anthropic", body(user("Hi"), assistant(text, first), user("x"))) == (
            "messages.1: The final block in an assistant message cannot be `thinking`."
        )
        assert refusal(provider, "anthropic", body(user("Hi"), assistant(first, text), user("x"))) == ""


@pytest.mark.design("Q-3")
def test_a_system_message_does_not_end_a_tool_run() -> None:
    with Provider(mid_system=True) as provider:
        content, results = think(provider)
        provider.then("x")
        late = [user("Hi"), assistant(*content[3:]), results, system("Mind the time.")]
        assert "Expected `thinking`" in refusal(provider, "anthropic", body(*late, thinking=ON))
        late[1] = assistant(*content)
        assert refusal(provider, "anthropic", body(*late, thinking=ON)) == ""


@pytest.mark.design("Q-3")
@pytest.mark.report(62)
def test_thinking_of_another_model() -> None:
    with Provider() as provider:
        content, results = think(provider, model="other")
        provider.then("x", "x")
        history = [user("Hi"), assistant(*content), results]
        assert refusal(provider, "anthropic", body(*history, thinking=ON)) == (
            "messages.1.content.0: Invalid `signature` in `thinking` block"
        )
        history[1] = assistant(*content[3:])
        assert refusal(provider, "anthropic", body(*history, thinking=ON)) == ""
        assert (
            refusal(provider, "anthropic", {**body(user("Hi"), assistant(*content), results, thinking=ON), "model": "other"})
            == ""
        )


def test_changed_thinking_of_an_earlier_turn_is_an_invalid_signature() -> None:
    with Provider() as provider:
        content, results = think(provider)
        provider.then("x")
        wrong = [{**content[0], "thinking": "First. "}, *content[1:]]
        after = [results, assistant("Done."), user("Next.")]
        assert refusal(provider, "anthropic", body(user("Hi"), assistant(*wrong), *after)) == (
            "messages.1.content.0: Invalid `signature` in `thinking` block"
        )
        assert refusal(provider, "anthropic", body(user("Hi"), assistant(*content), *after)) == ""
