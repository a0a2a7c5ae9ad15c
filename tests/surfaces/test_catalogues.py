"""Texts for people: the same keys and placeholders in both languages, each used, each language reachable."""

import re
from pathlib import Path
from string import Formatter

import pytest

import sojourn.surfaces
from sojourn.surfaces.catalogue import catalogue, language
from surfaces.running import Command, put, talk

_SOURCE = Path(sojourn.surfaces.__file__).parent


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.design("S-1", "S-2")
def test_both_have_the_same_keys_and_placeholders() -> None:
    english, chinese = catalogue("en"), catalogue("zh")
    assert list(english) == list(chinese)
    for key, text in english.items():
        assert placeholders(text) == placeholders(chinese[key]), key
        assert text.strip(), key
    differ = [key for key in english if english[key] == chinese[key]]
    assert differ == ["column_id"]


@pytest.mark.design("S-1")
def test_every_key_is_used_and_every_used_key_is_there() -> None:
    source = "\n".join(path.read_text("utf-8") for path in _SOURCE.rglob("*.py"))
    named = set(re.findall(r"""\bsay\(\s*["']([a-z_]+)["']""", source))
    named |= set(re.findall(r'"(demo_next_[a-z]+)"', source))
    for line in re.findall(r"keys = [(\[](.*?)\n", source) + re.findall(r"for key in \((.*?)\)", source):
        named |= {f"column_{key}" for key in re.findall(r'"([a-z]+)"', line)}
    named |= {"cost_marked", "cost_automatic"}
    assert named >= set(catalogue("en")), set(catalogue("en")) - named
    used = set(re.findall(r"""\bsay\(\s*["']([a-z_]+)["']""", source))
    assert used <= set(catalogue("en"))


@pytest.mark.design("S-9")
def test_the_language() -> None:
    assert language("zh", {"LANG": "en_US.UTF-8"}) == "zh"
    assert language("en", {"LANG": "zh_CN.UTF-8"}) == "en"
    assert language("auto", {"LANG": "zh_CN.UTF-8"}) == "zh"
    assert language("auto", {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}) == "en"
    assert language("auto", {"LANG": "en_US", "LC_MESSAGES": "zh_TW"}) == "zh"
    assert language("auto", {"LC_ALL": "", "LANG": "zh_CN"}) == "zh"
    assert language("auto", {}) == "en"


@pytest.mark.design("S-9")
def test_the_setting_is_honoured(sojourn: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sojourn("sessions").err.startswith("There are no sessions yet.")
    assert sojourn("sessions", "--set", "language=zh").err.startswith("还没有会话。")
    assert sojourn("show", "x", "--set", "language=zh").err.startswith("sojourn: 还没有会话（")
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text('language = "zh"\n')
    assert sojourn("replay", "nowhere.jsonl").err == "sojourn: nowhere.jsonl：没有这个文件\n"
    assert sojourn("replay", "nowhere.jsonl", "--set", "language=en").err == "sojourn: nowhere.jsonl: there is no such file\n"
    (home / "config" / "config.toml").unlink()
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert sojourn("shw").err == "sojourn: 没有命令 'shw'\n  是不是 'show'？\n"
    put(tmp_path / "a.jsonl", talk(2))
    done = sojourn("replay", tmp_path / "a.jsonl")
    assert "4 条消息" in done.out
    assert "整个会话装得进一个窗口" in done.out
