"""The shell of one session: where it stands, the jobs it runs, what commands may know."""

import asyncio
import itertools
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sojourn.tools.job import Job, start
from sojourn.tools.spool import Spool

PROVIDER_KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "DASHSCOPE_API_KEY",
    "MOONSHOT_API_KEY",
    "KIMI_API_KEY",
    "ZAI_API_KEY",
    "ZHIPUAI_API_KEY",
    "BIGMODEL_API_KEY",
    "MINIMAX_API_KEY",
    "MIMO_API_KEY",
    "XIAOMI_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
    "GROQ_API_KEY",
    "TOGETHER_API_KEY",
    "FIREWORKS_API_KEY",
    "CEREBRAS_API_KEY",
)
"""Variables that commands do not get: the keys that pay for the session. A text in a file could ask for them."""

_FOR_COMMANDS = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Nobody sits before them: no colours, no pager, no question."""
_CLOSE_GRACE = 0.5


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a command gets: everything but the providers' keys, and that nobody is there to answer."""
    return {name: value for name, value in environ.items() if name.upper() not in PROVIDER_KEYS} | _FOR_COMMANDS


class Shell:
    """``cwd`` is where the next command starts. ``jobs`` are those that run, or whose end nobody has looked at."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self.root = root
        self.cwd = root
        self.environ = dict(environ)
        self.jobs: dict[int, Job] = {}
        self._numbers = itertools.count(1)
        self._files = itertools.count(1)
        self._folder: Path | None = None

    def reset(self) -> bool:
        """Goes back to the root if the folder it stood in is gone; whether it had to."""
        if self.cwd.is_dir():
            return False
        self.cwd = self.root
        return True

    async def start(self, command: str, *, follow: bool) -> tuple[Job, Path]:
        """The running command, and the file that will name the folder it ends in (only where ``follow``). Raises OSError."""
        number = next(self._numbers)
        where = self._kept() / f"{number}.cwd"
        # In one line with the command, so that the line numbers in its errors are right.
        script = f"trap {shlex.quote(f'pwd -P >{shlex.quote(str(where))}')} EXIT; {command}" if follow else command
        path = self.environ.get("PATH")
        program = shutil.which("bash", path=path) or shutil.which("sh", path=path) or "/bin/sh"
        spool = Spool(lambda: self._kept() / f"{number}-{next(self._files)}.out")
        job = await start(number, (program, "-c", script), cwd=self.cwd, environ=self.environ, spool=spool)
        self.jobs[number] = job
        return job, where

    def arrive(self, where: Path) -> bool:
        """Takes over the folder that a command ended in; whether it is another one."""
        try:
            folder = Path(where.read_text("utf-8", "surrogateescape").removesuffix("\n"))
            where.unlink()
        except OSError:
            return False
        if not folder.is_absolute() or folder == self.cwd:
            return False
        self.cwd = folder
        return True

    def forget(self, job: Job) -> None:
        """A job that is over and told."""
        self.jobs.pop(job.number, None)
        job.close()

    async def close(self) -> None:
        """Ends all jobs and removes the files kept for them."""
        jobs = list(self.jobs.values())
        await asyncio.gather(*(job.stop(_CLOSE_GRACE) for job in jobs))
        for job in jobs:
            self.forget(job)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _kept(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="sojourn-"))
        return self._folder
