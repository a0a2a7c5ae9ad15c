"""Sources and wishes with something for every row."""

from datetime import date
from pathlib import Path

import msgspec

from sojourn.prefix import PrefixSection, Skill, Sources, Style, Wanted, sections
from sojourn.prefix.sources.environment import Environment
from sojourn.prefix.sources.git import GitState

ALL_TOOLS = frozenset(
    [
        "read",
        "write",
        "edit",
        "bash",
        "grep",
        "glob",
        "fetch",
        "memory",
        "history",
        "task",
        "actor",
        "question",
        "skill",
        "plan",
    ]
)
SOURCES = Sources(
    cwd=Path("/w"),
    root=Path("/w"),
    repository=True,
    environment=Environment("/w", "linux", "Linux 6.1 x86_64", "zsh"),
    git=GitState("repository", "work", "main", "Ada", (), ("1a2b3c4 begin",)),
    day=date(2026, 2, 3),
    rules="# Rules\n\nRULES",
    skills=(Skill("deploy", "Puts it live.", Path("/w/d/SKILL.md"), "d/SKILL.md", "project"),),
    skills_room=1_000,
)
EVERYTHING = Wanted(
    surface="web",
    model="anthropic/some-model",
    tools=ALL_TOOLS,
    style=Style("terse", "BRIEF."),
    memory_root=Path("/m"),
    memory_index="- [A](a.md)",
)


def made(sources: Sources = SOURCES, wanted: Wanted = EVERYTHING, **changes: object) -> tuple[PrefixSection, ...]:
    return sections(sources, msgspec.structs.replace(wanted, **changes))
