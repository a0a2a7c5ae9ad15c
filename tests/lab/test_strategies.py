"""What others keep at the same budget, and what it costs: small sessions counted by hand (T-6, T-8)."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.lab.continuity import plain_text
from sojourn.lab.strategies import CLEARED, VIEWS, clear_results, drop_oldest, keep_last, strategy_cost
from sojourn.meter import message_tokens, total
from sojourn.record import Message, Text, ToolCall

pytestmark = pytest.mark.design("T-6")


def counted(seq: int, tokens: int, role: str = "assistant") -> Message:
    """A message that the meter weighs at ``tokens``: 4 of them are its frame."""
    part = Text(f"text {seq}", tokens={"prose": tokens - 4})
    return Message(f"m{seq}", role, "user" if role == "user" else "model", (part,), seq)


def result(seq: int, text: str, tokens: int = 50, calls: int = 1) -> Message:
    parts = tuple(
        ToolCall(
            f"c{seq}.{i}", "bash", {"command": f"run {seq}.{i}"}, state="completed", result=(Text(text, {"code": tokens}),)
        )
        for i in range(calls)
    )
    return Message(f"m{seq}", "assistant", "model", parts, seq)


SESSION = [counted(1, 40, "user"), counted(2, 30), counted(3, 20), counted(4, 10)]


@pytest.mark.parametrize(
    ("budget", "kept"),
    [(100, [1, 2, 3, 4]), (99, [2, 3, 4]), (60, [2, 3, 4]), (59, [3, 4]), (30, [3, 4]), (29, [4]), (10, [4])],
)
def test_drop_oldest_keeps_the_newest_that_fit(budget: int, kept: list[int]) -> None:
    view = drop_oldest(SESSION, 4, budget)
    assert view.text.split("\n") == [f"text {seq}" for seq in kept]
    assert view.tokens == sum(total(message_tokens(SESSION[seq - 1])) for seq in kept)


def test_nothing_after_the_boundary_is_in_view() -> None:
    assert drop_oldest(SESSION, 3, 50).text == "text 2\ntext 3"
    assert drop_oldest(SESSION, 0, 50).text == ""


def test_what_does_not_fit_ends_the_view() -> None:
    session = [counted(1, 10), counted(2, 90), counted(3, 10)]
    assert drop_oldest(session, 3, 30).text == "text 3", "no hole is left and stepped over"


def test_a_message_larger_than_the_budget_is_cut_never_dropped() -> None:
    long = Message("m1", "user", "user", (Text("start " + "word " * 2_000 + "end"),), 1)
    view = drop_oldest([long], 1, 200)
    assert view.text.startswith("start word")
    assert view.text.endswith("word end")
    assert "tokens left out]" in view.text
    assert 150 < view.tokens <= 200


def test_keep_last_keeps_fifty_messages_at_most() -> None:
    session = [counted(seq, 10) for seq in range(1, 61)]
    assert keep_last(session, 60, 10_000).text.split("\n") == [f"text {seq}" for seq in range(11, 61)]
    assert keep_last(session, 60, 30).text == "text 58\ntext 59\ntext 60"
    assert drop_oldest(session, 60, 10_000).text.count("\n") == 59, "the one has a cap, the other has none"


def test_clear_results_keeps_the_newest_three() -> None:
    session = [result(seq, f"output {seq}") for seq in range(1, 6)]
    lines = clear_results(session, 5, 10_000).text.split("\n")
    assert lines[1::2] == [CLEARED, CLEARED, "output 3", "output 4", "output 5"]
    assert lines[::2] == [f"bash(command=run {seq}.0)" for seq in range(1, 6)], "calls stay"


def test_clear_results_counts_results_not_messages() -> None:
    session = [result(1, "first", calls=2), result(2, "second", calls=2)]
    texts = [line for line in clear_results(session, 2, 10_000).text.split("\n") if not line.startswith("bash")]
    assert texts == [CLEARED, "first", "second", "second"]


def test_clearing_makes_room_for_older_text() -> None:
    session = [counted(1, 40, "user"), *(result(seq, "x", 500) for seq in range(2, 8))]
    assert "text 1" in clear_results(session, 7, 1_800).text
    assert "text 1" not in drop_oldest(session, 7, 1_800).text


MESSAGE = st.one_of(
    st.integers(5, 60).map(lambda tokens: ("text", tokens)),
    st.integers(1, 90).map(lambda tokens: ("result", tokens)),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(MESSAGE, min_size=1, max_size=20), st.integers(20, 400), st.sampled_from(sorted(VIEWS)))
def test_no_view_is_over_its_budget(shapes: list[tuple[str, int]], budget: int, strategy: str) -> None:
    session = [counted(i, n) if kind == "text" else result(i, f"out {i}", n) for i, (kind, n) in enumerate(shapes, 1)]
    view = VIEWS[strategy](session, len(session), budget)
    assert view.tokens <= budget
    whole = sum(total(message_tokens(message)) for message in session)
    if whole <= budget and strategy == "drop_oldest":
        assert view.text == plain_text(session)


# --- cost ----------------------------------------------------------------------------------------------------------


@pytest.mark.design("T-8")
def test_without_a_cut_only_the_new_is_written() -> None:
    session = [counted(1, 100, "user"), counted(2, 50), counted(3, 30), counted(4, 20)]
    bill = strategy_cost(session, "drop_oldest", 1_000_000, 0.4, 10)
    # Requests: 110; 110 + 50; 160 + 30.
    assert (bill.written, bill.cached, bill.fresh) == (110 + 50 + 30, 110 + 160, 0)
    assert bill.units == pytest.approx(190 * 1.25 + 270 * 0.1)


@pytest.mark.design("T-8")
def test_without_a_surcharge_the_new_is_fresh() -> None:
    session = [counted(1, 100, "user"), counted(2, 50), counted(3, 30)]
    bill = strategy_cost(session, "drop_oldest", 1_000_000, 0.4, 10, "automatic")
    assert (bill.written, bill.cached, bill.fresh) == (0, 110, 160)
    assert bill.units == pytest.approx(160 + 11)


@pytest.mark.design("T-8")
def test_a_cut_at_the_trigger_keeps_only_the_fixed_part_cached() -> None:
    session = [counted(1, 90, "user"), *(counted(seq, 40) for seq in range(2, 6))]
    # Levels before steps 2 to 5: 100, 140, 180, 220. At 180 it cuts to 90: 40 + 40 stand, with the fixed part 90.
    bill = strategy_cost(session, "drop_oldest", 180, 0.5, 10)
    assert bill.cached == 100 + 10 + 90
    assert bill.written == 100 + 40 + 80 + 40
    later = strategy_cost(session, "drop_oldest", 181, 0.5, 10)
    assert later.cached == 100 + 140 + 10, "one token under the trigger it does not cut"


@pytest.mark.design("T-8")
def test_what_keeps_its_form_at_the_start_stays_cached() -> None:
    """Clearing changes the oldest result: what stands before it is still read from the cache."""
    session = [counted(1, 100, "user"), *(result(seq, "x", 200) for seq in range(2, 7))]
    weight = total(message_tokens(session[1]))
    trigger = 110 + 4 * weight
    # Requests before steps 2 to 5 only grow; the last one is at the trigger: the result of step 2 is cleared.
    grown = 110 + (110 + weight) + (110 + 2 * weight)
    assert strategy_cost(session, "clear_results", trigger, 0.95, 10).cached == grown + 10 + 100
    assert strategy_cost(session, "drop_oldest", trigger, 0.95, 10).cached == grown + 10
    assert strategy_cost(session, "clear_results", trigger + 1, 0.95, 10).cached == grown + 110 + 3 * weight


@pytest.mark.design("T-8")
def test_the_budget_never_passes_what_the_fixed_part_leaves() -> None:
    session = [counted(1, 50, "user"), *(counted(seq, 40) for seq in range(2, 6))]
    # The fixed part leaves 60 of 180 tokens; half of the trigger would be 90.
    bill = strategy_cost(session, "keep_last", 180, 0.5, 120)
    sent = (bill.written or 0) + (bill.cached or 0)
    # 170 at first; then 210 and 200 before each step, so each request is cut to 120 + 40.
    assert sent == 170 + 3 * 160


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(5, 60), min_size=2, max_size=25), st.integers(100, 600), st.sampled_from(sorted(VIEWS)))
def test_written_and_cached_are_everything_sent(sizes: list[int], trigger: int, strategy: str) -> None:
    session = [counted(i, n, "user" if i % 5 == 1 else "assistant") for i, n in enumerate(sizes, 1)]
    bill = strategy_cost(session, strategy, trigger, 0.4, 20)  # type: ignore[arg-type]
    steps = sum(message.role == "assistant" for message in session)
    assert (bill.written or 0) + (bill.cached or 0) <= steps * (trigger + 60 + 20)
    assert (bill.written or 0) >= 20
    same = [msgspec.structs.replace(message) for message in session]
    assert strategy_cost(same, strategy, trigger, 0.4, 20) == bill  # type: ignore[arg-type]
