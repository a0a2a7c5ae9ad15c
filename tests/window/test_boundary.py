"""W-2, W-7, K-5: digest mark, live tail, statuses, watermark, closing state."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import Finish
from sojourn.meter import message_tokens, total
from sojourn.record import Image, Message, Notice, Reasoning, Text, ToolCall
from sojourn.window import OpenTask, closing_state, digest_seq, live_tail, statuses, watermark
from window.making import attachment, call, calls, imported, reminder, says, user

# --- digest_seq ---------------------------------------------------------------------------------------------------


@pytest.mark.design("W-2")
def test_digest_ends_with_a_finished_answer_without_calls() -> None:
    assert digest_seq([user(1), calls(2), says(3)], 0) == 3


@pytest.mark.design("W-2")
def test_digest_ends_before_a_finished_answer_with_calls() -> None:
    assert digest_seq([user(1), calls(2), calls(3)], 0) == 2


@pytest.mark.design("W-2")
def test_later_user_text_stays_in_the_live_tail() -> None:
    assert digest_seq([user(1), says(2), user(3)], 0) == 2


@pytest.mark.design("W-2")
@pytest.mark.parametrize("finish", [None, Finish.INTERRUPTED, Finish.ERROR])
def test_an_answer_that_did_not_finish_has_seen_nothing(finish: Finish | None) -> None:
    assert digest_seq([user(1), calls(2), calls(3), says(4, finish=finish)], 0) == 2


@pytest.mark.design("W-2")
def test_length_is_a_finish() -> None:
    assert digest_seq([user(1), says(2, finish=Finish.LENGTH)], 0) == 2


@pytest.mark.design("W-2")
def test_no_finished_answer_or_no_line_leaves_the_mark() -> None:
    assert digest_seq([], 7) == 7
    assert digest_seq([user(1), user(2)], 0) == 0
    assert digest_seq([user(1), says(2, finish=None)], 0) == 0
    assert digest_seq([user(1), calls(2)], 0) == 0  # only the user's own text lies before it: no digest line
    assert digest_seq([says(1), user(2), calls(3)], 1) == 1


@pytest.mark.design("W-2")
def test_only_what_lies_past_the_mark_counts() -> None:
    history = [user(1), says(2), user(3), calls(4), calls(5)]
    assert digest_seq(history, 2) == 4
    assert digest_seq(history, 4) == 4  # before the first new answer there is nothing new
    assert digest_seq(history, 5) == 5
    assert digest_seq(history[:2], 2) == 2


@pytest.mark.design("W-2")
def test_imported_and_engine_messages_are_no_answers() -> None:
    summary = Message("x", "assistant", "import", (Text("all done"),), 3, finish=Finish.STOP, source="summary")
    assert digest_seq([user(1), calls(2), summary], 0) == 0
    assert digest_seq([user(1), says(2), summary], 0) == 2


# --- live tail ----------------------------------------------------------------------------------------------------


@pytest.mark.design("W-2")
def test_live_tail_is_all_after_the_digest_without_reminders() -> None:
    notice = Message("n", "user", "engine", (Notice("info", "x"),), 5)
    history = [user(1), calls(2), calls(3), reminder(4), notice, user(6)]
    assert [message.seq for message in live_tail(history, 2)] == [3, 6]
    assert live_tail(history, 2)[0] is history[2]
    assert live_tail(history, 6) == ()
    assert [message.seq for message in live_tail([says(7, "", None)], 6)] == [7]  # empty, yet a message


@pytest.mark.design("W-2")
@pytest.mark.report(59)
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["user", "calls", "text", "open"]), max_size=14), st.integers(0, 14))
def test_no_cut_separates_a_call_from_its_result(kinds: list[str], covered: int) -> None:
    make = {
        "user": user,
        "calls": lambda seq: calls(seq, call("a"), call("b"), call("c")),
        "text": says,
        "open": lambda s: says(s, finish=None),
    }
    history = [make[kind](seq) for seq, kind in enumerate(kinds, 1)]
    mark = digest_seq(history, covered)
    tail = live_tail(history, mark)
    assert mark >= covered
    for message in history:
        sent = [one for one in tail if one.seq == message.seq]
        assert sent == (
            [message] if message.seq > mark else []
        )  # whole, with all its parallel calls and results, or not at all
    newest = max((m.seq for m in history if m.finish in (Finish.STOP, Finish.TOOL_CALLS)), default=0)
    unseen = [m for m in history if m.seq > covered and any(isinstance(p, ToolCall) for p in m.parts) and m.seq >= newest]
    assert all(message in tail for message in unseen)


# --- statuses -----------------------------------------------------------------------------------------------------


@pytest.mark.design("W-2")
def test_open_answered_interrupted() -> None:
    assert statuses([user(1)]) == {1: "open"}
    assert statuses([user(1), calls(2)]) == {1: "open"}
    assert statuses([user(1), calls(2), says(3)]) == {1: "answered"}
    assert statuses([user(1), says(2, finish=None)]) == {1: "open"}
    assert statuses([user(1), calls(2), says(3, finish=Finish.INTERRUPTED)]) == {1: "interrupted"}
    assert statuses([user(1), calls(2), says(3, finish=Finish.ERROR)]) == {1: "interrupted"}


@pytest.mark.design("W-2")
@pytest.mark.report(1)
def test_finished_request_is_answered_and_the_newest_open() -> None:
    assert statuses([user(1, "X"), calls(2), says(3), user(4, "Y")]) == {1: "answered", 4: "open"}


@pytest.mark.design("W-2")
def test_an_interrupted_turn_stays_interrupted_when_the_next_is_answered() -> None:
    history = [user(1), calls(2), says(3, finish=Finish.INTERRUPTED), user(4), says(5)]
    assert statuses(history) == {1: "interrupted", 4: "answered"}


@pytest.mark.design("W-2")
def test_the_last_answer_of_the_turn_decides() -> None:
    assert statuses([user(1), says(2, "x", Finish.ERROR), says(3)]) == {1: "answered"}  # failed, then sent again
    assert statuses([user(1), says(2), says(3, finish=Finish.INTERRUPTED)]) == {1: "interrupted"}


@pytest.mark.design("W-2")
def test_text_sent_in_mid_turn_is_answered_with_it() -> None:
    assert statuses([user(1), calls(2), user(3), calls(4), says(5)]) == {1: "answered", 3: "answered"}


@pytest.mark.design("W-2")
def test_imported_marker_interrupts_its_turn_only() -> None:
    assert statuses([user(1), calls(2), imported(3, "interrupted")]) == {1: "interrupted"}
    assert statuses([user(1), says(2), user(3), imported(4, "interrupted")]) == {1: "answered", 3: "interrupted"}
    assert statuses([user(1), says(2), imported(3, "meta")]) == {1: "answered"}
    assert statuses([user(1), imported(2, "interrupted"), says(3)]) == {1: "answered"}


@pytest.mark.design("W-2")
def test_a_failed_call_that_left_nothing_decides_nothing_while_it_is_the_newest() -> None:
    failed = says(3, "", Finish.ERROR)
    assert statuses([user(1), calls(2), failed]) == {1: "open"}
    assert statuses([user(1), calls(2), failed, user(4)]) == {1: "interrupted", 4: "open"}


@pytest.mark.design("W-2")
def test_only_what_the_user_said_has_a_status() -> None:
    picture = Image("0" * 64, "image/png", 10)
    history = [user(1, "", picture), user(2, "  "), reminder(3), imported(4, "summary"), user(5, "", attachment()), says(6)]
    assert list(statuses(history).items()) == [(1, "answered"), (5, "answered")]


# --- watermark (K-5) ----------------------------------------------------------------------------------------------


def _weighing(seq: int, tokens: int, *, speaks: bool = True, finish: Finish | None = Finish.TOOL_CALLS) -> Message:
    """An answer of exactly ``tokens`` tokens, frame included."""
    part = Reasoning("x", tokens={"prose": tokens - 4}) if speaks else ToolCall("c", "bash", tokens={"json": tokens - 4})
    return Message(f"m{seq}", "assistant", "model", (part,), seq, finish=finish)


@pytest.mark.design("K-5")
def test_weights_are_exact_in_these_tests() -> None:
    assert total(message_tokens(_weighing(1, 2_000))) == 2_000


@pytest.mark.design("K-5")
def test_extended_back_to_both_lines() -> None:
    history = [_weighing(seq, 2_500) for seq in range(1, 21)]
    assert watermark(history, 180_000, 0) == 16  # 16..20: five that speak, 12,500 tokens
    history = [_weighing(seq, 2_000) for seq in range(1, 21)]
    assert watermark(history, 180_000, 0) == 16  # exactly 10,000 is enough
    history = [_weighing(seq, 1_999) for seq in range(1, 21)]
    assert watermark(history, 180_000, 0) == 15  # 9,995 is not


@pytest.mark.design("K-5")
def test_five_that_speak_are_wanted_but_20000_tokens_stop() -> None:
    mixed = [_weighing(seq, 2_500, speaks=seq % 2 == 0) for seq in range(1, 21)]
    assert watermark(mixed, 180_000, 0) == 13  # 8 messages make exactly 20,000; only 4 of them speak
    light = [_weighing(seq, 2_000, speaks=seq % 2 == 0) for seq in range(1, 21)]
    assert watermark(light, 180_000, 0) == 12  # the fifth that speaks comes first


@pytest.mark.design("K-5")
def test_a_tail_of_20000_is_left() -> None:
    history = [*(_weighing(seq, 3_000) for seq in range(1, 10)), _weighing(10, 19_000, speaks=False), _weighing(11, 1_000)]
    assert watermark(history, 180_000, 0) == 10
    history[-1] = _weighing(11, 999)
    assert watermark(history, 180_000, 0) == 9


@pytest.mark.design("K-5")
def test_starts_at_the_message_before_the_last_finished_answer() -> None:
    history = [*(_weighing(seq, 10_000) for seq in range(1, 5)), _weighing(5, 30_000, finish=None), user(6)]
    assert watermark(history, 180_000, 0) == 3  # 4 is the last finished one; unfinished and later ones count in the tail
    assert watermark([user(1), says(2, finish=None)], 180_000, 0) is None
    assert watermark([says(1)], 180_000, 0) is None
    assert watermark([], 180_000, 0) is None


@pytest.mark.design("K-5")
def test_scaled_on_smaller_windows_with_messages_rounded_up() -> None:
    history = [_weighing(seq, 250) for seq in range(1, 31)]
    assert watermark(history, 18_000, 0) == 27  # 1,000 tokens: four messages; one that speaks is enough
    assert watermark(history, 36_000, 0) == 23  # 2,000 tokens: eight
    quick = [_weighing(seq, 2_000) for seq in range(1, 11)]
    assert watermark(quick, 90_000, 0) == 8  # 5,000 tokens and ceil(2.5) = 3 that speak
    assert watermark(quick, 1_000_000, 0) == watermark(quick, 180_000, 0) == 6
    silent = [_weighing(seq, 2_000, speaks=seq < 8) for seq in range(1, 11)]
    assert watermark(silent, 90_000, 0) == 6  # stops at the scaled 10,000


@pytest.mark.design("K-5")
def test_nothing_new_past_the_mark() -> None:
    history = [_weighing(seq, 2_000) for seq in range(1, 11)]
    assert watermark(history, 180_000, 5) == 6
    assert watermark(history, 180_000, 6) is None
    assert watermark(history, 180_000, 9) is None


@pytest.mark.design("K-5")
def test_a_short_session_covers_its_first_message() -> None:
    assert watermark([user(1), calls(2), says(3)], 180_000, 0) == 1


# --- closing state (W-7) ------------------------------------------------------------------------------------------

_TASK = OpenTask("T1")


@pytest.mark.design("W-7")
@pytest.mark.report(1, 4)
def test_an_unanswered_message_comes_first() -> None:
    assert closing_state([user(1), says(2), user(3)], _TASK) == "answer_user"
    assert closing_state([user(1)], None) == "answer_user"
    assert closing_state([user(1), calls(2), user(3)], None) == "answer_user"
    assert closing_state([user(1), says(2), user(3), reminder(4)], None) == "answer_user"
    assert closing_state([user(1), says(2), user(3), says(4, "", Finish.ERROR)], None) == "answer_user"  # to be sent again
    assert closing_state([user(1), says(2), user(3), says(4, "", None)], None) == "answer_user"


@pytest.mark.design("W-7")
def test_mid_loop_when_the_results_are_in() -> None:
    assert closing_state([user(1), calls(2)], _TASK) == "mid_loop"
    assert closing_state([user(1), calls(2, call("a"), call("b", state="error"))], None) == "mid_loop"
    assert closing_state([user(1), calls(2), says(3, "", Finish.ERROR)], None) == "mid_loop"
    assert closing_state([user(1), says(2, finish=Finish.LENGTH)], None) == "mid_loop"
    for state in ("pending", "running"):
        assert closing_state([user(1), calls(2, call("a"), call("b", state=state))], None) == "wait"


@pytest.mark.design("W-7")
@pytest.mark.report(8)
def test_open_task_else_wait() -> None:
    assert closing_state([user(1), says(2)], _TASK) == "open_task"
    assert closing_state([user(1), says(2)], None) == "wait"
    assert closing_state([], None) == "wait"
    assert closing_state([], _TASK) == "open_task"


@pytest.mark.design("W-7")
@pytest.mark.report(8)
def test_what_a_person_stopped_waits() -> None:
    assert closing_state([user(1), calls(2), says(3, finish=Finish.INTERRUPTED)], _TASK) == "wait"
    assert closing_state([user(1), calls(2, call("a"), call("b", state="interrupted"))], _TASK) == "wait"
    assert closing_state([user(1), calls(2), imported(3, "interrupted")], _TASK) == "wait"
    assert closing_state([user(1), says(2, finish=Finish.INTERRUPTED), user(3)], _TASK) == "answer_user"
