"""Caches and bills: exact numbers by each provider's rules."""

import copy
import threading
from typing import Any

import pytest

from provider.raw import post
from provider.server import Bill, Provider, Seen

Body = dict[str, Any]
MARK = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, mark: Any = None) -> Body:
    return {"type": "text", "text": words, **({"cache_control": mark} if mark else {})}


def messages(*turns: list[Body], **more: Any) -> Body:
    """Turns of user and assistant by turns."""
    listed = [{"role": ("user", "assistant")[at % 2], "content": blocks} for at, blocks in enumerate(turns)]
    return copy.deepcopy({"model": "m", "max_tokens": 100, "messages": listed, **more})


def sent(provider: Provider, body: Body, api: str = "anthropic") -> Bill:
    status, answer, _ = post(provider, api, body)
    assert status == 200, answer
    return provider.requests[-1].bill


def one(seen: Seen) -> str:
    return "x" * 8


A, B, C = "a" * 400, "b" * 200, "c" * 80
"""100, 50 and 20 tokens; a turn has 4 more."""


@pytest.mark.design("Q-5", "A-7")
def test_marks_write_and_read() -> None:
    with Provider(one, cache_minimum=0) as provider:
        assert sent(provider, messages([text(A)])) == Bill(fresh=104, output=2)
        assert sent(provider, messages([text(A, MARK)])) == Bill(write=104, output=2)
        assert sent(provider, messages([text(A, MARK)])) == Bill(read=104, output=2)
        assert sent(provider, messages([text(A, MARK), text(B)])) == Bill(read=104, fresh=50, output=2)
        assert sent(provider, messages([text(A), text(B, MARK)])) == Bill(read=104, write=50, output=2)
        assert sent(provider, messages([text(A), text(B)])) == Bill(fresh=154, output=2)
        assert sent(provider, messages([text(A), text(C, MARK), text(B)])) == Bill(read=104, write=20, fresh=50, output=2)
        assert sent(provider, messages([text(B), text(A, MARK)])) == Bill(write=154, output=2)
        assert [len(seen.read_units) for seen in provider.requests] == [0, 0, 2, 2, 2, 0, 2, 0]
        assert [unit.label for unit in provider.requests[2].read_units] == ["settings", "message 1 user part 1"]
        costs = [104, 130, 10.4, 60.4, 72.9, 154, 85.4, 192.5]
        assert [seen.bill.cost for seen in provider.requests] == costs
        assert provider.bill() == pytest.approx(sum(costs), abs=1e-9)
        assert provider.bill(provider.requests[:3]) == 244.4


@pytest.mark.design("Q-5")
def test_tools_and_system_lie_before_the_messages() -> None:
    tool = {"name": "read", "description": "d" * 40, "input_schema": {"type": "object", "required": ["12345"]}}
    size = 8 + 1 + 10 + -(-len('{"type":"object","required":["12345"]}') // 4)
    base: Body = {"tools": [tool], "system": [text(A, MARK)]}
    with Provider(one, cache_minimum=0) as provider:
        assert sent(provider, messages([text(C)], **base)) == Bill(write=size + 100, fresh=24, output=2)
        assert sent(provider, messages([text(B)], **base)) == Bill(read=size + 100, fresh=54, output=2)
        # What belongs to the key of the messages' part only leaves tools and system alone.
        for more in (
            {"tool_choice": {"type": "any"}},
            {"thinking": {"type": "adaptive"}},
            {"output_config": {"effort": "low"}},
        ):
            assert sent(provider, messages([text(B, MARK)], **base, **more)) == Bill(read=size + 100, write=54, output=2)
        assert sent(provider, messages([text(B, MARK)], **base)) == Bill(read=size + 100, write=54, output=2)
        assert sent(provider, messages([text(B, MARK)], **base)) == Bill(read=size + 154, output=2)
        other = {**base, "tools": [{**tool, "description": "e" * 40}]}
        assert sent(provider, messages([text(B, MARK)], **other)) == Bill(write=size + 154, output=2)
        assert sent(provider, {**messages([text(B, MARK)], **base), "model": "n"}) == Bill(write=size + 154, output=2)


def test_a_string_and_a_text_block_are_the_same() -> None:
    with Provider(one, cache_minimum=0) as provider:
        sent(provider, messages([text(A, MARK)], system=[text(B)]))
        plain = messages([text("?")], [text("!")], [text(C, MARK)], system=B)
        plain["messages"][0]["content"] = A
        assert sent(provider, plain) == Bill(read=154, write=5 + 24, output=2)


@pytest.mark.design("Q-5")
def test_twenty_blocks_are_looked_at() -> None:
    history = [text(A, MARK)]
    with Provider(one, cache_minimum=0) as provider:
        for blocks, read in ((19, 104), (20, 0)):
            provider.clock.advance(1_000)
            sent(provider, messages(history))
            later = [text(A), *[text(f"{number:04}") for number in range(blocks - 1)], text("last", MARK)]
            assert sent(provider, messages(later)) == Bill(read=read, write=104 + blocks - read, output=2)


@pytest.mark.design("Q-5")
def test_a_second_mark_finds_what_the_last_one_cannot() -> None:
    with Provider(one, cache_minimum=0) as provider:
        sent(provider, messages([text(A, MARK)]))
        many = [text(f"{number:04}") for number in range(30)]
        assert sent(provider, messages([text(A), *many, text("last", MARK)])) == Bill(write=135, output=2)
        provider.clock.advance(1_000)
        sent(provider, messages([text(A, MARK)]))
        assert sent(provider, messages([text(A, MARK), *many, text("last", MARK)])) == Bill(read=104, write=31, output=2)


@pytest.mark.design("A-7")
def test_five_minutes_and_an_hour() -> None:
    with Provider(one, cache_minimum=0) as provider:
        sent(provider, messages([text(A, MARK)]))
        for _ in range(3):  # each hit keeps it for another five minutes
            provider.clock.advance(299)
            assert sent(provider, messages([text(A, MARK)])) == Bill(read=104, output=2)
        provider.clock.advance(300)
        assert sent(provider, messages([text(A, MARK)])) == Bill(write=104, output=2)
        assert provider.requests[-1].at == 3 * 299 + 300
        assert sent(provider, messages([text(B, LONG), text(C, MARK)])) == Bill(long_write=54, write=20, output=2)
        assert provider.requests[-1].bill.cost == 133.0
        provider.clock.advance(3_599)
        assert sent(provider, messages([text(B, LONG), text(C, MARK)])) == Bill(read=54, write=20, output=2)
        provider.clock.advance(3_600)
        assert sent(provider, messages([text(B, LONG), text(C, MARK)])) == Bill(long_write=54, write=20, output=2)


@pytest.mark.design("Q-5")
def test_what_is_too_short_is_not_stored() -> None:
    with Provider(one, cache_minimum=105) as provider:
        for _ in range(2):
            assert sent(provider, messages([text(A, MARK)])) == Bill(fresh=104, output=2)
        assert sent(provider, messages([text(A + "aaaa", MARK)])) == Bill(write=105, output=2)
        assert sent(provider, messages([text(A + "aaaa", MARK)])) == Bill(read=105, output=2)
        # A short mark before a long one: the long one pays.
        assert sent(provider, messages([text(C, MARK), text(A, MARK)])) == Bill(write=124, output=2)


def test_the_mark_of_the_whole_request_stands_on_its_last_block() -> None:
    with Provider(one, cache_minimum=0) as provider:
        assert sent(provider, messages([text(A), text(B)], cache_control=MARK)) == Bill(write=154, output=2)
        assert sent(provider, messages([text(A), text(B, MARK)])) == Bill(read=154, output=2)


def test_usage_says_what_the_bill_says() -> None:
    with Provider(one, cache_minimum=0) as provider:
        sent(provider, messages([text(A, MARK)]))
        usage = post(provider, "anthropic", messages([text(A), text(B, MARK), text(C)]))[1]["usage"]
        assert (usage["input_tokens"], usage["output_tokens"]) == (20, 2)
        assert (usage["cache_creation_input_tokens"], usage["cache_read_input_tokens"]) == (50, 104)


# -- automatic prefixes


def chat(*words: str, **more: Any) -> Body:
    listed = [{"role": ("user", "assistant")[at % 2], "content": one} for at, one in enumerate(words)]
    return {"model": "m", "messages": listed, **more}


@pytest.mark.design("Q-5", "A-7")
def test_openai_reads_in_steps_of_128_from_1024_on() -> None:
    long = "x" * 4 * 1_300
    with Provider(one) as provider:
        assert sent(provider, chat(long), "chat") == Bill(fresh=1_304, output=2)
        # 1,304 common tokens: ten steps.
        assert sent(provider, chat(long, "y", "z"), "chat") == Bill(read=1_280, fresh=34, output=2)
        assert [unit.label for unit in provider.requests[-1].read_units] == ["settings"]
        assert sent(provider, chat("w" + long), "chat") == Bill(fresh=1_305, output=2)
        assert sent(provider, chat(long, "y", "z"), "chat") == Bill(read=1_280, fresh=34, output=2)
        # Below 1,024 nothing is read, at 1,024 it is; the last token is always computed.
        for tokens, read in ((1_023, 0), (1_024, 0), (1_025, 1_024), (1_152, 1_024), (1_153, 1_152)):
            body = chat("v" * 4 * (tokens - 4), model=f"m{tokens}")
            assert sent(provider, body, "chat") == Bill(fresh=tokens, output=2)
            assert sent(provider, body, "chat") == Bill(read=read, fresh=tokens - read, output=2)


def test_openai_reads_inside_the_unit_that_differs() -> None:
    with Provider(one) as provider:
        sent(provider, chat("x" * 8_000 + "a" * 2_000), "chat")
        bill = sent(provider, chat("x" * 8_000 + "b" * 2_000), "chat")
        assert bill == Bill(read=1_920, fresh=2_504 - 1_920, output=2)


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ({}, 1_280),
        ({"tool_choice": "none", "temperature": 0}, 1_280),
        ({"reasoning_effort": "low"}, 0),
        ({"prompt_cache_key": "other"}, 0),
        ({"model": "n"}, 0),
        ({"tools": [{"type": "function", "function": {"name": "a"}}]}, 0),
    ],
)
def test_openai_key(change: Body, read: int) -> None:
    long = "x" * 4 * 1_300
    with Provider(one) as provider:
        sent(provider, chat(long), "chat")
        assert sent(provider, {**chat(long, "y", "z"), **change}, "chat").read == read


def test_openai_forgets() -> None:
    long = "x" * 4 * 1_300
    with Provider(one, cache_ttl=600) as provider:
        sent(provider, chat(long), "chat")
        provider.clock.advance(599)
        assert sent(provider, chat(long), "chat").read == 1_280
        provider.clock.advance(599)
        assert sent(provider, chat(long), "chat").read == 1_280
        provider.clock.advance(600)
        assert sent(provider, chat(long), "chat").read == 0


def test_responses_and_gemini() -> None:
    words = "x" * 4 * 1_300
    item = {"role": "user", "content": words}
    with Provider(one) as provider:
        assert sent(provider, {"model": "m", "instructions": "y" * 40, "input": [item]}, "responses") == Bill(
            fresh=14 + 1_304, output=2
        )
        more = [item, {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
        bill = sent(provider, {"model": "m", "instructions": "y" * 40, "input": more}, "responses")
        assert bill == Bill(read=1_280, fresh=38 + 10, output=2)
        usage = provider.requests[-1].usage
        assert usage == {
            "input_tokens": 1_328, "input_tokens_details": {"cached_tokens": 1_280, "cache_write_tokens": 0},
            "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1_330,
        }  # fmt: skip
        content = {"role": "user", "parts": [{"text": words}]}
        assert sent(provider, {"contents": [content]}, "gemini") == Bill(fresh=1_304, output=2)
        after = [content, {"role": "model", "parts": [{"text": "a"}]}, {"role": "user", "parts": [{"text": "b"}]}]
        assert sent(provider, {"contents": after}, "gemini") == Bill(read=1_304, fresh=10, output=2)
        assert provider.requests[-1].usage == {
            "promptTokenCount": 1_314, "candidatesTokenCount": 2, "totalTokenCount": 1_316, "cachedContentTokenCount": 1_304,
        }  # fmt: skip


def test_other_servers_steps() -> None:
    words = "x" * 4 * 1_300
    with Provider(one, dialect="llama.cpp") as provider:
        sent(provider, chat("x" * 40), "chat")
        assert sent(provider, chat("x" * 40, "y", "z"), "chat").read == 14
        assert sent(provider, chat("x" * 40, "y", "z"), "chat").read == 23
    with Provider(one, dialect="deepseek") as provider:
        sent(provider, chat(words), "chat")
        assert sent(provider, chat(words, "y", "z"), "chat").read == 1_304 // 64 * 64


# -- breaks


@pytest.mark.design("Q-2")
def test_breaks_name_the_unit() -> None:
    with Provider(one, cache_minimum=0) as provider:
        sent(provider, messages([text(A)], system=[text(B, MARK)]))
        sent(provider, messages([text(A, MARK)], [text("?")], [text("!")], system=[text(B)]))
        assert provider.breaks() == []
        sent(provider, messages([text(A)], [text("?.")], [text("!")], system=[text(B)]))
        sent(provider, messages([text(A)], system=[text(B)]))
        sent(provider, messages([text(A)], system=[text(B)], thinking={"type": "adaptive"}))
        sent(provider, messages([text(A)], system=[text(B), text(C)], thinking={"type": "adaptive"}))
        found = provider.breaks()
        assert [(one.before.number, one.after.number, one.index, one.was.label) for one in found] == [
            (2, 3, 3, "message 2 assistant part 1"),
            (3, 4, 3, "message 2 assistant part 1"),
            (4, 5, 1, "settings"),
            (5, 6, 1, "settings"),
        ]
        assert [one.now.label if one.now else None for one in found] == [
            "message 2 assistant part 1",
            None,
            "settings",
            "system 2",
        ]
        assert "request 3 does not extend 2: unit 3" in str(found[0])
        assert provider.breaks(provider.requests[:2]) == []
        assert [one.after.number for one in provider.breaks([provider.requests[0], provider.requests[5]])] == [6]


@pytest.mark.design("Q-2")
def test_keys_in_another_order_are_another_unit() -> None:
    call = {"type": "tool_use", "id": "t", "name": "read", "input": {"a": 1, "b": 2}}
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]
    with Provider(one) as provider:
        sent(provider, messages([text(A)], [call], result))
        sent(provider, messages([text(A)], [{**call, "input": {"b": 2, "a": 1}}], result))
        assert [one.was.label for one in provider.breaks()] == ["message 2 assistant part 1"]


@pytest.mark.design("Q-2")
def test_refused_requests_break_nothing() -> None:
    with Provider(one) as provider:
        sent(provider, messages([text(A)]))
        assert post(provider, "anthropic", messages([text(B)], [text("x")]))[0] == 400
        sent(provider, messages([text(A)], [text("?")], [text("!")]))
        assert provider.breaks() == []
        assert [seen.problems != [] for seen in provider.requests] == [False, True, False]


def test_chat_units() -> None:
    asked = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    with Provider(one) as provider:
        body = chat("Hi", tools=[{"type": "function", "function": {"name": "read"}}])
        body["messages"] += [
            {"role": "assistant", "content": "So.", "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": "c", "content": "x"},
        ]
        sent(provider, body, "chat")
        seen = provider.requests[0]
        assert [unit.label for unit in seen.units] == [
            "settings", "tool read", "message 1 user part 1", "message 2 assistant part 1", "message 2 assistant part 2",
            "message 3 tool part 1",
        ]  # fmt: skip
        assert [unit.tokens for unit in seen.units] == [0, 8 + 1 + 1, 4 + 1, 4 + 1, 8 + 1 + 1, 4 + 1]
        assert seen.tools == ["read"]
        assert '"text":"Hi"' in seen.said("user")
        assert '"tool_call_id":"c"' in seen.said("tool") == seen.last
        body["messages"][2]["content"] = "y"
        sent(provider, body, "chat")
        assert [one.was.label for one in provider.breaks()] == ["message 3 tool part 1"]


# -- many at once


def test_two_sessions_at_once() -> None:
    def run(name: str, failures: list[Exception]) -> None:
        try:
            turns = [[text(name * 400)]]
            for number in range(12):
                marked = copy.deepcopy(turns)
                marked[-1][-1]["cache_control"] = MARK
                status, answer, _ = post(provider, "anthropic", messages(*marked))
                assert status == 200, answer
                assert answer["usage"]["cache_read_input_tokens"] == (0 if number == 0 else 100 + 4 + (number - 1) * 11)
                turns += [[text("So.")], [text(f"{name}{number:03} on")]]
        except Exception as error:  # noqa: BLE001 - raised again in the test's own thread
            failures.append(error)

    failures: list[Exception] = []
    with Provider(one, cache_minimum=0) as provider:
        threads = [threading.Thread(target=run, args=(name, failures)) for name in "pq"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert [seen.number for seen in provider.seen] == list(range(1, 25))
        for name in "pq":
            own = [seen for seen in provider.requests if name * 400 in seen.said("user")]
            assert len(own) == 12
            assert provider.breaks(own) == []
            assert provider.bill(own) == pytest.approx(
                104 * 1.25 + sum((104 + 11 * before) * 0.1 + 11 * 1.25 for before in range(11))
            )
