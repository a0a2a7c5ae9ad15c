"""W-3a: files in use."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.record import Message, ToolCall, Touch
from sojourn.window import working_set
from sojourn.window.working_set import names_only
from window.making import call, calls, count, says, user, words

_SOURCE = "\n".join(
    [
        '"""Reads settings."""',
        "import os",
        *(f"    x = {n}" for n in range(3, 30)),
        "class Reader:",
        "    def read(self, path):",
        "        return 1",
    ]
)


def _read(path: str, result: str = "tiny", lines: tuple[int, int] | None = None) -> ToolCall:
    return call("read", result, touches=(Touch(path, "read", lines),), path=path)


def _edit(path: str, old: str = "", new: str = "", kind: str = "edit") -> ToolCall:
    return call("edit", "ok", touches=(Touch(path, kind),), old_string=old, new_string=new)  # type: ignore[arg-type]


def _shown(*messages: Message, budget: int = 9_999, **more: object) -> list[str]:
    return working_set(messages, budget, count, **more).split("\n")  # type: ignore[arg-type]


@pytest.mark.design("W-3a")
def test_a_line_a_file_with_what_was_done_its_length_and_what_it_says_of_itself() -> None:
    assert _shown(user(1), calls(2, _read("/r/src/a.py", _SOURCE)), root="/r") == [
        "- src/a.py (read m2; 32 lines): Reads settings.",
        "  30:class Reader:",
        "  31:    def read(self, path):",
    ]
    assert _shown(calls(3, _edit("b.py"))) == ["- b.py (edited m3)"]
    assert _shown(calls(3, _edit("b.py", kind="write"))) == ["- b.py (written m3)"]
    assert _shown(calls(3, call("bash", "", command="echo x >> b.py"))) == ["- b.py (changed m3)"]
    assert _shown(calls(3, call("bash", "x", command="cd q; cat b.py"))) == ["- b.py (read m3)"]
    assert _shown(calls(3, _read("b.py", "\n".join(["x"] * 13), (5, 17)))) == [
        "- b.py (read m3)",
        *(f"  {n}:x" for n in range(5, 18)),
    ]
    assert _shown(calls(3, _read("b.py", "x\n\n"))) == ["- b.py (read m3; 2 lines): x", "  1:x"]
    assert _shown(calls(3, _read("b.py", "x"))) == ["- b.py (read m3; 1 line): x", "  1:x"]


@pytest.mark.design("W-3a")
def test_those_used_most_and_last_come_first() -> None:
    history = [
        calls(1, _read("twice.py", "x = 1")),
        calls(2, _read("once.py", "x = 1"), _read("twice.py", "x = 1")),
        calls(3, _read("last.py", "x = 1")),
        calls(4, _edit("edited.py")),
    ]
    heads = [line for line in _shown(*history) if line.startswith("- ")]
    assert [head.split(" ")[1] for head in heads] == ["edited.py", "twice.py", "last.py", "once.py"]


@pytest.mark.design("W-3a")
@pytest.mark.parametrize(
    ("text", "telling"),
    [
        ('"""Reads settings."""\nimport os', "Reads settings."),
        ('"""\nReads settings.\n\nMore.\n"""', "Reads settings."),
        ("'''Reads settings.'''", "Reads settings."),
        ("#!/bin/sh\n# Copyright 2026\n\n# Builds the thing.\nset -e", "Builds the thing."),
        ("# Title of a page\n\ntext", "Title of a page"),
        ("// Package p does x.\npackage p", "Package p does x."),
        ('package p\n\nimport (\n\t"os"\n\t"fmt"\n)\n\n// F does x.\nfunc F() {', "F does x."),
        ('import a from "a";\nimport {\n\tB,\n\tC\n} from "b";\n\n/**\n * Draws it.\n */', "Draws it."),
        ('"use strict";\nconst x = 1;', "const x = 1;"),
        ("<?php\nnamespace A;", "namespace A;"),
        ("<!-- The page. -->\n<html>", "The page."),
        ("plain words\nmore", "plain words"),
        ("\n" * 40 + "too late", ""),
        ("\n" * 39 + "just so", "just so"),
        ("x" * 121, "x" * 119 + "…"),
    ],
)
def test_the_first_line_that_tells_something(text: str, telling: str) -> None:
    head = _shown(calls(1, _read("a", text)))[0]
    assert head.partition(" lines")[2].removeprefix(")").removeprefix(": ") == telling or head.endswith(f"line): {telling}")


@pytest.mark.design("W-3a")
def test_nothing_is_told_of_a_beginning_that_was_not_seen() -> None:
    later = _read("a.py", "def f():\n    pass", (7, 8))
    assert _shown(calls(1, later))[0] == "- a.py (read m1)"
    first = _read("a.py", '[a.py: lines 1-1 of 90]\n"""Told."""', (1, 1))
    assert _shown(calls(1, later), calls(2, first))[0] == "- a.py (read m2; 90 lines): Told."


@pytest.mark.design("W-3a")
def test_changed_since_it_was_read_is_marked() -> None:
    append = call("bash", "", command="echo x >> a.py")
    assert (
        _shown(calls(1, _read("a.py")), calls(2, append))[0] == "- a.py (changed m2; 1 line; changed since it was read): tiny"
    )
    assert "since" not in _shown(calls(1, append), calls(2, _read("a.py")))[0]
    assert "since" not in _shown(calls(1, append))[0]
    placed = _shown(calls(1, _read("a.py", "a\nb")), calls(2, _edit("a.py", "b", "B\nC")))
    assert placed == ["- a.py (edited m2; 3 lines): a", "  1:a", "  2:B", "  3:C"]
    lost = _shown(calls(1, _read("a.py", "a\nb")), calls(2, _edit("a.py", "q", "Q")))
    assert lost == ["- a.py (edited m2; 2 lines; changed since it was read): a", "  +Q"]


@pytest.mark.design("W-3a")
def test_whole_only_when_tiny() -> None:
    def below(text: str) -> int:
        return len(_shown(calls(1, _read("a.txt", text)))) - 1

    assert below("\n".join(["x"] * 12)) == 12
    assert below("\n".join(["x"] * 13)) == 0
    assert below("x" * 600) == 1
    assert below("x" * 601) == 0
    assert len(_shown(calls(1, _read("a.txt", "x", (2, 2))))) == 2  # a part that was wanted for itself, not a whole file


@pytest.mark.design("W-3a")
def test_lines_in_use_and_definitions_within_100_tokens() -> None:
    many = "\n".join(["import os", *(f"def f{n}():\n    return {n}" for n in range(200))])

    def shown(*messages: Message) -> list[int]:
        lines = working_set(messages, 9_999, words).split("\n")[1:]
        assert sum(words(line) for line in lines) <= 100
        return [int(line.strip().partition(":")[0]) for line in lines]

    read = calls(1, _read("a.py", many))
    numbers = shown(read)
    assert numbers == list(range(2, 2 * len(numbers) + 2, 2))  # the first definitions, no line between left out
    assert 10 < len(numbers) < 20
    edited = shown(read, calls(2, _edit("a.py", "    return 150", "    return 151")))
    assert edited == sorted(edited)
    assert 303 in edited
    assert len(edited) == len(numbers)
    pointed = shown(read, says(2, "a.py:399 is wrong"))
    assert 399 in pointed
    assert 399 not in numbers
    fit = "\n".join([*("x" for _ in range(12)), *(f"def f{n}(): {'w ' * 23}" for n in range(4))])  # 25 words each
    assert working_set([calls(1, _read("a.py", fit))], 9_999, lambda text: words(text.replace(":def", " def"))).count("\n") == 3
    assert working_set([calls(1, _read("a.py", fit))], 9_999, words).count("\n") == 4
    last = shown(read, calls(2, _edit("a.py", "f199", "f_199")))
    assert 400 in last


@pytest.mark.design("W-3a")
def test_lines_are_cut_and_keep_their_indentation() -> None:
    text = "\n".join(["x = 1"] * 20 + ["\tdef f():  ", "class " + "C" * 200])
    assert _shown(calls(1, _read("a.py", text)))[1:] == ["  21:\tdef f():", "  22:class " + "C" * 114]


@pytest.mark.design("W-3a")
def test_only_lately_and_only_what_worked() -> None:
    old = [calls(1, _read("old.py")), *(says(n) for n in range(2, 61))]
    assert _shown(*old)[0].startswith("- old.py")
    assert _shown(*old, says(61)) == [""]
    assert _shown(calls(1, call("read", "no", "error", (Touch("a.py", "read"),)))) == [""]
    assert _shown() == [""]


@pytest.mark.design("W-3a")
def test_the_set_before_is_carried_over_while_it_is_recent() -> None:
    before = "\n\n# Working set\n\n" + "\n".join(
        [
            "- a.py (read m10; 40 lines): Reads (some) settings: all.",
            "  7:def f():",
            "  +    new = 1",
            "- b.py (edited m4; changed since it was read)",
            "  9:x = 1",
            "also in use: c.py, d.py",
        ]
    )
    assert _shown(says(20), before=before) == before.split("\n")[4:-1]
    cold = _shown(says(63), before=before)  # lines go cold before their file does; what a definition says stays
    assert cold == [before.split("\n")[4], "  7:def f():", "- b.py (edited m4; changed since it was read)"]
    assert _shown(says(64), before=before) == cold[:2]
    assert _shown(says(69), before=before) == cold[:2]
    assert _shown(says(70), before=before) == [""]
    assert _shown(before=before)[0].startswith("- a.py (read m10")


@pytest.mark.design("W-3a")
def test_what_came_after_is_carried_out_on_what_was_carried_over() -> None:
    before = "- a.py (read m10; 40 lines): Told.\n  7:def f():\n  8:    x = 1"
    edit = _edit("a.py", "x = 1", "x = 2\n    y = 3")
    assert _shown(calls(12, edit), before=before) == [
        "- a.py (edited m12; 41 lines): Told.",
        "  7:def f():",
        "  8:    x = 2",
        "  9:    y = 3",
    ]
    # A message that the set before has taken in already changes nothing a second time.
    after = "- a.py (edited m12; 41 lines): Told.\n  8:    x = 2\n  9:    y = 3"
    assert _shown(calls(12, edit), says(13), before=after) == after.split("\n")
    # Where the messages hold a reading from before, all of it is worked out anew.
    again = _shown(calls(11, _read("a.py", "def f():\n    x = 1\n" + "\n" * 40)), calls(12, edit), before=after)
    assert again == ["- a.py (edited m12; 43 lines): def f():", "  1:def f():", "  2:    x = 2", "  3:    y = 3"]


@pytest.mark.design("W-3a")
def test_a_carried_file_weighs_what_is_left_of_one_reading() -> None:
    before = "- old.py (read m9)\n- new.py (read m11)"
    heads = _shown(calls(12, _read("mid.py", "x", (2, 2)), _edit("old.py")), before=before)
    assert [line.split(" ")[1] for line in heads if line.startswith("- ")] == ["old.py", "mid.py", "new.py"]


@pytest.mark.design("W-3a")
def test_what_was_carried_over_is_not_counted_beside_itself() -> None:
    def first(*messages: Message) -> str:
        return _shown(*messages, before="- old.py (read m9)")[0].split(" ")[1]

    assert first(calls(9, _read("old.py")), calls(10, _read("mid.py"))) == "mid.py"
    assert first(calls(9, _read("old.py")), calls(10, _read("old.py"), _read("mid.py"), _read("mid.py"))) == "mid.py"
    assert first(calls(10, _read("old.py"), _read("mid.py"))) == "old.py"
    anew = _shown(calls(9, _read("old.py", _SOURCE)), before="- old.py (read m9)\n  5:    x = 5")
    assert anew[:2] == ["- old.py (read m9; 32 lines): Reads settings.", "  30:class Reader:"]


@pytest.mark.design("W-3a")
def test_the_present_text_goes_before_what_was_seen() -> None:
    history = [calls(1, _read("/r/a.py", _SOURCE)), calls(2, _edit("/r/a.py", "    x = 9", "    y = 9"))]
    assert _shown(*history, root="/r")[1] == "  9:    y = 9"
    present = "# Now.\n" + _SOURCE.replace("    x = 9", "    y = 9") + "\n"
    assert _shown(*history, root="/r", present={"/r/a.py": present, "/r/b.py": "never used"}) == [
        "- a.py (edited m2; 33 lines): Now.",
        "  10:    y = 9",
        "  31:class Reader:",
        "  32:    def read(self, path):",
    ]
    append = calls(3, call("bash", "", command="echo x >> a.py"))
    assert "since" in _shown(*history, append, root="/r")[0]
    assert "since" not in _shown(*history, append, root="/r", present={"a.py": present})[0]
    assert _shown(*history, root="/r", present={"a.py": ""}) == ["- a.py (edited m2)"]


@pytest.mark.design("W-3a")
def test_a_warm_line_is_found_again_at_the_place_nearest_to_where_it_was() -> None:
    known = "\n".join([*("x = 1" for _ in range(30)), "same", *("x = 2" for _ in range(30))])
    present = "\n".join(["same", *("x = 1" for _ in range(31)), "same", *("x = 2" for _ in range(30)), "same"])
    history = [calls(1, _read("a.py", known)), says(2, "a.py:31")]
    assert _shown(*history)[1:] == ["  31:same"]
    assert _shown(*history, present={"a.py": present})[1:] == ["  33:same"]


@pytest.mark.design("W-3a")
def test_headings_outline_prose_and_nothing_else() -> None:
    text = "\n".join(["# Top", *("words" for _ in range(20)), "## Sub", "#hash"])
    assert _shown(calls(1, _read("a.md", text)))[1:] == ["  1:# Top", "  22:## Sub"]
    assert _shown(calls(1, _read("a.py", text)))[1:] == []


@pytest.mark.design("W-3a")
def test_what_does_not_fit_keeps_its_line_then_its_name() -> None:
    history = [calls(n, _read(f"f{n}.py", f"r{n} a b c")) for n in range(1, 5)]  # 10 words a line, 4 below
    assert words(working_set(history, 56, words)) == 56
    assert working_set(history, 55, words).split("\n")[-3:] == [
        "- f2.py (read m2; 1 line): r2 a b c",
        "  1:r2 a b c",
        "- f1.py (read m1; 1 line): r1 a b c",
    ]
    assert working_set(history, 40, words).count("\n") == 3
    assert working_set(history, 24, words).split("\n") == [
        "- f4.py (read m4; 1 line): r4 a b c",
        "- f3.py (read m3; 1 line): r3 a b c",
        "also in use: f2.py",
    ]
    assert working_set(history, 25, words).split("\n")[-1] == "also in use: f2.py, f1.py"
    assert working_set(history, 15, words).split("\n")[-1] == "also in use: f3.py, f2.py"
    assert working_set(history, 3, words) == ""


@pytest.mark.design("W-3")
def test_names_of_a_rendered_one() -> None:
    text = "- a.py (read m1): Telling\n  1:x\n- b.py (read m2; 9 lines)\n  +y"
    assert names_only(text, 99, words) == "- a.py (read m1): Telling\n- b.py (read m2; 9 lines)"
    assert names_only(text, 9, words) == "- a.py (read m1): Telling\nalso in use: b.py"
    assert names_only(text, 0, words) == ""


_PATHS = st.sampled_from(["a.py", "b.py", "/r/c d.md"])
_BODIES = st.text("ab \n\t#:→1", max_size=80) | st.sampled_from([_SOURCE, "def f():\n    pass"])


@pytest.mark.design("W-3a", "N6")
@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(_PATHS, _BODIES, st.sampled_from(["read", "edit", "shell"])), max_size=8), st.integers(0, 300))
def test_never_over_the_budget_the_same_twice_and_carried_on_as_it_was(rows: list[tuple[str, str, str]], budget: int) -> None:
    make = {
        "read": _read,
        "edit": lambda path, text: _edit(path, text[:3], text[3:]),
        "shell": lambda path, text: call("bash", text, command=f"cat '{path}'"),
    }
    history = [calls(n, make[kind](path, text)) for n, (path, text, kind) in enumerate(rows, 1)]
    shown = working_set(history, budget, count, root="/r")
    assert count(shown) <= budget
    assert shown == working_set(history, budget, count, root="/r")
    assert all(line.startswith(("- ", "  ", "also in use: ")) for line in shown.split("\n") if line)
    heads = [line for line in shown.split("\n") if line.startswith("- ")]
    carried = working_set([says(len(rows) + 1)], budget, count, before=shown, root="/r")
    assert {line.split(" (")[0] for line in carried.split("\n") if line.startswith("- ")} == {
        head.split(" (")[0] for head in heads
    }
