"""Which project a folder belongs to: the same for every worktree and subfolder of a repository (R-1)."""

import os
import subprocess
from functools import lru_cache
from pathlib import Path

_SECONDS = 3


@lru_cache(maxsize=256)
def project_of(folder: str) -> str:
    """The repository's first commit, ``git:<hash>``, where ``folder`` lies in one that has commits; else the folder itself.

    Reads only: no hook, no file monitor and no pager of the repository runs. A git that does not answer counts as none.
    """
    if not folder or not Path(folder).is_dir():
        return folder
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", folder, "rev-list", "--max-parents=0", "HEAD"]
    environ = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
    try:
        done = subprocess.run(  # noqa: S603 (a fixed command, the folder is an argument)
            command, capture_output=True, text=True, timeout=_SECONDS, check=False, env=environ
        )
    except (OSError, subprocess.SubprocessError):
        return folder
    roots = sorted(done.stdout.split())
    return f"git:{roots[0]}" if done.returncode == 0 and roots else folder
