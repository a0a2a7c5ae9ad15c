"""W-4, W-5: cuts by the injected count."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.window.fit import cut_ends, ends_of, exceeds, fitting_lines, rough, start_of
from window.making import characters, count, words


@pytest.mark.design("W-5")
def test_whole_lines_from_either_end() -> None:
    lines = [f"a{n} b c" for n in range(10)]
    for budget, expected in ((0, 0), (2, 0), (3, 1), (8, 2), (9, 3), (29, 9), (30, 10), (99, 10)):
        assert fitting_lines(lines, budget, words) == expected
        assert fitting_lines(lines, budget, words, newest=True) == expected
    uneven = ["x " * 20, "y"]
    assert fitting_lines(uneven, 5, words) == 0
    assert fitting_lines(uneven, 5, words, newest=True) == 1
    assert fitting_lines([], 5, words) == 0


@pytest.mark.design("W-5")
@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=60), st.integers(0, 300), st.booleans())
def test_lines_fit_and_nearly_fill(lines: list[str], budget: int, newest: bool) -> None:
    kept = fitting_lines(lines, budget, count, newest=newest)

    def used(number: int) -> int:
        return count("\n".join(lines[len(lines) - number :] if newest else lines[:number]))

    assert used(kept) <= budget
    if kept < len(lines) and budget > 0:
        assert used(kept + 1) > budget or used(kept) * 50 >= budget * 49


@pytest.mark.design("W-5")
def test_few_counts_for_many_lines() -> None:
    asked: list[int] = []

    def counting(text: str) -> int:
        asked.append(len(text))
        return words(text)

    fitting_lines(["some words on a line"] * 10_000, 5_000, counting)
    assert len(asked) <= 12


@pytest.mark.design("W-3")
def test_ends_are_60_and_30_percent_and_the_omission_is_inside() -> None:
    text = "".join(chr(ord("a") + n % 26) for n in range(10_000))
    seen: list[int] = []

    def compose(head: str, tail: str, left: int) -> str:
        seen.append(left)
        return f"{head}|{tail}"

    result = cut_ends(text, 1_000, characters, compose)
    head, tail = result.split("|")
    assert (len(head), len(tail)) == (600, 300)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert seen[-1] == 9_100


@pytest.mark.design("W-3")
def test_without_room_only_the_composition_then_nothing() -> None:
    def compose(head: str, tail: str, left: int) -> str:
        return f"{head}<{left} left out>{tail}"

    assert cut_ends("x" * 500, 14, characters, compose) == "<500 left out>"
    assert cut_ends("x" * 500, 13, characters, compose) == ""


@pytest.mark.design("W-5")
def test_ends_never_split_a_character() -> None:
    assert ends_of("ae\u0301z", 2, 1) == ("a", "z")
    assert ends_of("ae\u0301z", 3, 2) == ("ae\u0301", "z")
    assert ends_of("👩\u200d👧!", 1, 0) == ("", "")
    assert ends_of("👩\u200d👧!", 2, 2) == ("", "!")
    assert ends_of("👍🏽x", 1, 1) == ("", "x")
    assert ends_of("a\r\nb", 2, 2) == ("a", "b")
    assert ends_of("abc", 9, 9) == ("abc", "")
    assert ends_of("abcdef", 2, 3) == ("ab", "def")


@pytest.mark.design("W-13")
def test_plainly_too_long_texts_are_not_counted() -> None:
    def never(text: str) -> int:
        raise AssertionError(len(text))

    assert exceeds("x" * 10_000, 100, never)
    assert not exceeds("a b", 2, words)
    assert exceeds("a b c", 2, words)
    assert rough("x" * 1_200_000, characters) == 1_200_000
    assert rough("y" * 300, characters) == 300


@pytest.mark.design("W-5")
def test_start_of_a_long_line() -> None:
    assert start_of("x" * 1_000, 500, characters) == ""
    assert start_of("x" * 1_001, 39, characters) == ""
    start = start_of("x" * 1_001, 40, characters)
    assert start == "x" * (len(start) - 1) + "…"
    assert 34 <= len(start) <= 40


@pytest.mark.design("W-3")
def test_a_composition_of_exactly_the_budget_stays() -> None:
    assert cut_ends("x" * 500, 3, characters, lambda head, tail, left: "abc") == "abc"
    assert cut_ends("x" * 500, 2, characters, lambda head, tail, left: "abc") == ""
    assert cut_ends("y" * 9, 6, words, lambda head, tail, left: "a b c d e f") == "a b c d e f"
