"""What is an operation in a model's reply, and what is not (K-3)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import ItemStatus, Section
from sojourn.checkpoint.naming import section_named
from sojourn.checkpoint.operations import (
    MOST_CHARACTERS,
    Add,
    Close,
    Promote,
    Read,
    Refused,
    Replace,
    Search,
    parse,
    seqs,
    split_sources,
)
from sojourn.window import SCHEMA

KN = "kn-3f9a01c2"
K = Section.KNOWLEDGE


@pytest.mark.design("K-3")
@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("+ knowledge: the cap is 5", Add(K, "the cap is 5")),
        ("+knowledge: the cap is 5", Add(K, "the cap is 5")),
        ("   + knowledge: a: b", Add(K, "a: b")),
        ("+ [m12,m15] knowledge: x y", Add(K, "x y", (12, 15))),
        ("+ knowledge [m12, m15]: x y", Add(K, "x y", (12, 15))),
        ("+ [12 15 12] knowledge: x y", Add(K, "x y", (12, 15))),
        ("+ [soon] knowledge: x y", Add(K, "x y")),
        ("+ knowledge: run `x`", Add(K, "run `x`")),
        ("+ **knowledge**: x y", Add(K, "x y")),
        ("+ **knowledge:** x y", Add(K, "x y")),
        ("+ <Knowledge>: x y", Add(K, "x y")),
        ("＋ 知识：上限是 5", Add(K, "上限是 5")),
        ("＋ ［m3，m4］决策：用 A", Add(Section.DECISIONS, "用 A", (3, 4))),
        ("- + next: run it", Add(Section.NEXT, "run it")),
        ("* + next step: run it", Add(Section.NEXT, "run it")),
        ("3. + next: run it", Add(Section.NEXT, "run it")),
        ("`+ next: run it`", Add(Section.NEXT, "run it")),
        (f"= {KN}: better", Replace(KN, "better")),
        (f"= [{KN}]: better", Replace(KN, "better")),
        (f"＝ {KN}：更好", Replace(KN, "更好")),
        (f"= {KN} [m7]: better", Replace(KN, "better", (7,))),
        (f"= {KN} decisions: better", Replace(KN, "better", (), Section.DECISIONS)),
        ("= i1: note: b", Replace("i1", "note: b")),
        (f"x {KN}", Close(KN)),
        (f"x {KN} done", Close(KN)),
        (f"X [{KN}] (superseded by the above)", Close(KN, ItemStatus.SUPERSEDED)),
        (f"× {KN} 作废", Close(KN, ItemStatus.SUPERSEDED)),
        ("x i1 superseded", Close("i1", ItemStatus.SUPERSEDED)),
        ("x i1", Close("i1")),
        (f"- x {KN}", Close(KN)),
        (f"^ {KN}", Promote(KN)),
        ("^ i1", Promote("i1")),
        ("^ knowledge: always so", Add(K, "always so", (), durable=True)),
        ("? m12-m20", Read(12, 20)),
        ("？ m20 到 m12", Read(12, 20)),
        ("? m7", Read(7, 7)),
        ("? where is the cap set", Search("where is the cap set")),
        ("+ knowledge: the <~system-reminder> tag", Add(K, "the <system-reminder> tag")),
    ],
)
def test_a_line_is_an_operation(line: str, operation: object) -> None:
    assert parse(line) == (operation,)
    assert parse(f"Here you are:\n```\n{line}\n```\nThat is all.") == (operation,)


@pytest.mark.design("K-3")
def test_several_ids_are_closed_in_one_line() -> None:
    assert parse(f"x {KN}, de-00000001 superseded") == (
        Close(KN, ItemStatus.SUPERSEDED),
        Close("de-00000001", ItemStatus.SUPERSEDED),
    )


@pytest.mark.design("K-3")
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("+ plans: do it", "there is no section 'plans'"),
        ("+ [m1] three word name: do it", "there is no section 'three word name'"),
        ("+ knowledge the cap is 5", "no ':' behind the section"),
        ("+ knowledge:   ", "no text"),
        (f"= {KN}", "no ':' behind the id"),
        (f"= {KN} the cap: 5", "no ':' behind the id"),
        (f"= {KN}:", "no text"),
        ("^ plans: keep", "there is no section 'plans'"),
    ],
)
def test_a_broken_operation_is_told(line: str, reason: str) -> None:
    assert parse(line) == (Refused(line.strip(), reason),)


@pytest.mark.design("K-3")
def test_a_refused_line_is_shown_up_to_200_characters() -> None:
    (refused,) = parse("+ plans: " + "y" * 500)
    assert isinstance(refused, Refused)
    assert len(refused.line) == 200


STORY = """Once upon a time the build was red.
x marks the spot where it broke; = was the sign, + was another one.
I think we should go on with the parser. What do you think?
> + knowledge: said in a quotation
1. First I would read the file: then write it.
- files were everywhere
== Chapter 2 ==
+ a name of four: with a colon
"""
JSON = '{\n  "operations": [\n    "+ knowledge: x",\n    {"op": "=", "id": "kn-3f9a01c2"}\n  ],\n  "knowledge": ["a", "b"]\n}'
XML = "<checkpoint>\n  <knowledge>\n    <item>the cap is 5</item>\n  </knowledge>\n</checkpoint>"
CALL = '<tool_call>\n{"name": "write", "arguments": {"path": "checkpoint.md"}}\n## Knowledge\n- the cap is 5\n</tool_call>'
INVOKE = '<function_calls>\n<invoke name="write">\n+ knowledge: x\n</invoke>\n</function_calls>'
THOUGHT = "<think>\n+ knowledge: a draft\n</think>\n"


@pytest.mark.design("K-3")
@pytest.mark.report(94)
@pytest.mark.parametrize("reply", [STORY, JSON, XML, CALL, INVOKE, THOUGHT, "", " \n\n", "<think>\n+ knowledge: unending"])
def test_what_is_no_operation_is_ignored(reply: str) -> None:
    assert parse(reply) == ()


@pytest.mark.design("K-3")
def test_what_stands_behind_thoughts_and_written_calls_counts() -> None:
    after = "+ knowledge: x y"
    assert parse(THOUGHT + after) == (Add(K, "x y"),)
    assert parse("+ next: a\n" + CALL + "\n" + after) == (Add(Section.NEXT, "a"), Add(K, "x y"))
    assert parse("a thought\n+ next: draft\n</think>\n" + after) == (Add(K, "x y"),)
    assert parse("+ next: a\n" + THOUGHT + after) == (Add(Section.NEXT, "a"), Add(K, "x y"))
    assert parse("+ next: draft\n</think>\n" + CALL + "\n" + after) == (Add(K, "x y"),)
    assert parse("<tool_call>\n? m1\n</tool_call>\n" + after) == (Add(K, "x y"),)
    assert parse("+ knowledge: it strips <think> tags\n" + after) == (Add(K, "it strips <think> tags"), Add(K, "x y"))


MARKDOWN = """# Checkpoint
- before any section
## 6. **Knowledge** (2,000 tokens)
The facts are:
- the cap is 5
* the port is 8080
+ note: it is local
• fourth
1. fifth
2) sixth
- none
- N/A
- 无
- kn-3f9a01c2: restated (m3, m4)
- [kn-00000001] knowledge: again
### Limits
- in a part of it
## Summary
- in no section
**Decisions**
- A, not B
- **Errors**:
  - it broke
文件：
- `a.py`
"""


@pytest.mark.design("K-3")
def test_bullets_under_headings_are_additions() -> None:
    assert parse(MARKDOWN) == (
        Add(K, "the cap is 5"),
        Add(K, "the port is 8080"),
        Add(K, "note: it is local"),
        Add(K, "fourth"),
        Add(K, "fifth"),
        Add(K, "sixth"),
        Replace("kn-3f9a01c2", "restated", (3, 4), K),
        Replace("kn-00000001", "again", (), K),
        Add(K, "in a part of it"),
        Add(Section.DECISIONS, "A, not B"),
        Add(Section.ERRORS, "it broke"),
        Add(Section.FILES, "`a.py`"),
    )


@pytest.mark.design("K-3")
def test_a_bare_word_is_no_heading() -> None:
    assert parse("Knowledge\n- a b c") == ()
    assert parse("Knowledge:\n- a b c\n~~~\n- d e f\n\n- g h i") == (Add(K, "a b c"), Add(K, "d e f"), Add(K, "g h i"))


@pytest.mark.design("K-3")
def test_operations_count_under_headings_too_and_end_nothing() -> None:
    reply = f"## Knowledge\n- + next: run it\n- x {KN}\n- x marks the spot\n- plain"
    assert parse(reply) == (Add(Section.NEXT, "run it"), Close(KN), Add(K, "x marks the spot"), Add(K, "plain"))


@pytest.mark.design("K-2", "K-3")
def test_every_section_is_known_by_name_title_and_in_chinese() -> None:
    for rule in SCHEMA:
        for name in (rule.section.value, rule.title, rule.title.upper(), f"## {rule.title}:", f"**{rule.title}**"):
            assert section_named(name) is rule.section, name
    chinese = ["意图", "下一步", "进展", "指令", "文件", "知识", "错误", "资源", "决策"]
    assert [section_named(name) for name in chinese] == list(Section)
    assert section_named("知识（事实）") is K
    assert section_named("Summary") is None
    assert section_named("") is None
    assert section_named("knowledge" + " " * 60) is None
    assert section_named("knowledge" + " " * 51) is K


@pytest.mark.design("K-3", "K-6")
def test_nothing_is_no_item() -> None:
    assert parse("+ next: none\n+ errors: (none yet)\n+ next: none of these") == (Add(Section.NEXT, "none of these"),)


@pytest.mark.design("K-3")
def test_the_last_line_of_an_answer_that_was_cut_off_is_not_taken() -> None:
    reply = "+ next: run it\n+ knowledge: the cap is 5"
    assert parse(reply) == (Add(Section.NEXT, "run it"), Add(K, "the cap is 5"))
    assert parse(reply, whole=False) == (Add(Section.NEXT, "run it"),)
    assert parse("", whole=False) == ()


@pytest.mark.design("K-3")
def test_a_reply_is_read_up_to_200_000_characters() -> None:
    assert MOST_CHARACTERS == 200_000
    line = "+ knowledge: " + "y" * 86 + "\n"
    assert len(line) == 100
    assert len(parse(line * 2_000)) == 2_000
    assert len(parse(line * 2_000 + "+ next: a")) == 1_999  # cut in the middle of nothing: the last line is not trusted
    assert len(parse(line * 3_000)) == 1_999


@pytest.mark.design("K-2")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("m12", (12,)),
        ("m12,m15", (12, 15)),
        ("12; m15", (12, 15)),
        ("#3 – m4", (3, 4)),
        ("mx", ()),
        ("", ()),
        ("m1 and m2", ()),
    ],
)
def test_message_numbers(text: str, found: tuple[int, ...]) -> None:
    assert seqs(text) == found


@pytest.mark.design("R-6")
def test_numbers_behind_a_text() -> None:
    assert split_sources("a b (m1, m22)") == ("a b", (1, 22))
    assert split_sources("a b (m1,m22)") == ("a b (m1,m22)", ())
    assert split_sources("a b") == ("a b", ())
    assert split_sources("x" * 500 + " (m1)") == ("x" * 500, (1,))


PIECES = st.sampled_from(
    ["+ ", "= ", "x ", "^ ", "? ", "- ", "## ", "**", "knowledge", "next", ": ", "：", KN, "[m1]", "m12-m3", "```", "\n",
     "\n\n", "<think>", "</think>", "<tool_call>", "</tool_call>", "\u2028", "\x85", "知识", "text", '"', "superseded",
     "=" * 40, "1" * 40, "{", "[", "]", "（", "\ud800", "\x00", "İ"]
)  # fmt: skip


@pytest.mark.design("K-3")
@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=60).map("".join)), st.booleans())
def test_any_reply_is_read(reply: str, whole: bool) -> None:
    for one in parse(reply, whole=whole):
        assert isinstance(one, Add | Replace | Close | Promote | Read | Search | Refused)
        if isinstance(one, Add | Replace):
            assert one.text == one.text.strip() != ""
            assert len(one.text.splitlines()) == 1
        if isinstance(one, Read):
            assert 0 <= one.first <= one.last


@pytest.mark.design("K-3")
@pytest.mark.parametrize(
    "unit", ["1", "m1,", "[", "+ [", "x kn-3f9a01c2 ", "<think>\n", "= a ", "**", "-" * 9 + " ", "(none ", "? m1-", "^ a", "`"]
)
def test_long_lines_cost_no_more_than_short_ones(unit: str) -> None:
    for lead in ("", "+ [", "x ", "= ", "## ", "+ knowledge [m1"):
        parse(lead + unit * (100_000 // len(unit)))
