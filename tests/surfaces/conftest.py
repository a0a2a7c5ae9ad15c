"""A record of its own for every test of the command line."""

from pathlib import Path

import pytest

from surfaces.running import Command, in_process


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """SOJOURN_HOME, fresh, English, no colours; the working directory is empty."""
    folder, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("SOJOURN_HOME", str(folder))
    for name, value in (("LC_ALL", "C.UTF-8"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(work)
    return folder


@pytest.fixture
def sojourn(home: Path, capfd: pytest.CaptureFixture[str]) -> Command:
    """The real command, in this process."""
    return in_process(capfd)
