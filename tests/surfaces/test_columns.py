"""Text in terminal columns: wide characters, colour codes, control characters."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.surfaces.cli.columns import cells, cut, harmless, listed, one_line, pad, table, wrapped

pytestmark = pytest.mark.design("S-1")


def test_cells() -> None:
    assert cells("level") == 5
    assert cells("水位") == 4
    assert cells("é") == cells("e\N{COMBINING ACUTE ACCENT}") == 1
    assert cells("\x1b[31m水\x1b[0m!") == 3
    assert cells("█") == 1


def test_cut_at_the_boundary() -> None:
    assert cut("abcde", 5) == "abcde"
    assert cut("abcde", 4) == "abc…"
    assert cut("水位上升", 8) == "水位上升"
    assert cut("水位上升", 7) == "水位上…"
    assert cut("水位上升", 6) == "水位…"
    assert cut("abc", 0) == ""


def test_pad() -> None:
    assert pad("水", 4) == "水  "
    assert pad("水", 4, right=True) == "  水"
    assert pad("long", 2) == "long"


def test_table_lines_up_with_wide_characters_and_ends_at_the_limit() -> None:
    made = table(("名", "n", "title"), [("水位", "7", "abcdefgh"), ("x", "12", "数据数据数据")], right=(1,), limit=16)
    assert (
        made.split("\n") == ["名     n  title", "水位   7  abcdefgh"[:15] + "…", "x     12  数据…"][:1] + made.split("\n")[1:]
    )
    first, second, third = made.split("\n")
    assert (first, second, third) == ("名     n  title", "水位   7  abcde…", "x     12  数据…")
    assert max(cells(line) for line in made.split("\n")) <= 16
    assert table(("a", "b"), [("1", "x" * 500)]).endswith("x" * 500)


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert harmless("a\x1b[2Jb\r\nc\td\x07\x7f\x9b\u202e") == "a␛[2Jb\nc\td␇␡\ufffd\ufffd"
    assert one_line(" a\n\tb\x1b ") == "a b␛"


def test_wrapped() -> None:
    assert wrapped("one two three", 7) == "one two\nthree"
    assert wrapped("one two three", 9, indent="  ") == "  one two\n  three"
    assert wrapped("水位上升，再下降。", 10) == "水位上升，\n再下降。"
    assert wrapped("水位上升，再下降。", 9) == "水位上\n升，再下\n降。"
    assert wrapped("unbreakable", 4) == "unbreakable"


def test_listed() -> None:
    assert listed(["a 1", "b 2", "c 3"], 9) == "a 1 · b 2\nc 3"
    assert listed(["a 1", "b 2", "c 3"], 15, indent=" ") == " a 1 · b 2\n c 3"
    assert listed(["a 1", "b 2", "c 3"], 16, indent=" ") == " a 1 · b 2 · c 3"
    assert listed(["a 1"], 80) == "a 1"


@given(st.text(alphabet="ab 水位，。é\u0301\n"), st.integers(1, 30))
@settings(max_examples=80, deadline=None)
def test_nothing_is_wider_than_asked_and_nothing_is_lost(text: str, columns: int) -> None:
    assert cells(cut(text, columns)) <= columns
    assert "".join(wrapped(text, columns).split()) == "".join(text.split())
