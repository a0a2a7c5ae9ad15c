"""Everything that the prefix is made from, taken once (P-4)."""

import asyncio
from datetime import date
from pathlib import Path

from sojourn.config.settings import Settings
from sojourn.prefix.assemble import IDENTITY_LINE
from sojourn.prefix.diagnostic import Diagnostic
from sojourn.prefix.section import PrefixSection, section
from sojourn.prefix.sources.environment import environment, today
from sojourn.prefix.sources.git import git_section, git_state
from sojourn.prefix.sources.instructions import instructions
from sojourn.prefix.texts import text


async def gather(
    cwd: Path, settings: Settings, budget_tokens: int, config_folder: Path, day: date | None = None
) -> tuple[tuple[PrefixSection, ...], tuple[Diagnostic, ...]]:
    """All sections in their order, and what their sources have to say.

    ``budget_tokens``: for the rules (W-4: 0.15 of ``hard``). ``day``: the local date; None = today.
    Takes at most about 3 s; nothing in it raises for what the folder holds.
    """
    rules, state = await asyncio.gather(
        asyncio.to_thread(instructions, cwd, settings.instructions, budget_tokens, config_folder), git_state(cwd)
    )
    rules_section, notes = rules
    sources = (environment(cwd), git_section(state), rules_section, today(day or date.today()))
    sections = (*own_sections(settings), *(one for one in sources if one is not None))
    if state.problem:
        notes += (Diagnostic("warning", f"{state.problem}: what it did not say is shown as unknown", str(cwd)),)
    return sections, notes


def own_sections(settings: Settings) -> tuple[PrefixSection, ...]:
    """Our own words: who the agent is and how it works. The same in every folder."""
    long_work = "context_with_checkpoints" if settings.checkpoint.enabled else "context_without_checkpoints"
    return tuple(
        section(name, "sojourn", "system", "stable", text(file))
        for name, file in ((IDENTITY_LINE, "identity_line"), ("role", "role"), ("working", "working"), ("long_work", long_work))
    )
