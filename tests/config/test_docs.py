import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from sojourn.config import Settings, reference
from sojourn.config.keys import SECTION_NAMES, VARIABLES, catalogue
from sojourn.window.types import SectionName

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sojourn"


@pytest.mark.design("S-9")
def test_the_page_in_docs_is_the_models() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    command = "python -c 'import sojourn.config as c; print(c.reference(), end=str())' > docs/configuration.md"
    assert page == reference(), f"Make it anew: {command}"


@pytest.mark.design("S-9")
def test_the_catalogue_is_the_model() -> None:
    names = list(catalogue())
    assert names[:4] == ["compaction.auto", "compaction.max_context", "compaction.trigger_ratio", "compaction.policy"]
    assert names[-1] == "language"
    for name, key in catalogue().items():
        value: object = Settings()
        for part in name.split("."):
            value = getattr(value, part)
        assert key.default == value
        assert key.meaning.endswith(".")
        assert key.kind
        assert key.allowed
    assert set(VARIABLES) <= set(names)


@pytest.mark.design("S-9")
@pytest.mark.parametrize(
    ("name", "kind", "allowed"),
    [
        ("compaction.auto", "yes or no", "true, false"),
        ("compaction.trigger_ratio", "number", "0.3 to 0.99"),
        ("compaction.policy", "choice", "full, balanced, economy"),
        ("compaction.max_context", "amount or table of amounts", 'or "40%" of the model\'s window'),
        ("checkpoint.thresholds", "list of amounts", 'or "40%" of the trigger'),
        ("checkpoint.push_caps", "table of amounts", "names: pins, tasks, checkpoint, "),
        ("rebuild.recent_user", "amount", "tokens such as 64000, 64K or 1.5M"),
        ("instructions.names", "list of texts", "a list of texts"),
    ],
)
def test_types_and_ranges_in_words(name: str, kind: str, allowed: str) -> None:
    key = catalogue()[name]
    assert key.kind == kind
    assert allowed in key.allowed


@pytest.mark.design("S-9")
def test_every_row_has_every_column() -> None:
    page = reference()
    rows = [line for line in page.splitlines() if re.match(r"\| `[a-z]", line)]
    assert len(rows) == len(catalogue())
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}
    for name, variable in VARIABLES.items():
        assert any(f"`{name}`" in row and f"`{variable}`" in row for row in rows)
    assert "`SOJOURN_HOME`" in page
    assert "| `compaction.trigger_ratio` | number | `0.9` |" in page
    assert "| `compaction.auto` | yes or no | `true` |" in page
    assert '| `instructions.names` | list of texts | `["AGENTS.md"]` |' in page
    assert '| `compaction.policy` | choice | `"full"` |' in page
    assert "| `checkpoint.reserved` | amount | not set |" in page


@pytest.mark.design("S-9", "W-4")
def test_the_caps_are_those_of_the_openings_sections() -> None:
    assert get_args(SectionName) == SECTION_NAMES


@pytest.mark.design("S-9")
def test_every_key_is_read_by_the_code() -> None:
    files = [path for path in SOURCE.rglob("*.py") if SOURCE / "config" not in path.parents]
    nodes = (node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    unread = [name for name in catalogue() if name.rpartition(".")[2] not in attributes]
    assert unread == []


@pytest.mark.design("S-9")
def test_importing_it_is_cheap() -> None:
    code = "import sys, sojourn.config; print([m for m in ('tomllib', 'platformdirs', 'difflib') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
