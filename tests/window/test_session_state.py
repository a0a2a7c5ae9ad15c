"""W-3 row 2b: mode, skills and the accepted plan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.window import skills_shown, state_section


def _text(*args: object, **more: object) -> str:
    section = state_section(*args, **more)  # type: ignore[arg-type]
    assert section is not None
    assert section.name == "state"
    return section.text


@pytest.mark.design("W-9", "Y-6")
@pytest.mark.report(111)
def test_the_mode_stands_in_one_line_with_what_it_means() -> None:
    assert _text("ask", "", 0) == "Mode ask: what changes files or runs commands is put before the user first."
    assert _text("accept-edits", "", 0).startswith("Mode accept-edits: edits of files are allowed, commands are put before")
    assert _text("plan", "", 0) == "Mode plan: look and plan, change nothing, until the user leaves plan mode."
    assert _text("full", "", 0) == "Mode full: edits and commands are allowed."
    assert _text("read\nonly", "", 0) == "Mode read only is in force."
    assert state_section("", "", 0) is None
    assert state_section("", " \n", 3) is None


@pytest.mark.design("W-9")
@pytest.mark.report(6)
@pytest.mark.report(110)
def test_the_accepted_plan_is_decided_with_how_far_its_steps_are() -> None:
    plan = "# The plan\n1. write\n2. test"
    assert _text("full", plan, 12, ["[done] write", "[open]\ntest"], ["review", "commit"]) == (
        "Mode full: edits and commands are allowed.\n\n"
        "Skills in use: review, commit. Their text is out of view: load one with the skill tool before you rely on it.\n\n"
        "DECIDED: the user accepted the plan below (m12). Carry it out; do not plan it again.\n"
        "Its steps so far:\n- [done] write\n- [open] test\n\n" + plan
    )
    assert (
        _text("", f"\n{plan}\n", 0)
        == f"DECIDED: the user accepted the plan below. Carry it out; do not plan it again.\n\n{plan}"
    )
    assert "steps so far" not in _text("full", "", 0, ["[done] write"])


@pytest.mark.design("W-9")
def test_a_long_plan_is_cut_in_its_middle() -> None:
    whole = "p" * 6_000
    assert _text("", whole, 7).endswith(f"\n\n{whole}")
    lines = [f"step {n:04} of a long plan" for n in range(400)]  # 25 characters with the line break
    shown = _text("", "\n".join(lines), 7).split("\n\n", 1)[1].split("\n")
    cut = next(index for index, line in enumerate(shown) if line.startswith("[... "))
    assert shown[:cut] == lines[: 3_800 // 25]
    assert shown[cut + 1 :] == lines[400 - 1_900 // 25 :]
    head, tail = "\n".join(shown[:cut]), "\n".join(shown[cut + 1 :])
    gone = len("\n".join(lines)) - len(head) - len(tail)
    assert shown[cut] == f"[... {gone:,} characters left out; whole: history read m7 ...]"
    one = _text("", "x" * 6_001, 0).split("\n\n", 1)[1].split("\n")
    assert [len(one[0]), len(one[2])] == [3_800, 1_900]
    assert one[1] == "[... 301 characters left out; whole: history search <words> ...]"


@pytest.mark.design("W-9")
def test_names_and_steps_are_cut() -> None:
    assert _text("m" * 81, "", 0) == f"Mode {'m' * 79}… is in force."
    assert _text("m" * 80, "", 0) == f"Mode {'m' * 80} is in force."
    shown = _text("", "plan", 0, ["s" * 200, "s" * 201]).split("\n")
    assert shown[2:4] == [f"- {'s' * 200}", f"- {'s' * 199}…"]


@pytest.mark.design("W-9", "R-10")
@given(st.lists(st.from_regex(r"[a-z0-9_-]{1,60}(?::[a-z0-9-]{1,15})?", fullmatch=True), max_size=10, unique=True))
def test_the_skills_that_a_section_names_are_read_off_it_again(names: list[str]) -> None:
    section = state_section("full", "1. write\n2. test", 4, skills=names)
    assert section is not None
    assert skills_shown(f"<state>\n{section.text}\n</state>") == tuple(names)
    assert skills_shown("Skills are in use: none.") == skills_shown("") == ()
