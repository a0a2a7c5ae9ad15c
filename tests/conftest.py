"""Fixtures that several rooms' tests share."""

import os
import signal
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell without job control starts what runs behind with interrupts ignored, and programs started here would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def transcripts() -> Path:
    """The folder of real transcripts; the test is skipped where it is absent."""
    base = Path(os.environ.get("SOJOURN_SHARED", _ROOT.parent / "shared"))
    folder = base / "data" / "transcripts"
    if not (folder / "MANIFEST.json").is_file():
        pytest.skip(f"real transcripts are not here: {folder} (set SOJOURN_SHARED)")
    return folder
