"""The pictures of a session say what happened, in any width, with and without colour (S-1, S-4)."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.lab.journey import Mark, Point, Stay, SweepRow, amount, svg, sweep_chart, terminal_chart

pytestmark = pytest.mark.design("S-1")

ESCAPE = re.compile(r"\x1b\[\d+m")
FIRST = Stay(1, "start", "start", 1, 0, 1_000, 9_000, 9_500)
SECOND = Stay(2, "rebuild", "usage", 51, 9_000, 3_000, 9_000, 9_500)
SAW = [Point(step, step, 1_000 + (step - 1) * 160) for step in range(1, 51)]
SAW += [Point(step, step, 3_000 + (step - 51) * 60) for step in range(51, 101)]


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (950, "950"),
        (999, "999"),
        (1_000, "1K"),
        (12_340, "12.3K"),
        (57_600, "57.6K"),
        (99_960, "100K"),
        (180_400, "180K"),
        (999_600, "1.0M"),
        (1_000_000, "1M"),
        (1_240_000, "1.2M"),
    ],
)
def test_amounts_are_short(tokens: int, text: str) -> None:
    assert amount(tokens) == text


# --- terminal ------------------------------------------------------------------------------------------------------


def chart(width: int = 48, marks: tuple[Mark, ...] = (), windows: tuple[Stay, ...] = (FIRST, SECOND)) -> list[str]:
    return terminal_chart(SAW, windows, width, False, marks).split("\n")


def test_the_whole_chart() -> None:
    assert chart(48, (Mark(26, 26), Mark(76, 76))) == [
        "       │────────────────────────────────────────",
        "       │┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▁▆┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄",
        "  7.5K ┤                ▁▆██",
        "       │              ▁▆████",
        "       │            ▂▆██████                   ▂",
        "    5K ┤          ▂▇████████             ▁▂▄▅▇██",
        "       │        ▂▇██████████        ▁▃▄▆▇███████",
        "       │      ▂▇████████████  ▁▂▃▅▆█████████████",
        "  2.5K ┤    ▃▇██████████████▆▇██████████████████",
        "       │  ▃█████████████████████████████████████",
        "       │▃███████████████████████████████████████",
        "       │████████████████████████████████████████",
        "windows ├1                  ├2",
        "  marks           ◆                   ◆",
        "  steps 1                                    100",
        "        █ level  ┄ trigger 9K  ─ hard 9.5K  ├ window  ◆ checkpoint",
    ]


def test_the_level_is_drawn_to_scale() -> None:
    """Twelve rows up to 9,500 * 24 / 23 = 9,913 tokens, eight steps a row."""
    flat = [Point(1, 1, 4_956)]
    rows = terminal_chart(flat, [FIRST], 48).split("\n")[:12]
    filled = [row[8:].replace("┄", " ").replace("─", " ").strip() for row in rows]
    assert filled == [""] * 6 + ["█" * 40] * 6
    higher = terminal_chart([Point(1, 1, 4_956 + 207)], [FIRST], 48).split("\n")
    assert higher[5][8:] == "▂" * 40


def test_one_column_shows_the_highest_of_its_steps() -> None:
    points = [Point(step, step, 9_000 if step == 41 else 100) for step in range(1, 81)]
    rows = terminal_chart(points, [FIRST], 48).split("\n")
    columns = {i for row in rows[2:8] for i, cell in enumerate(row[8:]) if cell in "▁▂▃▄▅▆▇█"}
    assert columns == {20}


def test_few_steps_fill_the_width() -> None:
    rows = terminal_chart([Point(1, 1, 9_400), Point(2, 2, 100)], [FIRST], 48).split("\n")
    assert rows[6][8:].rstrip() == "█" * 20


def test_each_window_shows_its_own_lines() -> None:
    economy = Stay(2, "rebuild", "usage", 51, 9_000, 3_000, 5_900, 9_500)
    rows = chart(windows=(FIRST, economy))
    assert rows[1][8:] == "┄" * 18 + "▁▆"
    assert rows[4][28:] == "┄" * 19 + "▂"


def test_window_numbers_stand_at_their_first_step_and_never_run_into_each_other() -> None:
    crowd = tuple(Stay(number, "rebuild", "usage", number, 0, 0, 9_000, 9_500) for number in range(1, 100))
    row = chart(windows=crowd)[12][8:]
    assert row.startswith("├1├6├11├18├26")
    assert len(row) == 40
    late = Stay(2, "rebuild", "usage", 99, 0, 0, 9_000, 9_500)
    assert chart(windows=(FIRST, late))[12][8:] == "├1" + " " * 37 + "├", "a number is left out, never cut"
    numbered = [int(number) for number in re.findall(r"\d+", row)]
    assert numbered == sorted(numbered)


def test_marks_of_steps_to_come_stand_at_the_end() -> None:
    assert chart(marks=(Mark(500, 1),))[13] == "  marks " + " " * 39 + "◆"


def test_without_steps_or_windows() -> None:
    assert terminal_chart([], []) == "no steps yet"
    plain = terminal_chart(SAW, [])
    assert "┄" not in plain
    assert "─" not in plain
    assert "checkpoint" not in plain


def test_colour_adds_nothing_but_colour_and_red_says_over_the_trigger() -> None:
    plain, painted = (terminal_chart(SAW, [FIRST, SECOND], 60, color) for color in (False, True))
    assert "\x1b" not in plain
    stripped = "\n".join(line.rstrip() for line in ESCAPE.sub("", painted).split("\n"))
    assert stripped == plain
    below, at = (terminal_chart([Point(1, 1, level)], [FIRST], 40, True) for level in (8_999, 9_000))
    assert "\x1b[31m█" not in below
    assert "\x1b[31m█" in at


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2_000_000), min_size=1, max_size=300), st.integers(1, 200), st.booleans())
def test_it_keeps_to_its_width(levels: list[int], width: int, color: bool) -> None:
    points = [Point(i, i, level) for i, level in enumerate(levels, 1)]
    windows = [Stay(i, "rebuild", "usage", i, 1, 1, 900, 1_000) for i in range(1, len(levels), 7)]
    lines = [ESCAPE.sub("", line) for line in terminal_chart(points, windows, width, color, [Mark(1, 1)]).split("\n")]
    assert max(map(len, lines[:-1])) <= max(48, width)
    assert len(lines) == 16


# --- sweep ---------------------------------------------------------------------------------------------------------


def test_the_sweep_names_the_cheapest() -> None:
    rows = [SweepRow(32_000, 800_000, 0.5, 9), SweepRow(64_000, 400_000, 1.0, 4), SweepRow(180_000, 600_000, None, 1)]
    assert sweep_chart(rows, 60).split("\n") == [
        " trigger  cost, fresh tokens  continuity     windows",
        "     32K  ████████   800K  ████      50%        9",
        "     64K  ████       400K  ████████ 100%        4  cheapest",
        "    180K  ██████     600K              -        1",
    ]
    assert sweep_chart([]) == "no triggers were tried"


# --- SVG -----------------------------------------------------------------------------------------------------------

NAMES = {"s": "http://www.w3.org/2000/svg"}


def picture(**more: object) -> ElementTree.Element:
    return ElementTree.fromstring(svg(SAW, [FIRST, SECOND], "A <day> & more", [Mark(26, 31)], **more))  # type: ignore[arg-type]


def test_the_svg_is_well_formed_and_self_contained() -> None:
    root = picture()
    text = svg(SAW, [FIRST, SECOND], "A <day> & more", [Mark(26, 31)])
    assert root.get("aria-label") == "A <day> & more"
    assert text.count("http") == 1
    assert "<script" not in text
    assert "prefers-color-scheme: dark" in text


def test_each_window_has_a_tooltip_and_a_band() -> None:
    bands = [group for group in picture().findall("s:g", NAMES) if group.find("s:rect", NAMES) is not None]
    assert [group.findtext("s:title", "", NAMES) for group in bands] == [
        "Window 1 (start, start): from step 1, 0 before, 1K after; trigger 9K, hard 9.5K",
        "Window 2 (rebuild, usage): from step 51, 9K before, 3K after; trigger 9K, hard 9.5K",
    ]
    first, second = (group.find("s:rect", NAMES) for group in bands)
    assert first is not None
    assert second is not None
    assert float(first.get("x", "")) + float(first.get("width", "")) == pytest.approx(float(second.get("x", "")), abs=0.2)


def test_the_level_starts_anew_at_each_window() -> None:
    levels = [path for path in picture().findall("s:path", NAMES) if path.get("class") == "level" and "L" in path.get("d", "")]
    assert len(levels) == 2
    last = levels[0].get("d", "").split(" L")[-1].split()
    first = levels[1].get("d", "")[1:].split(" L")[0].split()
    assert last[0] == first[0], "at the same step"
    assert float(last[1]) < float(first[1]), "higher before than after"


def test_checkpoints_have_tooltips() -> None:
    titles = [path.findtext("s:title", "", NAMES) for path in picture().findall("s:path", NAMES) if path.get("class") == "mark"]
    assert titles == ["Checkpoint at step 26: covers messages up to 31", ""]


def test_an_empty_session_is_a_picture_too() -> None:
    root = ElementTree.fromstring(svg([], [], "nothing yet"))
    assert root.findtext("s:text", "", NAMES) == "nothing yet"
    assert svg([], [], "x").count('class="mark"') == 0
