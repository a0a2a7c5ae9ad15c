"""Fixtures that several rooms' tests share."""

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def transcripts() -> Path:
    """The folder of real transcripts; the test is skipped where it is absent."""
    base = Path(os.environ.get("SOJOURN_SHARED", _ROOT.parent / "shared"))
    folder = base / "data" / "transcripts"
    if not (folder / "MANIFEST.json").is_file():
        pytest.skip(f"real transcripts are not here: {folder} (set SOJOURN_SHARED)")
    return folder
