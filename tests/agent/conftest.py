"""The folder that an agent works in."""

from pathlib import Path

import pytest


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder.resolve()
