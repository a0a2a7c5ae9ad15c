"""What is known of models: by any form of their names, with its source, and what goes before it (A-4)."""

import pytest
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import UserMistake
from sojourn.config import ModelSettings
from sojourn.models.catalogue import (
    families,
    family_of,
    find_provider,
    is_loopback,
    plain_name,
    provider_at,
    providers,
    sent_name,
    traits,
)
from sojourn.models.types import Api
from sojourn.wire import Traits

NOTHING = ModelSettings()


def known(name: str, provider: str = "anthropic", api: Api = "anthropic", url: str = "https://api.anthropic.com") -> Traits:
    return traits(provider, name, api, url, NOTHING, None)


@pytest.mark.design("A-4", "C-1")
@pytest.mark.report(35)
@pytest.mark.parametrize(
    ("name", "plain", "limit"),
    [
        ("claude-sonnet-5-5", "claude-sonnet-5-5", 1_000_000),
        ("claude-opus-4-5-20251101", "claude-opus-4-5", 200_000),
        ("claude-opus-4-20250514", "claude-opus-4", 200_000),
        ("claude-opus-4@20250514", "claude-opus-4", 200_000),
        ("claude-sonnet-5[1m]", "claude-sonnet-5", 1_000_000),
        ("CLAUDE-Sonnet-4.5", "claude-sonnet-4-5", 200_000),
        ("anthropic/claude-sonnet-4.6", "claude-sonnet-4-6", 1_000_000),
        ("openrouter/anthropic/claude-opus-5.5:thinking", "claude-opus-5-5", 1_000_000),
        ("claude-4.5-sonnet", "claude-sonnet-4-5", 200_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5", 200_000),
        ("anthropic.claude-opus-5-5", "claude-opus-5-5", 1_000_000),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet", 200_000),
        ("gpt-5-2025-08-07", "gpt-5", 272_000),
        ("gpt-5-chat-latest", "gpt-5-chat", 128_000),
        ("gpt-4-0613", "gpt-4-0613", 8_192),
        ("gpt-4.1-2025-04-14", "gpt-4-1", 1_047_576),
        ("gpt-4-1106-preview", "gpt-4-1106", 128_000),
        ("gpt-5.6-sol", "gpt-5-6-sol", 922_000),
        ("models/gemini-2.5-flash-preview-09-2025", "gemini-2-5-flash", 1_048_576),
        ("gemini-3.1-pro-preview", "gemini-3-1-pro", 1_048_576),
        ("qwen/qwen3-coder:free", "qwen3-coder", 262_144),
        ("qwen3:8b", "qwen3-8b", 32_768),
        ("qwen3:latest", "qwen3", 32_768),
        ("qwen3.5:9b", "qwen3-5-9b", 262_144),
        ("/srv/models/Qwen3-8B-Q4_K_M.gguf", "qwen3-8b-q4-k-m", 32_768),
        ("openai/gpt-oss-120b", "gpt-oss-120b", 131_072),
        ("accounts/fireworks/models/kimi-k2-thinking", "kimi-k2-thinking", 262_144),
        ("kimi-k2-0905-preview", "kimi-k2-0905", 262_144),
        ("kimi-k2-0711-preview", "kimi-k2-0711", 131_072),
        ("grok-4-0709", "grok-4-0709", 256_000),
        ("qwen/qwen3.5-plus-02-15", "qwen3-5-plus", 1_000_000),
        ("grok-4.20", "grok-4-20", 1_000_000),
        ("z-ai/glm-4.6", "glm-4-6", 200_000),
        ("glm-4.6v", "glm-4-6v", 128_000),
        ("deepseek-v4-pro-0813", "deepseek-v4-pro-0813", 1_000_000),
        ("mimo-v2.5-pro-ultraspeed", "mimo-v2-5-pro-ultraspeed", 1_000_000),
        ("gemma3:270m", "gemma3-270m", 32_768),
    ],
)
def test_names_in_all_their_forms(name: str, plain: str, limit: int) -> None:
    assert plain_name(name) == plain
    got = known(name)
    assert (got.limit, got.limit_source) == (limit, "catalogue")


@pytest.mark.design("A-4", "C-1")
@pytest.mark.report(35)
@pytest.mark.parametrize(
    "name", ["mystery-7b", "claude-opus-4-9", "claude-opus-6", "gpt-7", "gpt-5.7-sol", "Qwen/Qwen3.8-27B", "claudette", ""]
)
def test_nothing_is_made_up_of_an_unknown_one(name: str) -> None:
    """A newer version of a known name is unknown too: its window may be another."""
    assert family_of(name) is None
    got = known(name)
    assert (got.limit, got.limit_source, got.output_cap) == (128_000, "default", None)
    assert (got.thinking, got.images, got.mid_system) == (False, False, False)


@pytest.mark.design("A-4")
def test_what_the_provider_is_sent() -> None:
    assert sent_name("claude-sonnet-5[1m]") == "claude-sonnet-5"
    assert known("claude-sonnet-5[1M]").name == "claude-sonnet-5"
    assert known("models/gemini-2.5-pro").name == "models/gemini-2.5-pro"
    assert known("qwen3:8b").name == "qwen3:8b"


@pytest.mark.design("A-4")
def test_traits_of_some() -> None:
    assert known("claude-opus-5-5") == Traits(
        name="claude-opus-5-5", provider="anthropic", protocol="anthropic", limit=1_000_000, limit_source="catalogue",
        output_cap=128_000, thinking=True, images=True, mid_system=True, marks=4, cache_ttl=300,
    )  # fmt: skip
    deepseek = known("deepseek-v4-pro", "deepseek", "chat", "https://api.deepseek.com/v1")
    assert deepseek == Traits(
        name="deepseek-v4-pro", provider="deepseek", protocol="chat", limit=1_000_000, limit_source="catalogue",
        thinking=True, images=False, mid_system=False, marks=0, cache_ttl=3600,
    )  # fmt: skip
    ollama = known("qwen3:8b", "ollama", "chat", "http://127.0.0.1:11434/v1")
    assert (ollama.reports_cache, ollama.cache_ttl, ollama.images, ollama.marks) == (False, 3600, False, 0)
    assert known("llava:7b", "ollama", "chat", "http://127.0.0.1:11434/v1").images
    assert known("some-vl-3b", "", "chat", "http://127.0.0.1:9/v1").images
    assert not known("evlution", "", "chat", "http://127.0.0.1:9/v1").images
    assert known("gpt-oss-20b", "groq", "chat", "https://api.groq.com/openai/v1").images_most == 5
    assert known("x", "mistral", "chat", "https://api.mistral.ai/v1").images_most == 8
    assert known("x", "", "chat", "https://elsewhere.example/v1").images_most == 100
    assert known("claude-haiku-4-5").output_cap == 64_000
    assert not known("claude-3-5-haiku").thinking


@pytest.mark.design("Q-6", "A-4")
@pytest.mark.parametrize(
    ("provider", "name", "api", "url", "on"),
    [
        ("anthropic", "claude-opus-5-5", "anthropic", "https://api.anthropic.com", True),
        ("anthropic", "claude-opus-4-8", "anthropic", "https://api.anthropic.com", True),
        ("anthropic", "claude-sonnet-5-5", "anthropic", "https://api.anthropic.com", True),
        ("anthropic", "claude-sonnet-5", "anthropic", "https://api.anthropic.com", False),  # documented: not this one
        ("anthropic", "claude-opus-4-7", "anthropic", "https://api.anthropic.com", False),
        ("anthropic", "claude-opus-9", "anthropic", "https://api.anthropic.com", False),
        ("anthropic", "claude-opus-5-5", "anthropic", "https://proxy.example", False),  # another host
        ("anthropic", "claude-opus-5-5", "anthropic", "http://127.0.0.1:4000", False),
        ("openrouter", "anthropic/claude-opus-5.5", "chat", "https://openrouter.ai/api/v1", False),
        ("zai", "glm-5.3", "anthropic", "https://api.z.ai/api/anthropic", False),
        ("openai", "gpt-6.1-sol", "responses", "https://api.openai.com/v1", True),
        ("openai", "gpt-6.1-sol", "chat", "https://api.openai.com/v1", True),
        ("openai", "gpt-6.1-sol", "chat", "https://proxy.example/v1", False),
        ("openai", "gpt-99", "responses", "https://api.openai.com/v1", True),  # the protocol's rule, whatever the model
        ("google", "gemini-2.5-pro", "gemini", "https://generativelanguage.googleapis.com", False),
        ("llamacpp", "qwen3-8b", "chat", "http://127.0.0.1:8080/v1", False),
        ("", "claude-opus-5-5", "anthropic", "https://api.anthropic.com", False),
    ],
)
def test_system_messages_in_mid_conversation(provider: str, name: str, api: Api, url: str, on: bool) -> None:
    assert known(name, provider, api, url).mid_system is on


@pytest.mark.design("A-4", "C-1")
@pytest.mark.report(123)
def test_settings_go_before_the_table_and_the_option_before_all() -> None:
    given_ = ModelSettings(
        limit={"anthropic/*": "64K", "anthropic/claude-opus-*": "50%", "claude-haiku-4-5": 1_000, "x[1m]": 5, "?": 7},
        output={"*": "2K", "anthropic/claude-opus-5-5": 300},
    )

    def got(name: str, provider: str = "anthropic", limit: int | None = None) -> tuple[int, str, int | None]:
        found = traits(provider, name, "anthropic", "https://api.anthropic.com", given_, limit)
        return found.limit, found.limit_source, found.output_cap

    assert got("claude-sonnet-5") == (64_000, "config", 2_000)
    assert got("claude-opus-5-5") == (500_000, "config", 300)
    assert got("mystery") == (64_000, "config", 2_000)
    assert got("claude-opus-77") == (64_000, "config", 2_000)  # half of what is assumed
    assert got("claude-haiku-4-5") == (1_000, "config", 2_000)  # the longest pattern
    assert got("claude-sonnet-5", provider="zai") == (1_000_000, "catalogue", 2_000)
    assert got("claude-sonnet-5", provider="") == (1_000_000, "catalogue", 2_000)
    assert got("x[1m]", provider="") == (5, "config", 2_000)  # brackets are no wildcards
    assert got("y", provider="") == (7, "config", 2_000)
    assert got("ab", provider="") == (128_000, "default", 2_000)
    assert got("claude-opus-5-5", limit=32_000) == (32_000, "option", 300)
    assert got("mystery", provider="", limit=999) == (999, "option", 2_000)


@pytest.mark.design("A-4")
@pytest.mark.parametrize("amount", [0, "0", "lots", -4])
def test_a_bad_amount_names_its_key(amount: int | str) -> None:
    with pytest.raises(UserMistake, match=r'model\.limit\."anthropic/\*"'):
        traits("anthropic", "claude-opus-5", "anthropic", "", ModelSettings(limit={"anthropic/*": amount}), None)


@pytest.mark.design("A-4")
def test_the_table_is_sound() -> None:
    names = [name for family in families() for name in family.names]
    assert len(names) == len(set(names)) >= 190
    for family in families():
        assert family.source
        assert 8_000 <= family.limit <= 2_000_000
        assert family.output is None or 4_096 <= family.output <= family.limit
        assert not family.provider or find_provider(family.provider) is not None
        for name in family.names:
            assert plain_name(name) == name
            assert family_of(name) is family
    ids = [one for provider in providers() for one in (provider.id, *provider.aliases)]
    assert len(ids) == len(set(ids))
    for provider in providers():
        assert provider.listed or not provider.keys
        for name in provider.listed:
            assert family_of(name) is not None, name


# Of another time: aliases that now mean a newer model, and one that is retired.
_STALE = {"deepseek-chat", "deepseek-reasoner", "o1-preview"}
_PROVIDERS = {"anthropic", "openai", "google", "deepseek", "zai", "zhipuai", "moonshotai", "x-ai", "mistral"}


@pytest.mark.design("A-4")
def test_no_window_is_larger_than_the_price_table_says() -> None:
    """Its windows are the provider's own, rounded: a larger one of ours would let requests out that are refused."""
    compared = 0
    for provider in get_snapshot().providers:
        for model in provider.models if provider.id in _PROVIDERS else ():
            family = family_of(model.id)
            if family is None or model.context_window is None or model.id in _STALE:
                continue
            compared += 1
            assert family.limit <= model.context_window * 1.05, model.id
            assert family.limit >= model.context_window * 0.25, model.id
    assert compared > 100


@pytest.mark.design("A-4")
def test_where_a_host_belongs() -> None:
    for url, found in [
        ("https://api.anthropic.com", "anthropic"), ("https://API.OpenAI.com/v1/", "openai"),
        ("https://openrouter.ai", "openrouter"),
        ("http://localhost:11434", "ollama"), ("http://127.0.0.1:8000/v1", "vllm"),
    ]:  # fmt: skip
        provider = provider_at(url)
        assert provider is not None
        assert provider.id == found
    for url in ("https://example.com", "http://127.0.0.1:9999", "http://10.0.0.1:11434", ""):
        assert provider_at(url) is None
    assert [
        is_loopback(url)
        for url in ("http://localhost:1", "http://127.0.0.1", "http://127.3.2.1:8", "http://[::1]:80/v1", "http://0.0.0.0:80")
    ] == [True] * 5
    assert not any(
        is_loopback(url)
        for url in ("http://10.0.0.1", "https://localhost.example.com", "https://128.0.0.1", "http://127.example", "")
    )
    assert find_provider("GEMINI") is find_provider("google") is not None
    assert find_provider("nobody") is None


@pytest.mark.design("A-4")
@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_any_name_can_be_asked_for(name: str) -> None:
    plain_name(name)
    assert traits("", name, "chat", "", NOTHING, None).limit >= 8_000
