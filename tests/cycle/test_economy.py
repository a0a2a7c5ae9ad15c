import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.cycle import Economics, economic_trigger

MEASURED = Economics(
    growth=2_000.0,
    steps=50,
    opening_level=30_000,
    opening_written=40_000,
    writer_cost=30_000.0,
    reread_cost=20_000.0,
    cached_price=0.1,
    written_price=1.25,
)
# f b + W + R = 50,000 + 30,000 + 20,000 = 100,000; n = sqrt(200,000 / 200) = 31.6228; n g = 63,245.55


@pytest.mark.design("C-18", "N11")
def test_the_formula_by_hand() -> None:
    assert economic_trigger(180_000, "economy", MEASURED) == 93_245
    # A step costs 2,000 + 0.1 * 30,000 + 100 n + 100,000 / n: 11,324.6 at 31.6228 steps, 3% more at 43.8246.
    assert economic_trigger(180_000, "balanced", MEASURED) == 117_649
    assert economic_trigger(180_000, "full", MEASURED) == 180_000


@pytest.mark.design("C-18")
@pytest.mark.parametrize(
    ("change", "trigger"),
    [
        ({"opening_written": 0}, 74_721),  # 30,000 + sqrt(2 * 50,000 * 2,000 / 0.1)
        ({"writer_cost": 0.0}, 82_915),
        ({"reread_cost": 0.0}, 86_568),
        ({"written_price": 1.0}, 90_000),
        ({"cached_price": 0.4}, 61_622),
        ({"growth": 8_000.0}, 156_491),
        ({"opening_level": 31_000}, 94_245),
    ],
)
def test_every_quantity_counts(change: dict[str, float], trigger: int) -> None:
    assert economic_trigger(180_000, "economy", msgspec.structs.replace(MEASURED, **change)) == trigger


@pytest.mark.design("C-18")
@pytest.mark.parametrize(
    ("full", "opening", "trigger"),
    [
        (400_000, 30_000, 100_000),  # a quarter of T is above 93,245
        (372_981, 30_000, 93_245),  # 93,245.25 against 93,245.55
        (180_000, 64_000, 128_000),  # twice the opening is above 127,245
        (180_000, 63_000, 126_245),
        (180_000, 89_999, 179_998),
        (180_000, 100_000, 180_000),  # twice the opening is above T: T is the last word
        (90_000, 30_000, 90_000),
    ],
)
def test_clamped_between_the_floor_and_t(full: int, opening: int, trigger: int) -> None:
    assert economic_trigger(full, "economy", msgspec.structs.replace(MEASURED, opening_level=opening)) == trigger


@pytest.mark.design("C-18")
@pytest.mark.parametrize("policy", ["balanced", "economy"])
def test_t_until_five_steps_are_measured(policy: str) -> None:
    assert economic_trigger(180_000, policy, None) == 180_000  # type: ignore[arg-type]
    assert economic_trigger(180_000, policy, msgspec.structs.replace(MEASURED, steps=4)) == 180_000  # type: ignore[arg-type]
    assert economic_trigger(180_000, policy, msgspec.structs.replace(MEASURED, steps=5)) < 180_000  # type: ignore[arg-type]


@pytest.mark.design("C-18")
@pytest.mark.parametrize("change", [{"growth": 0.0}, {"growth": -5.0}, {"cached_price": 0.0}])
def test_t_where_nothing_can_be_computed(change: dict[str, float]) -> None:
    assert economic_trigger(180_000, "economy", msgspec.structs.replace(MEASURED, **change)) == 180_000


@pytest.mark.design("C-18")
def test_small_growth_counts() -> None:
    slow = msgspec.structs.replace(MEASURED, growth=0.5, opening_level=0)
    assert economic_trigger(4_000, "economy", slow) == 1_000  # n g = sqrt(2 * 100,000 * 0.5 / 0.1) = 1,000


@pytest.mark.design("C-18")
def test_unknown_prices_have_defaults() -> None:
    assert (Economics().cached_price, Economics().written_price) == (0.1, 1.25)
    assert (Economics().writer_cost, Economics().reread_cost) == (0.0, 0.0)


@pytest.mark.design("C-18")
@settings(max_examples=80, deadline=None)
@given(
    st.integers(8_000, 2_000_000), st.floats(1, 50_000), st.integers(0, 500_000), st.integers(0, 100_000), st.floats(0.01, 1)
)
def test_economy_balanced_full_are_in_order(full: int, growth: float, level: int, written: int, price: float) -> None:
    measured = Economics(growth=growth, steps=10, opening_level=level, opening_written=written, cached_price=price)
    economy = economic_trigger(full, "economy", measured)
    balanced = economic_trigger(full, "balanced", measured)
    assert full // 4 <= economy <= balanced <= full
    assert economy >= min(2 * level, full)


@pytest.mark.design("C-18")
@settings(max_examples=80, deadline=None)
@given(st.floats(100, 20_000), st.integers(1_000, 60_000), st.integers(1_000, 60_000), st.floats(0.02, 0.6))
def test_balanced_costs_three_percent_more_than_the_cheapest_step(
    growth: float, level: int, written: int, price: float
) -> None:
    measured = Economics(growth=growth, steps=10, opening_level=level, opening_written=written, cached_price=price)

    def cost(steps: float) -> float:
        return growth + price * (level + steps * growth / 2) + 1.25 * written / steps

    cheapest = math.sqrt(2 * 1.25 * written / (price * growth))
    trigger = economic_trigger(4 * level, "balanced", measured)
    if 2 * level < trigger < 4 * level and cheapest > 5:
        steps = (trigger - level) / growth
        assert steps > cheapest
        assert cost(steps) == pytest.approx(1.03 * cost(cheapest), rel=0.01)


@pytest.mark.design("C-18")
def test_the_cheapest_step_is_where_the_formula_says() -> None:
    """Cost of a step in a window of n steps: what opening costs, shared out, and what is read again on average."""

    def cost(steps: float) -> float:
        read = MEASURED.opening_level + steps * MEASURED.growth / 2
        return 100_000 / steps + MEASURED.cached_price * read

    best = min(range(1, 200), key=cost)
    assert best == 32
    assert economic_trigger(180_000, "economy", MEASURED) == pytest.approx(30_000 + best * 2_000, rel=0.02)


@pytest.mark.design("C-18", "C-11")
def test_a_window_is_never_shorter_than_four_steps() -> None:
    # n would be 1: 2 * 1.25 * 560 / (0.1 * 14,000) = 1.
    few = Economics(growth=14_000, steps=10, opening_level=2_000, opening_written=560)
    assert economic_trigger(180_000, "economy", few) == 2_000 + 4 * 14_000
    # n = 5 stands: 2 * 1.25 * 14,000 / (0.1 * 14,000) = 25.
    more = Economics(growth=14_000, steps=10, opening_level=2_000, opening_written=14_000)
    assert economic_trigger(180_000, "economy", more) == 2_000 + 5 * 14_000
