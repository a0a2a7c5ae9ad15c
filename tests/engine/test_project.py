"""A project is its repository, whatever folder one stands in (R-1)."""

import subprocess
from pathlib import Path

import pytest

from sojourn.engine.project import project_of


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.mark.design("R-1")
def test_worktrees_and_subfolders_share_a_project_and_others_do_not(tmp_path: Path) -> None:
    main = tmp_path / "main"
    (main / "src").mkdir(parents=True)
    git(main, "init", "-q")
    assert project_of(str(main)) == str(main)  # no commit yet
    project_of.cache_clear()
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(tmp_path / "branch"))
    mine = project_of(str(main))
    assert mine.startswith("git:")
    assert {project_of(str(main / "src")), project_of(str(tmp_path / "branch"))} == {mine}
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "another first")
    assert project_of(str(other)) != mine
    assert project_of(str(tmp_path)) == str(tmp_path)
    assert project_of("/nowhere/at/all") == "/nowhere/at/all"
    assert project_of("") == ""
