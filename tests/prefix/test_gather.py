"""Sources taken once, all at the same time (P-4), and again at the next window (W-9)."""

import asyncio
import shutil
import subprocess
import threading
import time
from datetime import date
from pathlib import Path

import pytest

from sojourn.config.settings import Instructions, Settings
from sojourn.meter import estimate_text, total
from sojourn.prefix import Wanted, build, changed_rules, gather, sections

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
WANTED = Wanted(tools=frozenset(["skill"]))


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repo"
    (folder / "pkg").mkdir(parents=True)
    (folder / ".git").mkdir()
    return folder


def put(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")
    return path


def taken(cwd, tmp_path, budget=2_000, settings=None, day=date(2026, 2, 3), **more):
    return asyncio.run(
        gather(
            cwd, settings or Settings(), budget_tokens=budget, config_folder=tmp_path / "config", home=tmp_path, day=day, **more
        )
    )


def snapshot(found):
    return build(sections(found, WANTED), [])


@pytest.mark.design("P-4", "P-7")
@pytest.mark.report(56)
def test_what_is_found_and_the_same_bytes_again(repo, tmp_path):
    rules = put(repo / "AGENTS.md", "Use tabs.")
    put(repo / ".agents" / "skills" / "ship" / "SKILL.md", "---\nname: ship\ndescription: Ships.\n---\nx")
    found = taken(repo / "pkg", tmp_path)
    assert (found.cwd, found.root, found.day) == (repo / "pkg", repo, date(2026, 2, 3))
    assert "Use tabs." in found.rules
    assert [file.path for file in found.loaded] == [rules]
    assert found.real_paths == {rules.resolve()}
    assert [stamp.path for stamp in found.stamps] == [str(rules)]
    assert [skill.name for skill in found.skills] == ["ship"]
    kinds = {note.path: note.kind for note in found.notes}
    assert kinds[str(rules)] == "loaded"
    assert kinds[str(tmp_path / "config" / "AGENTS.md")] == "absent"
    assert kinds[str(repo / ".agents/skills/ship/SKILL.md")] == "loaded"
    assert snapshot(found) == snapshot(taken(repo / "pkg", tmp_path))


@needs_git
@pytest.mark.design("P-4")
def test_whether_it_is_a_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "a" / "b").mkdir(parents=True)
    found = taken(tmp_path / "a" / "b", tmp_path)
    assert (found.repository, found.git.kind, found.root) == (False, "none", tmp_path / "a" / "b")
    subprocess.run(["git", "init", "-q", str(tmp_path / "a")], check=True)
    found = taken(tmp_path / "a" / "b", tmp_path)
    assert (found.repository, found.git.kind, found.root) == (True, "repository", tmp_path / "a")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = taken(tmp_path / "a" / "b", tmp_path)
    assert (found.repository, found.git.kind) == (True, "no_git"), "without git the folder tells"
    assert taken(tmp_path, tmp_path).repository is False


@pytest.mark.design("P-4")
def test_the_day_is_the_local_one(repo, tmp_path):
    before = date.today()
    found = taken(repo, tmp_path, day=None)
    assert before <= found.day <= date.today()


@pytest.mark.design("P-4")
def test_one_deadline_for_everything(repo, tmp_path, monkeypatch):
    put(repo / "AGENTS.md", "there")
    hung = threading.Event()
    daemons = []

    def slow(*_arguments):
        daemons.append(threading.current_thread().daemon)
        hung.wait(20)
        return (), ()

    monkeypatch.setattr("sojourn.prefix.gathering.find_skills", slow)
    started = time.monotonic()
    found = taken(repo, tmp_path, seconds=2)
    assert 1.9 < time.monotonic() - started < 10
    hung.set()
    assert daemons == [True], "a hanging file system does not hold up the end of the program"
    assert found.skills == ()
    assert "there" in found.rules, "slow skills do not take the rules with them"
    assert [note.message for note in found.notes if "in time" in note.message] == [
        "the skills could not be read in time: left out of this window"
    ]
    hung.clear()
    monkeypatch.setattr("sojourn.prefix.gathering.find", slow)
    found = taken(repo, tmp_path, seconds=0.3)
    hung.set()
    assert (found.rules, found.loaded, found.root) == ("", (), repo)
    assert [note.message.split(" could")[0] for note in found.notes if "in time" in note.message] == [
        "the rule files",
        "the skills",
    ]
    assert sections(found, WANTED)


@pytest.mark.design("P-4")
def test_a_fault_in_a_source_is_not_hidden(repo, tmp_path, monkeypatch):
    def broken(*_arguments):
        raise ZeroDivisionError

    monkeypatch.setattr("sojourn.prefix.gathering.find_skills", broken)
    with pytest.raises(ZeroDivisionError):
        taken(repo, tmp_path)


@pytest.mark.design("W-4", "P-5", "P-6")
def test_rules_and_skills_share_one_budget(repo, tmp_path):
    put(repo / "AGENTS.md", "a rule that is long enough\n" * 2_000)
    for number in range(60):
        put(repo / f".sojourn/skills/s{number:02}/SKILL.md", f"---\nname: s{number:02}\ndescription: {'words ' * 30}\n---\n")
    found = taken(repo, tmp_path, budget=1_200)
    rules = total(estimate_text(found.rules))
    listed = next(one for one in sections(found, WANTED) if one.name == "skills")
    assert 850 < rules <= 900, "three quarters are the rules'"
    assert found.skills_room == 1_200 - rules
    assert 200 < listed.tokens <= found.skills_room
    (repo / "AGENTS.md").unlink()
    assert taken(repo, tmp_path, budget=1_200).skills_room == 1_200
    put(repo / "AGENTS.md", "a rule that is long enough\n" * 2_000)
    shutil.rmtree(repo / ".sojourn")
    assert total(estimate_text(taken(repo, tmp_path, budget=1_200).rules)) > 1_150, "no skills: all of it is the rules'"


@pytest.mark.design("W-9", "P-4", "P-5", "P-7")
@pytest.mark.report(11, 12, 13, 55)
def test_rules_are_whole_at_every_window_and_a_change_waits_for_the_next(repo, tmp_path):
    rules = put(repo / "AGENTS.md", "Never do Z.\nNo trailers in commits.")
    mine = put(tmp_path / "config" / "AGENTS.md", "Answer in English.")
    first = taken(repo, tmp_path)
    for _ in range(3):
        again = taken(repo, tmp_path)
        assert snapshot(again) == snapshot(first)
        for rule in ("Never do Z.", "No trailers in commits.", "Answer in English."):
            assert rule in again.rules
    assert changed_rules(first.stamps) == ()
    put(rules, "Never do Z.\nTrailers are fine.")
    assert [(change.path, change.kind) for change in changed_rules(first.stamps)] == [(str(rules), "changed")]
    assert "No trailers" in first.rules, "what was taken stays as it is"
    following = taken(repo, tmp_path)
    assert "Trailers are fine." in following.rules
    assert "Answer in English." in following.rules
    old, new = snapshot(first), snapshot(following)
    assert (old.system, old.tools) == (new.system, new.tools)
    differing = [one.section for one, two in zip(old.context, new.context, strict=True) if one != two]
    assert differing == ["instructions"]
    mine.unlink()
    assert [change.kind for change in changed_rules(first.stamps)] == ["gone", "changed"]


@pytest.mark.design("P-5")
def test_settings_reach_the_search(repo, tmp_path):
    put(repo / "CLAUDE.md", "theirs")
    assert "theirs" in taken(repo, tmp_path).rules
    off = taken(repo, tmp_path, settings=Settings(instructions=Instructions(claude_md="off")))
    assert off.rules == ""


@pytest.mark.design("P-4", "P-6")
def test_the_users_home_is_the_systems_where_none_is_given(repo, tmp_path, monkeypatch):
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    put(tmp_path / "own/.agents/skills/mine/SKILL.md", "---\nname: mine\ndescription: x\n---\n")
    put(tmp_path / "other/.agents/skills/other/SKILL.md", "---\nname: other\ndescription: x\n---\n")

    def names(home):
        call = gather(repo, Settings(), budget_tokens=1_000, config_folder=tmp_path / "config", home=home)
        return [skill.name for skill in asyncio.run(call).skills]

    assert names(None) == ["mine"]
    assert names(tmp_path / "other") == ["other"]
