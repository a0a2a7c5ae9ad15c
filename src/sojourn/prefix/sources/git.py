"""The state of the repository, without running anything that the repository asks to run (P-4)."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from sojourn.prefix.foreign import harmless, shortened
from sojourn.prefix.section import PrefixSection, Target, section

SECONDS = 3.0
"""For everything together."""
STATUS_MOST = 2_000
"""Characters of status, the note on what is left out included."""
COMMITS = 5
_NAME_MOST = 200
"""Characters of a branch, a user's name, a commit's line: whoever wrote them was not asked to be brief."""

_SAFE = ("-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "--no-optional-locks", "--no-pager")
"""No file monitor, no signature program; without optional locks the index is not written, so no hook has a reason."""
_ENV = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_EXTERNAL_DIFF")
_LOCAL_FILTER = re.compile(r"(?:local|worktree)\t(filter\..+\.(?:clean|smudge|process|required))")
_MAIN_NAMES = ("main", "master")


class GitState(msgspec.Struct, frozen=True):
    """What could be found out. ``None`` = unknown: never read as "nothing there"."""

    kind: Literal["repository", "none", "no_git", "unknown"]
    branch: str | None = None
    """``detached at 1a2b3c4`` where there is no branch."""
    main: str | None = None
    user: str | None = None
    status: tuple[str, ...] | None = None
    """Lines of the short status; () = clean."""
    commits: tuple[str, ...] | None = None
    """The newest first; () = no commit yet."""
    problem: str = ""
    """Why something is unknown, for the screen."""


async def git_state(cwd: Path, seconds: float = SECONDS, environ: Mapping[str, str] = os.environ) -> GitState:
    """All questions asked at once; what is not answered in ``seconds`` is unknown.

    Hooks, file monitors and filters that the repository's own configuration names are not run.
    """
    git = shutil.which("git", path=environ.get("PATH"))
    if git is None:
        return GitState("no_git")
    asked = _Asked(git, cwd, {key: value for key, value in environ.items() if key not in _MISLEADING} | _ENV)
    questions = {
        "inside": asked.run("rev-parse", "--is-inside-work-tree"),
        "branch": asked.run("symbolic-ref", "--quiet", "--short", "HEAD"),
        "commit": asked.run("rev-parse", "--quiet", "--verify", "--short", "HEAD"),
        "origin": asked.run("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"),
        "refs": asked.run("for-each-ref", "--format=%(refname)", *_main_refs()),
        "user": asked.run("config", "user.name"),
        "status": asked.status(),
        "log": asked.run("log", "--oneline", "--no-decorate", "--no-color", f"--max-count={COMMITS}"),
    }
    tasks = {name: asyncio.create_task(question) for name, question in questions.items()}
    _, late = await asyncio.wait(tasks.values(), timeout=seconds)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    answers = {name: None if task in late else task.result() for name, task in tasks.items()}
    state = _read(answers)
    return msgspec.structs.replace(state, problem="git did not answer in time") if late else state


def git_section(state: GitState, *, trusted: bool = True) -> PrefixSection | None:
    """The section, or None where there is no repository to speak of. Branches, file names and commits are whoever's who
    wrote them: of a folder that nobody trusts they are no system text (M-R5)."""
    target: Target = "system" if trusted else "context"
    if state.kind in ("none", "no_git"):
        return None
    if state.kind == "unknown":
        text = "# Git\nWhether this is a git repository is unknown."
        return section("git", "git", target, "dynamic", text)
    lines = ["# Git", "As it was when this window opened; it does not follow later changes.", ""]
    for name, value in (("Branch", state.branch or "unknown"), ("Main branch", state.main), ("User", state.user)):
        if value:
            lines.append(f"{name}: {shortened(value, _NAME_MOST)}")
    status = None if state.status is None else tuple(map(harmless, state.status))
    lines += ["", "Status:", *_status_lines(status), "", "Recent commits:"]
    commits = ["(unknown)"] if state.commits is None else state.commits or ["(none yet)"]
    lines += [shortened(line, _NAME_MOST) for line in commits]
    return section("git", "git", target, "dynamic", "\n".join(lines))


def _status_lines(status: tuple[str, ...] | None) -> list[str]:
    """Whole lines, under 2,000 characters, with a count of what is left out."""
    if status is None:
        return ["(unknown)"]
    if not status:
        return ["(clean)"]
    if sum(map(len, status)) + len(status) - 1 < STATUS_MOST:
        return list(status)
    kept: list[str] = []
    room = STATUS_MOST - len(_more(len(status))) - 1
    for line in status:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return [*kept, _more(len(status) - len(kept))]


def _more(count: int) -> str:
    return f"(and {count} more lines: run `git status`)"


class _Answer(msgspec.Struct, frozen=True):
    code: int
    out: str
    error: str = ""


class _Asked:
    """One git, one folder."""

    def __init__(self, git: str, cwd: Path, env: dict[str, str]) -> None:
        self._git = git
        self._cwd = cwd
        self._env = env

    async def status(self) -> _Answer:
        """Filters of the user's own configuration run as ever; those that the repository brings are emptied first."""
        names = await self.run("config", "--show-scope", "--name-only", "--get-regexp", r"^filter\.")
        emptied = {name: "false" if name.endswith(".required") else "" for name in _LOCAL_FILTER.findall(names.out)}
        # Not by -c: a filter's name may hold "=".
        more = {"GIT_CONFIG_COUNT": str(len(emptied))}
        for index, (name, value) in enumerate(emptied.items()):
            more |= {f"GIT_CONFIG_KEY_{index}": name, f"GIT_CONFIG_VALUE_{index}": value}
        status = ("status", "--porcelain=v1", "--untracked-files=normal", "--ignore-submodules=dirty")
        return await self.run(*status, more=more)

    async def run(self, *arguments: str, more: Mapping[str, str] | None = None) -> _Answer:
        """Exit code and output; 127 where git cannot be started here."""
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *(self._git, *_SAFE, *arguments),
                cwd=self._cwd,
                env=self._env | dict(more or {}),
                start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
            )
        except OSError as error:
            return _Answer(127, "", str(error))
        try:
            out, error_text = await process.communicate()
        except asyncio.CancelledError:
            await _end(process)
            raise
        return _Answer(process.returncode or 0, out.decode("utf-8", "replace"), error_text.decode("utf-8", "replace"))


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends the process with its children, which would hold its pipes open."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    await process.wait()


def _main_refs() -> list[str]:
    return [f"{where}/{name}" for where in ("refs/remotes/origin", "refs/heads") for name in _MAIN_NAMES]


def _read(answers: dict[str, _Answer | None]) -> GitState:
    inside = answers["inside"]
    if inside is None:
        return GitState("unknown")
    if inside.code != 0 and "not a git repository" not in inside.error:
        return GitState("unknown", problem=f"git failed: {' '.join(inside.error.split())[:200]}")
    if inside.out.strip() != "true":
        return GitState("none")
    return GitState(
        "repository",
        branch=_branch(answers["branch"], answers["commit"]),
        main=_main(answers["origin"], answers["refs"]),
        user=_line(answers["user"]),
        status=_lines(answers["status"]),
        commits=_commits(answers["log"], answers["commit"]),
    )


def _line(answer: _Answer | None) -> str | None:
    return answer.out.strip() or None if answer is not None and answer.code == 0 else None


def _lines(answer: _Answer | None) -> tuple[str, ...] | None:
    """Lines as they are: the first column of a status line may be a blank that means something."""
    if answer is None or answer.code != 0:
        return None
    return tuple(line for line in answer.out.split("\n") if line)


def _branch(branch: _Answer | None, commit: _Answer | None) -> str | None:
    name, at = _line(branch), _line(commit)
    if name or branch is None:
        return name
    return f"detached at {at}" if at else None


def _main(origin: _Answer | None, refs: _Answer | None) -> str | None:
    """The one that the remote names; else the only one of ``main`` and ``master`` that exists. Never a guess."""
    named = _line(origin)
    if named:
        return named.removeprefix("origin/")
    existing = set(_lines(refs) or ())
    for where in ("refs/remotes/origin", "refs/heads"):
        found = [name for name in _MAIN_NAMES if f"{where}/{name}" in existing]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _commits(log: _Answer | None, commit: _Answer | None) -> tuple[str, ...] | None:
    if commit is not None and commit.code != 0:
        return ()
    return _lines(log)
