"""The parts of extraction by themselves: exact cuts, exact names, exact values."""

import math

import pytest

from checkpoint.telling import calls, edits, found, reads, record, runs, says, texts, thinks, user
from sojourn.base import Item, Section
from sojourn.checkpoint import MARK, redact
from sojourn.checkpoint.extract.choose import _fit, _value, cost
from sojourn.checkpoint.extract.evidence import gather
from sojourn.checkpoint.extract.identifiers import Lexicon, weigh
from sojourn.checkpoint.extract.knowledge import knowledge
from sojourn.checkpoint.extract.words import clip, plain, sentences, terms
from sojourn.record import Touch


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("text", "most", "around", "cut"),
    [
        ("abcde", 5, 0, "abcde"),
        ("abcdef", 5, 0, "abcde…"),
        ("one two three", 9, 0, "one two…"),
        ("aa bb cc dd ee ff gg hh ii jj kk", 12, 15, "…ee ff gg hh…"),
        ("aa bb cc dd ee ff gg hh", 12, 21, "…ee ff gg hh"),
    ],
)
def test_clip(text: str, most: int, around: int, cut: str) -> None:
    assert clip(text, most, around) == cut


@pytest.mark.design("K-10")
def test_plain_takes_off_the_readers_line_number_only() -> None:
    assert plain("   12→\tx = 1") == "x = 1"
    assert plain("7\tx  =  1") == "x = 1"
    assert plain("3| y") == "y"
    assert plain("12 monkeys") == "12 monkeys"


@pytest.mark.design("K-10")
def test_terms_are_content_words_in_both_languages() -> None:
    assert terms("You must use the Redis cache, 3.5 of it") == {"redis", "cache", "3.5"}
    assert terms("不要修改一丁") == {"要修", "修改", "改一", "一丁"}


@pytest.mark.design("K-10")
def test_sentences_lose_bullets_headings_and_fences() -> None:
    text = "# Title\n- First thing. Second thing!\n```\ncode = 1\n```\n1. 第一。第二？\n> quoted v1.2 stays"
    assert sentences(text) == ["Title", "First thing.", "Second thing!", "第一。", "第二？", "quoted v1.2 stays"]


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("plain words only Here", set()),
        ("def load_rows(path):", {"load_rows"}),
        ("getUser and IDsOf and MAXIMUM but not URL", {"getUser", "IDsOf", "MAXIMUM"}),
        ("see src/app/main.go:24: now", {"src/app/main.go"}),
        ("file=/etc/app.conf, ok", {"/etc/app.conf"}),
        ("a/b", set()),
        ("a/b.c", {"a/b.c"}),
        ("// comment", set()),
        ("https://example.org/a_b?x=1 end", {"https://example.org/a_b?x=1", "a_b"} - {"a_b"}),
        ("at 8f14e45fceea today", {"8f14e45fceea"}),
        ("feedface and 1234567", set()),
        ("v1.2.3 and 2026-01-22", {"v1.2.3", "2026-01-22"}),
        ("os.path.join(x)", {"os.path.join"}),
        ("took 1,500 ms", {"1,500 ms"}),
        ("函数 load_rows 返回", {"load_rows"}),
    ],
)
def test_identifiers_of_a_line(text: str, names: set[str]) -> None:
    assert Lexicon().names_in(text) == names


@pytest.mark.design("K-10")
def test_numbers_with_units_only_where_asked() -> None:
    assert Lexicon().names_in("took 1,500 ms", measured=False) == set()


@pytest.mark.design("K-10")
def test_values_follow_who_used_it_and_when() -> None:
    pad = "x" * 47_900
    evidence = gather(
        record(
            says("old_name 8f14e45fceea", None),
            reads("a.py", f"shown_late srv/shown/late {pad}"),
            calls("Grep", pattern="own_name own_name 300 ms"),
        )
    )
    value = {one.name: one.value for one in weigh(Lexicon().sources(evidence))}
    once = 0.6 + 0.35 * math.log1p(1)
    assert value["own_name"] == pytest.approx((0.03 + 0.35) * once, rel=0.02)
    assert value["old_name"] == pytest.approx((0.03 + 0.35 * math.exp(-1)) * once, rel=0.02)
    assert value["8f14e45fceea"] == pytest.approx(value["old_name"] * 1.2)
    assert value["300 ms"] == pytest.approx(value["own_name"] * 0.4)
    assert value["shown_late"] == pytest.approx(0.001 + 0.016, rel=0.02)
    assert value["srv/shown/late"] == pytest.approx(value["shown_late"] * 0.5)


@pytest.mark.design("K-10")
def test_what_the_user_named_counts_more_than_what_was_only_shown() -> None:
    evidence = gather(record(user("see asked_name"), reads("a", "shown_name")))
    value = {one.name: one.value for one in weigh(Lexicon().sources(evidence))}
    assert value["asked_name"] - value["shown_name"] == pytest.approx(0.029, abs=0.001)


@pytest.mark.design("K-10")
def test_used_more_often_is_worth_more() -> None:
    evidence = gather(record(says("used_twice used_once", None), says("used_twice", None), says("used_once_b", None)))
    value = {one.name: one.value for one in weigh(Lexicon().sources(evidence))}
    assert value["used_twice"] / value["used_once_b"] == pytest.approx(
        (0.6 + 0.35 * math.log1p(2)) / (0.6 + 0.35 * math.log1p(1)), rel=0.01
    )


@pytest.mark.design("K-10")
def test_each_identifier_is_shown_once_and_what_others_show_comes_last() -> None:
    evidence = gather(
        record(says("first_name goes right here\nother_name goes right there\nfirst_name goes again somewhere", None))
    )
    lines = [one.text for one in knowledge(evidence, (), (), 10_000).found]
    assert len(lines) == 2
    assert sorted(name for line in lines for name in ("first_name", "other_name") if name in line) == [
        "first_name",
        "other_name",
    ]
    lines = [one.text for one in knowledge(evidence, (), ("with first_name in it",), 10_000).found]
    assert lines[0].startswith("other_name")


@pytest.mark.design("K-10")
def test_a_present_line_that_shows_it_makes_a_new_one_needless() -> None:
    evidence = gather(record(says("first_name goes right here", None), after=1))
    item = Item(id="k", section=Section.KNOWLEDGE, text="first_name was here before", sources=(1,), weight=20.0)
    result = knowledge(evidence, (item,), (), 10_000)
    assert (result.found == []) != (result.values[item.text] == 0.0)


@pytest.mark.design("K-10")
def test_a_line_with_too_few_other_words_is_left_out() -> None:
    evidence = gather(record(says("lone_name here\nsome_name among words", None)))
    assert [one.text for one in knowledge(evidence, (), (), 10_000).found] == ["some_name among words"]


@pytest.mark.design("K-10")
def test_a_very_long_line_is_cut_around_the_identifier() -> None:
    line = "left " * 2_000 + "the wanted_name stands here " + "right " * 2_000
    (one,) = knowledge(gather(record(says(line, None))), (), (), 10_000).found
    assert "the wanted_name stands here" in one.text
    assert one.text.startswith("…left")
    assert len(one.text) <= 182


@pytest.mark.design("K-10")
def test_evidence_ends_with_the_newest_message() -> None:
    evidence = gather(record(user("a"), thinks("b"), says("c"), after=4))
    assert evidence.last == 7
    assert gather(()).last == 0


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ({"command": "make all"}, "make all"),
        ({"cmd": ["bash", "-lc", "make all"]}, "make all"),
        ({"cmd": ["make", "-j", "all"]}, "make -j all"),
        ({"command": []}, ""),
        ({"command": ["a", 1]}, ""),
        ({"path": "make all"}, ""),
    ],
)
def test_the_command_of_a_call(arguments: dict[str, object], command: str) -> None:
    (act,) = gather(record(calls("shell", "ok", **arguments))).acts
    assert act.command == command


@pytest.mark.design("K-10")
def test_a_call_reads_as_one_line_with_its_long_arguments_below() -> None:
    (act,) = gather(record(calls("Edit", "ok", path="a.py", all=True, new="x\ny", rows=[{"text": "z"}], long="w" * 301))).acts
    assert act.arguments.rstrip("\n") == "Edit(path=a.py, all=True)\nx\ny\nz\n" + "w" * 301


@pytest.mark.design("K-10")
def test_repeated_runs_weigh_more_up_to_a_limit() -> None:
    def weight(times: int) -> float:
        items = found(user("go"), *(runs("make build", "ok") for _ in range(times)))
        return next(item.weight for item in items if item.section is Section.RESOURCES)

    assert (weight(1), weight(2), weight(20)) == (1.1, 1.4, 3.0)


@pytest.mark.design("K-10")
def test_a_command_with_a_path_argument_touches_no_file() -> None:
    assert texts(found(user("go"), calls("write_shell", "ok", command="x", path="a.py")), Section.FILES) == []


@pytest.mark.design("K-10")
def test_an_edit_that_failed_is_fixed_by_the_same_edit_of_the_same_file() -> None:
    def edit(path: str, *, failed: bool) -> object:
        return calls(
            "Edit",
            "no match for old text in it" if failed else "ok",
            failed=failed,
            touches=(Touch(path, "edit"),),
            file_path=path,
        )

    items = found(user("go"), edit("a.py", failed=True), edit("b.py", failed=False), edit("a.py", failed=False))
    assert texts(items, Section.ERRORS) == [
        "no match for old text in it -> changed `b.py` m3, changed `a.py` m4, Edit passed m4"
    ]
    bare = found(user("go"), calls("Ask", "no answer to the question", failed=True), calls("Ask", "yes"))
    assert texts(bare, Section.ERRORS) == ["no answer to the question"]


@pytest.mark.design("K-10")
def test_without_a_telling_line_the_last_line_is_the_error() -> None:
    items = found(user("go"), runs("deploy", "Exit code 1\nfirst line of it\nwent wrong at the end", failed=True))
    assert texts(items, Section.ERRORS) == ["went wrong at the end (`deploy`)"]


@pytest.mark.design("K-10")
def test_a_note_at_the_very_end_and_after_other_lines() -> None:
    items = found(user("go"), reads("a.py", "one\ntwo\nthree\n# NOTE: no line follows"))
    assert "# NOTE: no line follows" in texts(items, Section.KNOWLEDGE)


@pytest.mark.design("K-10")
def test_a_plan_in_a_call_that_failed_or_of_another_tool_is_none() -> None:
    rows = [{"content": "Step one", "status": "pending"}]
    assert texts(found(user("go"), calls("TodoWrite", "bad", failed=True, todos=rows)), Section.FRONTIER) == []
    assert texts(found(user("go"), calls("Upload", "ok", items=rows)), Section.FRONTIER) == []


@pytest.mark.design("K-10")
def test_a_sentence_said_twice_rests_on_the_newer() -> None:
    sentence = "The root cause is a missing lock in `flush_queue`."
    (item,) = [one for one in found(user("go"), says(sentence), says(sentence)) if one.section is Section.DECISIONS]
    assert item.sources == (3,)


@pytest.mark.design("K-10")
@pytest.mark.parametrize(("length", "kept"), [(600, True), (601, False)])
def test_a_longer_sentence_is_pasted_text(length: int, kept: bool) -> None:
    text = ("never " + "y " * 400)[: length - 1] + "."
    assert bool(texts(found(user(text), says("ok")), Section.DIRECTIVES)) is kept


@pytest.mark.design("K-10")
def test_a_correction_joins_the_newest_of_equal_partners() -> None:
    items = found(
        user("Always lock the alpha store."),
        user("Always warm the beta store."),
        user("Never print the zeta list."),
        user("Do not warm the store."),
        says("ok"),
    )
    lines = texts(items, Section.DIRECTIVES)
    assert lines.index("Do not warm the store.") == lines.index("Always warm the beta store.") + 1


@pytest.mark.design("K-6")
def test_quoted_values_that_are_sentences_or_placeholders_stay() -> None:
    for text in ('password: "the one you chose"', 'token = "$TOKEN"', "secret: '<your secret>'"):
        assert redact(text) == text
    assert redact('password: "p4ss-word"') == f'password: "{MARK}"'


@pytest.mark.design("K-10")
def test_changed_files_in_the_hint_are_lines_of_the_change() -> None:
    items = found(user("go"), edits("a.py", new="x\n  return compute(total)\nmore"))
    assert texts(items, Section.FILES) == ["`a.py` Edit(file_path) m2: return compute(total)"]


@pytest.mark.design("K-10")
def test_the_next_step_is_the_last_that_was_said_and_not_long_ago() -> None:
    start = [
        user("go"),
        says("Let me read the loader. Next, I will run the linter. It is slow.", None),
        thinks("Let me think."),
    ]
    assert texts(found(*start), Section.NEXT) == ["Next, I will run the linter."]
    steps = [runs("ls", "x") for _ in range(7)]
    assert texts(found(*start, *steps), Section.NEXT) == ["Next, I will run the linter."]
    assert texts(found(*start, *steps, runs("ls", "x")), Section.NEXT) == []


@pytest.mark.design("K-10")
def test_one_box_is_no_plan_and_boxes_do_not_add_to_one() -> None:
    assert texts(found(user("go"), says("- [ ] only one box here", None)), Section.FRONTIER) == []
    plan = calls("TodoWrite", "ok", todos=[{"content": "Step one", "status": "pending"}])
    boxes = says("- [ ] box one\n- [x] box two", None)
    assert texts(found(user("go"), plan, boxes), Section.FRONTIER) == ["remaining: Step one"]


@pytest.mark.design("K-10")
def test_an_empty_message_is_no_request() -> None:
    assert texts(found(user("Fix it"), user("  ")), Section.INTENT) == ["m1: Fix it"]


@pytest.mark.design("K-2")
def test_age_halves_what_lies_above_the_floor() -> None:
    item = Item(id="d", section=Section.DECISIONS, text="x", sources=(10,), weight=2.0)
    assert _value(item, 10) == 2.0
    assert _value(item, 130) == pytest.approx(2.0 * 0.675)
    rule = Item(id="r", section=Section.DIRECTIVES, text="x", sources=(10,), weight=2.0)
    assert _value(rule, 500) == 2.0


@pytest.mark.design("K-2")
def test_an_item_that_fits_exactly_stays() -> None:
    item = Item(id="d", section=Section.DECISIONS, text="one decision", sources=(1,))
    for room, kept in ((cost(item.text), [item]), (cost(item.text) - 1, [])):
        assert _fit([item], {"d": 1.0}, room, {}) == kept


@pytest.mark.design("K-6")
@pytest.mark.report(130)
def test_a_secret_in_a_path_does_not_pass() -> None:
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    (text,) = texts(found(user("go"), reads(f"/srv/{secret}/a.py")), Section.FILES)
    assert text == f"`/srv/{MARK}/a.py` Read(file_path) m2"


@pytest.mark.design("K-6")
@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("password=horse", f"password={MARK}"),
        ("password=ab-cd", f"password={MARK}"),
        ("password=password", "password=password"),
        ("if password == expected:", "if password == expected:"),
        ("password: horse", "password: horse"),
        ("secret=horse", "secret=horse"),
    ],
)
def test_bare_words_behind_a_telling_name(text: str, clean: str) -> None:
    assert redact(text) == clean
