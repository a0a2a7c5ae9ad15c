"""Every conformance test runs against the store in memory and the one on disk."""

from pathlib import Path

import pytest


@pytest.fixture(params=["memory", "file"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return None if request.param == "memory" else tmp_path / "data" / "sojourn.db"
