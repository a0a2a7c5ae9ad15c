"""Rule files that load at first touch (P-5)."""

import os
import sys
import time
from pathlib import Path

import pytest

from sojourn.config.settings import Instructions
from sojourn.prefix import nested_rules
from sojourn.prefix.sources import touched

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links and modes of POSIX")


@pytest.fixture(autouse=True)
def _nothing_remembered():
    touched._seen.clear()


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    for name in ("AGENTS.md", "a/AGENTS.md", "b/AGENTS.md", "b/deep/AGENTS.md"):
        put(folder / name, f"rules of {name}")
    return folder


def put(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")
    return path


def found(root, touched, *loaded, notes=None, **settings):
    files = nested_rules(root, touched, frozenset(loaded), Instructions(**settings), notes)
    return [str(file.path.relative_to(root)) for file in files]


@pytest.mark.design("P-5")
@pytest.mark.report(114)
def test_the_rules_of_a_folder_come_at_first_touch(repo):
    root = repo / "AGENTS.md"
    a, b, deep = repo / "a" / "AGENTS.md", repo / "b" / "AGENTS.md", repo / "b" / "deep" / "AGENTS.md"
    assert found(repo, repo / "b" / "deep" / "x.py", root, a) == ["b/AGENTS.md", "b/deep/AGENTS.md"], "farthest first"
    assert found(repo, repo / "b" / "new" / "y.py", root, a) == ["b/AGENTS.md"]
    assert found(repo, repo / "b" / "deep" / "x.py", root, b, deep) == []
    assert found(repo, repo / "b" / "deep", root, b) == ["b/deep/AGENTS.md"], "a folder that was listed"
    assert found(repo, Path("b/x.py"), root) == ["b/AGENTS.md"], "relative to the root"
    assert found(repo, repo / "x.py") == ["AGENTS.md"]
    files = nested_rules(repo, repo / "b" / "x.py", frozenset([root]), Instructions())
    assert [(file.text, file.real) for file in files] == [("rules of b/AGENTS.md", b)]
    assert files[0].stamps


@pytest.mark.design("P-5")
def test_names_and_claude_md_count_here_too(repo):
    put(repo / "a" / "CLAUDE.md", "c")
    put(repo / "c" / "CLAUDE.md", "c")
    root = repo / "AGENTS.md"
    assert found(repo, repo / "a" / "x", root) == ["a/AGENTS.md"]
    assert found(repo, repo / "a" / "x", root, claude_md="also") == ["a/AGENTS.md", "a/CLAUDE.md"]
    assert found(repo, repo / "c" / "x", root) == ["c/CLAUDE.md"]
    assert found(repo, repo / "c" / "x", root, claude_md="off") == []


@posix
@pytest.mark.design("P-5", "T-9")
def test_nothing_outside_the_root_and_nothing_of_dependencies(repo, tmp_path):
    root = repo / "AGENTS.md"
    put(tmp_path / "AGENTS.md", "above")
    put(tmp_path / "beside" / "AGENTS.md", "beside")
    (repo / "way").symlink_to(tmp_path / "beside")
    for place in (tmp_path / "beside" / "x", repo / "way" / "x", Path("../beside/x")):
        assert found(repo, place, root) == []
    for folder in ("node_modules/p", ".venv/lib/site-packages/p", ".git/hooks"):
        put(repo / folder / "AGENTS.md", "of a dependency")
        assert found(repo, repo / folder / "x", root) == []
    (repo / "c").mkdir()
    (repo / "c" / "AGENTS.md").symlink_to(tmp_path / "beside" / "AGENTS.md")
    notes = []
    assert found(repo, repo / "c" / "x", root, notes=notes) == []
    assert "leads out of" in notes[0].message


@posix
@pytest.mark.design("P-5", "T-9")
def test_outside_a_repository_folders_that_others_write_are_left_out(tmp_path):
    put(tmp_path / "w" / "open" / "AGENTS.md", "planted")
    put(tmp_path / "w" / "open" / "mine" / "AGENTS.md", "mine")
    (tmp_path / "w" / "open").chmod(0o777)
    assert found(tmp_path / "w", tmp_path / "w" / "open" / "mine" / "x") == ["open/mine/AGENTS.md"]
    (tmp_path / "w" / ".git").mkdir()
    assert found(tmp_path / "w", tmp_path / "w" / "open" / "x") == ["open/AGENTS.md"]


@pytest.mark.design("P-5")
def test_includes_links_and_the_same_file_twice(repo):
    root = repo / "AGENTS.md"
    put(repo / "c" / "AGENTS.md", "@more.md @../AGENTS.md @gone.md")
    put(repo / "c" / "more.md", "more")
    put(repo / "c" / "d" / "AGENTS.md", "../more.md")
    put(repo / "e" / "AGENTS.md", " \n")
    assert found(repo, repo / "c" / "d" / "x", root) == ["c/AGENTS.md", "c/more.md"]
    assert found(repo, repo / "c" / "d" / "x", root, repo / "c" / "more.md") == ["c/AGENTS.md"]
    assert found(repo, repo / "e" / "x", root) == []


@pytest.mark.design("P-5")
def test_a_folder_is_looked_through_once_while_its_time_stands(repo, monkeypatch):
    root = repo / "AGENTS.md"
    (repo / "c").mkdir()
    for folder in (repo, repo / "c"):
        os.utime(folder, (1, 1))
    looked = []
    real = os.path.lexists
    monkeypatch.setattr(os.path, "lexists", lambda path: looked.append(str(path)) or real(path))
    assert found(repo, repo / "c" / "x", root) == []
    assert len(looked) == 4
    assert found(repo, repo / "c" / "y", root) == []
    assert len(looked) == 4
    put(repo / "c" / "AGENTS.md", "new")
    assert found(repo, repo / "c" / "x", root) == ["c/AGENTS.md"], "the folder's time changed"
    assert found(repo, repo / "c" / "x", root, names=("OTHER.md",), claude_md="off") == []
    (repo / "c" / "AGENTS.md").unlink()
    assert found(repo, repo / "c" / "x", root) == []


@pytest.mark.design("P-5")
def test_a_folder_that_just_changed_is_not_remembered(repo, monkeypatch):
    (repo / "c").mkdir()
    made = (repo / "c").stat().st_mtime_ns
    root = repo / "AGENTS.md"
    monkeypatch.setattr(time, "time_ns", lambda: made + 100_000_000)
    found(repo, repo / "c" / "x", root)
    assert (repo / "c") not in [folder for folder, _ in touched._seen]
    monkeypatch.setattr(time, "time_ns", lambda: made + 100_000_001)
    found(repo, repo / "c" / "x", root)
    assert (repo / "c") in [folder for folder, _ in touched._seen]
