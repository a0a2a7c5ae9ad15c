"""The ratio reported / estimated, learned from usage (M-2)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.meter import Calibration, calibrated, learn

EMPTY = Calibration()
TOKENS = st.dictionaries(st.sampled_from(["prose", "code", "json", "cjk", "frame"]), st.integers(0, 10**6), max_size=5)


@pytest.mark.design("M-2")
def test_without_a_report_the_ratio_is_one() -> None:
    assert calibrated(EMPTY, "any", {"prose": 1_000, "code": 7}) == 1_007
    assert calibrated(EMPTY, "any", {}) == 0


@pytest.mark.design("M-2")
def test_one_report_corrects_six_tenths_of_the_error_of_a_large_request() -> None:
    """The step is 0.6 times size / (size + 200)."""
    learned = learn(EMPTY, "m", {"prose": 9_800}, 19_600)
    assert learned.ratios == {"m": {"prose": pytest.approx(1 + 0.6 * 0.98)}}
    halved = learn(EMPTY, "m", {"prose": 200}, 300)
    assert halved.ratios["m"]["prose"] == pytest.approx(1.15)
    assert EMPTY.ratios == {}


@pytest.mark.design("M-2")
@pytest.mark.report(41)
def test_a_provider_that_bills_far_more_moves_the_ratio_within_three_reports() -> None:
    calibration, expected = EMPTY, 48_000
    errors = []
    for _ in range(3):
        calibration = learn(calibration, "proxied", {"prose": 20_000}, expected)
        errors.append(1 - calibrated(calibration, "proxied", {"prose": 20_000}) / expected)
    assert errors[0] < 0.25
    assert errors[1] < 0.12
    assert 0 < errors[2] < 0.05


@pytest.mark.design("M-2")
def test_the_error_is_shared_by_the_kinds_shares() -> None:
    learned = learn(EMPTY, "m", {"json": 30_000, "prose": 10_000}, 50_000)
    json, prose = learned.ratios["m"]["json"] - 1, learned.ratios["m"]["prose"] - 1
    assert json == pytest.approx(3 * prose)
    step = 0.6 * 40_000 / 40_200
    assert json * 30_000 + prose * 10_000 == pytest.approx(step * 10_000)


@pytest.mark.design("M-2")
@pytest.mark.parametrize(("reported", "ratio"), [(10**9, 3.0), (1, 0.5)])
def test_ratios_are_clamped(reported: int, ratio: float) -> None:
    calibration = EMPTY
    for _ in range(9):
        calibration = learn(calibration, "m", {"prose": 50_000}, reported)
    assert calibration.ratios["m"]["prose"] == ratio
    assert calibrated(calibration, "m", {"prose": 100}) == 100 * ratio


@pytest.mark.design("M-2")
def test_nothing_teaches_nothing() -> None:
    known = Calibration({"m": {"prose": 1.2}})
    assert learn(known, "m", {}, 500) is known
    assert learn(known, "m", {"prose": 0}, 500) is known
    assert learn(known, "m", {"prose": 500}, 0) is known
    assert learn(known, "m", {"prose": 500}, -1) is known


@pytest.mark.design("M-2")
def test_a_report_leaves_other_kinds_and_models_alone() -> None:
    known = Calibration({"m": {"prose": 1.2, "cjk": 0.8}, "n": {"prose": 2.0}})
    learned = learn(known, "m", {"prose": 10_000}, 12_000)
    assert learned.ratios == {"m": {"prose": pytest.approx(1.2), "cjk": 0.8}, "n": {"prose": 2.0}}


@pytest.mark.design("M-2")
def test_what_is_unknown_is_taken_from_what_is_near() -> None:
    known = Calibration({"a": {"prose": 1.0, "json": 2.0}, "b": {"prose": 1.5}})
    assert known.ratio("a", "json") == 2.0
    assert known.ratio("a", "cjk") == 1.5  # the model's mean
    assert known.ratio("new", "prose") == 1.25  # the mean of the models that know prose
    assert known.ratio("new", "json") == 2.0
    assert known.ratio("new", "cjk") == 1.0
    assert calibrated(known, "new", {"prose": 1_000}) == 1_250


@pytest.mark.design("M-2")
def test_calibrated_rounds_up() -> None:
    known = Calibration({"m": {"prose": 1.1}})
    assert calibrated(known, "m", {"prose": 1_000}) == 1_100
    assert calibrated(known, "m", {"prose": 1_001}) == 1_102
    assert calibrated(known, "m", {"prose": 1}) == 2


@pytest.mark.design("M-2")
@given(TOKENS, st.lists(st.integers(-5, 10**7), max_size=6))
@settings(max_examples=100, deadline=None)
def test_every_ratio_stays_in_its_range(estimated: dict[str, int], reports: list[int]) -> None:
    calibration = EMPTY
    for reported in reports:
        calibration = learn(calibration, "m", estimated, reported)
    assert all(0.5 <= ratio <= 3.0 for ratio in calibration.ratios.get("m", {}).values())
    whole = sum(estimated.values())
    assert 0.5 * whole <= calibrated(calibration, "m", estimated) <= 3 * whole + 1


@pytest.mark.design("M-2")
@given(TOKENS.filter(lambda tokens: sum(tokens.values()) > 0), st.floats(0.6, 2.9))
@settings(max_examples=100, deadline=None)
def test_each_report_comes_nearer(estimated: dict[str, int], factor: float) -> None:
    whole = sum(estimated.values())
    reported = max(1, round(whole * factor))
    calibration, before = EMPTY, abs(reported - whole)
    for _ in range(4):
        calibration = learn(calibration, "m", estimated, reported)
        exact = sum(count * calibration.ratio("m", kind) for kind, count in estimated.items())
        after = abs(reported - exact)
        assert after <= before + 1e-6
        before = after
