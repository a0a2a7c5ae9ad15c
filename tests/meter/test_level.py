"""The one number (M-2, M-3)."""

import pytest

from sojourn.base import Usage
from sojourn.meter import Calibration, Level, level_from_error, level_from_estimate, level_from_usage

EMPTY = Calibration()
HALF_MORE = Calibration({"m": {"prose": 1.5}})


@pytest.mark.design("M-2")
def test_a_level_is_input_and_what_is_sent_back_and_what_came_after() -> None:
    usage = Usage(fresh=100, cached=20_000, written=3_000, output=900, reasoning=400)
    assert level_from_usage(usage, {}, EMPTY, "m") == Level(23_600, False, "usage")
    assert level_from_usage(usage, {"prose": 1_001}, HALF_MORE, "m") == Level(23_600 + 1_502, True, "usage")


@pytest.mark.design("M-2")
@pytest.mark.report(57)
def test_what_a_provider_does_not_say_is_not_taken_off() -> None:
    """Four shapes of the same call: cached apart, all fresh, no reasoning count, reasoning above the output."""
    assert level_from_usage(Usage(fresh=10, cached=90, output=5, reasoning=5), {}, EMPTY, "m").tokens == 100
    assert level_from_usage(Usage(fresh=100, output=5), {}, EMPTY, "m").tokens == 105
    assert level_from_usage(Usage(fresh=100, cached=None, written=None, output=5, reasoning=0), {}, EMPTY, "m").tokens == 105
    assert level_from_usage(Usage(fresh=100, output=5, reasoning=9), {}, EMPTY, "m").tokens == 100


@pytest.mark.design("M-2", "M-3")
def test_without_usage_the_level_is_the_calibrated_estimate() -> None:
    assert level_from_estimate({"prose": 1_000}, HALF_MORE, "m") == Level(1_500, True, "estimate")
    assert level_from_estimate({"prose": 1_000}, HALF_MORE, "m", pending=True) == Level(1_500, True, "pending")


@pytest.mark.design("M-2")
@pytest.mark.report(121)
def test_the_level_takes_up_what_a_refusal_named() -> None:
    """The provider refuses with "270k of 262k": the old 62 % must not stay on the screen."""
    assert level_from_error(270_000, {}, HALF_MORE, "m") == Level(270_000, False, "error")
    assert level_from_error(270_000, {"prose": 10}, HALF_MORE, "m") == Level(270_015, True, "error")


@pytest.mark.design("M-2")
@pytest.mark.report(44)
def test_before_and_after_a_cut_are_counted_the_same_way() -> None:
    """A smaller request never shows a larger number, whatever was learned."""
    before = level_from_estimate({"prose": 661}, HALF_MORE, "m")
    after = level_from_estimate({"prose": 400}, HALF_MORE, "m", pending=True)
    assert (before.tokens, after.tokens) == (992, 600)
