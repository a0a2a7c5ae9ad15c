"""A record of its own for every test of the command line."""

from pathlib import Path

import pytest

from surfaces.running import Command, in_process


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """SOJOURN_HOME, fresh, English, no colours; the working directory is empty, so is the person's home folder."""
    folder, work, person = tmp_path / "home", tmp_path / "work", tmp_path / "person"
    work.mkdir()
    person.mkdir()
    monkeypatch.setenv("SOJOURN_HOME", str(folder))
    for name, value in (("LC_ALL", "C.UTF-8"), ("COLUMNS", "80"), ("HOME", str(person)), ("USERPROFILE", str(person))):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sojourn.surfaces.catalogue._Voice.language", "en")  # and back, whatever the test speaks
    monkeypatch.chdir(work)
    return folder


@pytest.fixture
def sojourn(home: Path, capfd: pytest.CaptureFixture[str]) -> Command:
    """The real command, in this process."""
    return in_process(capfd)
