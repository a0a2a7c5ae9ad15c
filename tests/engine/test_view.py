"""The newest window in memory: its messages, steps, growth and level, number by number (M-2, M-3, C-6, C-18, R-10)."""

from collections import deque

import pytest

from sojourn.base import Finish, Usage
from sojourn.engine.economy import Spent, economics
from sojourn.engine.view import STEPS_MEASURED, View, tokens_of
from sojourn.meter import Calibration, Prices, message_tokens, total
from sojourn.record import Block, Call, Message, Text, ToolCall, Trim, Window

FRAME = 4
"""Tokens that separate messages."""
SAME = Calibration()
DOUBLE = Calibration(ratios={"m": {"prose": 2.0, "frame": 2.0}})


def window(number: int = 2, *, digest: int = 0, opened: int = 0, trims: tuple[Trim, ...] = (), opening: str = "") -> Window:
    return Window(
        id=f"win_{number}",
        number=number,
        kind="rebuild",
        covered_seq=0,
        digest_seq=digest,
        opened_at_seq=opened,
        opening=(Block("label", opening),) if opening else (),
        trims=trims,
    )


def said(seq: int, tokens: int, *, finish: Finish | None = None, role: str = "user") -> Message:
    origin = "model" if role == "assistant" else "user"
    return Message(id=f"msg_{seq}", role=role, origin=origin, parts=(Text("x", {"prose": tokens}),), seq=seq, finish=finish)  # type: ignore[arg-type]


def answer(seq: int, tokens: int, finish: Finish | None = Finish.STOP) -> Message:
    return said(seq, tokens, finish=finish, role="assistant")


def called(seq: int, own: int, result: int, *, text: int = 0, state: str = "completed") -> Message:
    done = (Text("r", {"prose": result}),) if state == "completed" else ()
    call = ToolCall("c", "bash", state=state, result=done, tokens={"prose": own})  # type: ignore[arg-type]
    parts = (Text("t", {"prose": text}), call) if text else (call,)
    return Message(id=f"msg_{seq}", role="assistant", origin="model", parts=parts, seq=seq, finish=Finish.TOOL_CALLS)


def view(*messages: Message, at: Window | None = None, fixed: int = 0, growth: deque[int] | None = None) -> View:
    kept = deque(maxlen=STEPS_MEASURED) if growth is None else growth
    return View(at or window(), messages, fixed={"prose": fixed} if fixed else {}, growth=kept)


def call(usage: Usage | None, upto: int, message_id: str | None = None) -> Call:
    return Call(id="call_1", purpose="main", upto_seq=upto, message_id=message_id, usage=usage)


@pytest.mark.design("W-1", "R-5")
def test_the_view_begins_after_the_digest() -> None:
    shown = view(said(4, 10), said(5, 20), said(6, 40), at=window(digest=5))
    assert [message.seq for message in shown.sent] == [6]
    assert shown.estimate() == {"frame": FRAME, "prose": 40}
    shown.extend([said(5, 1), said(7, 2)])
    assert [message.seq for message in shown.sent] == [6, 7]
    assert shown.estimate() == {"frame": 2 * FRAME, "prose": 42}
    assert [[m.seq for m in shown.after(seq)] for seq in (5, 6, 7)] == [[6, 7], [7], []]


@pytest.mark.design("M-2", "W-1")
def test_the_estimate_is_the_fixed_part_the_opening_and_the_messages() -> None:
    opening = "tide gauge " * 30
    shown = view(said(1, 100), at=window(opening=opening), fixed=1_000)
    alone = view(at=window(opening=opening))
    assert total(alone.estimate()) > 20
    assert total(shown.estimate()) == 1_000 + total(alone.estimate()) + 100 + FRAME
    assert shown.level(DOUBLE, "m").tokens == 2 * total(shown.estimate())


@pytest.mark.design("C-6", "C-18")
def test_steps_are_finished_answers_after_the_opening() -> None:
    shown = view(answer(3, 10), answer(4, 10), at=window(opened=4))
    assert (shown.steps, shown.recovered(), list(shown.growth)) == (0, True, [])
    shown.extend([said(5, 7), answer(6, 30, None)])
    assert (shown.steps, shown.recovered()) == (0, True)
    shown.extend([answer(7, 100)])
    assert (shown.steps, shown.recovered()) == (1, False)
    # What stood there when the window opened is no growth; what came in since the step before is.
    assert list(shown.growth) == [7 + 30 + 100 + 3 * FRAME]
    # One that was stopped or failed is none: what it left is growth of the step that ends.
    shown.extend([said(8, 50), answer(9, 1, Finish.INTERRUPTED), answer(10, 2, Finish.ERROR)])
    assert shown.steps == 1
    shown.extend([answer(11, 5, Finish.LENGTH)])
    assert shown.steps == 2
    assert list(shown.growth)[1] == 50 + 1 + 2 + 5 + 4 * FRAME


@pytest.mark.design("C-6", "C-18")
def test_a_streamed_answer_is_a_step_when_it_ends_and_only_of_the_window_that_it_came_in() -> None:
    shown = view(answer(3, 10, None), answer(5, 10, None), at=window(opened=3))
    shown.replace(answer(3, 30))
    assert (shown.steps, list(shown.growth)) == (0, [])
    shown.replace(answer(5, 40))
    assert (shown.steps, list(shown.growth)) == (1, [20 + 40 + FRAME])
    shown.replace(answer(5, 50))
    assert shown.steps == 1


@pytest.mark.design("C-6", "M-3")
def test_only_a_later_window_is_pending_and_only_until_its_first_answer() -> None:
    first = view(said(1, 10), at=window(1))
    assert (first.recovered(), first.level(SAME, "m").source) == (False, "estimate")
    second = view(said(1, 10), at=window(2))
    assert (second.recovered(), second.level(SAME, "m").source) == (True, "pending")
    second.extend([answer(2, 10)])
    assert (second.recovered(), second.level(SAME, "m").source) == (False, "estimate")


@pytest.mark.design("C-18")
def test_growth_is_the_mean_of_the_newest_fifty_steps_across_windows() -> None:
    growth: deque[int] = deque(maxlen=STEPS_MEASURED)
    before = view(growth=growth)
    empty = economics(before, Spent(), Prices(), level=9, written=8)
    assert (empty.growth, empty.steps, empty.opening_level, empty.opening_written) == (0.0, 0, 9, 8)
    before.extend(answer(seq, 1_000 - FRAME) for seq in range(1, 31))
    after = view(at=window(3, opened=30), growth=growth)
    after.extend(answer(seq, 2_000 - FRAME) for seq in range(31, 52))
    known = economics(after, Spent(), Prices(), level=700, written=600)
    assert known.steps == 50  # the first of 51 has left
    assert known.growth == (29 * 1_000 + 21 * 2_000) / 50
    assert (known.opening_level, known.opening_written) == (700, 600)


@pytest.mark.design("M-2", "R-3")
def test_a_call_that_settles_takes_its_place_and_is_counted_once() -> None:
    shown = view(said(1, 10), called(2, 5, 0, state="running"), said(3, 20))
    assert total(shown.estimate()) == 35 + 3 * FRAME
    shown.replace(called(2, 5, 300))
    assert [message.seq for message in shown.sent] == [1, 2, 3]
    assert shown.sent[1].parts[0].state == "completed"  # type: ignore[union-attr]
    assert total(shown.estimate()) == 335 + 3 * FRAME
    shown.replace(said(9, 1_000))
    assert total(shown.estimate()) == 335 + 3 * FRAME


@pytest.mark.design("R-5", "W-2")
def test_messages_are_held_as_the_window_trims_them() -> None:
    text = "tide gauge harbour offset\n" * 400
    whole = Message(id="msg_2", role="user", origin="user", parts=(Text(text),), seq=2)
    trim = Trim(seq=2, part=0, head=50, tail=20)
    at_once = view(said(1, 1), whole, at=window(trims=(trim,)))
    sent = at_once.sent[1].parts[0].text  # type: ignore[union-attr]
    assert sent.startswith(text[:50])
    assert sent.endswith(text[-20:])
    assert len(sent) < 400
    later = view(said(1, 1), whole)
    assert later.sent[1] == whole
    later.retrim(window(trims=(trim,)), [whole])
    assert later.sent == at_once.sent
    assert later.window.trims == (trim,)
    assert later.estimate() == at_once.estimate()


@pytest.mark.design("M-2")
@pytest.mark.report(36)
def test_the_level_rests_on_what_was_reported_and_on_what_came_after_that_call() -> None:
    shown = view(said(1, 1_000), called(2, 50, 300, text=40), said(3, 10))
    shown.anchor(call(Usage(fresh=700, cached=200, written=100, output=60, reasoning=20), 1, "msg_2"))
    # Of the answer only its calls' results are new: what it said itself is in the output reported.
    assert shown.level(SAME, "m").tokens == 1_000 + 40 + 300 + 10 + FRAME
    assert (shown.level(SAME, "m").source, shown.level(SAME, "m").estimated) == ("usage", True)
    assert shown.level(DOUBLE, "m").tokens == 1_040 + 2 * (310 + FRAME)
    assert shown.estimated_level(SAME, "m").tokens == 1_000 + 390 + 10 + 3 * FRAME
    # An answer that is not known by its id is counted whole.
    shown.anchor(call(Usage(fresh=1_000, output=40), 1))
    assert shown.level(SAME, "m").tokens == 1_040 + 390 + 10 + 2 * FRAME
    shown.anchor(call(Usage(fresh=5_000), 3))
    assert (shown.level(SAME, "m").tokens, shown.level(SAME, "m").estimated) == (5_000, False)
    shown.anchor(call(None, 3))
    assert shown.level(SAME, "m").tokens == 5_000


@pytest.mark.design("M-2")
@pytest.mark.report(121)
def test_a_refusal_that_names_the_size_stands_until_the_next_answer() -> None:
    shown = view(said(1, 1_000))
    shown.anchor(call(Usage(fresh=900), 1))
    shown.refuse(40_000)
    assert (shown.level(SAME, "m").tokens, shown.level(SAME, "m").source) == (40_000, "error")
    shown.extend([said(2, 500)])
    assert shown.level(SAME, "m").tokens == 40_500 + FRAME
    assert shown.level(DOUBLE, "m").tokens == 40_000 + 2 * (500 + FRAME)
    shown.anchor(call(None, 2))
    assert shown.level(SAME, "m").source == "error"
    shown.anchor(call(Usage(fresh=41_000), 2))
    assert (shown.level(SAME, "m").tokens, shown.level(SAME, "m").source) == (41_000, "usage")


@pytest.mark.design("M-2")
def test_tokens_of_messages_are_calibrated_together() -> None:
    some = [said(1, 10), said(2, 20)]
    assert tokens_of(some, SAME, "m") == sum(total(message_tokens(message)) for message in some) == 30 + 2 * FRAME
    assert tokens_of(some, DOUBLE, "m") == 60 + 4 * FRAME
    assert tokens_of([], DOUBLE, "m") == 0
