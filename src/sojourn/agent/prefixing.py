"""The prefix of a session that works in a folder: read once, read again for each window that opens (P-4, P-7)."""

from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path

import msgspec

from sojourn.base import Clock
from sojourn.config import Settings
from sojourn.cycle import draw_lines, effective_limit
from sojourn.prefix import Diagnostic, Sources, Style, Wanted, build, gather, sections
from sojourn.prefix.wanted import Surface
from sojourn.record import PrefixSnapshot
from sojourn.tools import Tool, more_tool, skill_tool
from sojourn.wire import Traits

_RULES_SHARE = 15
"""Percent of ``hard`` that rules and skills may take (W-4)."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What a host decides about the prefix of its session."""

    model: str
    """provider/name."""
    surface: Surface = "terminal"
    style: Style | None = None
    system_prompt: str = ""
    trusted: bool = False
    """Whether a person trusts the folder (Y-6)."""
    memory_root: Path | None = None
    """The folder of the memory documents; None = there is no memory."""


class Surroundings:
    """The folder as the newest window's prefix shows it."""

    def __init__(
        self,
        cwd: Path,
        settings: Settings,
        config_folder: Path,
        tools: Sequence[Tool],
        traits: Traits,
        look: Look,
        clock: Clock,
        home: Path | None = None,
    ) -> None:
        """``home``: the person's, where the skills that agents share lie; None = as the system says."""
        self._tools = tuple(tools)
        self._skill = skill_tool(lambda: self.sources.skills)
        self.cwd = cwd
        self._settings = settings
        self._config_folder = config_folder
        self._traits = traits
        self._look = look
        self._clock = clock
        self._home = home
        self._sources: Sources | None = None

    @property
    def sources(self) -> Sources:
        """As they were read last."""
        assert self._sources is not None, "prefix() comes first"
        return self._sources

    @property
    def tools(self) -> tuple[Tool, ...]:
        """As a window that opens now lists them: with ``skill`` where there are skills (P-6)."""
        return self.runnable if self.sources.skills else self._tools

    @property
    def runnable(self) -> tuple[Tool, ...]:
        """``tools`` of any window of this session, also of one that was opened when there were other skills."""
        own = any(tool.name == self._skill.name for tool in self._tools)
        return self._tools if own else (*self._tools, self._skill)

    @property
    def style(self) -> Style | None:
        return self._look.style

    async def prefix(self) -> PrefixSnapshot:
        """Reads everything anew and builds the prefix of a window that is about to open."""
        self._sources = await self._gathered(git=True)
        wanted = Wanted(
            surface=self._look.surface,
            model=self._look.model,
            tools=frozenset(tool.name for tool in self.tools),
            style=self._look.style,
            custom_prompt=self._look.system_prompt,
            trusted=self._look.trusted,
            checkpoints=self._settings.checkpoint.enabled,
            memory_root=self._look.memory_root,
            memory_writing=not self._settings.memory.disable_write,
        )
        return build(sections(self._sources, wanted), [tool.listed() for tool in self.tools])

    async def look(self) -> None:
        """Reads the rule files only: a resumed session goes on with the prefix that it has."""
        self._sources = await self._gathered(git=False)

    async def _gathered(self, *, git: bool) -> Sources:
        return await gather(
            self.cwd,
            self._settings,
            budget_tokens=self._budget(),
            config_folder=self._config_folder,
            home=self._home,
            day=self.today(),
            git=git,
        )

    def today(self) -> date:
        """The local date."""
        return datetime.fromtimestamp(self._clock.now() / 1_000).date()

    def rules(self) -> tuple[str, ...]:
        """The rule files that were loaded, in their order (report 115)."""
        return tuple(str(file.real) for file in self.sources.loaded)

    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(note for note in self.sources.notes if note.kind == "warning")

    def _budget(self) -> int:
        effective, _ = effective_limit(self._traits.limit, self._traits.name, self._settings.compaction)
        lines = draw_lines(effective, output_cap=self._traits.output_cap, settings=self._settings)
        return lines.hard * _RULES_SHARE // 100


def with_more(tools: Sequence[Tool], rare: Sequence[Tool]) -> tuple[Tool, ...]:
    """The tools as they are listed: one stands for the rare ones (P-8)."""
    return (*tools, more_tool(rare)) if rare else tuple(tools)
