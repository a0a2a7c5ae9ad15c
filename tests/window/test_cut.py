"""W-5: the section-aware cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.window import cut_sections, document
from sojourn.window.document import blocks, lines_of
from window.making import characters, count, words


def _hint(line: int) -> str:
    return f"read on from {line}"


def _headings(text: str) -> list[str]:
    return [block.title for block in blocks(lines_of(text)) if block.kind == "heading" and block.level == 2]


_DOCUMENT = "\n".join(
    [
        "# Title",
        "the preamble",
        "",
        "## One",
        "_what one is_",
        "- See more.md (12 lines)",
        "a1 a2 a3",
        "b1 b2 b3",
        "c1 c2 c3",
        "",
        "## Two",
        "d1 d2 d3",
        "e1 e2 e3",
        "",
        "## Three",
        "f1 f2",
    ]
)
_SKELETON_WORDS = 2 + 2 + 2 + 3 + 5 + 2 + 2  # title, preamble, One, italic, index, Two, Three


@pytest.mark.design("W-5")
def test_what_fits_is_unchanged() -> None:
    whole = words(_DOCUMENT)
    assert cut_sections(_DOCUMENT, whole, words, hint=_hint) == _DOCUMENT
    assert cut_sections(_DOCUMENT, whole - 1, words, hint=_hint) != _DOCUMENT
    assert cut_sections("", 0, words, hint=_hint) == ""
    assert cut_sections(_DOCUMENT, 0, words, hint=_hint) == ""


@pytest.mark.design("W-5")
def test_skeleton_first_then_lines_and_the_hint_inside() -> None:
    text = cut_sections(_DOCUMENT, _SKELETON_WORDS + 4, words, hint=_hint)
    assert text == "\n".join(
        [
            "# Title",
            "the preamble",
            "",
            "## One",
            "_what one is_",
            "- See more.md (12 lines)",
            "",
            "## Two",
            "",
            "## Three",
            "read on from 7",
        ]
    )
    assert words(text) == _SKELETON_WORDS + 4


@pytest.mark.design("W-5")
def test_the_rest_is_shared_and_what_one_does_not_need_goes_to_the_next() -> None:
    text = cut_sections(_DOCUMENT, _SKELETON_WORDS + 4 + 8, words, hint=_hint)
    assert [line for line in text.split("\n") if line[:2] in ("a1", "b1", "c1", "d1", "e1", "f1")] == [
        "a1 a2 a3",
        "d1 d2 d3",
        "f1 f2",
    ]
    assert text.endswith("read on from 8")  # b1 is line 8
    text = cut_sections(_DOCUMENT, _SKELETON_WORDS + 4 + 12, words, hint=_hint)
    assert "b1" not in text  # two words of its share are left: they go to the next section
    assert "e1 e2 e3" in text
    assert text.endswith("read on from 8")


@pytest.mark.design("W-5")
def test_weights_by_heading() -> None:
    text = cut_sections(_DOCUMENT, _SKELETON_WORDS + 4 + 9, words, hint=_hint, weights={"Two": 50})
    assert "e1 e2 e3" in text
    assert "b1" not in text


@pytest.mark.design("W-5")
@pytest.mark.parametrize(
    ("budget", "gone", "kept"),
    [
        (_SKELETON_WORDS + 3, "- See", "_what one is_"),  # one short: index lines are no longer reserved
        (_SKELETON_WORDS + 4 - 5 - 1, "_what", "the preamble"),
        (_SKELETON_WORDS + 4 - 5 - 3 - 1, "the preamble", "## Three"),
    ],
)
def test_skeleton_over_budget_gives_up_in_order(budget: int, gone: str, kept: str) -> None:
    text = cut_sections(_DOCUMENT, budget, words, hint=_hint)
    assert gone not in text
    assert kept in text
    assert _headings(text) == ["One", "Two", "Three"]
    assert "read on from" in text
    assert words(text) <= budget


@pytest.mark.design("W-5")
def test_headings_go_last_from_the_end_with_a_count() -> None:
    document = "\n\n".join(f"## Heading {n}\n\n{'body ' * 30}" for n in range(1, 21))
    headings = "\n".join(f"## Heading {n}" for n in range(1, 21))  # 60 words
    assert cut_sections(document, 60, words, hint=_hint) == headings  # they fit: none is lost, the hint goes
    text = cut_sections(document, 59, words, hint=_hint)
    assert text.split("\n")[:3] == ["## Heading 1", "## Heading 2", "## Heading 3"]
    shown = len(_headings(text))
    assert shown == 15  # 45 words, 8 for the count, 4 for the hint
    assert f"{20 - shown} more headings left out" in text
    assert text.endswith("read on from 3")
    assert cut_sections(document, 12, words, hint=_hint).startswith("[sojourn] 20 more headings")
    assert cut_sections(document, 8, words, hint=_hint) == "[sojourn] 20 more headings left out to fit"
    assert cut_sections(document, 6, words, hint=_hint) == ""


@pytest.mark.design("W-5")
def test_fences_and_comments_hold_no_headings_and_setext_ones_count() -> None:
    document = (
        "Real\n----\ntext\n\n```sh\n## not one\n```\n\n<!--\n## nor this\n-->\n\n    ## code\n\n## Two\nx\n\n"
        "- item\n\n  ## nested\n"
    )
    assert _headings(document) == ["Real", "Two"]
    text = cut_sections(document, 8, words, hint=_hint)
    assert _headings(text) == ["Real", "Two"]
    assert text.startswith("Real\n----\n")


@pytest.mark.design("W-5")
def test_a_cut_inside_a_fence_closes_it_and_one_inside_a_comment_moves_before_it() -> None:
    fenced = "## A\n~~~~py\n" + "\n".join(f"line {n}" for n in range(50)) + "\n~~~~\n\n## B\nb"
    text = cut_sections(fenced, 40, words, hint=_hint)
    assert "line 3" in text
    assert text.count("~~~~") == 2
    assert _headings(text) == ["A", "B"]
    comment = "## A\nfirst\n<!--\n" + "\n".join(f"line {n}" for n in range(50)) + "\n-->\n\n## B\nb"
    text = cut_sections(comment, 40, words, hint=_hint)
    assert "first" in text
    assert "<!--" not in text
    assert _headings(text) == ["A", "B"]


@pytest.mark.design("W-5")
def test_a_paragraph_cut_short_does_not_run_into_the_next_heading() -> None:
    document = "First\n-----\n" + "\n".join(f"w{n}" for n in range(30)) + "\n\nSecond\n------\nx"
    text = cut_sections(document, 20, words, hint=_hint)
    assert _headings(text) == ["First", "Second"]


@pytest.mark.design("W-5")
def test_without_headings_the_start_stays_at_whole_lines() -> None:
    document = "\n".join(f"line {n}" for n in range(100))
    text = cut_sections(document, 24, words, hint=_hint)
    assert text == "\n".join([*(f"line {n}" for n in range(10)), "read on from 11"])


@pytest.mark.design("W-5")
def test_a_huge_line_keeps_its_start_but_never_half_a_character() -> None:
    line = "中文e\u0301👍🏽👩\u200d👧" * 400
    text = cut_sections(f"## A\n{line}\n\n## B\nshort", 300, characters, hint=_hint)
    start = next(one for one in text.split("\n") if one.startswith("中文"))[:-1]
    assert line.startswith(start)
    assert line[len(start)] not in "\u0301\u200d🏽"
    assert start[-1] != "\u200d"
    assert len(text) > 200
    assert text.endswith("read on from 2")
    short = "字" * 1_000
    assert "字" not in cut_sections(f"## A\n{short}", 300, characters, hint=_hint)  # cuts are at lines


@pytest.mark.design("W-5")
def test_index_lines_need_their_form() -> None:
    document = "## A\n- See a.md (3)\n- See b.md\n- Seek c.md (3)\n" + "x " * 50
    text = cut_sections(document, 12, words, hint=_hint)
    assert "- See a.md (3)" in text
    assert "b.md" not in text
    assert "c.md" not in text


@pytest.mark.design("W-5")
def test_line_ends_of_other_systems() -> None:
    text = cut_sections(_DOCUMENT.replace("\n", "\r\n"), _SKELETON_WORDS + 4, words, hint=_hint)
    assert text == cut_sections(_DOCUMENT, _SKELETON_WORDS + 4, words, hint=_hint)


_LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "## H",
                "## Other heading",
                "# T",
                "### deep",
                "",
                "",
                "```",
                "~~~",
                "```py",
                "<!--",
                "-->",
                "---",
                "===",
                "_italic line_",
                "- See x.md (3)",
                "- item",
                "  ## in item",
                "> quote",
                "    code",
                "words of some length that fill a line",
                "中文的一行文字，有标点。",
            ]
        ),
        st.text(alphabet="ab #-=`~<>!_*\t中é\u0301\r", max_size=20),
    ),
    max_size=40,
)


@pytest.mark.design("W-5", "T-5")
@settings(max_examples=150, deadline=None)
@given(_LINES, st.integers(0, 200))
def test_never_over_the_budget_and_no_heading_lost_while_they_fit(lines: list[str], budget: int) -> None:
    text = "\n".join(lines)
    result = cut_sections(text, budget, count, hint=_hint)
    assert count(result) <= budget
    own = [block for block in blocks(lines_of(text)) if block.kind == "heading" and block.level == 2]
    only = "\n".join("\n".join(lines_of(text)[block.start : block.end]) for block in own)
    if count(only) <= budget:
        shown = lines_of(result)
        for block in own:
            assert all(line in shown for line in lines_of(text)[block.start : block.end])
    if count(text) > budget:
        allowed = {*lines_of(text), "```", "~~~", "````", ""}
        extra = [line for line in lines_of(result) if line not in allowed and not set(line) <= set("`~")]
        assert all(line.startswith(("read on from", "[sojourn]")) for line in extra)
        assert len(extra) <= 2


@pytest.mark.design("W-5")
@settings(max_examples=150, deadline=None)
@given(_LINES)
def test_the_small_grammar_agrees_with_the_whole_one(lines: list[str]) -> None:
    own = lines_of("\n".join(lines))
    whole = document._found(document._WHOLE.parse("\n".join(own)), range(len(own) + 1), own)
    shown = [(block.start, block.end, block.level) for block in blocks(own) if block.kind == "heading"]
    assert shown == [(block.start, block.end, block.level) for block in whole if block.kind == "heading"]
