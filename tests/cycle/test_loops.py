import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.cycle import Stop, may_recover, stop_for, too_full


@pytest.mark.design("C-11")
@pytest.mark.report(15, 16, 17, 25)
@pytest.mark.parametrize(
    ("steps", "stops"),
    [
        ([], False),
        ([0], False),
        ([0, 0], False),
        ([0, 0, 0], True),
        ([3, 3, 3], True),
        ([4, 3, 3], False),
        ([3, 4, 3], False),
        ([3, 3, 4], False),
        ([3, 3, 3, 4], False),
        ([50, 4, 3, 3], False),
        ([50, 3, 3, 3], True),
        ([50, 1, 2, 3, 0], True),
    ],
)
def test_the_third_window_in_a_row_stops(steps: list[int], stops: bool) -> None:
    assert stop_for(steps) == (Stop("windows_in_a_row") if stops else None)
    assert stop_for(tuple(steps)) == stop_for(steps)


@pytest.mark.design("C-11")
@pytest.mark.report(17)
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 8), max_size=30))
def test_no_job_opens_more_than_two_windows_without_work(steps: list[int]) -> None:
    opened = 0
    for count in range(1, len(steps) + 1):
        opened = opened + 1 if steps[count - 1] < 4 else 0
        assert (stop_for(steps[:count]) is not None) == (opened >= 3)


@pytest.mark.design("C-11")
@pytest.mark.report(16, 25)
@pytest.mark.parametrize(
    ("level", "trigger", "full"),
    [(108_000, 180_000, False), (108_001, 180_000, True), (107_999, 180_000, False), (0, 0, False), (1, 0, True)],
)
def test_above_sixty_percent_is_too_full(level: int, trigger: int, full: bool) -> None:
    assert too_full(level, trigger) is full


@pytest.mark.design("C-10")
@pytest.mark.report(23, 120)
def test_recoveries_shrink_then_stop() -> None:
    assert [may_recover(count) for count in range(7)] == ["ladder", "ladder", "smaller", "extract", "stop", "stop", "stop"]
