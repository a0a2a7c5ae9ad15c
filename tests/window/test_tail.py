"""W-2: the cut of the live tail."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.meter import count_message, estimate_text, message_tokens, total
from sojourn.record import File, Image, Message, Text, ToolCall, Trim
from sojourn.window import apply_trims, trim_tail
from window.making import attachment, call, calls, count, says, user


def _lines(number: int, word: str = "word") -> str:
    return "\n".join(f"{word} {n} and some more of the line" for n in range(number))


def _tokens(messages: list[Message]) -> int:
    return sum(total(message_tokens(message)) for message in messages)


def _sent(messages: list[Message], budget: int) -> list[Message]:
    trims = trim_tail(messages, budget, count)
    return [apply_trims(message, trims) for message in messages]


def _result(message: Message, part: int = 0) -> str:
    own = message.parts[part]
    assert isinstance(own, ToolCall)
    return "".join(one.text for one in own.result if isinstance(one, Text))


@pytest.mark.design("W-2")
def test_a_tail_that_fits_is_left() -> None:
    tail = [calls(5, call("a", _lines(100)))]
    assert trim_tail(tail, _tokens(tail), count) == ()
    assert trim_tail([], 0, count) == ()

    def never(text: str) -> int:
        raise AssertionError("no need to count")

    assert trim_tail(tail, (_tokens(tail) - 4) * 3, never) == ()  # what separates messages is no part of them


@pytest.mark.design("W-2")
def test_the_largest_result_is_cut_first_and_no_further_than_needed() -> None:
    tail = [calls(5, call("small", _lines(200)), call("large", _lines(1_000)), call("mid", _lines(500)))]
    budget = _tokens(tail) - 2_000
    trims = trim_tail(tail, budget, count)
    assert [(trim.seq, trim.part) for trim in trims] == [(5, 1)]
    sent = _sent(tail, budget)
    assert budget - 1_500 < _tokens(sent) <= budget + 8
    assert _result(sent[0], 0) == _lines(200)


@pytest.mark.design("W-2")
def test_each_keeps_1000_tokens_before_any_goes_below() -> None:
    tail = [calls(5, call("a", _lines(1_000)), call("b", _lines(400)), call("c", "short"))]
    sent = _sent(tail, 2_300)
    sizes = [count(_result(sent[0], part)) for part in range(3)]
    assert 850 <= sizes[0] <= 1_000
    assert 850 <= sizes[1] <= 1_300
    assert sizes[2] == count("short")
    tiny = _sent(tail, 0)
    assert all(20 <= count(_result(tiny[0], part)) <= 45 for part in range(2))  # never dropped
    assert _result(tiny[0], 2) == "short"


@pytest.mark.design("W-2")
def test_head_and_tail_are_kept_and_the_line_says_how_to_fetch_the_whole() -> None:
    text = _lines(1_000)
    tail = [calls(5, call("a", text))]
    (trim,) = trim_tail(tail, 3_000, count)
    assert 1.9 < trim.head / trim.tail < 2.1
    cut = _result(apply_trims(tail[0], [trim]))
    first, _, last = cut.partition("\n[sojourn] ")
    assert text.startswith(first)
    assert len(first) == trim.head
    line, _, end = last.partition("\n")
    assert line.endswith("tokens left out here; whole: history read m5")
    assert text.endswith(end)
    assert len(end) == trim.tail
    left = int(line.split()[0].replace(",", ""))
    assert abs(left - (count(text) - count(first) - count(end))) <= 2


@pytest.mark.design("W-2")
@pytest.mark.report(22)
def test_results_go_before_attachments_then_what_people_wrote_and_the_models_text_never() -> None:
    said = _lines(2_000)
    tail = [calls(5, call("a", _lines(500))), user(6, said, attachment(excerpt=_lines(800))), says(7, said)]
    whole = _tokens(tail)
    assert [trim.seq for trim in trim_tail(tail, whole - 1_000, count)] == [5]
    with_attachment = trim_tail(tail, whole - count(_lines(500)) - count(_lines(800)) + 150, count)
    assert [(trim.seq, trim.part) for trim in with_attachment] == [(5, 0), (6, 1)]
    trims = trim_tail(tail, 0, count)
    assert [(trim.seq, trim.part) for trim in trims] == [(5, 0), (6, 0), (6, 1)]
    sent = apply_trims(tail[1], trims)
    speech, own = sent.parts
    assert isinstance(speech, Text)
    assert speech.text.startswith(said[:20])
    assert speech.text.endswith(said[-20:])
    assert "history read m6" in speech.text
    assert isinstance(own, File)
    assert own.excerpt.startswith(_lines(800)[:40])
    assert "history read m6" in own.excerpt
    assert apply_trims(tail[2], trims) is tail[2]


@pytest.mark.design("W-2")
def test_tokens_of_what_changed_are_counted_anew() -> None:
    tail = [calls(5, call("a", _lines(500)), call("b", "ok"))]
    sent = _sent(tail, 1_000)[0]
    changed, same = sent.parts
    assert isinstance(changed, ToolCall)
    own = changed.result[0]
    assert isinstance(own, Text)
    assert own.tokens == estimate_text(own.text)
    assert same == tail[0].parts[1]


@pytest.mark.design("W-2")
def test_several_texts_of_one_result_are_one_text_and_pictures_stay() -> None:
    picture = Image("0" * 64, "image/png", 9)
    message = Message(
        "m", "assistant", "model", (ToolCall("c", "x", result=(Text("aaaa"), picture, Text("bbbb"), Text("cccc"))),), 3
    )

    def texts(head: int, tail: int) -> list[str]:
        part = apply_trims(message, [Trim(3, 0, head, tail)]).parts[0]
        assert isinstance(part, ToolCall)
        assert picture in part.result
        return [
            one.text.split("\n")[0] + "|" + one.text.split("\n")[-1] if "\n" in one.text else one.text
            for one in part.result
            if isinstance(one, Text)
        ]

    assert texts(2, 2) == ["aa|", "cc"]
    assert texts(4, 4) == ["aaaa", "|", "cccc"]
    assert texts(6, 1) == ["aaaa", "bb|", "c"]
    assert texts(0, 0) == ["|"]
    assert texts(6, 5) == ["aaaa", "bb|b", "cccc"]
    assert texts(6, 6) == ["aaaa", "bbbb", "cccc"]
    assert apply_trims(message, [Trim(4, 0, 1, 1)]) is message


@pytest.mark.design("W-2")
@pytest.mark.report(59, 26)
@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 120), min_size=1, max_size=3), min_size=1, max_size=4), st.integers(0, 3_000))
def test_a_cut_never_drops_a_result(sizes: list[list[int]], budget: int) -> None:
    tail = [calls(seq, *(call(f"t{n}", _lines(size) or "-") for n, size in enumerate(row))) for seq, row in enumerate(sizes, 1)]
    sent = _sent(tail, budget)
    for before, after in zip(tail, sent, strict=True):
        assert [part.call_id for part in before.parts] == [part.call_id for part in after.parts]  # type: ignore[union-attr]
        for index in range(len(before.parts)):
            assert _result(after, index)
            assert count(_result(after, index)) <= count(_result(before, index))
    assert sent == _sent(tail, budget)
    assert all(count_message(message) == message for message in sent)
