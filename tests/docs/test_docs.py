"""The pages say what the code does: names, links, numbers, examples, the list of what is proven (T-1, T-2, T-7, T-10)."""

import ast
import importlib
import importlib.util
import inspect
import itertools
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

import sojourn
from sojourn.agent import types as agent_types
from sojourn.engine import Engine
from sojourn.engine.types import EventKind
from sojourn.record import Store
from sojourn.window.schema import SCHEMA
from sojourn.window.sections import ROWS
from sojourn.window.texts import LABEL, MID_LOOP, RECORD

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
GUIDES = [ROOT / "README.md", ROOT / "docs" / "agent.md", ROOT / "docs" / "library.md"]
SOURCE = ROOT / "src" / "sojourn"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_MACHINE = re.compile(r"(?<![\w.~}>])/(?:work|home|root|Users|tmp|mnt|opt)/|\b[A-Z]:\\")
_ENGINES = {"engine", "session"}
"""What the guides call an open engine."""


def blocks(page: Path) -> list[str]:
    return _BLOCK.findall(page.read_text("utf-8"))


def parsed(text: str) -> ast.Module:
    """A block as a module; ``await`` stands at its top level."""
    tree = compile(text, "block", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
    assert isinstance(tree, ast.Module)
    return tree


def public_names() -> dict[str, Any]:
    """What a reader can import: the package's names, then those of its rooms."""
    names: dict[str, Any] = {}
    for room in pkgutil.iter_modules([str(SOURCE)]):
        if room.ispkg and room.name != "surfaces":
            module = importlib.import_module(f"sojourn.{room.name}")
            names |= {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    return names | {name: getattr(sojourn, name) for name in sojourn.__all__}


NAMES = public_names()


def mistakes(text: str) -> list[str]:
    """What a block names that is not there, or calls with an argument that is not taken."""
    found: list[str] = []
    tree = parsed(text)
    bound = {name.id for name in ast.walk(tree) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    bound |= {one.asname or one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module or "")
            found += [f"{node.module}.{one.name}" for one in node.names if not hasattr(module, one.name)]
        elif isinstance(node, ast.Attribute) and _subject(node) == "sojourn":
            found += [] if node.attr in sojourn.__all__ else [f"sojourn.{node.attr}"]
        elif isinstance(node, ast.Attribute) and _subject(node) in _ENGINES:
            found += [] if hasattr(Engine, node.attr) else [f"engine.{node.attr}"]
        elif isinstance(node, ast.Attribute) and _subject(node) in ("store", "engine.store"):
            found += [] if hasattr(Store, node.attr) else [f"store.{node.attr}"]
        elif isinstance(node, ast.Name) and node.id[0].isupper() and node.id not in bound:
            found += [] if node.id in NAMES or node.id in ("Path", "ENCODERS") else [node.id]
        if isinstance(node, ast.Call):
            found += _arguments(node)
    return found


def _subject(node: ast.Attribute) -> str:
    return ast.unparse(node.value)


def _arguments(node: ast.Call) -> list[str]:
    """Keyword arguments of a call that the thing called does not take."""
    called = ast.unparse(node.func)
    head, _, method = called.rpartition(".")
    if head in _ENGINES:
        target = getattr(Engine, method, None)
    elif head in ("store", "engine.store"):
        target = getattr(Store, method, None)
    else:
        target = NAMES.get(method) if head in ("", "sojourn") else None
    if target is None:
        return []
    taken = inspect.signature(target).parameters
    return [f"{called}({one.arg}=)" for one in node.keywords if one.arg and one.arg not in taken]


@pytest.mark.design("T-10", "S-8")
@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_python_blocks_compile_and_name_what_is_there(page: Path) -> None:
    assert blocks(page)
    for text in blocks(page):
        assert mistakes(text) == [], text


@pytest.mark.design("T-10")
def test_a_name_that_is_not_there_is_found() -> None:
    assert mistakes("await engine.observ(message)") == ["engine.observ"]
    assert mistakes("await engine.close(waits=3)") == ["engine.close(waits=)"]
    assert mistakes("sojourn.open_sessions()") == ["sojourn.open_sessions"]
    assert mistakes("from sojourn import Engines") == ["sojourn.Engines"]
    assert mistakes("x = Mesage(id='')") == ["Mesage"]
    assert mistakes("Text(txt='a')") == ["Text(txt=)"]
    assert mistakes("store.message_s()") == ["store.message_s"]
    with pytest.raises(SyntaxError):
        mistakes("await engine.observe(")


@pytest.mark.design("T-10", "S-8")
def test_events_and_notices_of_the_guide_are_those_of_the_engine() -> None:
    text = (ROOT / "docs" / "library.md").read_text("utf-8")
    table = text[text.index("| kind | detail |") : text.index("## What is guaranteed")]
    kinds = {
        name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1] if "|" in line else "")
    }
    assert kinds == set(get_args(EventKind))
    (notices,) = [line for line in table.splitlines() if line.startswith("| `notice`")]
    keys = set(re.findall(r"`(\w+)`", notices)) - {"notice", "key", "milliseconds", "problem"}
    code = "".join(path.read_text("utf-8") for room in ("engine", "cycle") for path in (SOURCE / room).glob("*.py"))
    used = set(re.findall(r'(?:notice=|notice\(|key=)"(\w+)"', code)) | {"write_failed", "wait_expired"}
    assert keys == used
    assert all(f'"{key}"' in code for key in keys)


@pytest.mark.design("T-10", "S-1")
def test_the_table_of_the_agents_events_has_their_types_and_fields() -> None:
    """Programs read these lines: the page, the classes and the order of the fields agree."""
    text = (ROOT / "docs" / "agent.md").read_text("utf-8")
    lines = text[text.index("| type | fields | meaning |") :].splitlines()[2:]
    rows = [line.split("|")[1:3] for line in itertools.takewhile(lambda line: line.startswith("|"), lines)]
    told = {re.findall(r"`(\w+)`", name)[0]: tuple(re.findall(r"`(\w+)`", fields)) for name, fields in rows}
    kinds = get_args(agent_types.AgentEvent)
    assert told == {kind.__struct_config__.tag: kind.__struct_fields__ for kind in kinds}
    assert len(told) == len(rows) == len(kinds)


@pytest.mark.design("T-10")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere_and_no_page_names_a_place_of_one_machine(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in _LINK.findall(_FENCED.sub("", text)):
        if "://" not in target:
            path = target.split("#")[0]
            assert not path or (page.parent / path).exists(), target
    assert not _MACHINE.search(text), _MACHINE.search(text)


@pytest.mark.design("T-10")
def test_examples_and_scripts_name_no_place_of_one_machine() -> None:
    files = [path for folder in ("examples", "scripts", "bench") for path in (ROOT / folder).glob("*.py")]
    assert len(files) > 10
    assert [path.name for path in files if _MACHINE.search(path.read_text("utf-8"))] == []
    for place in ("see /work/x", "in /home/me/x", "/root/.venv", "C:\\Users"):
        assert _MACHINE.search(place)
    for place in ("~/.claude", "a/home/b", "https://host/tmp/x"):
        assert not _MACHINE.search(place)


@pytest.mark.design("T-10")
@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "windows" in done.stdout


@pytest.mark.design("T-10", "S-1")
def test_commands_of_the_readme_are_there() -> None:
    text = "\n".join(_SHELL.findall((ROOT / "README.md").read_text("utf-8")))
    commands = set(re.findall(r"(?:^|; )sojourn ([a-z]+)", text, re.MULTILINE))
    assert {"replay", "import", "show", "undo"} <= commands
    folder = SOURCE / "surfaces" / "cli" / "commands"
    there = {path.stem for path in folder.glob("*.py")} | ({"import"} if (folder / "importing.py").exists() else set())
    assert commands <= there
    targets = set(re.findall(r"^make ([a-z-]+)", text, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert targets == {"demo", "test"}
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


@pytest.mark.design("T-10")
def test_modules_that_the_pages_name_are_there() -> None:
    text = (ROOT / "docs" / "how-it-works.md").read_text("utf-8")
    named = re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", text[text.index("## Where the code is") :])
    assert len(named) > 20
    assert [name for name in named if not (SOURCE / name).exists()] == []
    for page in (ROOT / "docs" / "design").glob("*.md"):
        for line in re.findall(r"^Code: (.*)$", page.read_text("utf-8"), re.MULTILINE):
            for name in re.findall(r"`([a-z_/]+(?:\.py)?)`", line):
                assert (ROOT / name).exists() or (SOURCE / name).exists(), f"{page.name}: {name}"


def _table(page: str, head: str) -> list[list[str]]:
    """Cells of the table that begins with this head, without it."""
    lines = (ROOT / "docs" / "design" / page).read_text("utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(head))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


@pytest.mark.design("T-10", "K-2")
def test_the_table_of_checkpoint_sections_has_the_numbers_of_the_schema() -> None:
    rows = _table("checkpoint.md", "| section | holds | tokens")
    assert len(rows) == len(SCHEMA) == 9
    for cells, rule in zip(rows, SCHEMA, strict=True):
        assert cells[0] == rule.section.value
        assert int(re.match(r"[\d,]+", cells[2])[0].replace(",", "")) == rule.budget  # type: ignore[index]
        assert int(cells[3]) == rule.weight
        order = {"first": 1, "last": 9}.get(cells[4])
        assert (order or int(cells[4][:-2])) == rule.drop


@pytest.mark.design("T-10", "W-3")
def test_the_table_of_an_opening_has_the_numbers_of_the_rows() -> None:
    rows = _table("window.md", "| row | section | cap")
    assert len(rows) == len(ROWS) == 12
    for cells, row in zip(rows, ROWS, strict=True):
        cap = cells[2]
        if row.cap_share:
            assert cap == f"{row.cap_share:.0%} of the trigger"
        else:
            assert int(re.match(r"[\d,]+", cap)[0].replace(",", "")) == row.cap, row.name  # type: ignore[index]
        floor, weight = re.fullmatch(r"(all|[\d,]+), (first served|\d+)", cells[3]).groups()  # type: ignore[union-attr]
        assert floor == "all" or int(floor.replace(",", "")) == row.floor, row.name
        assert weight == "first served" or int(weight) == row.weight, row.name


@pytest.mark.design("T-10", "W-1")
def test_the_opening_that_the_page_shows_is_in_todays_words() -> None:
    text = (ROOT / "docs" / "how-it-works.md").read_text("utf-8")
    for words in (LABEL, RECORD, MID_LOOP, *(f"# {row.heading}" for row in ROWS if row.name in ("checkpoint", "recent_user"))):
        assert words in text
    shown = text[text.index(LABEL) : text.index(MID_LOOP)]
    headings = re.findall(r"^# (.+)$", shown, re.MULTILINE)
    assert headings == [row.heading for row in ROWS if row.heading in headings]


# --- what is proven (T-1, T-2) and how fast (T-7) ----------------------------------------------------------------------


def coverage() -> ModuleType:
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("coverage_of_design", ROOT / "scripts" / "coverage_of_design.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.design("T-1", "T-2")
def test_every_item_and_report_that_is_built_has_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    code = coverage().main()
    assert code == 0, capsys.readouterr().out


ITEMS = """**W-1 View.** It is.

**N2** Too.

**M-R3** Reminders: not built yet.

**W-3a** Half of it.
The rest: not built yet.
"""
REPORTS = "1. It fails -> it works.\n2. It hangs -> it ends (not built yet).\n"


@pytest.mark.design("T-1", "T-2")
@pytest.mark.parametrize(
    ("marks", "code", "said"),
    [
        ('design("W-1", "N2")\n@pytest.mark.report(1)', 0, "built, without a test: none"),
        ('design("W-1")\n@pytest.mark.report(1)', 1, "built, without a test: N2"),
        ('design("W-1", "N2")', 1, "reports without a test: 1"),
        ('design("W-1", "N2", "W-9")\n@pytest.mark.report(1)', 1, "tests name what the docs do not have: W-9"),
        ('design("W-1", "N2")\n@pytest.mark.report(1, 7)', 1, "tests name what the docs do not have: report 7"),
        ('design("W-1", "N2", "M-R3")\n@pytest.mark.report(1, 2)', 0, "not built yet: M-R3 W-3a"),
    ],
)
def test_the_list_of_what_is_proven_finds_what_is_missing(
    marks: str, code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs" / "design").mkdir(parents=True)
    (tmp_path / "docs" / "design" / "window.md").write_text(ITEMS, "utf-8")
    (tmp_path / "docs" / "design" / "reports.md").write_text(REPORTS, "utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(f"@pytest.mark.{marks}\ndef test_it() -> None: ...\n", "utf-8")
    script = coverage()
    monkeypatch.setattr(script, "ROOT", tmp_path)
    assert script.main() == code
    assert said in capsys.readouterr().out


@pytest.mark.design("T-7")
def test_the_benchmarks_print_ratios_of_one_run_and_judge_goals() -> None:
    def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "bench", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)

    wrong = bench("tides")
    assert wrong.returncode == 2
    names = wrong.stderr.split("there are: ")[1].split()
    assert {"request", "window", "record", "checkpoint", "import", "meter", "engine"} <= set(names)
    done = bench("request", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    ratios = [row for row in rows if row["unit"] == "x"]
    assert ratios
    assert all(row["value"] > 0 for row in rows)
    notes = ("goal under 5", "goal at most 5", "goal at least 5", "goal over 5", "")
    imports = "from bench.__main__ import goal_met; from bench._row import Row"
    code = f"{imports}; print([goal_met(Row('', 5.0, '', note)) for note in {notes}])"
    judged = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert judged.stdout.strip() == "[False, True, True, False, None]"
