"""The fixture that imports a hand-made file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from importers.small import Result, as_bytes, import_file


@pytest.fixture
def imports(tmp_path: Path) -> Callable[..., Result]:
    """Writes the lines (objects, texts or bytes) to a file and imports it."""

    def run(*lines: Any, name: str = "session.jsonl", end: bytes = b"\n", format: str = "") -> Result:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(as_bytes(line) for line in lines) + end)
        return import_file(path, format)

    return run
