"""Cuts to a budget (M-1's tokens): never above it, at line ends where there is one near, never through a character."""

import re
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meter import corpora
from sojourn.meter import estimate_text, fit_ends, fit_head, fit_line, total

ANY_TEXT = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=400),
    st.lists(
        st.sampled_from(["word ", "\n", "e\u0301", "👩‍👩‍👧", "🇩🇪", "日本語", "\r\n", "A1b2" * 20, "    ", "()"]), max_size=120
    ).map("".join),
)
LINES = "".join(f"{number:04} a line of text that says a little\n" for number in range(400))


def cost(text: str) -> int:
    return total(estimate_text(text))


def said(count: int) -> str:
    return f"[... {count} tokens left out ...]"


# --- fit_head -------------------------------------------------------------------------------------------------------


@pytest.mark.design("M-1")
def test_a_head_is_whole_lines() -> None:
    head = fit_head(LINES, 500)
    assert LINES.startswith(head + "\n")
    assert 490 <= cost(head) <= 500
    shorter = head.rpartition("\n")[0]
    assert fit_head(LINES, cost(head)).startswith(shorter)


@pytest.mark.design("M-1")
def test_a_head_that_fits_is_the_text() -> None:
    assert fit_head(LINES, cost(LINES)) == LINES
    assert fit_head(LINES, cost(LINES) - 1) != LINES
    assert fit_head("", 0) == ""
    assert fit_head("one line\nanother line\n", 10**9) == "one line\nanother line\n"


@pytest.mark.design("M-1")
def test_small_budgets_are_used_to_the_last_line() -> None:
    text = "one line\ntwo lines\nthree lines"
    for budget in range(cost(text)):
        kept = fit_head(text, budget)
        expected = max((part for part in ("", "one line", "one line\ntwo lines") if cost(part) <= budget), key=len)
        assert kept == expected


@pytest.mark.design("M-1")
def test_a_first_line_that_does_not_fit_leaves_nothing() -> None:
    assert fit_head("word " * 1_000 + "\nshort", 50) == ""
    assert fit_head("word word", 0) == ""
    assert fit_head("word word", -1) == ""


@pytest.mark.design("M-1")
@given(ANY_TEXT, st.integers(-1, 200))
@settings(max_examples=100, deadline=None)
def test_a_head_never_exceeds_its_budget(text: str, budget: int) -> None:
    head = fit_head(text, budget)
    assert cost(head) <= max(0, budget)
    assert head == text or text.startswith(head + "\n") or head == ""


# --- fit_ends -------------------------------------------------------------------------------------------------------


@pytest.mark.design("M-1")
def test_both_ends_are_kept_and_the_gap_is_named() -> None:
    kept = fit_ends(LINES, 1_000, omission=said)
    head, number, tail = re.fullmatch(r"(.*)\n\[\.\.\. (\d+) tokens left out \.\.\.\]\n(.*)", kept, re.DOTALL).groups()  # type: ignore[union-attr]
    assert LINES.startswith(head + "\n")
    assert ("\n" + LINES).endswith("\n" + tail)
    assert 560 <= cost(head) <= 600
    assert 270 <= cost(tail) <= 300
    assert int(number) == cost(LINES) - cost(head) - cost(tail)


@pytest.mark.design("M-1")
def test_shares_can_be_chosen() -> None:
    kept = fit_ends(LINES, 1_000, head=0.1, tail=0.8, omission=said)
    head, tail = re.split(r"\n\[\.\.\. \d+ tokens left out \.\.\.\]\n", kept)
    assert 80 <= cost(head) <= 100
    assert 770 <= cost(tail) <= 800


@pytest.mark.design("M-1")
def test_shares_of_the_whole_budget_leave_room_for_the_omission() -> None:
    kept = fit_ends(LINES, 300, head=0.5, tail=0.5, omission=said)
    assert 250 <= cost(kept) <= 300
    head, tail = re.split(r"\n\[\.\.\. \d+ tokens left out \.\.\.\]\n", kept)
    assert abs(cost(head) - cost(tail)) <= 15


@pytest.mark.design("M-1")
def test_a_text_that_fits_is_left_alone() -> None:
    assert fit_ends(LINES, cost(LINES), omission=said) == LINES
    assert fit_ends(LINES, cost(LINES) - 1, omission=said) != LINES


@pytest.mark.design("M-1")
def test_where_only_the_omission_fits_it_stands_alone() -> None:
    alone = said(cost(LINES))
    assert fit_ends(LINES, cost(alone), omission=said) == alone
    assert fit_ends(LINES, cost(alone) - 1, omission=said) == ""
    assert fit_ends(LINES, 0, omission=said) == ""


@pytest.mark.design("M-1")
def test_one_long_line_is_cut_inside() -> None:
    kept = fit_ends("word " * 4_000, 400, omission=said)
    assert kept.startswith("word word")
    assert kept.endswith("word word ")
    assert 340 <= cost(kept) <= 400


@pytest.mark.design("M-1")
def test_a_far_line_end_is_not_taken() -> None:
    """A line end counts as near while it gives up no more than a quarter of the end."""
    text = "first\n" + "word " * 4_000 + "\nlast"
    kept = fit_ends(text, 400, omission=said)
    assert kept.startswith("first\nword word word")
    assert kept.endswith("word word \nlast")
    assert cost(kept) >= 340


@pytest.mark.design("M-1")
@given(ANY_TEXT, st.integers(0, 120), st.sampled_from([(0.6, 0.3), (0.5, 0.5), (0.9, 0.0), (0.0, 0.9), (1.0, 1.0)]))
@settings(max_examples=100, deadline=None)
def test_ends_never_exceed_their_budget(text: str, budget: int, shares: tuple[float, float]) -> None:
    kept = fit_ends(text, budget, head=shares[0], tail=shares[1], omission=said)
    assert cost(kept) <= budget
    assert kept == text or not kept or "tokens left out" in kept


# --- cuts between characters ----------------------------------------------------------------------------------------

COMPOSED = [
    "e\u0301\u0323",
    "👩\u200d👩\u200d👧",
    "👍\U0001f3fd",
    "🇩🇪",
    "\ud83d\ude00",
    "क्षि",
    "\u1112\u1161\u11ab",
    "❤\ufe0f",
    "🏴\U000e0067\U000e007f",
]


@pytest.mark.design("M-1")
@pytest.mark.parametrize("character", COMPOSED)
def test_no_cut_parts_a_composed_character(character: str) -> None:
    separated = f"{character} "
    text = separated * 900
    for budget in range(60, 90):
        head, tail = re.split(r"\n\[\.\.\. \d+ tokens left out \.\.\.\]\n", fit_ends(text, budget, omission=said))
        assert head.replace(separated, "") in ("", character)
        assert tail.replace(separated, "") in ("", " ")
    for length in range(1, 40):
        line = fit_line(text, length)
        assert len(line) <= length
        assert line.removesuffix("…").replace(separated, "") in ("", character)


@pytest.mark.design("M-1")
def test_a_line_break_of_two_characters_is_one() -> None:
    text = "word word word\r\n" * 500
    for budget in range(60, 80):
        kept = fit_ends(text, budget, omission=said)
        assert "\r\n" in kept
        assert not kept.split("[...")[1].startswith("\n")


# --- fit_line -------------------------------------------------------------------------------------------------------


@pytest.mark.design("M-1")
def test_a_line_is_collapsed_and_cut_with_an_ellipsis() -> None:
    assert fit_line("  one\n\n two\tthree ", 13) == "one two three"
    assert fit_line("one two three", 12) == "one two thr…"
    assert fit_line("one two three", 9) == "one two…"
    assert fit_line("one two three", 1) == "…"
    assert fit_line("one", 3) == "one"
    assert fit_line("one", 2) == "o…"
    assert fit_line("one", 0) == ""
    assert fit_line("one", -1) == ""
    assert fit_line(" \n ", 5) == ""
    assert fit_line("a b c", 5) == "a b c"
    assert fit_line("a b c d", 5) == "a b…"


@pytest.mark.design("M-1")
@given(ANY_TEXT, st.integers(0, 60))
@settings(max_examples=100, deadline=None)
def test_a_line_never_exceeds_its_length(text: str, characters: int) -> None:
    line = fit_line(text, characters)
    assert len(line) <= characters
    assert line == " ".join(line.split())
    collapsed = " ".join(text.split())
    assert line == collapsed or not characters or (line.endswith("…") and len(collapsed) > characters)


# --- work -----------------------------------------------------------------------------------------------------------


@pytest.mark.design("M-1")
def test_a_search_takes_few_looks_of_about_the_size_of_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def counting(text: str) -> dict[str, int]:
        looks.append(len(text))
        return estimate_text(text)

    monkeypatch.setattr("sojourn.meter.fit.estimate_text", counting)
    head = fit_head(LINES * 50, 2_000)
    assert len(looks) <= 6
    assert max(looks) <= 2 * len(head)
    looks.clear()
    fit_head(" " * 50_000 + LINES, 500)  # what comes first is cheap: doubling, then halving
    assert len(looks) <= 25


@pytest.mark.design("M-1", "W-13")
def test_the_work_follows_the_budget_not_the_text() -> None:
    text = corpora.english_prose() * 100  # 6 MB
    started = time.process_time()
    assert 1_900 <= cost(fit_head(text, 2_000)) <= 2_000
    head = time.process_time() - started
    assert head < 0.1
    started = time.process_time()
    assert 1_700 <= cost(fit_ends(text, 2_000, omission=said)) <= 2_000
    assert time.process_time() - started < 1.0  # one estimate of the whole, for the count of what is left out
    started = time.process_time()
    assert len(fit_line(text, 80)) == 80 - (unicodedata.category(fit_line(text, 80)[-2]) == "Zs")
    assert time.process_time() - started < 0.5
