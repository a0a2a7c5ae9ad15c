"""From sections to blocks (P-1, P-2, P-7)."""

import json
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import UserMistake, escape_reminders, wrap_reminder
from sojourn.meter import estimate_text, estimate_value, total
from sojourn.prefix import build, section

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
def test_skills_by_themselves_then_the_rest_between_two_lines_stable_first():
    context = build([*SECTIONS, section("late", "s", "context", "stable", "L")], []).context
    assert [block.section for block in context] == ["skills", "context_opening", "late", "date", "rules", "context_closing"]
    assert context[0].text == "S"
    assert [block.text for block in context[2:5]] == ["\n\nL", "\n\nD", "\n\nU"]
    assert [block.text[:2] for block in (context[1], context[5])] == ["\n\n", "\n\n"]
    without = build(SECTIONS[:1], []).context
    assert [block.section for block in without] == ["context_opening", "date", "context_closing"]
    assert not without[0].text.startswith("\n")
    assert [block.section for block in build(SECTIONS[2:3], []).context] == ["skills"]
    assert build(SECTIONS[1:2], []).context == ()


@pytest.mark.design("P-7")
@pytest.mark.report(51)
def test_tools_are_sorted_by_name_and_their_keys_too():
    tools = build([], TOOLS).tools
    assert [tool["name"] for tool in tools] == ["bash", "read"]
    assert [list(tool) for tool in tools] == [["name", "description", "schema"]] * 2
    assert list(tools[1]["schema"]) == ["a", "z"]
    nested = {"name": "x", "description": "", "schema": {"b": [{"d": 1, "c": [2, 1]}], "a": {"f": 1, "e": 2}}}
    assert json.dumps(build([], [nested]).tools[0]["schema"]) == '{"a": {"e": 2, "f": 1}, "b": [{"c": [2, 1], "d": 1}]}'
    with pytest.raises(UserMistake, match="read"):
        build([], [*TOOLS, TOOLS[0]])


@pytest.mark.design("P-7", "R-7")
def test_the_id_is_of_the_bytes_that_are_sent():
    one = build(SECTIONS, TOOLS)
    assert one == build(SECTIONS, reversed(TOOLS))
    assert len(one.id) == 64
    assert build([msgspec.structs.replace(each, tokens=99) for each in SECTIONS], TOOLS).id == one.id
    assert build(SECTIONS, [TOOLS[1], {**TOOLS[0], "schema": {"a": 2, "z": 1}}]).id == one.id
    for changed in (
        build(SECTIONS[1:], TOOLS),
        build(SECTIONS, TOOLS[:1]),
        build([*SECTIONS, section("x", "s", "system", "stable", "X")], TOOLS),
        build(SECTIONS, [TOOLS[1], {**TOOLS[0], "schema": {"a": 2, "z": 2}}]),
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


@pytest.mark.design("M-R4")
@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("<system-reminder>", "<~system-reminder>"),
        ("</system-reminder>", "<~/system-reminder>"),
        ("< / System-Reminder >", "<~ / System-Reminder >"),
        ("＜system-reminder＞ ＜／SYSTEM-REMINDER＞", "＜~system-reminder＞ ＜~／SYSTEM-REMINDER＞"),
        ("<system-reminders> <b> a < b", "<system-reminders> <b> a < b"),
        ("<\nsystem-reminder", "<~\nsystem-reminder"),
    ],
)
def test_reminder_tags_in_foreign_text_are_escaped(text, escaped):
    assert escape_reminders(text) == escaped
    assert wrap_reminder(text) == f"<system-reminder>\n{escaped}\n</system-reminder>"


@pytest.mark.design("P-7")
@settings(max_examples=60, deadline=None)
@given(
    st.permutations(range(5)),
    st.dictionaries(st.text(max_size=3), st.lists(st.dictionaries(st.text(max_size=2), st.integers())), max_size=4),
    st.randoms(use_true_random=False),
)
def test_always_the_same_bytes_for_the_same_input(order, schema, random):
    def shuffled(value):
        if isinstance(value, dict):
            keys = list(value)
            random.shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(one) for one in value] if isinstance(value, list) else value

    tools = [{"name": f"t{index}", "description": "d", "schema": {"a": schema, "b": index}} for index in range(5)]
    built = build(SECTIONS, tools)
    assert json.dumps(msgspec.to_builtins(build(SECTIONS, [shuffled(tools[index]) for index in order]))) == json.dumps(
        msgspec.to_builtins(built)
    )


@pytest.mark.design("P-1")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["system", "context"]), st.sampled_from(["stable", "dynamic"])), max_size=8))
def test_always_a_stable_order_within_the_four_groups(kinds):
    every = [section(f"n{index}", "s", target, hint, f"<{index}>") for index, (target, hint) in enumerate(kinds)]
    built = build(every, [])
    whole = "".join(block.text for block in (*built.system, *built.context))
    places = [int(found) for found in re.findall(r"<(\d)>", whole)]
    groups = [("system", "stable"), ("system", "dynamic"), ("context", "stable"), ("context", "dynamic")]
    assert places == [index for group in groups for index, kind in enumerate(kinds) if kind == group]
