"""Which model is talked to, where, with which key, and how it was found (A-5)."""

import time
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from models.local_server import listing, serving
from sojourn.base import UserMistake
from sojourn.config import ModelSettings, Settings
from sojourn.models import connect as connecting
from sojourn.models.address import base_url
from sojourn.models.choice import resolve, usable
from sojourn.models.clients.streaming import Streaming
from sojourn.models.connect import connect
from sojourn.models.local import LocalModel, Server, look, probe
from sojourn.models.retry import Retrying
from sojourn.models.types import Api, Choice, Target, key_variable

OLLAMA = Server("ollama", "http://127.0.0.1:11434/v1", (LocalModel("qwen3:8b", 40_960),))
TWO = Server("vllm", "http://127.0.0.1:8000/v1", (LocalModel("a"), LocalModel("Org/b")))


UNSAID, DEFAULTS = Choice(), Settings()


def find(
    choice: Choice = UNSAID,
    environ: Mapping[str, str] = {},
    settings: Settings = DEFAULTS,
    servers: tuple[Server, ...] = (),
) -> Target:
    def looked(url: str, kind: str, key: str) -> Server | None:
        return next((one for one in servers if one.base_url == url), None)

    return resolve(choice, environ, settings, probe=lambda: servers, look=looked)


def told(target: Target) -> tuple[str, str, str, str, str, str]:
    found = target.traits
    return found.provider, found.name, found.protocol, target.base_url, target.key, target.key_from


def with_model(**given: Any) -> Settings:
    return Settings(model=ModelSettings(**given))


PLACEHOLDER = ("not-needed", "none needed")


@pytest.mark.design("A-5")
def test_nothing_at_all_is_scripted() -> None:
    target = find()
    assert told(target) == ("sojourn", "scripted", "chat", "", "", "none needed")
    assert (target.traits.limit, target.traits.limit_source, target.traits.images) == (128_000, "catalogue", False)
    target = find(Choice(model="scripted", limit=16_000), {"OPENAI_API_KEY": "k"})
    assert (target.traits.name, target.traits.limit, target.traits.limit_source) == ("scripted", 16_000, "option")
    assert find(settings=with_model(default="scripted"), environ={"OPENAI_API_KEY": "k"}).traits.name == "scripted"
    with pytest.raises(UserMistake, match="built in"):
        find(Choice(model="scripted", base_url="http://127.0.0.1:1"))


@pytest.mark.design("A-5")
@pytest.mark.parametrize(
    ("variable", "found"),
    [
        ("ANTHROPIC_API_KEY", ("anthropic", "claude-sonnet-5-5", "anthropic", "https://api.anthropic.com")),
        ("OPENAI_API_KEY", ("openai", "gpt-6.1-sol", "responses", "https://api.openai.com/v1")),
        ("GEMINI_API_KEY", ("google", "gemini-3.8-flash", "gemini", "https://generativelanguage.googleapis.com")),
        ("GOOGLE_API_KEY", ("google", "gemini-3.8-flash", "gemini", "https://generativelanguage.googleapis.com")),
        ("DEEPSEEK_API_KEY", ("deepseek", "deepseek-v4-pro", "chat", "https://api.deepseek.com/v1")),
        ("OPENROUTER_API_KEY", ("openrouter", "anthropic/claude-sonnet-5.5", "chat", "https://openrouter.ai/api/v1")),
        ("ZAI_API_KEY", ("zai", "glm-5.3", "chat", "https://api.z.ai/api/paas/v4")),
        ("MOONSHOT_API_KEY", ("moonshotai", "kimi-k3.1-pro", "chat", "https://api.moonshot.ai/v1")),
        ("XAI_API_KEY", ("x-ai", "grok-4.7", "chat", "https://api.x.ai/v1")),
        ("MISTRAL_API_KEY", ("mistral", "mistral-large-4", "chat", "https://api.mistral.ai/v1")),
        ("GROQ_API_KEY", ("groq", "openai/gpt-oss-120b", "chat", "https://api.groq.com/openai/v1")),
        ("DASHSCOPE_API_KEY", ("dashscope", "qwen3.7-plus", "chat", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1")),
        ("MIMO_API_KEY", ("xiaomi", "mimo-v2.6-pro", "chat", "https://api.xiaomimimo.com/v1")),
    ],
)  # fmt: skip
def test_one_key_in_the_environment(variable: str, found: tuple[str, ...]) -> None:
    # A server on this machine is not taken where there is a key.
    assert told(find(environ={variable: " k3y\n"}, servers=(OLLAMA,))) == (*found, "k3y", variable)


@pytest.mark.design("A-5")
def test_the_order() -> None:
    both = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}
    assert find(environ=both).traits.provider == "anthropic"
    assert (
        find(environ={"ANTHROPIC_API_KEY": "  ", "OPENAI_API_KEY": "o"} | {"ANTHROPIC_API_KEY": ""}).traits.provider == "openai"
    )
    preferred = with_model(default="openai/gpt-5")
    assert told(find(environ=both, settings=preferred))[:2] == ("openai", "gpt-5")
    assert told(find(Choice(model="deepseek/x", api_key="d"), both, preferred))[:2] == ("deepseek", "x")
    assert told(find(Choice(base_url="https://other.example", model="m"), both, preferred))[:2] == ("", "m")
    assert find(Choice(api="gemini"), {**both, "GOOGLE_API_KEY": "g"}).traits.provider == "google"
    assert find(Choice(api="chat"), {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}).traits.protocol == "chat"
    assert find(environ={"GEMINI_API_KEY": "first", "GOOGLE_API_KEY": "second"}).key == "first"


@pytest.mark.design("A-5")
def test_a_server_on_this_machine_is_taken_only_where_it_is_the_only_one() -> None:
    target = find(servers=(OLLAMA,))
    assert told(target)[:5] == ("ollama", "qwen3:8b", "chat", "http://127.0.0.1:11434/v1", "not-needed")
    assert target.key_from == "none needed: server at http://127.0.0.1:11434/v1"
    assert (target.traits.limit, target.traits.limit_source) == (40_960, "server")
    assert find(servers=(TWO,)).traits.name == "scripted"
    assert find(servers=(OLLAMA, TWO)).traits.name == "scripted"
    assert find(servers=(Server("vllm", "http://127.0.0.1:8000/v1", ()),)).traits.name == "scripted"
    assert find(Choice(api="chat"), servers=(OLLAMA,)).traits.name == "qwen3:8b"
    with pytest.raises(UserMistake, match="no key for a provider that speaks anthropic"):
        find(Choice(api="anthropic"), servers=(OLLAMA,))


@pytest.mark.design("A-4", "A-5")
@pytest.mark.parametrize(
    ("model", "environ", "found"),
    [
        ("anthropic/claude-opus-5-5", {"ANTHROPIC_API_KEY": "a"}, ("anthropic", "claude-opus-5-5")),
        ("gemini/gemini-2.5-pro", {"GOOGLE_API_KEY": "a"}, ("google", "gemini-2.5-pro")),
        ("XAI/grok-4", {"XAI_API_KEY": "a"}, ("x-ai", "grok-4")),
        ("openrouter/z-ai/glm-5.3", {"OPENROUTER_API_KEY": "a"}, ("openrouter", "z-ai/glm-5.3")),
        ("groq/openai/gpt-oss-20b", {"GROQ_API_KEY": "a"}, ("groq", "openai/gpt-oss-20b")),
        ("claude-opus-5-5", {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}, ("anthropic", "claude-opus-5-5")),
        ("claude-sonnet-5[1m]", {"ANTHROPIC_API_KEY": "a"}, ("anthropic", "claude-sonnet-5")),
        ("gpt-5.4-mini", {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}, ("openai", "gpt-5.4-mini")),
        ("meta-llama/llama-3.3-70b-instruct", {"OPENROUTER_API_KEY": "a"}, ("openrouter", "meta-llama/llama-3.3-70b-instruct")),
        ("Org/b", {"OPENROUTER_API_KEY": "a"}, ("vllm", "Org/b")),
        ("a", {"OPENAI_API_KEY": "a"}, ("vllm", "a")),
        ("ollama/qwen3:8b", {}, ("ollama", "qwen3:8b")),
        ("vllm/Qwen/Qwen3-8B", {}, ("vllm", "Qwen/Qwen3-8B")),
    ],
)  # fmt: skip
def test_a_model_that_is_named(model: str, environ: dict[str, str], found: tuple[str, str]) -> None:
    assert told(find(Choice(model=model), environ, servers=(OLLAMA, TWO)))[:2] == found


@pytest.mark.design("A-5")
def test_a_bare_name_is_its_maker_s_where_there_is_a_key_else_a_server_s_here() -> None:
    here = Server("vllm", "http://127.0.0.1:8000/v1", (LocalModel("kimi-k2-0905"), LocalModel("b")))
    bare = Choice(model="kimi-k2-0905")
    assert find(bare, {"MOONSHOT_API_KEY": "m"}, servers=(here,)).traits.provider == "moonshotai"
    assert find(Choice(model="kimi-k2-0905", api_key="m"), servers=(here,)).traits.provider == "moonshotai"
    assert find(bare, {"OPENAI_API_KEY": "o"}, servers=(here,)).traits.provider == "vllm"
    with pytest.raises(UserMistake, match="MOONSHOT_API_KEY is not set"):
        find(bare, servers=(TWO,))


@pytest.mark.design("A-5")
@pytest.mark.parametrize(
    ("choice", "environ", "message", "step"),
    [
        (Choice(model="openai/gpt-5"), {}, "OPENAI_API_KEY is not set", "Set OPENAI_API_KEY, or give --api-key"),
        (Choice(model="gpt-5"), {"ANTHROPIC_API_KEY": "a"}, "OPENAI_API_KEY is not set", "sojourn models"),
        (Choice(model="google/x"), {}, "GEMINI_API_KEY or GOOGLE_API_KEY is not set", "Set GEMINI_API_KEY"),
        (Choice(model="openai/gpt-5"), {"OPENAI_API_KEY": " "}, "OPENAI_API_KEY is not set", "Set OPENAI_API_KEY"),
        # Another company's key is not used in its place.
        (Choice(model="anthropic/claude-x"), {"OPENROUTER_API_KEY": "k"}, "ANTHROPIC_API_KEY is not set", "Set ANTHROPIC"),
        (Choice(model="mystery"), {"OPENAI_API_KEY": "k", "OPENROUTER_API_KEY": "k"}, "'mystery'", "provider/name"),
        (Choice(model="nobody/mystery"), {"OPENAI_API_KEY": "k"}, "'nobody/mystery'", "--base-url"),
        (Choice(model="openai/"), {"OPENAI_API_KEY": "k"}, "'openai/'", "provider/name"),
        (Choice(model="groq/x", api="anthropic"), {"GROQ_API_KEY": "k"}, "groq does not speak anthropic", "It speaks chat."),
        (Choice(model="openai/x", api="gemini"), {"OPENAI_API_KEY": "k"}, "does not speak gemini", "responses, chat."),
        (Choice(api_key="k"), {"OPENAI_API_KEY": "k"}, "names no provider", "--model provider/name"),
        (Choice(base_url="https://far.example", model="m"), {}, "OPENAI_API_KEY is not set", "--api-key"),
        (Choice(base_url="https://far.example", model="m", api="anthropic"), {}, "ANTHROPIC_API_KEY is not set", "--api-key"),
        (Choice(base_url="https://far.example", model="m", api="gemini"), {}, "GEMINI_API_KEY is not set", "--api-key"),
        (Choice(base_url="http://127.0.0.1:9/v1"), {}, "which model", "--model names one."),
        (Choice(base_url="http://127.0.0.1:8000/v1"), {}, "which model", "--model names one: a, Org/b."),
        (Choice(base_url="https://far.example", api_key="k"), {}, "which model", "--model names one."),
        (Choice(base_url="127.0.0.1:9", model="m"), {}, "'127.0.0.1:9' is no address", "http://127.0.0.1:9."),
    ],
)  # fmt: skip
def test_mistakes_and_what_to_do(choice: Choice, environ: dict[str, str], message: str, step: str) -> None:
    with pytest.raises(UserMistake) as caught:
        find(choice, environ, servers=(TWO,))
    assert message in str(caught.value)
    assert step in caught.value.next_step


@pytest.mark.design("A-5")
@pytest.mark.parametrize(
    ("choice", "environ", "found"),
    [
        (
            Choice(model="m", api="chat", base_url="http://localhost:9"), {},
            ("", "m", "chat", "http://localhost:9/v1", *PLACEHOLDER),
        ),
        (
            Choice(model="m", api="anthropic", base_url="http://[::1]:9/v1/"), {},
            ("", "m", "anthropic", "http://[::1]:9", *PLACEHOLDER),
        ),
        (  # a key of the environment is somebody else's
            Choice(model="m", base_url="http://127.0.0.1:9"), {"OPENAI_API_KEY": "real"},
            ("", "m", "chat", "http://127.0.0.1:9/v1", *PLACEHOLDER),
        ),
        (
            Choice(model="m", base_url="http://127.0.0.1:9", api_key="mine"), {"OPENAI_API_KEY": "real"},
            ("", "m", "chat", "http://127.0.0.1:9/v1", "mine", "--api-key"),
        ),
        (
            Choice(model="m", api="responses", base_url="https://far.example/api/", api_key="k"), {},
            ("", "m", "responses", "https://far.example/api", "k", "--api-key"),
        ),
        (
            Choice(model="a/b", base_url="https://far.example"), {"OPENAI_API_KEY": "k"},
            ("", "a/b", "chat", "https://far.example/v1", "k", "OPENAI_API_KEY"),
        ),
        (
            Choice(model="claude-opus-5", base_url="https://api.anthropic.com/v1"), {"ANTHROPIC_API_KEY": "k"},
            ("anthropic", "claude-opus-5", "anthropic", "https://api.anthropic.com", "k", "ANTHROPIC_API_KEY"),
        ),
        (
            Choice(model="glm-5.3", api="anthropic", base_url="https://api.z.ai/api/anthropic"), {"ZAI_API_KEY": "z"},
            ("zai", "glm-5.3", "anthropic", "https://api.z.ai/api/anthropic", "z", "ZAI_API_KEY"),
        ),
        (
            Choice(base_url="http://localhost:11434"), {},
            ("ollama", "qwen3:8b", "chat", "http://localhost:11434/v1", *PLACEHOLDER),
        ),
        (
            Choice(model="deepseek/deepseek-v4-pro", api="anthropic"), {"DEEPSEEK_API_KEY": "d", "DEEPSEEK_BASE_URL": "https://p.example/v1"},
            ("deepseek", "deepseek-v4-pro", "anthropic", "https://api.deepseek.com/anthropic", "d", "DEEPSEEK_API_KEY"),
        ),
        (
            Choice(model="deepseek/x"), {"DEEPSEEK_API_KEY": "d", "DEEPSEEK_BASE_URL": "https://p.example/v1"},
            ("deepseek", "x", "chat", "https://p.example/v1", "d", "DEEPSEEK_API_KEY"),
        ),
        (
            Choice(), {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_BASE_URL": "http://localhost:4000/v1"},
            ("anthropic", "claude-sonnet-5-5", "anthropic", "http://localhost:4000", "a", "ANTHROPIC_API_KEY"),
        ),
        (
            Choice(model="anthropic/m"), {"ANTHROPIC_BASE_URL": "http://localhost:4000"},
            ("anthropic", "m", "anthropic", "http://localhost:4000", *PLACEHOLDER),
        ),
        (  # what stands in for OpenAI speaks chat, OpenAI itself the newer protocol
            Choice(model="openai/m"), {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "https://p.example"},
            ("openai", "m", "chat", "https://p.example/v1", "o", "OPENAI_API_KEY"),
        ),
        (
            Choice(model="openai/m", api="responses"), {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "https://p.example"},
            ("openai", "m", "responses", "https://p.example/v1", "o", "OPENAI_API_KEY"),
        ),
        (
            Choice(model="openai/m"), {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "https://api.openai.com/v1"},
            ("openai", "m", "responses", "https://api.openai.com/v1", "o", "OPENAI_API_KEY"),
        ),
    ],
)  # fmt: skip
def test_addresses_and_keys(choice: Choice, environ: dict[str, str], found: tuple[str, ...]) -> None:
    ollama = Server("ollama", "http://localhost:11434/v1", OLLAMA.models)
    assert told(find(choice, environ, servers=(ollama,))) == found


@pytest.mark.design("A-5")
def test_servers_of_the_configuration() -> None:
    given = with_model(servers={"work": "http://10.1.1.1:8000", "big-box": "http://127.0.0.1:8000/v1", "bad": "nonsense"})
    assert told(find(Choice(model="work/Org/m"), settings=given)) == (
        "work",
        "Org/m",
        "chat",
        "http://10.1.1.1:8000/v1",
        *PLACEHOLDER,
    )
    keyed = find(Choice(model="big-box/a"), {"BIG_BOX_API_KEY": "b"}, given)
    assert told(keyed) == ("big-box", "a", "chat", "http://127.0.0.1:8000/v1", "b", "BIG_BOX_API_KEY")
    assert find(Choice(model="work/m", api_key="c"), settings=given).key == "c"
    loaded = Server("", "http://127.0.0.1:8000/v1", (LocalModel("a", 9_000),))
    assert find(Choice(model="big-box/a"), settings=given, servers=(loaded,)).traits.limit == 9_000
    with pytest.raises(UserMistake, match=r"model\.servers\.bad 'nonsense'"):
        find(Choice(model="bad/m"), settings=given)
    # The configuration's names go before the providers'.
    assert (
        find(Choice(model="groq/m"), settings=with_model(servers={"groq": "http://10.0.0.1"})).base_url == "http://10.0.0.1/v1"
    )


@pytest.mark.design("A-4", "C-1")
@pytest.mark.report(35)
def test_the_server_s_own_window_goes_before_the_table_only() -> None:
    def limit(choice: Choice, settings: Settings = DEFAULTS) -> tuple[int, str]:
        found = find(choice, settings=settings, servers=(OLLAMA, TWO)).traits
        return found.limit, found.limit_source

    assert limit(Choice(model="ollama/qwen3:8b")) == (40_960, "server")
    assert limit(Choice(model="ollama/other")) == (128_000, "default")
    assert limit(Choice(model="vllm/a")) == (128_000, "default")
    assert limit(Choice(model="vllm/qwen3-8b")) == (32_768, "catalogue")
    assert limit(Choice(model="ollama/qwen3:8b", limit=5_000)) == (5_000, "option")
    assert limit(Choice(model="ollama/qwen3:8b"), with_model(limit={"ollama/*": 6_000})) == (6_000, "config")
    assert limit(Choice(base_url=OLLAMA.base_url, model="qwen3:8b")) == (40_960, "server")
    # Only servers on this machine are asked, and only in the protocol that lists models.
    far = Server("", "https://far.example/v1", (LocalModel("m", 5_000),))
    assert find(Choice(base_url=far.base_url, model="m", api_key="k"), servers=(far,)).traits.limit == 128_000
    near = Server("", "http://127.0.0.1:9", (LocalModel("m", 5_000),))
    assert find(Choice(base_url=near.base_url, model="m", api="anthropic"), servers=(near,)).traits.limit == 128_000
    given = with_model(servers={"far": far.base_url})
    assert find(Choice(model="far/m"), settings=given, servers=(far,)).traits.limit == 128_000
    proxied = {"OPENAI_BASE_URL": far.base_url, "OPENAI_API_KEY": "k"}
    assert find(Choice(model="openai/m"), proxied, servers=(far,)).traits.limit == 128_000


@pytest.mark.design("A-5")
def test_a_choice_and_a_target_hide_their_key_however_they_are_made() -> None:
    secret = "sk-very-secret"
    choice = Choice("openai/m", api_key=secret)
    target = Target(find(choice).traits, "https://x", secret, "--api-key")
    for one in (
        choice,
        replace(choice, model="openai/n"),
        replace(Choice(), api_key=secret),
        target,
        replace(target, base_url="y"),
    ):
        for shown in (repr(one), str(one), f"{one}", repr([one]), repr({"api_key": getattr(one, "api_key", "")})):
            assert secret not in shown
        assert "'***'" in repr(one)
    assert choice.api_key == target.key == secret
    assert f"Bearer {choice.api_key}" == "Bearer sk-very-secret", "where it is sent it is itself"
    assert Choice("a", api_key=secret) == Choice("a", api_key=secret) != Choice("a", api_key="other")
    assert Choice().api_key is None
    assert "api_key=None" in repr(Choice())


@pytest.mark.design("A-5")
@pytest.mark.parametrize(
    ("server", "variable"), [("lab", "LAB_API_KEY"), ("my-lab.2", "MY_LAB_2_API_KEY"), ("Ünit_1", "ÜNIT_1_API_KEY")]
)
def test_the_variable_of_a_configured_server(server: str, variable: str) -> None:
    assert key_variable(server) == variable
    settings = with_model(servers={server: "http://example.org/v1"})
    target = find(Choice(model=f"{server}/m"), {variable: "k"}, settings)
    assert (target.key, target.key_from) == ("k", variable)


@pytest.mark.design("A-5")
def test_keys_are_never_shown() -> None:
    secret = "sk-very-secret"
    target = find(environ={"OPENAI_API_KEY": secret})
    assert target.key == secret
    assert f"{target.key}" == secret
    assert secret not in repr(target)
    assert secret not in str(target)
    for bad in ("sk-very secret", "sk-very-secreté", "sk-very\nsecret"):
        with pytest.raises(UserMistake) as caught:
            find(environ={"OPENAI_API_KEY": bad})
        assert "OPENAI_API_KEY" in str(caught.value)
        assert "secret" not in f"{caught.value} {caught.value.next_step}"
    with pytest.raises(UserMistake) as caught:
        find(Choice(model="m", base_url="http://me:hunter2@127.0.0.1:9"))
    assert "hunter2" not in f"{caught.value} {caught.value.next_step}"


@pytest.mark.design("A-5")
@pytest.mark.parametrize(
    ("url", "api", "base"),
    [
        ("http://h", "chat", "http://h/v1"),
        ("http://h/", "responses", "http://h/v1"),
        ("http://h:8/v1", "chat", "http://h:8/v1"),
        ("http://h/v1/", "chat", "http://h/v1"),
        ("http://h/v1/chat/completions", "chat", "http://h/v1"),
        ("http://h/v1/responses", "responses", "http://h/v1"),
        ("http://h/v1/models", "chat", "http://h/v1"),
        ("https://h/api/paas/v4", "chat", "https://h/api/paas/v4"),
        ("HTTPS://Host/x", "chat", "https://Host/x"),
        (" http://h \n", "anthropic", "http://h"),
        ("http://h/v1", "anthropic", "http://h"),
        ("http://h/v1/messages", "anthropic", "http://h"),
        ("http://h/api/anthropic", "anthropic", "http://h/api/anthropic"),
        ("http://h/v1beta", "gemini", "http://h"),
        ("http://h/v1/", "gemini", "http://h"),
        ("http://[::1]:8/v1", "anthropic", "http://[::1]:8"),
    ],
)
def test_forms_of_an_address(url: str, api: Api, base: str) -> None:
    assert base_url(url, api, said="--base-url") == base
    assert base_url(base, api, said="--base-url") == base


@pytest.mark.design("A-5")
@pytest.mark.parametrize(
    ("url", "step"),
    [
        ("localhost:8080", "such as http://localhost:8080."), ("h/v1", "such as http://h/v1."), ("ftp://h", "https://."),
        ("http://", "http://"), ("http:///v1", "http://"), ("http://h:99999", "http://"), ("http://h:x", "http://"),
        ("http://[::1", "http://"), ("http://h:0", "http://"), ("http://h/v1?key=1", "Leave"), ("http://h/v1#x", "Leave"),
        ("http://u:p@h", "--api-key"), ("", "http://"),
    ],
)  # fmt: skip
def test_no_address(url: str, step: str) -> None:
    with pytest.raises(UserMistake) as caught:
        base_url(url, "chat", said="OPENAI_BASE_URL")
    assert "OPENAI_BASE_URL" in str(caught.value)
    assert step in caught.value.next_step


# --- servers on this machine --------------------------------------------------------------------------------------


@pytest.mark.design("A-5")
def test_a_server_is_found_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with serving({"/v1/models": listing("m", "nomic-embed-text", max_model_len=9_000)}) as server:
        found = probe({"ollama": 1, "vllm": server.server_port})
        assert found == (Server("vllm", server.base_url, (LocalModel("m", 9_000),)),)
        assert look(server.base_url) == Server("", server.base_url, (LocalModel("m", 9_000),))
        assert all(not {"authorization", "x-api-key"} & set(headers) for _, headers in server.seen)
        assert "secret" not in str(server.seen)


@pytest.mark.design("A-5", "C-1")
def test_a_server_here_gets_the_key_that_was_given_for_its_address_and_no_other() -> None:
    keys = {"OPENAI_API_KEY": "secret"}
    props = {"default_generation_settings": {"n_ctx": 8_192}}
    with serving({"/v1/models": listing("m", max_model_len=9_000), "/props": props}) as server:

        def sent(choice: Choice, environ: Mapping[str, str] = keys) -> list[str | None]:
            server.seen.clear()
            assert resolve(choice, environ, DEFAULTS, probe=tuple).traits.limit == 9_000
            return [headers.get("authorization") for _, headers in server.seen]

        at = server.base_url
        assert sent(Choice(base_url=at, model="m", api_key=" k3y ")) == ["Bearer k3y"]
        assert sent(Choice(base_url=at, model="m")) == [None]
        assert sent(Choice(base_url=at, model="m", api_key=" ")) == [None]
        assert sent(Choice(model="openai/m", api_key="k3y"), {"OPENAI_BASE_URL": at}) == [None]
        server.seen.clear()
        assert look(at, "llamacpp", "k3y") == Server("llamacpp", at, (LocalModel("m", 8_192),))
        assert [(path, headers["authorization"]) for path, headers in server.seen] == [
            ("/v1/models", "Bearer k3y"),
            ("/props", "Bearer k3y"),
        ]


@pytest.mark.design("A-5", "C-1")
def test_windows_as_each_kind_tells_them() -> None:
    props = {"default_generation_settings": {"n_ctx": 8_192}}
    with serving({"/v1/models": listing("m"), "/props": props}) as server:
        assert look(server.base_url, "llamacpp") == Server("llamacpp", server.base_url, (LocalModel("m", 8_192),))
        assert look(server.base_url, "vllm") == Server("vllm", server.base_url, (LocalModel("m"),))
    loaded = {"models": [{"name": "a", "context_length": 4_096}, {"name": "z", "context_length": 1}]}
    with serving({"/v1/models": listing("a", "b"), "/api/ps": loaded}) as server:
        assert look(server.base_url, "ollama") == Server("ollama", server.base_url, (LocalModel("a", 4_096), LocalModel("b")))
    studio = listing("a") | {"data": [{"id": "a", "loaded_context_length": 7_000, "max_context_length": 99_000}]}
    with serving({"/v1/models": listing("a"), "/api/v0/models": studio}) as server:
        assert look(server.base_url, "lmstudio") == Server("lmstudio", server.base_url, (LocalModel("a", 7_000),))
    with serving({"/v1/models": listing("m"), "/props": {"default_generation_settings": 3}}) as server:
        assert look(server.base_url, "llamacpp") == Server("llamacpp", server.base_url, (LocalModel("m"),))


@pytest.mark.design("A-5")
@pytest.mark.parametrize(
    "answer", [None, b"<html>", b"[1]", b'{"data": 3}', b'{"models": []}', b"{" * 9_000, b"\xff\xfe", b"", {"data": "x"}]
)
def test_something_else_on_the_port(answer: Any) -> None:
    with serving({"/v1/models": answer}) as server:
        assert look(server.base_url) is None


@pytest.mark.design("A-5")
def test_strange_entries_are_left_out() -> None:
    with serving({"/v1/models": {"data": [3, {"id": 4}, {"name": "x"}, {"id": "m", "max_model_len": "9"}]}}) as server:
        assert look(server.base_url) == Server("", server.base_url, (LocalModel("m"),))


@pytest.mark.design("A-5")
def test_nobody_waits_for_a_slow_one() -> None:
    with serving({"/v1/models": listing("m")}, delay=1.0) as slow, serving({"/v1/models": listing("n")}) as quick:
        began = time.monotonic()
        found = probe({"ollama": slow.server_port, "vllm": quick.server_port, "llamacpp": slow.server_port}, patience=0.3)
        assert time.monotonic() - began < 0.8
        assert [server.kind for server in found] == ["vllm"]


# --- the list, the connection -------------------------------------------------------------------------------------


@pytest.mark.design("A-4", "A-5")
def test_what_could_be_used() -> None:
    lines = usable(
        {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "sp ace"},
        with_model(servers={"work": "http://10.1.1.1"}),
        lambda: (OLLAMA,),
    )
    by_model = {line.model: line for line in lines}
    assert len(by_model) == len(lines)
    ready = [line.model for line in lines if line.usable]
    assert ready == [line.model for line in lines[: len(ready)]]
    assert ready[:2] == ["ollama/qwen3:8b", "work/NAME"]
    assert ready[-1] == "scripted"
    assert [name for name in ready if name.startswith("anthropic/")] == ready[2:-1]
    assert (by_model["ollama/qwen3:8b"].limit, by_model["ollama/qwen3:8b"].limit_source) == (40_960, "server")
    assert by_model["ollama/qwen3:8b"].why == "server at http://127.0.0.1:11434/v1"
    assert (by_model["work/NAME"].limit, by_model["work/NAME"].limit_source) == (128_000, "default")
    assert by_model["anthropic/claude-opus-5-5"].why == "ANTHROPIC_API_KEY"
    assert by_model["anthropic/claude-opus-5-5"].limit == 1_000_000
    assert (by_model["openai/gpt-6.1-sol"].usable, by_model["openai/gpt-6.1-sol"].api) == (False, "responses")
    assert "OPENAI_API_KEY holds" in by_model["openai/gpt-6.1-sol"].why
    assert by_model["deepseek/deepseek-v4-pro"].why.startswith("DEEPSEEK_API_KEY is not set")
    assert by_model["deepseek/deepseek-v4-pro"].limit == 1_000_000
    assert "deepseek/deepseek-v4-flash" not in by_model
    assert not any(line.model.startswith("ollama/") and not line.usable for line in lines)


@pytest.mark.design("A-5")
def test_the_default_and_another_address_are_in_the_list() -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://p.example"}
    lines = usable(environ, with_model(default="anthropic/claude-opus-4-1"), lambda: ())
    assert (lines[0].model, lines[0].limit) == ("anthropic/claude-opus-4-1", 200_000)
    assert lines[0].why == "ANTHROPIC_API_KEY, at https://p.example"
    keyed = usable({"WORK_API_KEY": "w"}, with_model(servers={"work": "http://10.1.1.1"}), lambda: ())
    assert keyed[0].why == "WORK_API_KEY, at http://10.1.1.1/v1"
    embedded = usable({}, with_model(default="scripted"), lambda: ())
    assert [line.usable for line in embedded if line.model == "scripted"] == [True]
    bare = usable({}, with_model(default="claude-opus-5"), lambda: ())
    assert [(line.limit, line.usable) for line in bare if line.model == "claude-opus-5"] == [(1_000_000, False)]
    failing = usable({}, with_model(default="mystery"), lambda: ())
    assert [(line.model, line.usable) for line in failing if line.model == "mystery"] == [("mystery", False)]
    assert failing[0].model == "scripted"


@pytest.mark.design("A-5")
def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connecting._SDKS, "anthropic", "no_such_sdk")
    monkeypatch.setitem(connecting._SDKS, "gemini", "no_such_package.genai")
    lines = {line.model: line for line in usable({"ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "g"}, Settings(), lambda: ())}
    for model in ("anthropic/claude-sonnet-5-5", "google/gemini-3.8-flash"):
        assert not lines[model].usable
        assert lines[model].why == 'not installed: pip install "sojourn[agent]"'
    with pytest.raises(UserMistake, match="no_such_sdk") as caught:
        connect(find(environ={"ANTHROPIC_API_KEY": "k"}), no_blobs)
    assert caught.value.next_step == 'pip install "sojourn[agent]"'


async def no_blobs(address: str) -> bytes | None:
    return None


@pytest.mark.design("A-1", "A-3", "A-5")
@pytest.mark.parametrize(
    "model", ["anthropic/claude-opus-5", "openai/gpt-5", "google/gemini-2.5-pro", "deepseek/deepseek-v4-pro"]
)
def test_connected(model: str) -> None:
    target = find(Choice(model=model, api_key="k"))
    connected = connect(target, no_blobs)
    assert isinstance(connected, Retrying)
    assert connected.traits == target.traits
    assert isinstance(connected._model, Streaming)
    assert connected._model._silence == 120
    patient = connect(target, no_blobs, silence=7)
    assert isinstance(patient, Retrying)
    assert isinstance(patient._model, Streaming)
    assert patient._model._silence == 7
    inner = type(connected._model)
    assert (inner.__module__, inner.__name__) == (f"sojourn.models.clients.{target.traits.protocol}", "Client")


@pytest.mark.design("A-5")
def test_the_embedded_model_is_connected() -> None:
    connected = connect(find(Choice(limit=20_000)), no_blobs)
    assert type(connected).__name__ == "Scripted"
    assert (connected.traits.name, connected.traits.limit) == ("scripted", 20_000)
