"""Rules that a person keeps for other agents: found, offered once, copied when they say so (P-5, S-1)."""

import io
import subprocess
from pathlib import Path

import pytest

from surfaces.running import Command, in_own_process, put, talk
from surfaces.test_run_command import FakeAgent, agent  # noqa: F401 (agent: a fixture)

pytestmark = pytest.mark.design("P-5", "S-1")


@pytest.fixture
def kept(home: Path) -> tuple[Path, Path]:
    """Rules for two other agents in the person's home folder."""
    person = Path.home()
    assert person != home
    found = person / ".claude" / "CLAUDE.md", person / ".codex" / "AGENTS.md"
    for path in found:
        path.parent.mkdir(parents=True)
        path.write_text(f"rules of {path.parent.name}\n")
    return found


def typed(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(words))


def test_doctor_says_what_was_found_and_how_to_copy_it(sojourn: Command, home: Path, kept: tuple[Path, Path]) -> None:
    claude, codex = kept
    done = sojourn("doctor")
    offer = f"Rules that you keep for other agents: {claude}, {codex}. To copy them here: sojourn doctor --copy-rules {claude}"
    assert done.code == 0, "nothing is wrong"
    assert offer in done.out.splitlines()
    row = sojourn("doctor", "--json").row
    assert (row["rules"], row["rules_elsewhere"], row["findings"]) == (None, [str(claude), str(codex)], [])
    assert "copied" not in row
    own = home / "config" / "AGENTS.md"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    done = sojourn("doctor")
    assert offer not in done.out
    assert f"other agents: {claude}, {codex}. You have your own here, so they are not read.\n" in done.out
    assert sojourn("doctor", "--json").row["rules"] == str(own)


def test_where_nothing_is_found_nothing_is_said(sojourn: Command) -> None:
    assert "other agents" not in sojourn("doctor").out
    assert sojourn("doctor", "--json").row["rules_elsewhere"] == []


def test_a_copy_is_made_when_the_person_says_yes(
    sojourn: Command, home: Path, kept: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    claude, codex = kept
    own = home / "config" / "AGENTS.md"
    typed(monkeypatch, "")
    unanswered = sojourn("doctor", "--copy-rules", codex)
    assert unanswered.code == 2
    assert unanswered.err.startswith(f"Copy {codex} to {own}? Every window that opens from then on reads it. [y/N] ")
    assert "nobody answered" in unanswered.err
    typed(monkeypatch, "n\n")
    assert "the answer was no" in sojourn("doctor", "--copy-rules", codex).err
    assert not own.exists()
    typed(monkeypatch, "y\n")
    done = sojourn("doctor", "--copy-rules", codex)
    assert done.code == 0
    assert f"{own} is written: every window that opens from now on reads it.\n" in done.out
    assert own.read_text() == "rules of .codex\n"
    assert codex.read_text() == "rules of .codex\n"
    assert own.stat().st_mode & 0o777 == 0o600
    again = sojourn("doctor", "--copy-rules", claude, "--yes")
    assert again.code == 2
    assert f"{own} is there already" in again.err
    assert own.read_text() == "rules of .codex\n", "never replaced"
    unasked = sojourn("doctor", "--copy-rules", claude)
    assert "is there already" in unasked.err
    assert "[y/N]" not in unasked.err, "no question whose yes would do nothing"


def test_a_copy_without_a_question(sojourn: Command, home: Path, kept: tuple[Path, Path]) -> None:
    claude, _ = kept
    row = sojourn("doctor", "--copy-rules", claude, "--yes", "--json").row
    assert (row["copied"], row["rules"]) == (str(home / "config" / "AGENTS.md"),) * 2
    missing = sojourn("doctor", "--copy-rules", "nowhere.md", "--yes")
    assert (missing.code, missing.err) == (
        2,
        "sojourn: nowhere.md: there is no such file\n  Check its name, and the folder that you are in.\n",
    )


def offers(text: str) -> int:
    return text.count("sojourn doctor --copy-rules")


def test_the_very_first_run_offers_it_once(
    sojourn: Command,
    home: Path,
    kept: tuple[Path, Path],
    agent: type[FakeAgent],  # noqa: F811
    tmp_path: Path,
) -> None:
    done = sojourn("run", "--trust", "x")
    assert offers(done.err) == 1
    assert offers(done.out) == 0
    assert offers(sojourn("run", "--output", "json", "x").err) == 1, "no session has come of it yet"
    sojourn("import", put(tmp_path / "a.jsonl", talk(1)))
    assert offers(sojourn("run", "x").err) == 0


def test_no_offer_where_there_are_rules_or_none_are_found(
    sojourn: Command,
    home: Path,
    kept: tuple[Path, Path],
    agent: type[FakeAgent],  # noqa: F811
) -> None:
    sojourn("doctor", "--copy-rules", kept[0], "--yes")
    assert offers(sojourn("run", "x").err) == 0
    (home / "config" / "AGENTS.md").unlink()
    assert offers(sojourn("run", "x").err) == 1
    for path in kept:
        path.unlink()
    assert offers(sojourn("run", "x").err) == 0


def test_a_real_first_run(home: Path, kept: tuple[Path, Path]) -> None:
    arguments = ("run", "--trust", "--model", "scripted", "--mode", "plan", "look around")
    assert offers(in_own_process(home, *arguments, stdin=subprocess.DEVNULL).err) == 1
    assert offers(in_own_process(home, *arguments, stdin=subprocess.DEVNULL).err) == 0, "there is a session now"
