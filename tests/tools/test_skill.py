"""The ``skill`` tool by itself: whole up to its bound, and what is wrong with a skill is said (P-6)."""

import asyncio
from pathlib import Path

import pytest

from sojourn.prefix import find_skills
from sojourn.tools import Outcome, run, skill_tool, subject_of
from tools.desks import hands

pytestmark = pytest.mark.design("P-6", "Y-5")

HEAD = "---\nname: one\ndescription: d\n---\n"


def loaded(root: Path, text: str, name: str = "one", *, home: Path | None = None) -> Outcome:
    path = (home or root) / ".agents" / "skills" / "one" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(HEAD + "first")
    skills, _ = find_skills(root, root / "config", home or root / "home")
    path.write_text(text)

    async def main() -> Outcome:
        async with hands(root) as at:
            return await run(skill_tool(lambda: skills), {"name": name}, at.desk)

    return asyncio.run(main())


def test_the_text_of_now_not_of_when_it_was_found(tmp_path: Path) -> None:
    outcome = loaded(tmp_path, HEAD + "\n\nsecond\n\n")
    assert (outcome.error, outcome.touches) == (False, ())
    assert outcome.text == "[skill one; paths in it start from .agents/skills/one]\nsecond"


def test_a_skill_of_the_persons_is_shown_by_its_whole_path(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "work").mkdir()
    outcome = loaded(tmp_path / "work", HEAD + "second", home=home)
    assert outcome.text == f"[skill one; paths in it start from {home / '.agents' / 'skills' / 'one'}]\nsecond"


@pytest.mark.parametrize(("more", "cut"), [(0, False), (1, True)])
def test_it_is_bounded_and_says_so(tmp_path: Path, more: int, cut: bool) -> None:
    lines = "a line of it\n" * 9_000
    text = (HEAD + lines)[: 100_000 - 4] + "end\n" + "x" * more
    outcome = loaded(tmp_path, text)
    assert not outcome.error
    assert outcome.text.endswith("\n[cut here; the rest: read .agents/skills/one/SKILL.md]") is cut
    assert outcome.text.count("\na line of it\n") > 3_000, "whole lines"
    assert cut or outcome.text.endswith("end")
    assert len(outcome.text) < 100_200


def test_what_cannot_be_read_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    outcome = loaded(tmp_path, HEAD, "two")
    assert (outcome.error, outcome.text) == (True, "there is no skill two\nKnown: one.")
    path = tmp_path / ".agents" / "skills" / "one" / "SKILL.md"
    skills, _ = find_skills(tmp_path, tmp_path / "config", tmp_path / "home")
    path.unlink()
    secret = tmp_path.parent / f"{tmp_path.name}-secret"
    secret.write_text("secret")
    path.symlink_to(secret)

    async def main() -> Outcome:
        async with hands(tmp_path) as at:
            tool = skill_tool(lambda: skills)
            assert [subject_of(tool, {"name": name}, at.desk) for name in ("/a", "a", "//a", "a/b")] == ["a", "a", "/a", "a/b"]
            assert subject_of(tool, {}, at.desk) == ""
            return await run(tool, {"name": "one"}, at.desk)

    outcome = asyncio.run(main())
    assert outcome.error
    assert outcome.text.startswith("the skill one cannot be read: it leads out of")
    assert "secret" not in outcome.text.replace(str(secret), "")
