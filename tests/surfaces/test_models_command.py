"""``sojourn models``: what can be used, with its window, and what is missing (A-4, A-5)."""

from pathlib import Path

import pytest

from models.local_server import listing, serving
from sojourn.models import local
from sojourn.models.catalogue import providers
from surfaces.running import Command


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, no servers but the test's own."""
    for provider in providers():
        for name in (*provider.keys, *([provider.base] if provider.base else [])):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(local, "PORTS", {})
    monkeypatch.setattr(local.probe, "__defaults__", ({}, 0.3))


@pytest.mark.design("A-5", "S-1")
def test_with_nothing_there_is_the_embedded_one(sojourn: Command) -> None:
    done = sojourn("models")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["model", "protocol", "window", "from", "reached", "by"]
    assert lines[1].startswith("scripted  chat      128,000  catalogue  built in")
    assert lines[2] == ""
    assert lines[3].split() == ["model", "what", "is", "missing"]
    assert lines[4].split(maxsplit=1) == ["anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY is not set: there is …"]
    assert max(len(line) for line in lines) <= 80
    assert done.err == "\nWithout --model: scripted\n"


@pytest.mark.design("A-4", "A-5")
@pytest.mark.report(35)
def test_keys_of_the_environment(sojourn: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-value")
    done = sojourn("models")
    assert "anthropic/claude-opus-5-5    anthropic  1,000,000  catalogue  ANTHROPIC_API_KEY\n" in done.out
    assert "secret" not in done.out + done.err
    assert done.err == "\nWithout --model: anthropic/claude-sonnet-5-5\n"
    limited = sojourn("models", "--set", 'model.limit={"anthropic/*" = "64K"}')
    assert limited.code == 0
    assert "anthropic/claude-opus-5-5    anthropic   64,000  config     ANTHROPIC_API_KEY\n" in limited.out


@pytest.mark.design("A-5", "C-1")
def test_a_server_is_offered_and_an_assumed_window_said(sojourn: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({"/v1/models": listing("m")}) as server:
        monkeypatch.setattr(local.probe, "__defaults__", ({"vllm": server.server_port}, 0.3))
        done = sojourn("models")
        assert done.out.splitlines()[1].split()[:4] == ["vllm/m", "chat", "128,000", "default"]
        assert 'A window "from default" is assumed' in done.err
        assert done.err.endswith("\nWithout --model: vllm/m\n")
        (row,) = [one for one in sojourn("models", "--json").rows if one["model"] == "vllm/m"]
        assert row == {
            "model": "vllm/m", "api": "chat", "limit": 128_000, "limit_source": "default", "usable": True,
            "why": f"server at {server.base_url}",
        }  # fmt: skip


@pytest.mark.design("S-1")
def test_json_lines(sojourn: Command) -> None:
    done = sojourn("models", "--json")
    assert (done.code, done.err) == (0, "")
    assert {tuple(row) for row in done.rows} == {("model", "api", "limit", "limit_source", "usable", "why")}
    assert done.rows[0]["model"] == "scripted"
    assert sum(row["usable"] for row in done.rows) == 1


@pytest.mark.design("S-1", "S-9")
def test_mistakes_help_and_language(sojourn: Command, home: Path) -> None:
    assert sojourn("models", "--set", "nonsense=1").code == 2
    assert sojourn("models", "extra").code == 2
    told = sojourn("models", "--help").out
    assert "Examples:\n    sojourn models\n" in told
    assert "model.servers" in told
    assert "模型" in sojourn("models", "--set", "language=zh").out
    failing = sojourn("models", "--set", "model.default=mystery")
    assert failing.code == 0
    assert failing.err.endswith("Without --model: none (it is not known where the model 'mystery' is served)\n")
    assert not (home / "data").exists()
