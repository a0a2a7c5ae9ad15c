"""``sojourn context``: the categories, what a rebuild does with each, rules and reminders in view (M-4, S-3)."""

import os
from pathlib import Path

import pytest

from sojourn.config import Settings
from sojourn.record import Block, Message, PrefixSnapshot, Reminder, Text
from sojourn.surfaces.cli.keeping import FATES, fates, keeping_report, reminders_by_kind, rule_lines
from surfaces.running import Command

pytestmark = pytest.mark.design("M-4", "S-1")

CATEGORIES = {
    "tools": 10, "mcp tools": 11, "system": 12, "tool prompt": 13, "skills": 14, "context": 15, "reminder/date": 16,
    "opening/pins": 17,
    "opening": 18, "user": 19, "assistant": 20, "results": 21, "images": 22, "other": 23, "never heard of": 24,
}  # fmt: skip


@pytest.mark.report(13)
def test_every_category_has_one_fate() -> None:
    found = fates(CATEGORIES)
    assert list(found) == ["kept", "renewed", "verbatim", "summarised", "dropped"]
    assert found["kept"] == {"tools": 10, "mcp tools": 11, "system": 12, "tool prompt": 13}
    assert found["renewed"] == {"skills": 14, "context": 15, "opening/pins": 17, "opening": 18}
    assert found["verbatim"] == {"user": 19}
    assert found["summarised"] == {"assistant": 20}
    assert found["dropped"] == {"reminder/date": 16, "results": 21, "images": 22, "other": 23, "never heard of": 24}
    assert sum(sum(held.values()) for held in found.values()) == sum(CATEGORIES.values())
    assert set(FATES.values()) == set(found)


@pytest.mark.report(13, 115)
def test_rules_that_were_looked_for_and_loaded(tmp_path: Path) -> None:
    root, config = tmp_path / "repo", tmp_path / "config"
    (root / ".git").mkdir(parents=True)
    (root / "sub").mkdir()
    config.mkdir()
    (root / "AGENTS.md").write_text("be brief")
    (root / "sub" / "AGENTS.md").write_text("")
    prefix = PrefixSnapshot("p", context=(Block("instructions", f"# Rules\n\n## {root / 'AGENTS.md'} (git root)\n\nbe brief"),))
    lines = {line.path: line for line in rule_lines(root / "sub", Settings(), config, prefix)}
    top, empty, missing = (lines[str(path / "AGENTS.md")] for path in (root, root / "sub", config))
    assert (top.state, top.in_window) == ("loaded", True)
    assert (empty.state, empty.in_window) == ("warning", False)
    assert (missing.state, missing.in_window) == ("absent", False)
    assert not any(line.in_window for line in rule_lines(root / "sub", Settings(), config, None))
    assert rule_lines(tmp_path / "gone", Settings(), config, prefix) == ()
    report = keeping_report({}, list(lines.values()), {})
    assert "Rule files, loaded in this order" in report
    assert f"  + {root / 'AGENTS.md'}: git root\n" in report
    assert f"  ! {root / 'sub' / 'AGENTS.md'}: is empty" in report
    assert "looked for, not there:" in report
    late = keeping_report({}, rule_lines(root / "sub", Settings(), config, None), {})
    assert "git root  (on disk, not in this window: the next one reads it)" in late
    assert "No rule file is loaded." in keeping_report({}, [missing], {})


def test_reminders_by_kind() -> None:
    messages = [
        Message(id="1", role="user", origin="engine", parts=(Reminder("date", "x"), Reminder("todo", "y"), Text("z"))),
        Message(id="2", role="user", origin="engine", parts=(Reminder("date", "x"),)),
    ]
    assert reminders_by_kind(messages) == {"date": 2, "todo": 1}
    assert "Reminders in view: date 2, todo 1" in keeping_report({}, (), {"date": 2, "todo": 1})
    assert "Reminders" not in keeping_report({}, (), {})


@pytest.fixture
def ran(sojourn: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    Path("AGENTS.md").write_text("Always say please.\n")
    with open(os.devnull) as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        assert sojourn("run", "--trust", "--model", "scripted", "where is the gauge?").code == 0
    return sojourn


@pytest.mark.design("S-3")
@pytest.mark.report(13, 115)
def test_the_context_of_a_run(ran: Command) -> None:
    row = ran("context", "last", "--json").row
    assert sum(row["categories"].values()) == row["level"]
    assert {name for held in row["rebuild"].values() for name in held} == set(row["categories"])
    assert sum(sum(held.values()) for held in row["rebuild"].values()) == row["level"]
    loaded = [rule for rule in row["rules"] if rule["state"] == "loaded"]
    assert [(rule["path"], rule["in_window"]) for rule in loaded] == [(str(Path.cwd() / "AGENTS.md"), True)]
    assert {rule["state"] for rule in row["rules"]} == {"loaded", "absent"}
    done = ran("context", "last")
    assert "What a rebuilt window would do with it:\n  stays as it is: tools " in done.out
    assert f"  + {Path.cwd() / 'AGENTS.md'}: " in done.out
    assert "not in this window" not in done.out
    for category, tokens in row["categories"].items():
        assert f"{category} {tokens:,}" in done.out.replace("\n  ", " ")


@pytest.mark.report(115)
def test_a_rule_file_that_came_later_is_told_apart(ran: Command, home: Path) -> None:
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "AGENTS.md").write_text("In all projects: be brief.\n")
    out = ran("context", "last").out
    assert out.count("(on disk, not in this window: the next one reads it)") == 1
