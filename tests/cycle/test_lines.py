import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import UserMistake
from sojourn.config import CheckpointSettings, Compaction, Settings
from sojourn.cycle import Economics, Lines, check_window, draw_lines, effective_limit, highest_tier, max_output, tiers_for

DEFAULT = Settings()


def lines(effective: int, cap: int | None = None, **compaction: object) -> Lines:
    return draw_lines(effective, output_cap=cap, settings=Settings(compaction=Compaction(**compaction)))  # type: ignore[arg-type]


# C-1: the limit


@pytest.mark.design("C-1")
@pytest.mark.report(35)
@pytest.mark.parametrize(
    ("max_context", "expected"),
    [
        (None, (200_000, "")),
        (100_000, (100_000, "config")),
        ("100K", (100_000, "config")),
        ("40%", (80_000, "config")),
        ("1.5M", (200_000, "")),
        (199_999, (199_999, "config")),
        (200_000, (200_000, "")),
        ("100%", (200_000, "")),
    ],
)
def test_the_smaller_limit_holds_and_its_source_is_told(max_context: int | str | None, expected: tuple[int, str]) -> None:
    assert effective_limit(200_000, "anthropic/big", Compaction(max_context=max_context)) == expected


@pytest.mark.design("C-1")
@pytest.mark.report(123)
@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("anthropic/claude-4.5", 50_000),
        ("anthropic/claude-4x5", 60_000),
        ("anthropic/other", 70_000),
        ("local/qwen[1m]", 30_000),
        ("local/qwen1", 80_000),
        ("openai/gpt", 80_000),
    ],
)
def test_the_most_specific_pattern_wins_for_each_model(model: str, tokens: int) -> None:
    table: dict[str, int | float | str] = {
        "*": "40%",
        "anthropic/claude-4?5": 60_000,
        "anthropic/claude-4.5": "50K",
        "anthropic/*": 70_000,
        "local/qwen[1m]": 30_000,
    }
    assert effective_limit(200_000, model, Compaction(max_context=table)) == (tokens, "config")


@pytest.mark.design("C-1")
@pytest.mark.parametrize("model", ["openai/gpt-5", "x-anthropic/m", "anthropic/m2", "Anthropic/m"])
def test_a_table_without_the_model_leaves_the_limit(model: str) -> None:
    assert effective_limit(200_000, model, Compaction(max_context={"anthropic/m": "10K"})) == (200_000, "")


@pytest.mark.design("C-1")
def test_of_two_patterns_of_one_length_the_exact_one_wins() -> None:
    first = Compaction(max_context={"a/b?": 1_000, "a/bc": 2_000})
    second = Compaction(max_context={"a/bc": 2_000, "a/b*": 1_000})
    assert effective_limit(9_000, "a/bc", first) == effective_limit(9_000, "a/bc", second) == (2_000, "config")


@pytest.mark.design("C-1")
def test_a_bad_amount_names_its_pattern() -> None:
    with pytest.raises(UserMistake, match=r'compaction\.max_context\."a/\*" = \'lots\''):
        effective_limit(200_000, "a/b", Compaction(max_context={"a/*": "lots"}))


@pytest.mark.design("C-1")
@pytest.mark.report(16, 43)
@pytest.mark.parametrize(("effective", "fixed"), [(8_000, 0), (8_000, 2_000), (8_004, 2_001), (80_000, 20_000)])
def test_windows_that_are_large_enough(effective: int, fixed: int) -> None:
    check_window(effective, fixed)
    with pytest.raises(UserMistake):
        check_window(effective - 1, fixed)


@pytest.mark.design("C-1")
@pytest.mark.report(16, 23)
@pytest.mark.parametrize(
    ("effective", "fixed", "named"),
    [
        (7_999, 0, ["7,999", "8,000"]),
        (8_003, 2_001, ["8,003", "2,001", "8,004"]),
        (79_999, 20_000, ["79,999", "20,000", "80,000"]),
    ],
)
def test_a_window_that_is_too_small_names_both_numbers(effective: int, fixed: int, named: list[str]) -> None:
    with pytest.raises(UserMistake) as caught:
        check_window(effective, fixed)
    for number in named:
        assert number in str(caught.value)
    assert caught.value.next_step


# C-2: two lines


@pytest.mark.design("C-2", "C-4")
@pytest.mark.parametrize(
    ("effective", "cap", "reserve", "trigger"),
    [
        (200_000, None, 10_000, 180_000),
        (200_000, 64_000, 10_000, 180_000),
        (200_000, 8_192, 8_192, 180_000),
        (200_000, 0, 10_000, 180_000),
        (1_000_000, 128_000, 50_000, 900_000),
        (20_480, None, 1_024, 18_432),
        (20_500, None, 1_025, 18_450),
        (16_000, None, 1_024, 14_400),
        (8_000, None, 1_024, 6_976),
        (8_000, 500, 500, 7_200),
    ],
)
def test_hard_and_trigger(effective: int, cap: int | None, reserve: int, trigger: int) -> None:
    got = lines(effective, cap)
    assert (got.effective, got.output_reserve, got.hard) == (effective, reserve, effective - reserve)
    assert (got.trigger, got.full_trigger) == (trigger, trigger)


@pytest.mark.design("C-2")
@pytest.mark.parametrize(
    ("ratio", "trigger"), [(0.3, 60_000), (0.57, 114_000), (0.5, 100_000), (0.949, 189_800), (0.95, 190_000), (0.99, 190_000)]
)
def test_the_ratio_is_exact_and_never_above_hard(ratio: float, trigger: int) -> None:
    assert lines(200_000, trigger_ratio=ratio).trigger == trigger


@pytest.mark.design("C-2")
def test_the_ratio_is_floored() -> None:
    assert lines(9_399, trigger_ratio=0.57).trigger == 5_357  # 5,357.43
    assert lines(9_400, trigger_ratio=0.57).trigger == 5_358  # a binary 0.57 would say 5,357


@pytest.mark.design("C-2")
@pytest.mark.report(119)
@pytest.mark.parametrize(
    ("level", "tokens"),
    [
        (0, 200_000),
        (180_000, 20_000),
        (190_000, 10_000),
        (190_001, 9_999),
        (198_976, 1_024),
        (198_977, 1_024),
        (260_000, 1_024),
    ],
)
def test_output_never_reaches_beyond_the_window(level: int, tokens: int) -> None:
    assert max_output(lines(200_000), level) == tokens


@pytest.mark.design("C-2")
def test_a_small_output_cap_leaves_less_than_the_floor_up_to_hard_only() -> None:
    got = lines(200_000, 500)
    assert (max_output(got, got.hard), max_output(got, got.hard + 1)) == (500, 1_024)


@pytest.mark.design("C-2")
@pytest.mark.report(119, 123)
@settings(max_examples=80, deadline=None)
@given(st.integers(8_000, 2_000_000), st.none() | st.integers(1, 200_000), st.floats(0, 1))
def test_input_and_output_fit_the_window_up_to_hard(effective: int, cap: int | None, share: float) -> None:
    got = draw_lines(effective, output_cap=cap, settings=DEFAULT)
    level = int(got.hard * share)
    assert level + max_output(got, level) <= effective
    assert max_output(got, level) >= got.output_reserve >= 1


# C-3, C-4: tiers


@pytest.mark.design("C-4")
def test_the_two_windows_of_the_design() -> None:
    assert lines(200_000).tiers == (36_000, 72_000, 108_000, 144_000)
    million = lines(1_000_000)
    assert (million.trigger, million.hard) == (900_000, 950_000)
    assert million.tiers == tuple(range(45_000, 810_001, 45_000))
    assert len(million.tiers) == 18


@pytest.mark.design("C-3")
@pytest.mark.parametrize(
    ("trigger", "percents"),
    [
        (24_999, []),
        (25_000, [20, 40, 60, 80]),
        (200_000, [20, 40, 60, 80]),
        (200_001, list(range(10, 91, 10))),
        (500_000, list(range(10, 91, 10))),
        (500_001, list(range(5, 91, 5))),
    ],
)
def test_built_in_tiers_at_their_borders(trigger: int, percents: list[int]) -> None:
    assert tiers_for(trigger, "full", CheckpointSettings()) == tuple(trigger * percent // 100 for percent in percents)


@pytest.mark.design("C-3")
@pytest.mark.parametrize("policy", ["balanced", "economy"])
@pytest.mark.parametrize(("trigger", "tiers"), [(24_999, ()), (25_000, (21_250,)), (900_001, (765_000,))])
def test_the_thrifty_policies_have_one_tier(policy: str, trigger: int, tiers: tuple[int, ...]) -> None:
    assert tiers_for(trigger, policy, CheckpointSettings()) == tiers  # type: ignore[arg-type]


@pytest.mark.design("C-3")
@pytest.mark.parametrize(
    ("thresholds", "tiers"),
    [
        ((), ()),
        (("10%", 50_000, "60K"), (10_000, 50_000, 60_000)),
        ((60_000, 10_000, "10%"), (10_000, 60_000)),
        ((87_500,), (87_500,)),
        ((87_501,), (87_500,)),
        (("90%", "95%", 10_000), (10_000, 87_500)),
        ((99_000, "10%", 98_000), (10_000, 87_500)),
        (("87.5%", "90%"), (87_500,)),
        (("2M",), (87_500,)),
        ((1,), (1,)),
    ],
)
def test_own_thresholds_replace_are_capped_sorted_and_unique(thresholds: tuple[int | str, ...], tiers: tuple[int, ...]) -> None:
    for policy in ("full", "economy"):
        assert tiers_for(100_000, policy, CheckpointSettings(thresholds=thresholds)) == tiers  # type: ignore[arg-type]


@pytest.mark.design("C-3")
def test_own_thresholds_hold_in_small_windows_too() -> None:
    assert tiers_for(20_000, "full", CheckpointSettings(thresholds=("50%",))) == (10_000,)


@pytest.mark.design("C-3")
@pytest.mark.report(43)
@pytest.mark.parametrize(
    ("trigger", "reserved", "cap"),
    [
        (80_000, None, 70_000),
        (104_000, None, 91_000),
        (104_008, None, 91_008),
        (200_000, None, 187_000),
        (200_000, "20K", 180_000),
        (200_000, "10%", 180_000),
        (200_000, 0, 200_000),
        (200_000, 199_999, 1),
    ],
)
def test_tiers_stay_below_the_reserve(trigger: int, reserved: int | str | None, cap: int) -> None:
    assert highest_tier(trigger, reserved) == cap
    assert tiers_for(trigger, "full", CheckpointSettings(thresholds=(2_000_000,), reserved=reserved)) == (cap,)


@pytest.mark.design("C-3")
def test_a_large_reserve_cuts_the_built_in_tiers() -> None:
    assert tiers_for(100_000, "full", CheckpointSettings(reserved="50%")) == (20_000, 40_000, 50_000)


@pytest.mark.design("C-3", "S-9")
@pytest.mark.parametrize(
    ("checkpoint", "key", "value"),
    [
        (CheckpointSettings(thresholds=("10%", "101%")), "checkpoint.thresholds", "'101%'"),
        (CheckpointSettings(thresholds=("0%",)), "checkpoint.thresholds", "'0%'"),
        (CheckpointSettings(thresholds=("half",)), "checkpoint.thresholds", "'half'"),
        (CheckpointSettings(thresholds=(0,)), "checkpoint.thresholds", "0"),
        (CheckpointSettings(thresholds=(-1,)), "checkpoint.thresholds", "-1"),
        (CheckpointSettings(reserved=100_000), "checkpoint.reserved", "100000"),
        (CheckpointSettings(reserved="100%"), "checkpoint.reserved", "'100%'"),
        (CheckpointSettings(reserved="some"), "checkpoint.reserved", "'some'"),
    ],
)
def test_bad_tiers_name_key_value_and_range(checkpoint: CheckpointSettings, key: str, value: str) -> None:
    with pytest.raises(UserMistake) as caught:
        tiers_for(100_000, "full", checkpoint)
    assert f"{key} = {value}" in str(caught.value)
    assert caught.value.next_step


@pytest.mark.design("C-3")
def test_a_range_error_names_the_range() -> None:
    with pytest.raises(UserMistake) as thresholds:
        tiers_for(100_000, "full", CheckpointSettings(thresholds=(0,)))
    with pytest.raises(UserMistake) as reserved:
        tiers_for(100_000, "full", CheckpointSettings(reserved=100_000))
    assert "from 1 to 100,000" in thresholds.value.next_step
    assert "from 0 to 99,999" in reserved.value.next_step


@pytest.mark.design("C-3")
def test_a_large_reserve_does_no_harm_where_there_are_no_tiers() -> None:
    assert tiers_for(20_000, "full", CheckpointSettings(reserved=30_000)) == ()


@pytest.mark.design("C-2", "C-3", "C-18")
@settings(max_examples=100, deadline=None)
@given(
    st.integers(8_000, 2_000_000),
    st.none() | st.integers(1, 200_000),
    st.floats(0.3, 0.99),
    st.sampled_from(["full", "balanced", "economy"]),
    st.booleans(),
)
def test_lines_of_any_window_are_in_order(effective: int, cap: int | None, ratio: float, policy: str, undone: bool) -> None:
    chosen = Settings(compaction=Compaction(trigger_ratio=ratio, policy=policy))  # type: ignore[arg-type]
    measured = Economics(growth=900, steps=9, opening_level=effective // 9, opening_written=effective // 10)
    got = draw_lines(effective, output_cap=cap, settings=chosen, economics=measured, undone=undone)
    assert 0 < got.full_trigger <= got.hard < got.effective
    assert 0 < got.trigger <= got.hard
    assert all(low < high for low, high in zip(got.tiers, got.tiers[1:], strict=False))
    assert all(0 < tier <= highest_tier(got.trigger) < got.trigger for tier in got.tiers)
    assert bool(got.tiers) == (got.trigger >= 25_000)


@pytest.mark.design("C-3")
@settings(max_examples=80, deadline=None)
@given(
    st.integers(8_000, 2_000_000),
    st.lists(st.integers(1, 2_500_000) | st.integers(1, 100).map("{}%".format), min_size=1, max_size=8),
    st.none() | st.integers(0, 7_999) | st.integers(1, 99).map("{}%".format),
)
def test_own_tiers_are_always_in_order(trigger: int, thresholds: list[int | str], reserved: int | str | None) -> None:
    tiers = tiers_for(trigger, "full", CheckpointSettings(thresholds=tuple(thresholds), reserved=reserved))
    assert 1 <= len(tiers) <= len(thresholds)
    assert list(tiers) == sorted(set(tiers))
    assert tiers[-1] <= highest_tier(trigger, reserved)


# C-18, W-12


@pytest.mark.design("W-12")
def test_after_an_undo_the_trigger_is_the_hard_line() -> None:
    chosen = Settings(compaction=Compaction(policy="economy"))
    measured = Economics(growth=1_000, steps=50, opening_level=20_000, opening_written=20_000)
    got = draw_lines(200_000, output_cap=None, settings=chosen, economics=measured, undone=True)
    assert (got.trigger, got.hard, got.full_trigger) == (190_000, 190_000, 180_000)
    assert got.tiers == (161_500,)


@pytest.mark.design("C-18")
def test_the_policy_lowers_the_trigger_and_the_tiers_with_it() -> None:
    chosen = Settings(compaction=Compaction(policy="economy"))
    measured = Economics(growth=1_000, steps=50, opening_level=20_000, opening_written=20_000)
    got = draw_lines(1_000_000, output_cap=None, settings=chosen, economics=measured)
    # n g = sqrt(2 * 25,000 * 1,000 / 0.1) = 22,360.7: under a quarter of the full trigger
    assert (got.full_trigger, got.trigger, got.tiers, got.policy) == (900_000, 225_000, (191_250,), "economy")
    assert draw_lines(1_000_000, output_cap=None, settings=chosen).trigger == 900_000
