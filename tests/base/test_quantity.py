import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import UserMistake, parse_quantity


@pytest.mark.design("C-1")
@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        (0, 0),
        (64_000, 64_000),
        (99.9, 99),
        ("64000", 64_000),
        ("64K", 64_000),
        ("64k", 64_000),
        (" 64 K ", 64_000),
        ("1.5M", 1_500_000),
        ("1.5m", 1_500_000),
        ("2.3M", 2_300_000),
        ("0.5K", 500),
        ("12.7", 12),
        ("64.1K", 64_100),
        ("1.001K", 1_001),
        ("2.01M", 2_010_000),
        ("0", 0),
    ],
)
def test_amounts(value: int | float | str, tokens: int) -> None:
    assert parse_quantity(value, key="k") == tokens
    assert parse_quantity(value, key="k", of=10) == tokens


@pytest.mark.design("C-1")
@pytest.mark.parametrize(
    ("value", "of", "tokens"),
    [("40%", 200_000, 80_000), ("100%", 200_000, 200_000), ("0.5%", 1_000, 5), ("33%", 10, 3), ("40 %", 100, 40)],
)
def test_percentages_of_a_base(value: str, of: int, tokens: int) -> None:
    assert parse_quantity(value, key="k", of=of) == tokens


@pytest.mark.design("S-9")
@pytest.mark.parametrize(
    "value",
    ["", "K", "64KB", "64G", "-1", -1, -0.5, "1e3", "1,000", "40abc%", "40%%", True, False, float("nan"), float("inf"), ".5M"],
)
def test_what_is_no_amount(value: int | float | str) -> None:
    with pytest.raises(UserMistake) as caught:
        parse_quantity(value, key="checkpoint.reserved", of=100)
    assert "checkpoint.reserved" in str(caught.value)
    assert repr(value) in str(caught.value)
    assert "64K" in caught.value.next_step


@pytest.mark.design("S-9")
def test_a_percentage_needs_a_base() -> None:
    with pytest.raises(UserMistake, match="'40%' is not an amount") as caught:
        parse_quantity("40%", key="rebuild.recent_user")
    assert "%" not in caught.value.next_step


@pytest.mark.design("S-9")
@pytest.mark.parametrize("value", ["0%", "100.1%", "101%"])
def test_a_percentage_out_of_range(value: str) -> None:
    with pytest.raises(UserMistake, match="out of range") as caught:
        parse_quantity(value, key="k", of=100)
    assert "100%" in caught.value.next_step


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**7), st.integers(1, 100))
def test_whole_numbers_and_whole_percentages_are_exact(number: int, percent: int) -> None:
    assert parse_quantity(str(number), key="k") == number
    assert parse_quantity(f"{number}K", key="k") == number * 1_000
    assert parse_quantity(f"{number}M", key="k") == number * 1_000_000
    assert parse_quantity(f"{percent}%", key="k", of=number) == number * percent // 100
