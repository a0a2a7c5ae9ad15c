"""W-3a: files in use."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.record import Touch
from sojourn.window import working_set
from sojourn.window.working_set import names_only
from window.making import call, calls, count, says, user, words

_SOURCE = "\n".join(
    [
        "     1→import os",
        *(f"{n:6}→    x = {n}" for n in range(2, 30)),
        "    30→class Reader:",
        "    31→    def read(self, path):",
        "    32→        return 1",
    ]
)


def _read(path: str, result: str = "tiny", lines: tuple[int, int] | None = None):
    return call("read", result, touches=(Touch(path, "read", lines),), path=path)


def _edit(path: str, kind: str = "edit"):
    return call("edit", "ok", touches=(Touch(path, kind),), path=path)  # type: ignore[arg-type]


@pytest.mark.design("W-3a")
def test_newest_first_with_last_action_and_lines_in_use() -> None:
    history = [
        user(1),
        calls(2, _read("a.py", lines=(1, 40))),
        calls(3, _read("a.py", lines=(41, 60)), _read("b.py", "hello\n\nworld")),
        calls(4, _edit("c.py", "write"), _read("a.py", lines=(100, 120))),
    ]
    assert working_set(history, 999, count).split("\n") == [
        "- a.py (last read in m4; lines 1-60, 100-120)",
        "    tiny",
        "- c.py (last written in m4)",
        "- b.py (last read in m3)",
        "    hello",
        "    world",
    ]


@pytest.mark.design("W-3a")
def test_changed_since_it_was_read_is_marked() -> None:
    assert "- a.py (last edited in m2; changed since it was read)" in working_set(
        [calls(1, _read("a.py")), calls(2, _edit("a.py"))], 999, count
    )
    assert "changed" not in working_set([calls(1, _edit("a.py")), calls(2, _read("a.py"))], 999, count)
    assert "changed" not in working_set([calls(1, _edit("a.py"))], 999, count)


@pytest.mark.design("W-3a")
def test_an_outline_of_what_is_not_tiny() -> None:
    shown = working_set([calls(1, _read("a.py", _SOURCE))], 999, count)
    assert shown.split("\n")[1:] == ["        30→class Reader:", "        31→    def read(self, path):"]
    headings = "\n".join(["# Top", *("text" for _ in range(20)), "## Sub"])
    assert working_set([calls(1, _read("a.md", headings))], 999, count).split("\n")[1:] == ["    # Top", "    ## Sub"]
    many = "\n".join(f"def f{n}():" for n in range(15))
    assert working_set([calls(1, _read("a.py", many))], 999, count).split("\n")[-2:] == [
        "    def f11():",
        "    ... 3 more definitions",
    ]


@pytest.mark.design("W-3a")
def test_only_lately_and_only_what_worked() -> None:
    old = [calls(1, _read("old.py")), *(says(n) for n in range(2, 41))]
    assert "old.py" in working_set(old, 999, count)
    assert working_set([*old, says(41)], 999, count) == ""
    failed = call("read", "no", "error", (Touch("a.py", "read"),))
    assert working_set([calls(1, failed)], 999, count) == ""
    assert working_set([], 999, count) == ""


@pytest.mark.design("W-3a")
def test_what_does_not_fit_keeps_its_line_then_its_name() -> None:
    history = [calls(n, _read(f"f{n}.py", f"r{n} a b c")) for n in range(1, 5)]  # 6 words a line, 4 below
    assert words(working_set(history, 40, words)) == 40
    assert working_set(history, 39, words).split("\n")[-2:] == ["    r2 a b c", "- f1.py (last read in m1)"]
    assert working_set(history, 24, words).count("\n") == 3
    assert working_set(history, 17, words).split("\n") == [
        "- f4.py (last read in m4)",
        "- f3.py (last read in m3)",
        "also in use: f2.py, f1.py",
    ]
    assert working_set(history, 16, words).split("\n")[-1] == "also in use: f2.py"
    assert working_set(history, 3, words) == ""


@pytest.mark.design("W-3")
def test_names_of_a_rendered_one() -> None:
    text = "- a.py (last read in m1)\n    x\n- b.py (last read in m2)\n    y"
    assert names_only(text, 99, words) == "- a.py (last read in m1)\n- b.py (last read in m2)"
    assert names_only(text, 11, words) == "- a.py (last read in m1)\nalso in use: b.py"
    assert names_only(text, 0, words) == ""


@pytest.mark.design("W-3a")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.text(max_size=200), st.booleans()), max_size=8), st.integers(0, 200))
def test_never_over_the_budget(rows: list[tuple[str, str, bool]], budget: int) -> None:
    history = [calls(n, _read(path, text) if read else _edit(path)) for n, (path, text, read) in enumerate(rows, 1)]
    assert count(working_set(history, budget, count)) <= budget


@pytest.mark.design("W-3a")
def test_whole_only_when_tiny() -> None:
    def below(text: str) -> int:
        return working_set([calls(1, _read("a.txt", text))], 9_999, count).count("\n")

    assert below("\n".join(["x"] * 12)) == 12
    assert below("\n".join(["x"] * 13)) == 0
    assert below("x" * 600) == 1
    assert below("x" * 601) == 0
