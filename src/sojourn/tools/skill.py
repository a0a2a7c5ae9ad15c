"""The ``skill`` tool: the instructions of one skill, when they are needed (P-6)."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from sojourn.prefix import Skill, load_skill
from sojourn.tools.desk import Desk
from sojourn.tools.texts import text
from sojourn.tools.types import Outcome, Tool, said

SKILL = "skill"


def skill_tool(skills: Callable[[], Iterable[Skill]]) -> Tool:
    """The tool for the skills that are known when it is called: a new window may list others.

    The result has the skill's folder and its text as it is on disk, at most 100,000 bytes of the file, and says where it
    is cut. An unknown name is answered with the nearest ones. Its subject is the skill's name.
    """

    async def load(arguments: dict[str, Any], desk: Desk) -> Outcome:
        found = await asyncio.to_thread(load_skill, skills(), arguments["name"])
        head = f"[skill {found.name}; paths in it start from {desk.shown(found.folder)}]"
        tail = [f"[cut here; the rest: read {desk.shown(found.folder / 'SKILL.md')}]"] if found.cut else []
        return said("\n".join([head, found.text.strip("\n"), *tail]))

    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return Tool(name=SKILL, description=text("skill"), schema=schema, effect="read", subject="name", run=load)
