"""From sections to blocks (P-1, P-2, P-7)."""

import asyncio
import shutil
from datetime import date

import msgspec
import pytest

from sojourn.base import UserMistake
from sojourn.config.settings import CheckpointSettings, Settings
from sojourn.meter import estimate_text, estimate_value, total
from sojourn.prefix import build, escape_reminders, gather, own_sections, section, wrap_reminder
from sojourn.prefix.sources.environment import environment, shell, today

SECTIONS = [
    section("date", "s", "context", "dynamic", "D"),
    section("env", "s", "system", "dynamic", "E1"),
    section("skills", "s", "context", "stable", "S"),
    section("role", "s", "system", "stable", "R1"),
    section("identity_line", "s", "system", "stable", "I"),
    section("git", "s", "system", "dynamic", "E2"),
    section("working", "s", "system", "stable", "R2"),
    section("rules", "s", "context", "dynamic", "U"),
    section("nothing", "s", "system", "stable", " \n"),
]
TOOLS = [
    {"name": "read", "description": "reads", "schema": {"z": 1, "a": 2}},
    {"schema": {}, "description": "runs", "name": "bash", "more": 1},
]


@pytest.mark.design("P-1", "P-2")
def test_three_system_blocks_each_with_its_own_left_boundary():
    built = build(SECTIONS, [])
    assert [(block.section, block.text) for block in built.system] == [
        ("identity_line", "I"),
        ("stable", "\n\nR1\n\nR2"),
        ("dynamic", "\n\nE1\n\nE2"),
    ]
    assert "".join(block.text for block in built.system) == "I\n\nR1\n\nR2\n\nE1\n\nE2"
    assert [block.text for block in build(SECTIONS[3:4] + SECTIONS[1:2], []).system] == ["R1", "\n\nE1"]
    assert [block.text for block in build(SECTIONS[1:2], []).system] == ["E1"]


@pytest.mark.design("P-1", "P-2")
def test_context_stands_between_two_lines_stable_first():
    context = build(SECTIONS, []).context
    assert [block.section for block in context] == ["context_opening", "skills", "date", "rules", "context_closing"]
    assert [block.text for block in context[1:4]] == ["\n\nS", "\n\nD", "\n\nU"]
    assert not context[0].text.startswith("\n")
    assert context[-1].text.startswith("\n\n")
    assert build(SECTIONS[1:2], []).context == ()


@pytest.mark.design("P-7")
def test_tools_are_sorted_by_name_and_otherwise_as_they_are():
    tools = build([], TOOLS).tools
    assert [tool["name"] for tool in tools] == ["bash", "read"]
    assert [list(tool) for tool in tools] == [["name", "description", "schema"]] * 2
    assert list(tools[1]["schema"]) == ["z", "a"], "the order of properties is the author's"
    with pytest.raises(UserMistake, match="read"):
        build([], [*TOOLS, TOOLS[0]])


@pytest.mark.design("P-7", "R-7")
def test_the_id_is_of_the_bytes_that_are_sent():
    one = build(SECTIONS, TOOLS)
    assert one == build(SECTIONS, reversed(TOOLS))
    assert len(one.id) == 64
    assert build([msgspec.structs.replace(each, tokens=99) for each in SECTIONS], TOOLS).id == one.id
    for changed in (
        build(SECTIONS[1:], TOOLS),
        build(SECTIONS, TOOLS[:1]),
        build([*SECTIONS, section("x", "s", "system", "stable", "X")], TOOLS),
        build(SECTIONS, [TOOLS[1], {**TOOLS[0], "schema": {"a": 2, "z": 1}}]),
        build(SECTIONS, [TOOLS[1], {**TOOLS[0], "description": "reads!"}]),
    ):
        assert changed.id != one.id


@pytest.mark.design("P-1", "M-4", "C-8")
@pytest.mark.report(42)
def test_the_snapshot_counts_everything():
    built = build(SECTIONS, TOOLS)
    texts = [block.text for block in (*built.system, *built.context)]
    texts += [tool[key] for tool in built.tools for key in ("name", "description")]
    schemas = [tool["schema"] for tool in built.tools]
    assert built.tokens == sum(total(estimate_text(one)) for one in texts) + sum(total(estimate_value(one)) for one in schemas)
    assert [block.tokens for block in built.system] == [total(estimate_text(block.text)) for block in built.system]


@pytest.mark.design("P-1")
def test_a_section_is_clean_and_counted():
    made = section("a", "b", "system", "stable", "\n\r\n  x\ud800\n\n")
    assert made.text == "  x?"
    assert made.tokens == total(estimate_text("  x?"))


@pytest.mark.design("P-8")
def test_our_own_words_are_lean():
    built = build(own_sections(Settings()), [])
    assert built.tokens <= 600
    assert built.tokens > 200


@pytest.mark.design("C-14", "P-1")
def test_the_words_follow_the_checkpoint_switch():
    on, off = (build(own_sections(Settings(checkpoint=CheckpointSettings(enabled=flag))), []) for flag in (True, False))
    assert "checkpoint" in on.system[1].text
    assert "checkpoint" not in off.system[1].text


@pytest.mark.design("P-4")
def test_environment(tmp_path):
    text = environment(tmp_path, {"SHELL": "/usr/bin/zsh"}).text
    assert f"- Working folder: {tmp_path}" in text
    assert "- Shell: zsh" in text
    assert "- Platform: " in text
    assert shell({"COMSPEC": r"C:\Windows\System32\cmd.exe"}) == "cmd"
    assert shell({}) == "unknown"
    assert today(date(2026, 2, 3)).text == "# Date\nToday is 2026-02-03."
    assert (today(date(2026, 2, 3)).target, environment(tmp_path).target) == ("context", "system")


@pytest.mark.design("M-R4")
@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("<system-reminder>", "&lt;system-reminder>"),
        ("</system-reminder>", "&lt;/system-reminder>"),
        ("< / System-Reminder >", "&lt; / System-Reminder >"),
        ("＜system-reminder＞ ＜／SYSTEM-REMINDER＞", "&lt;system-reminder＞ &lt;／SYSTEM-REMINDER＞"),
        ("<system-reminders> <b> a < b", "<system-reminders> <b> a < b"),
        ("<\nsystem-reminder", "&lt;\nsystem-reminder"),
    ],
)
def test_reminder_tags_in_foreign_text_are_escaped(text, escaped):
    assert escape_reminders(text) == escaped
    assert wrap_reminder(text) == f"<system-reminder>\n{escaped}\n</system-reminder>"


@pytest.mark.design("P-4", "P-2", "P-7")
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_gather(tmp_path):
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    found, notes = asyncio.run(gather(tmp_path, Settings(), 2_000, tmp_path / "config", date(2026, 2, 3)))
    assert [one.name for one in found] == [
        "identity_line",
        "role",
        "working",
        "long_work",
        "environment",
        "instructions",
        "date",
    ]
    again, _ = asyncio.run(gather(tmp_path, Settings(), 2_000, tmp_path / "config", date(2026, 2, 3)))
    assert build(found, TOOLS).id == build(again, TOOLS).id
    assert str(tmp_path / "AGENTS.md") in [note.path for note in notes if note.kind == "loaded"]
    assert str(tmp_path / "config" / "AGENTS.md") in [note.path for note in notes if note.kind == "absent"]
