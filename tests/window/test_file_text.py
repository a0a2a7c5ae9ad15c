"""W-3a: what is known of a file's text."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.window.file_text import FileText, patched, read_lines, replacements, written


@pytest.mark.design("W-3a")
def test_plain_results_are_counted_from_where_they_begin() -> None:
    assert read_lines("a\nb\n", None) == ((1, "a\nb"), 2)
    assert read_lines("a\n\nb", None) == ((1, "a\n\nb"), 3)
    assert read_lines("a\nb", (5, 6)) == ((5, "a\nb"), 0)
    assert read_lines("a\nb", (1, 2)) == ((1, "a\nb"), 2)
    assert read_lines("a\nb", (1, 9)) == ((1, "a\nb"), 2)  # the file ended before the part did
    assert read_lines("a\nb\nc\nd", (5, 6)) == ((5, "a\nb"), 0)  # what a tool says behind the part is none of it
    assert read_lines("a\nb\nc", (1, 2)) == ((1, "a\nb"), 0)
    assert read_lines("", None) == (None, 0)


@pytest.mark.design("W-3a")
def test_the_header_of_a_part_is_no_line_and_tells_the_length() -> None:
    assert read_lines("[a.py: lines 3-4 of 90]\nx\ny", (3, 4)) == ((3, "x\ny"), 90)
    assert read_lines("[a.py: lines 1-2 of 90; notebook]\nx\ny", (1, 2)) == ((1, "x\ny"), 90)
    assert read_lines("[a.py: lines 3-4 of a file of 9,000,000 bytes; read on with offset 5]\nx\ny", (3, 4)) == ((3, "x\ny"), 0)
    assert read_lines("[1, 2]\n[3]", None) == ((1, "[1, 2]\n[3]"), 2)


@pytest.mark.design("W-3a")
def test_numbers_in_the_result_count() -> None:
    assert read_lines("     7→a\n     8→\tb\n", (7, 8)) == ((7, "a\n\tb"), 0)
    assert read_lines("     1→a\n     2→b\n", (1, 2)) == ((1, "a\nb"), 0)  # as many as were asked for: there may be more
    assert read_lines("     1→a\n     2→b\n", (1, 3)) == ((1, "a\nb"), 2)
    assert read_lines("1\ta\n2\tb\n3\tc", None) == ((1, "a\nb\nc"), 3)
    assert read_lines("5\ta\n6\tb\n7\tc", None) == ((5, "a\nb\nc"), 0)
    assert read_lines("1: a\n2: b\n3: c\n\nnote of the tool", None) == ((1, "a\nb\nc"), 3)
    assert read_lines("1→a\n2→b\n7→g", None) == ((1, "a\nb"), 2)
    assert read_lines("1: a\n9: b", None) == ((1, "1: a\n9: b"), 2)  # a text that has numbers of its own
    assert read_lines("7→a\n8→b", (3, 4)) == ((3, "7→a\n8→b"), 0)


_FORMS = (
    "{:>6}→", "{}→", "{:>6}\t", "{}\t", "{:>4}: ", "{}: ", "{}:", "{:>3}| ", "{} | ", "{:<4} | ", "{:>4} │ ", "{:>5}  ",
    "{:>3}  ",
)  # fmt: skip


@pytest.mark.design("W-3a")
@pytest.mark.parametrize("form", _FORMS)
def test_numbers_in_any_column(form: str) -> None:
    body = ["import os", "", "def f():", "    return 1", "\tx"]
    for first in (1, 8, 98):
        text = "\n".join(form.format(number) + line for number, line in enumerate(body, first))
        expected = ((first, "\n".join(body)), 0)
        assert read_lines(text, (first, first + 4)) == expected
        assert read_lines(text + "\n", (first, first + 4)) == expected
        assert read_lines("\n".join(line.rstrip() for line in text.split("\n")), (first, first + 4)) == expected


@pytest.mark.design("W-3a")
def test_numbers_without_a_sign_stand_two_spaces_off() -> None:
    assert read_lines("    9  a\n   10    b\n   11\n   12  c", None) == ((9, "a\n  b\n\nc"), 0)
    assert read_lines("    9\n   10  b", (9, 10)) == ((9, "\nb"), 0)  # it begins with an empty line
    assert read_lines("9  a\n10 b\n11 c", (9, 11)) == ((9, "a\nb\nc"), 0)
    assert read_lines("9  a\n10  b\n11  c", (9, 11)) == ((9, "a\nb\nc"), 0)
    assert read_lines("9  a\n10  b\n11  c", None) == ((1, "9  a\n10  b\n11  c"), 3)
    assert read_lines("    9 a\n   10 b\n   11 c", None) == ((1, "    9 a\n   10 b\n   11 c"), 3)


@pytest.mark.design("W-3a")
def test_few_numbers_count_where_something_else_speaks_for_them() -> None:
    assert read_lines("1→a", None) == ((1, "a"), 1)
    assert read_lines("     1\ta", None) == ((1, "a"), 1)
    assert read_lines("7\ta\n8\tb", (7, 9)) == ((7, "a\nb"), 0)
    assert read_lines("1\ta\n2\tb", (1, 9)) == ((1, "1\ta\n2\tb"), 2)
    assert read_lines("7: a\n8: b", None) == ((1, "7: a\n8: b"), 2)
    assert read_lines("1: a\n2: b\n3: c\nd\ne\nf", None) == ((1, "a\nb\nc"), 3)
    assert read_lines("1→a\nb\nc", None) == ((1, "a"), 1)


_COUNTING = (
    "1. Install\n2. Run\n3. Look\n",
    "1) Install\n2) Run\n3) Look\n",
    "  1. Install\n  2. Run\n  3. Look\n",
    "1,apple,3\n2,pear,4\n3,plum,5\n",
    "id\tname\n1\tapple\n2\tpear\n3\tplum\n",
    "1\tapple\n3\tpear\n4\tplum\n",
    "1  apple\n2  pear\n3  plum\n",
    "1 apple\n2 pear\n3 plum\n",
    "01: a\n02: b\n03: c\n",
    "10:00 up\n11:00 lunch\n12:00 down\n",
    "12:30:01 a\n12:30:02 b\n12:30:03 c\n",
    "7\n8\n9\n",
    "1\n2\n3  x\n",
    "2024 a\n2025 b\n2026 c\n",
    "1: a\n2: b\n3: c\nd: 1\ne: 2\nf: 3\ng: 4\n",
    "1:\n  name: a\n2:\n  name: b\n",
    "",
)


@pytest.mark.design("W-3a")
@pytest.mark.parametrize("text", _COUNTING)
def test_a_text_that_counts_for_itself_stays_whole(text: str) -> None:
    body = text.removesuffix("\n")
    assert read_lines(text, None)[0] == ((1, body) if body else None)
    assert read_lines(text, (1, 500))[0] == ((1, body) if body else None)


@pytest.mark.design("W-3a", "R-8")
def test_what_was_cut_out_of_a_result_is_not_counted_on() -> None:
    cut = "a\nb\n[... about 900 tokens left out here ...]\ny\nz"
    assert read_lines(cut, None) == ((1, "a\nb"), 0)
    assert read_lines(cut, (1, 500)) == ((1, "a\nb"), 0)
    assert read_lines("1→a\n2→b\n[... cut ...]\n9→z", None) == ((1, "a\nb"), 0)


@pytest.mark.design("W-3a")
def test_parts_are_put_together_the_newer_one_on_top() -> None:
    text = FileText()
    text.take((10, "k\nl\nm"))
    text.take((1, "a\nb"))
    assert text.runs == [(1, "a\nb"), (10, "k\nl\nm")]
    text.take((3, "c"))
    assert text.runs == [(1, "a\nb\nc"), (10, "k\nl\nm")]
    text.take((11, "L"))
    assert text.runs == [(1, "a\nb\nc"), (10, "k\nL\nm")]
    text.take((2, "B\nC\nD"))
    assert text.lines() == {1: "a", 2: "B", 3: "C", 4: "D", 10: "k", 11: "L", 12: "m"}
    text.take((12, "M\nN"), 20)
    assert (text.runs[-1], text.length, text.whole()) == ((10, "k\nL\nM\nN"), 20, False)
    text.stale, text.loose = True, {"x": 1.0}
    text.take((1, "one\ntwo"), 2)
    assert (text.runs, text.stale, text.loose, text.length, text.whole()) == ([(1, "one\ntwo")], False, {}, 2, True)


@pytest.mark.design("W-3a")
def test_whole_is_every_line_and_none_changed_unseen() -> None:
    assert FileText([(1, "a\nb")], length=2).whole()
    assert not FileText([(1, "a\nb")], length=3).whole()
    assert not FileText([(2, "b")], length=2).whole()
    assert not FileText([(1, "a\nb")], length=2, stale=True).whole()
    assert not FileText().whole()


@pytest.mark.design("W-3a")
def test_an_edit_is_carried_out_and_warms_what_it_changed() -> None:
    text = FileText([(1, "a\nb\nc\nd"), (20, "t\nu")], {4: 0.2, 20: 0.3, 2: 0.9}, length=40)
    text.edit("b\nc", "b\nX\nY\nc", 0.8)
    assert text.runs == [(1, "a\nb\nX\nY\nc\nd"), (22, "t\nu")]
    assert text.warmth == {2: 0.4, 3: 0.8, 4: 0.8, 5: 0.4, 6: 0.2, 22: 0.3}
    assert (text.length, text.stale) == (42, False)
    text.edit("X\nY\n", "", 1.0)
    assert text.runs == [(1, "a\nb\nc\nd"), (20, "t\nu")]
    assert text.length == 40
    text.edit("u", "U = 1", 1.0)
    assert text.runs[1] == (20, "t\nU = 1")
    assert text.warmth[21] == 1.0


@pytest.mark.design("W-3a")
def test_warmth_moves_with_its_line() -> None:
    text = FileText([(1, "\na\nb\nc\nd")], {2: 0.9, 3: 0.8, 4: 0.7, 5: 0.6})
    text.edit("b\nc", "B", 0.5)  # what stood there is gone, what comes behind moves up
    assert text.runs == [(1, "\na\nB\nd")]
    assert text.warmth == {2: 0.9, 3: 0.5, 4: 0.6}
    assert text.length == 0  # still not known
    text.edit("\na", "\n\na", 0.5)
    assert text.runs == [(1, "\n\na\nB\nd")]
    assert text.warmth == {1: 0.25, 2: 0.5, 3: 0.25, 4: 0.5, 5: 0.6}
    blank = FileText([(1, "\na")])
    blank.edit("a", "A\nB", 0.5)
    assert blank.warmth == {2: 0.5, 3: 0.5}
    told = FileText([(5, "e"), (7, "g")], {5: 0.9, 7: 0.8})
    told.edit("?", "?\n!", 0.5, first=6)  # a line that came in before the sixth
    assert told.runs == [(5, "e\n!"), (8, "g")]
    assert told.warmth == {5: 0.9, 6: 0.5, 8: 0.8}


@pytest.mark.design("W-3a")
def test_the_first_place_or_every_one() -> None:
    once = FileText([(1, "x\ny\nx"), (9, "x")])
    once.edit("x", "z", 1.0)
    assert once.runs == [(1, "z\ny\nx"), (9, "x")]
    every = FileText([(1, "x\ny\nx"), (9, "x")])
    every.edit("x", "z\nz", 1.0, everywhere=True)
    assert every.runs == [(1, "z\nz\ny\nz\nz"), (11, "z\nz")]


@pytest.mark.design("W-3a")
def test_every_place_at_once_moves_what_stands_between() -> None:
    every = FileText([(1, "x\na\nx\nb\nx c x\nd"), (20, "e")], {1: 0.9, 2: 0.3, 4: 0.2, 6: 0.1, 20: 0.7}, length=30)
    every.edit("x", "y\nz", 0.8, everywhere=True)
    assert every.runs == [(1, "y\nz\na\ny\nz\nb\ny\nz c y\nz\nd"), (24, "e")]
    assert every.length == 34
    assert every.warmth == {1: 0.8, 2: 0.8, 3: 0.3, 4: 0.8, 5: 0.8, 6: 0.2, 7: 0.8, 8: 0.8, 9: 0.8, 10: 0.1, 24: 0.7}
    fewer = FileText([(1, "a\n\nb\n\nc")], {1: 0.1, 3: 0.2, 5: 0.3})
    fewer.edit("\n\n", "\n", 0.8, everywhere=True)
    assert (fewer.runs, fewer.warmth) == ([(1, "a\nb\nc")], {1: 0.4, 2: 0.4, 3: 0.4})


@pytest.mark.design("W-3a")
def test_many_places_in_a_long_text_are_one_pass() -> None:
    lines = 20_000
    text = FileText([(1, "\n".join(f"value_{n} = compute({n})" for n in range(lines)))], length=lines)
    started = time.process_time()
    text.edit("compute", "work", 1.0, everywhere=True)
    text.edit("value", "a\nb", 1.0, everywhere=True)
    assert time.process_time() - started < 3.0  # a pass for each place took minutes
    assert text.length == 2 * lines
    assert text.lines()[2 * lines] == f"b_{lines - 1} = work({lines - 1})"


@pytest.mark.design("W-3a")
def test_an_edit_that_has_no_known_place() -> None:
    told = FileText([(1, "a"), (30, "x\ny")], {30: 0.5}, length=50)
    told.edit("q\nr", "q\nR\nS", 0.7, first=11)
    assert told.runs == [(1, "a"), (11, "R\nS"), (31, "x\ny")]
    assert told.warmth == {11: 0.7, 12: 0.7, 31: 0.5}
    assert (told.length, told.stale, told.loose) == (51, False, {})
    gone = FileText([(10, "k\nl\nm\nn")], length=13)
    gone.edit("?\n?\n!", "!", 0.7, first=11)  # two lines fewer
    assert (gone.runs, gone.length) == ([(10, "k\nn")], 11)
    loose = FileText([(1, "a")])
    loose.edit("q\nr\n", "q\nR\n\n", 0.7)
    assert (loose.runs, loose.loose, loose.stale) == ([(1, "a")], {"R": 0.7}, True)
    every = FileText()
    every.edit("q", "Q", 0.7, everywhere=True, first=3)
    assert (every.loose, every.runs, every.stale) == ({"Q": 0.7}, [], False)
    for number in range(45):
        every.edit("", f"line {number}", 0.1)
    assert list(every.loose) == [f"line {number}" for number in range(5, 45)]


@pytest.mark.design("W-3a")
def test_what_a_call_replaces() -> None:
    assert list(replacements({"old_string": "a", "new_string": "b", "replace_all": True})) == [("a", "b", True)]
    assert list(replacements({"oldText": "a", "newText": "b"})) == [("a", "b", False)]
    both = {"edits": [{"old": "a", "new": "b"}, {"old": "c", "new": "", "all": True}, "odd"]}
    assert list(replacements(both)) == [("a", "b", False), ("c", "", True)]
    assert list(replacements({"command": "insert", "insert_text": "x"})) == [("", "x", False)]
    assert list(replacements({"path": "a"})) == []
    assert written({"content": "x\n"}) == "x\n"
    assert written({"file_text": "y"}) == "y"
    assert written({"path": "a"}) is None


@pytest.mark.design("W-3a")
def test_what_a_patch_replaces() -> None:
    patch = """*** Begin Patch
*** Update File: a.py
@@ def f():
 x
-y
+Y
 z
@@
-old
+new
*** Update File: b.py
@@
-q
+Q
*** End Patch"""
    assert list(patched(patch, "a.py")) == [("x\ny\nz", "x\nY\nz", False), ("old", "new", False)]
    assert list(patched(patch, "b.py")) == [("q", "Q", False)]
    assert list(patched(patch, "c.py")) == []


_TEXTS = st.lists(st.sampled_from(["a", "bb", "", "  c", "d d"]), min_size=1, max_size=12).map("\n".join)


@pytest.mark.design("W-3a")
@settings(max_examples=100, deadline=None)
@given(_TEXTS, st.lists(st.tuples(_TEXTS, _TEXTS, st.booleans()), max_size=4))
def test_a_file_that_is_known_whole_stays_so(body: str, edits: list[tuple[str, str, bool]]) -> None:
    text = FileText()
    text.take((1, body), body.count("\n") + 1)
    for old, new, everywhere in edits:
        if old and old in body:
            body = body.replace(old, new) if everywhere else body.replace(old, new, 1)
            text.edit(old, new, 1.0, everywhere=everywhere)
    assert text.runs == [(1, body)]
    assert text.length == body.count("\n") + 1
    assert text.lines() == dict(enumerate(body.split("\n"), 1))
    assert all(1 <= number <= text.length for number in text.warmth)


@pytest.mark.design("W-3a")
@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 30), _TEXTS), max_size=6))
def test_parts_hold_the_newest_line_of_each_number_and_never_touch(parts: list[tuple[int, str]]) -> None:
    text, lines = FileText(), dict[int, str]()
    for first, body in parts:
        text.take((first, body))
        lines.update(enumerate(body.split("\n"), first))
    assert text.lines() == lines
    ends = [first + body.count("\n") + 1 for first, body in text.runs]
    assert all(end < first for end, (first, _) in zip(ends, text.runs[1:], strict=False))
