"""W-4: the total of an opening and its shares."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.window import Want, share_out, total_budget


@pytest.mark.design("W-4")
@pytest.mark.parametrize(
    ("base", "fixed", "tail", "expected"),
    [
        (180_000, 0, 0, 72_000),  # 0.40 of the base
        (180_000, 20_000, 16_000, 72_000),  # 0.60 - fixed - tail is exactly 0.40
        (180_000, 20_000, 16_001, 71_999),
        (180_000, 60_000, 21_000, 27_000),  # exactly 0.15
        (180_000, 60_000, 21_001, 27_000),  # never under it
        (180_000, 500_000, 0, 27_000),
        (7_200, 0, 0, 2_880),
        (7_200, 4_000, 1_000, 1_080),
        (7, 0, 0, 2),  # whole tokens, rounded down
        (0, 0, 0, 0),
    ],
)
def test_total(base: int, fixed: int, tail: int, expected: int) -> None:
    assert total_budget(base, fixed, tail) == expected


@pytest.mark.design("W-4")
@pytest.mark.report(42, 43)
def test_tools_and_system_count_against_the_opening_and_reserves_scale_with_the_window() -> None:
    assert total_budget(57_600, 0, 0) - total_budget(57_600, 15_000, 0) == 3_480  # 30 tool schemas take from the opening
    for base in (7_200, 14_400, 28_800, 59_000):
        assert total_budget(base, base, base) == base * 15 // 100


@pytest.mark.design("W-4")
def test_all_that_fits_is_given_whole() -> None:
    wants = [Want("a", 60, 10, 1), Want("b", 40, 10, 9)]
    assert share_out(wants, 100) == {"a": 60, "b": 40}
    assert share_out(wants, 1_000) == {"a": 60, "b": 40}
    assert share_out(wants, 99) != {"a": 60, "b": 40}


@pytest.mark.design("W-4")
def test_cap_bounds_the_want() -> None:
    assert share_out([Want("a", 500, 0, 1, cap=30), Want("b", 20, 0, 1)], 50) == {"a": 30, "b": 20}


@pytest.mark.design("W-4")
def test_floor_first_then_by_weight() -> None:
    wants = [Want("a", 1_000, 100, 1), Want("b", 1_000, 50, 3)]
    assert share_out(wants, 550) == {"a": 100 + 100, "b": 50 + 300}


@pytest.mark.design("W-4")
def test_unused_share_goes_to_the_others() -> None:
    wants = [Want("a", 120, 100, 1), Want("b", 1_000, 0, 1), Want("c", 1_000, 0, 2)]
    assert share_out(wants, 420) == {"a": 120, "b": 100, "c": 200}


@pytest.mark.design("W-4")
def test_rounding_leaves_no_token_and_goes_in_order() -> None:
    assert share_out([Want("a", 100), Want("b", 100), Want("c", 100)], 11) == {"a": 4, "b": 4, "c": 3}


@pytest.mark.design("W-4")
def test_no_weight_means_no_more_than_the_floor() -> None:
    assert share_out([Want("pins", 100, 20, 0), Want("b", 1_000, 0, 1)], 200) == {"pins": 20, "b": 180}


@pytest.mark.design("W-4")
def test_floor_above_the_want_asks_for_no_more_than_the_want() -> None:
    assert share_out([Want("a", 5, 100, 1), Want("b", 200, 100, 1)], 110) == {"a": 5, "b": 105}


@pytest.mark.design("W-4")
def test_floors_shrink_together_and_the_last_ones_last() -> None:
    wants = [Want("pins", 100, 100, 0, last=True), Want("a", 500, 300, 1), Want("b", 500, 100, 1)]
    assert share_out(wants, 500) == {"pins": 100, "a": 300, "b": 100}  # the floors fit exactly
    assert share_out(wants, 300) == {"pins": 100, "a": 150, "b": 50}
    assert share_out(wants, 100) == {"pins": 100, "a": 0, "b": 0}
    assert share_out(wants, 60) == {"pins": 60, "a": 0, "b": 0}
    assert share_out(wants, 0) == {"pins": 0, "a": 0, "b": 0}
    assert share_out(wants, -5) == {"pins": 0, "a": 0, "b": 0}


_wants = st.lists(
    st.tuples(
        st.integers(0, 5_000),
        st.integers(0, 2_000),
        st.integers(0, 5),
        st.one_of(st.none(), st.integers(0, 4_000)),
        st.booleans(),
    ),
    max_size=8,
).map(lambda rows: [Want(str(i), w, f, weight, cap, last) for i, (w, f, weight, cap, last) in enumerate(rows)])


@pytest.mark.design("W-4")
@settings(max_examples=100, deadline=None)
@given(_wants, st.integers(0, 20_000))
def test_shares_always_hold_their_bounds(wants: list[Want], total: int) -> None:
    shares = share_out(wants, total)
    demand = {w.name: min(w.want, w.cap) if w.cap is not None else w.want for w in wants}
    floors = {w.name: min(w.floor, demand[w.name]) for w in wants}
    assert sum(shares.values()) <= total
    assert all(0 <= shares[w.name] <= demand[w.name] for w in wants)
    if sum(floors.values()) <= total:
        assert all(shares[w.name] >= floors[w.name] for w in wants)
        hungry = [w for w in wants if w.weight > 0 and shares[w.name] < demand[w.name]]
        assert not hungry or sum(shares.values()) == total  # nothing is left lying about
