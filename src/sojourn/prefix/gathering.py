"""Everything that the prefix is made from, taken once: the impure part (P-4)."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from sojourn.config.settings import Settings
from sojourn.prefix.diagnostic import Diagnostic
from sojourn.prefix.listing import listing_tokens
from sojourn.prefix.sources.environment import Environment, environment
from sojourn.prefix.sources.git import SECONDS, GitState, git_state
from sojourn.prefix.sources.instructions import Found, find, within_budget
from sojourn.prefix.sources.rule_file import RuleFile, RuleStamp
from sojourn.prefix.sources.skills import Skill, find_skills

T = TypeVar("T")

_REPOSITORY = {"repository": True, "none": False, "unknown": None}
_SKILLS_SHARE = 4
"""Skills take at most this part (one in four) of the room for context blocks before rules do."""


class Sources(msgspec.Struct, frozen=True):
    """What was found in a folder on a day. The same sources give the same sections."""

    cwd: Path
    root: Path
    """The git root, else the working folder: what ``nested_rules`` starts from."""
    repository: bool | None
    """Whether the folder lies in a git repository; None = unknown."""
    environment: Environment
    git: GitState
    day: date
    """The local date."""
    rules: str = ""
    """Of the user and the project, each under its heading, cut to the budget; "" = none."""
    loaded: tuple[RuleFile, ...] = ()
    """The files behind ``rules``, whole."""
    skills: tuple[Skill, ...] = ()
    skills_room: int = 0
    """Tokens for their listing."""
    notes: tuple[Diagnostic, ...] = ()
    """What was looked for, loaded and wrong, for the screen and ``sojourn context``."""

    @property
    def real_paths(self) -> frozenset[Path]:
        """Of the loaded rule files, for ``nested_rules``."""
        return frozenset(file.real for file in self.loaded)

    @property
    def stamps(self) -> tuple[RuleStamp, ...]:
        """Of the loaded rule files, for ``changed_rules``."""
        return tuple(stamp for file in self.loaded for stamp in file.stamps)


async def gather(
    cwd: Path,
    settings: Settings,
    *,
    budget_tokens: int,
    config_folder: Path,
    home: Path | None = None,
    day: date | None = None,
    git: bool = True,
    seconds: float = SECONDS,
) -> Sources:
    """All sources, taken at the same time, in at most about ``seconds``.

    ``budget_tokens``: for rules and skills together (W-4: 0.15 of ``hard``), uncalibrated; the nearest rules first.
    ``home``: the user's, None = as the system says. ``day``: the local date, None = today. ``git`` False: the repository
    is not asked, for a session that goes on with the prefix that it has.
    What does not answer in time is left out with a warning; nothing raises for what the folder holds.
    """
    found, skilled, state = await asyncio.gather(
        _in_time(lambda: find(cwd, settings.instructions, config_folder), seconds),
        _in_time(lambda: find_skills(cwd, config_folder, home or Path.home()), seconds),
        git_state(cwd, seconds) if git else asyncio.sleep(0, GitState("unknown")),
    )
    skills, skill_notes = skilled or ((), ())
    reserved = min(budget_tokens // _SKILLS_SHARE, listing_tokens(skills))
    rules = within_budget(found or Found(), budget_tokens - reserved)
    notes = (*rules.notes, *skill_notes)
    for missing, what in ((found is None, "the rule files"), (skilled is None, "the skills")):
        if missing:
            notes += (_warning(cwd, f"{what} could not be read in time: left out of this window"),)
    if state.problem:
        notes += (_warning(cwd, f"{state.problem}: what it did not say is shown as unknown"),)
    root = found.root if found else None
    return Sources(
        cwd=cwd,
        root=root or cwd,
        repository=root is not None if state.kind == "no_git" else _REPOSITORY[state.kind],
        environment=environment(cwd),
        git=state,
        day=day or date.today(),
        rules=rules.section.text if rules.section else "",
        loaded=rules.files,
        skills=skills,
        skills_room=budget_tokens - (rules.section.tokens if rules.section else 0),
        notes=notes,
    )


async def _in_time(work: Callable[[], T], seconds: float) -> T | None:
    """What ``work`` gives, None where it takes longer. Its thread is a daemon: a file system that hangs holds up neither
    the window nor the end of the program, as an executor's would."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        settle: Callable[[], None]
        try:
            settle = partial(answer.set_result, work())
        except BaseException as error:  # noqa: BLE001 -- handed over to the one who waits
            settle = partial(answer.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(lambda: None if answer.done() else settle())

    threading.Thread(target=run, daemon=True, name="sojourn-prefix").start()
    try:
        return await asyncio.wait_for(answer, seconds)
    except TimeoutError:
        return None


def _warning(cwd: Path, message: str) -> Diagnostic:
    return Diagnostic("warning", message, str(cwd))
