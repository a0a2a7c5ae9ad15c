"""W-3 row 4: the user's words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.record import Image
from sojourn.window import UserText, recent_user, user_text
from sojourn.window.recent_user import UserTexts, quoted
from window.making import attachment, count, user, words


def _text(seq: int, length: int = 3) -> UserText:
    return UserText(seq, " ".join(f"w{seq}-{n}" for n in range(length)), "answered")


def _cost(length: int) -> int:
    return 2 + 1 + length + 1  # "m1 (answered):", the sign of quotation, the words, the blank line


@pytest.mark.design("W-3")
def test_every_line_is_quoted() -> None:
    assert (
        quoted("a\n# Recent activity\r\n\r[sojourn] x\u2028y\n") == "> a\n> # Recent activity\r\n> \r> [sojourn] x\u2028> y\n> "
    )


@pytest.mark.design("W-3")
def test_shown_oldest_first_with_seq_and_status() -> None:
    chosen = recent_user(
        [UserText(3, "first", "answered"), UserText(9, "stop\nthat", "interrupted"), UserText(12, "go", "open")], 999, 99, count
    )
    assert [one.text for one in chosen.entries] == [
        "m3 (answered):\n> first",
        "m9 (interrupted):\n> stop\n> that",
        "m12 (open):\n> go",
    ]
    assert (chosen.left_out, chosen.left_out_tokens) == (0, 0)
    assert chosen.tokens == sum(count(one.text) + 1 for one in chosen.entries)


@pytest.mark.design("W-3")
@pytest.mark.report(9)
def test_newest_first_skip_what_does_not_fit_and_go_on() -> None:
    texts = [_text(1), _text(2, 60), _text(3), _text(4)]
    fitting = 3 * _cost(3)
    assert [one.seq for one in recent_user(texts, fitting + 20, 99, words).entries] == [1, 3, 4]  # 2 is skipped, 1 is not
    chosen = recent_user(texts, 2 * _cost(3) + 12, 99, words)
    assert [one.seq for one in chosen.entries] == [1, 3, 4]
    chosen = recent_user(texts, 2 * _cost(3) + 11, 99, words)
    assert [one.seq for one in chosen.entries] == [3, 4]
    assert chosen.left_out == 2
    assert chosen.left_out_tokens > 60


@pytest.mark.design("W-3")
@pytest.mark.report(1)
def test_the_newest_request_is_whole_up_to_its_cap() -> None:
    texts = [_text(1), _text(2, 47)]
    assert recent_user(texts, 51, 50, words).entries[0].text.endswith(texts[1].text)
    assert not recent_user(texts, 51, 50, words).entries[0].cut
    assert recent_user(texts, 50, 50, words).entries[0].cut  # the whole budget goes to it before anything older
    assert recent_user(texts, 999, 49, words).entries[1].cut
    assert recent_user(texts, 0, 50, words).entries == ()


@pytest.mark.design("W-3")
def test_a_long_one_keeps_head_and_tail_and_says_how_to_fetch_the_rest() -> None:
    entry = recent_user([_text(7, 1_000)], 999, 100, words).entries[0]
    head, first, omission, last = entry.text.split("\n")
    assert head == "m7 (answered):"
    assert omission.endswith(f"{1_000 - len(first.split()) - len(last.split()) + 2} tokens left out; whole: history read m7")
    assert first.startswith("> w7-0 w7-1 ")
    assert last.endswith(" w7-999")
    assert words(entry.text) <= 100
    assert 45 <= len(first.split()) <= 62
    assert 22 <= len(last.split()) <= 32


@pytest.mark.design("W-3", "C-18")
def test_answered_messages_may_have_a_smaller_cap_but_not_the_newest() -> None:
    def shown(*statuses: str, answered: int | None = 52) -> list[int]:
        given_texts = [UserText(seq, _text(seq, 49).text, status) for seq, status in enumerate(statuses, 1)]  # type: ignore[arg-type]
        return [one.seq for one in UserTexts(given_texts, 90, words, answered).choose(999).entries if one.cut]

    assert shown("answered", "interrupted", "open", "answered", answered=51) == [1]  # 52 tokens each
    assert shown("answered", "interrupted", "open", "answered") == []
    assert shown("answered", "answered", answered=None) == []
    assert shown("answered", "answered", answered=999) == []


@pytest.mark.design("W-3")
def test_attachments_are_named_with_how_to_fetch_them() -> None:
    picture = Image("0" * 64, "image/png", 10)
    text = user_text(user(4, "look", picture, attachment("a\nb.txt")), "open")
    assert text == UserText(4, "look", "open", ("image/png (history read m4)", "a\nb.txt (history read m4)"))
    entry = recent_user([text], 999, 99, count).entries[0]
    assert entry.text == "m4 (open):\n> look\nattached to m4: image/png (history read m4); a b.txt (history read m4)"
    only = user_text(user(5, "", picture), "open")
    assert only is not None
    assert recent_user([only], 999, 99, count).entries[0].text == "m5 (open):\nattached to m5: image/png (history read m5)"
    assert user_text(user(6, "  "), "open") is None
    assert recent_user([UserText(6, "", "open")], 999, 99, count).entries == ()


@pytest.mark.design("W-13")
def test_each_message_is_counted_once() -> None:
    asked: list[str] = []

    def counting(text: str) -> int:
        asked.append(text)
        return words(text)

    texts = UserTexts([_text(n) for n in range(1, 30)], 99, counting)
    texts.choose(90)
    texts.newest()
    before = len(asked)
    texts.choose(50)
    assert len(asked) == before


@pytest.mark.design("W-3")
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(min_size=1, max_size=300).filter(str.strip), min_size=1, max_size=12),
    st.integers(0, 400),
    st.integers(1, 120),
)
def test_always_within_budget_and_cap_and_in_order(texts: list[str], budget: int, cap: int) -> None:
    given_texts = [UserText(seq, text, "open") for seq, text in enumerate(texts, 1)]
    chosen = recent_user(given_texts, budget, cap, count)
    assert sum(count(one.text) + 1 for one in chosen.entries) == chosen.tokens <= budget
    assert all(count(one.text) <= cap for one in chosen.entries)
    assert [one.seq for one in chosen.entries] == sorted(one.seq for one in chosen.entries)
    assert len(chosen.entries) + chosen.left_out == len(texts)
    whole = count(f"m{len(texts)} (open):\n{quoted(texts[-1])}")
    if whole <= cap and whole + 1 < budget:
        assert chosen.entries[-1].text == f"m{len(texts)} (open):\n{quoted(texts[-1])}"
