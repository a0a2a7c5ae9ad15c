import os
import stat
import sys
from pathlib import Path

import platformdirs
import pytest

from sojourn.base import WorkFailed
from sojourn.config import Folders, ensure_private, folders


@pytest.mark.design("S-9")
def test_one_variable_moves_everything(tmp_path: Path) -> None:
    assert folders({"SOJOURN_HOME": str(tmp_path)}) == Folders(tmp_path / "data", tmp_path / "config", tmp_path / "cache")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.design("S-9")
def test_a_relative_or_tilde_home_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert folders({"SOJOURN_HOME": "here"}).data == tmp_path / "here" / "data"
    if sys.platform != "win32":
        assert folders({"SOJOURN_HOME": "~/there"}).cache == tmp_path / "me" / "there" / "cache"


@pytest.mark.design("S-9")
@pytest.mark.parametrize("environ", [{}, {"SOJOURN_HOME": ""}, {"SOJOURN_HOME": "  "}])
def test_without_it_the_platform_decides(environ: dict[str, str]) -> None:
    got = folders(environ)
    assert got.data == platformdirs.user_data_path("sojourn", appauthor=False)
    assert got.config == platformdirs.user_config_path("sojourn", appauthor=False)
    assert got.cache == platformdirs.user_cache_path("sojourn", appauthor=False)


@pytest.mark.skipif(sys.platform == "win32", reason="folder modes are POSIX")
def test_folders_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = ensure_private(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert made == tmp_path / "a" / "b"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (made, made.parent)] == [0o700, 0o700]


@pytest.mark.skipif(sys.platform == "win32", reason="folder modes are POSIX")
def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    there.chmod(0o755)
    assert ensure_private(there) == there
    assert stat.S_IMODE(there.stat().st_mode) == 0o755


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(WorkFailed) as caught:
            ensure_private(path)
        assert str(path) in str(caught.value)
        assert "SOJOURN_HOME" in caught.value.next_step
