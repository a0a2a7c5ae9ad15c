import pytest

from sojourn.base import CountingIds, ManualClock, SojournError, SystemClock, SystemIds, Usage, UserMistake, WorkFailed


def test_a_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock(1_000)
    assert (clock.now(), clock.now()) == (1_000, 1_000)
    clock.advance(5)
    assert clock.now() == 1_005


def test_the_system_clock_counts_milliseconds() -> None:
    now = SystemClock().now()
    assert 1_700_000_000_000 < now < 10_000_000_000_000


@pytest.mark.design("R-2")
def test_ids_carry_kind_and_time() -> None:
    clock = ManualClock()
    ids = SystemIds(clock)
    first = ids.new("ses")
    assert first.startswith("ses_")
    assert len(first) == 4 + 26
    assert set(first[4:]) <= set("0123456789abcdefghjkmnpqrstvwxyz")
    assert first[4:14] == ids.new("ses")[4:14]
    clock.advance(1)
    assert ids.new("ses") > first
    assert len({ids.new("msg") for _ in range(200)}) == 200


def test_counting_ids_repeat_in_every_run() -> None:
    ids = CountingIds()
    assert [ids.new("ses"), ids.new("msg")] == ["ses_1", "msg_2"]


def test_errors_carry_exit_code_and_next_step() -> None:
    assert (UserMistake("a", next_step="b").next_step, str(UserMistake("a"))) == ("b", "a")
    assert (SojournError("a").exit_code, UserMistake("a").exit_code, WorkFailed("a").exit_code) == (1, 2, 1)


@pytest.mark.design("M-2")
def test_input_is_everything_sent_and_unknown_counts_as_nothing() -> None:
    assert Usage(fresh=1, cached=20, written=300, output=4_000).input == 321
    assert Usage(fresh=1).input == 1
