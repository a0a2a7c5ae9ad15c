"""Texts for people: the same keys and placeholders in both languages, each used, each language reachable."""

import ast
import re
from pathlib import Path
from string import Formatter

import pytest

import sojourn.surfaces
from sojourn.surfaces.catalogue import catalogue, language, text
from surfaces.running import Command, put, talk

_SOURCE = Path(sojourn.surfaces.__file__).parent


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.design("S-1", "S-2")
def test_both_have_the_same_keys_and_placeholders() -> None:
    english, chinese = catalogue("en"), catalogue("zh")
    assert list(english) == list(chinese)
    for key, words in english.items():
        assert placeholders(words) == placeholders(chinese[key]), key
        assert words.strip(), key
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
    assert sojourn("replay", "nowhere.jsonl").err.startswith("sojourn: nowhere.jsonl：没有这个文件\n")
    in_english = sojourn("replay", "nowhere.jsonl", "--set", "language=en").err
    assert in_english.startswith("sojourn: nowhere.jsonl: there is no such file\n")
    assert sojourn("shw").err == "sojourn: 没有命令 'shw'\n  是不是 'show'？\n"
    (home / "config" / "config.toml").unlink()
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert sojourn("shw").err == "sojourn: 没有命令 'shw'\n  是不是 'show'？\n"
    put(tmp_path / "a.jsonl", talk(2))
    done = sojourn("replay", tmp_path / "a.jsonl")
    assert "4 条消息" in done.out
    assert "整个会话装得进一个窗口" in done.out


@pytest.mark.design("S-1")
def test_one_is_no_many() -> None:
    told = [text("session_size", "en", messages=count, windows=count) for count in (0, 1, 2, 1_000)]
    assert told == ["0 messages, 0 windows", "1 message, 1 window", "2 messages, 2 windows", "1,000 messages, 1,000 windows"]
    assert text("cost_in_units", "en", units=1.4) == "1 unit"
    assert text("cost_in_units", "en", units=1_499.6) == "1,500 units"
    assert text("session_size", "zh", messages=1, windows=2) == "1 条消息，2 个窗口"


@pytest.mark.design("S-1", "S-9")
def test_a_mistake_in_the_command_line_is_told_in_the_persons_language(
    sojourn: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chinese = ("--set", "language=zh")
    help_page = "  请看：sojourn replay --help\n"
    assert sojourn("replay", *chinese).err == f"sojourn: 缺少参数 'FILE...'。\n{help_page}"
    wrong = sojourn("replay", "--rule", "x", "f", *chinese)
    assert wrong.err == f"sojourn: '--rule' 的值不对：'x' 不是 'marked', 'automatic' 之一\n{help_page}"
    for number in ("0", "x"):
        said = "0" if number == "0" else "'x'"
        told = f"sojourn: '--limit' 的值不对：{said} 不是 1 到 2147483647 之间的整数\n  请看：sojourn show --help\n"
        assert sojourn("show", "last", "--limit", number, *chinese).err == told
    assert sojourn("fork", "last", "--at", "x", *chinese).err.startswith("sojourn: 'x' 不是消息编号")
    assert sojourn("pin", "last", "a", "--message", "1", *chinese).err.startswith("sojourn: 文本（--text）、--file")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    near = sojourn("replay", "--polcy", "x")
    assert near.err == f"sojourn: 没有选项 --polcy 是不是 '--policy'？\n{help_page}"
    assert sojourn("replay", "--nothing-like-it").err == f"sojourn: 没有选项 --nothing-like-it\n{help_page}"
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert sojourn("show", "a", "--limit", "9", "b").err == (
        "sojourn: Got unexpected extra argument (b)\n  See: sojourn show --help\n"
    )
    assert sojourn("replay", "--rule", "x", "f").err.startswith(
        "sojourn: Invalid value for '--rule': 'x' is not one of 'marked', 'automatic'\n"
    )
    assert sojourn("show", "a", "--limit", "0").err.startswith(
        "sojourn: Invalid value for '--limit': 0 is no whole number from 1 to 2147483647\n"
    )


@pytest.mark.design("S-9")
def test_reports_speak_it_too(sojourn: Command, home: Path, tmp_path: Path) -> None:
    rows = [line.split() for line in sojourn("config", "--set", "language=zh").out.splitlines()]
    assert ["compaction.auto", "true", "默认"] in rows
    assert ["language", '"zh"', "命令行"] in rows
    assert ["compaction.auto", "true", "default"] in [line.split() for line in sojourn("config").out.splitlines()]
    put(tmp_path / "a.jsonl", talk(2))
    sojourn("import", tmp_path / "a.jsonl")
    labels = [line.split()[0] for line in sojourn("doctor", "--space", "--set", "language=zh").out.splitlines()]
    assert labels[:10] == ["python", "sqlite", "数据", "配置", "记录", "规则", "数据库", "预写日志", "附件", "已释放"]
    english = [line.split("  ")[0] for line in sojourn("doctor", "--space").out.splitlines()]
    expected = ["python", "sqlite", "data", "config", "record", "rules", "database", "write-ahead log", "attachments", "freed"]
    assert english[:10] == expected


@pytest.mark.design("S-1")
def test_every_mistake_says_what_to_do_next() -> None:
    for path in set(_SOURCE.rglob("*.py")) - {_SOURCE / "cli" / "commands" / "memory.py"}:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("UserMistake", "WorkFailed"):
                assert any(word.arg == "next_step" for word in node.keywords), f"{path.name}:{node.lineno}"
