"""Usage in every shape that providers send (M-2)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import Usage
from sojourn.models.clients.usage import anthropic_usage, chat_usage, gemini_usage, responses_usage

ANTHROPIC = [
    ({"input_tokens": 10, "output_tokens": 5}, Usage(10, output=5)),
    (
        {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 5},
        Usage(10, 100, 20, 5),
    ),
    (
        {"input_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 5},
        Usage(10, 0, 0, 5),
    ),
    (
        {"input_tokens": 10, "output_tokens": 5, "output_tokens_details": {"thinking_tokens": 3}},
        Usage(10, output=5, reasoning=3),
    ),
    (
        {"input_tokens": 1, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3}},
        Usage(1, output=5, reasoning=3),
    ),
    ({"input_tokens": 1, "output_tokens": 5, "output_tokens_details": 7}, Usage(1, output=5)),
    ({"output_tokens": 5}, Usage(0, output=5)),
    ({"input_tokens": 5}, Usage(5)),
    ({"input_tokens": None, "output_tokens": None}, None),
    ({}, None),
]
PLAIN = {"prompt_tokens": 100, "completion_tokens": 20}
CHAT = [
    (PLAIN, Usage(100, output=20)),
    (PLAIN | {"total_tokens": 120}, Usage(100, output=20)),
    (PLAIN | {"prompt_tokens_details": {"cached_tokens": 60}}, Usage(40, 60, output=20)),
    (PLAIN | {"prompt_tokens_details": {"cached_tokens": 100}}, Usage(0, 100, output=20)),
    (PLAIN | {"prompt_tokens_details": {"cached_tokens": 0}}, Usage(100, 0, output=20)),
    (PLAIN | {"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}}, Usage(10, 60, 30, 20)),
    (PLAIN | {"prompt_tokens_details": None, "completion_tokens_details": None}, Usage(100, output=20)),
    (PLAIN | {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}, Usage(36, 64, output=20)),
    (PLAIN | {"prompt_cache_hit_tokens": 64, "prompt_tokens_details": {"cached_tokens": 0}}, Usage(36, 64, output=20)),
    (PLAIN | {"cached_tokens": 60}, Usage(40, 60, output=20)),
    (PLAIN | {"cache_read_input_tokens": 60, "cache_creation_input_tokens": 10}, Usage(30, 60, 10, 20)),
    # the cache stands beside the prompt, not in it
    (PLAIN | {"cached_tokens": 101}, Usage(100, 101, output=20)),
    (PLAIN | {"cached_tokens": 60, "total_tokens": 180}, Usage(100, 60, output=20)),
    (PLAIN | {"cached_tokens": 60, "total_tokens": 120}, Usage(40, 60, output=20)),
    (PLAIN | {"cached_tokens": 60, "total_tokens": 999}, Usage(40, 60, output=20)),
    # reasoning inside the output, and beside it
    (PLAIN | {"completion_tokens_details": {"reasoning_tokens": 12}}, Usage(100, output=20, reasoning=12)),
    (PLAIN | {"completion_tokens_details": {"reasoning_tokens": 20}}, Usage(100, output=20, reasoning=20)),
    (PLAIN | {"completion_tokens_details": {"reasoning_tokens": 21}}, Usage(100, output=41, reasoning=21)),
    (PLAIN | {"completion_tokens_details": {"reasoning_tokens": 12}, "total_tokens": 132}, Usage(100, output=32, reasoning=12)),
    (
        PLAIN | {"completion_tokens_details": {"reasoning_tokens": 12}, "cached_tokens": 60, "total_tokens": 192},
        Usage(100, 60, output=32, reasoning=12),
    ),
    # a total that fits both is the cache's
    (
        PLAIN | {"completion_tokens_details": {"reasoning_tokens": 12}, "cached_tokens": 12, "total_tokens": 132},
        Usage(100, 12, output=20, reasoning=12),
    ),
    (
        PLAIN | {"completion_tokens_details": {"reasoning_tokens": 12}, "cached_tokens": 60, "total_tokens": 120},
        Usage(40, 60, output=20, reasoning=12),
    ),
    (
        PLAIN | {"completion_tokens_details": {"reasoning_tokens": 12}, "cached_tokens": 60, "total_tokens": 132},
        Usage(40, 60, output=32, reasoning=12),
    ),
    (
        PLAIN | {"completion_tokens_details": {"reasoning_tokens": 12}, "cached_tokens": 60, "total_tokens": 180},
        Usage(100, 60, output=20, reasoning=12),
    ),
    ({"prompt_tokens": 5}, Usage(5)),
    ({"completion_tokens": 5}, Usage(0, output=5)),
    ({"prompt_tokens": 5.0, "completion_tokens": True}, Usage(5)),
    ({"prompt_tokens": -1}, None),
    ({}, None),
]
RESPONSES = [
    ({"input_tokens": 100, "output_tokens": 20}, Usage(100, output=20)),
    (
        {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 15},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 12},
            "total_tokens": 120,
        },
        Usage(25, 60, 15, 20, 12),
    ),
    (
        {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}, "output_tokens": 20, "total_tokens": 180},
        Usage(100, 60, output=20),
    ),
    ({"output_tokens": 20}, Usage(0, output=20)),
    ({"input_tokens": 20}, Usage(20)),
    ({}, None),
]
GEMINI = [
    ({"promptTokenCount": 100, "candidatesTokenCount": 20}, Usage(100, output=20)),
    (
        {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 20, "thoughtsTokenCount": 12},
        Usage(40, 60, None, 32, 12),
    ),
    ({"promptTokenCount": 100, "toolUsePromptTokenCount": 7, "candidatesTokenCount": 1}, Usage(107, output=1)),
    ({"promptTokenCount": 100, "cachedContentTokenCount": 101}, Usage(0, 101)),
    ({"thoughtsTokenCount": 4}, Usage(0, output=4, reasoning=4)),
    ({"candidatesTokenCount": 4}, Usage(0, output=4)),
    ({"totalTokenCount": 4}, None),
]
TABLE = [(anthropic_usage, *row) for row in ANTHROPIC] + [(chat_usage, *row) for row in CHAT]
TABLE += [(responses_usage, *row) for row in RESPONSES] + [(gemini_usage, *row) for row in GEMINI]


@pytest.mark.design("M-2", "A-7")
@pytest.mark.report(57)
@pytest.mark.parametrize(("read", "said", "usage"), TABLE)
def test_usage(read, said, usage):
    assert read(said) == usage


counts = st.integers(0, 10_000)


@pytest.mark.design("M-2")
@given(prompt=counts, output=counts, cached=st.none() | counts, reasoning=st.none() | counts, total=st.none() | counts)
@settings(max_examples=100, deadline=None)
def test_fields_are_disjoint_and_never_negative(prompt, output, cached, reasoning, total):
    said = {"prompt_tokens": prompt, "completion_tokens": output, "cached_tokens": cached, "total_tokens": total}
    usage = chat_usage(said | {"completion_tokens_details": {"reasoning_tokens": reasoning}})
    assert usage.fresh >= 0
    assert (usage.cached, usage.reasoning) == (cached, reasoning)
    assert usage.input in (prompt, prompt + (cached or 0))
    assert usage.output in (output, output + (reasoning or 0))
    assert usage.output >= (reasoning or 0)
