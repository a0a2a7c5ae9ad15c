"""The machine and the day (P-4)."""

import os
import platform
from collections.abc import Mapping
from datetime import date
from pathlib import Path, PureWindowsPath

from sojourn.prefix.section import PrefixSection, section


def environment(cwd: Path, environ: Mapping[str, str] = os.environ) -> PrefixSection:
    """Working folder, platform and shell."""
    lines = [
        "# Environment",
        f"- Working folder: {cwd}",
        f"- Platform: {platform.system()} {platform.release()} {platform.machine()}".rstrip(),
        f"- Shell: {shell(environ)}",
    ]
    return section("environment", "environment", "system", "dynamic", "\n".join(lines))


def shell(environ: Mapping[str, str]) -> str:
    """The shell's bare name (``bash``, ``zsh``, ``powershell``), or ``unknown``."""
    path = environ.get("SHELL") or environ.get("COMSPEC") or environ.get("ComSpec") or ""
    return PureWindowsPath(path).name.removesuffix(".exe") or "unknown"


def today(day: date) -> PrefixSection:
    """The local date when the window opened."""
    return section("date", "environment", "context", "dynamic", f"# Date\nToday is {day.isoformat()}.")
