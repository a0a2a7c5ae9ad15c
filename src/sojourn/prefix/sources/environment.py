"""The machine (P-4)."""

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path, PureWindowsPath

import msgspec

from sojourn.prefix.foreign import harmless
from sojourn.prefix.section import PrefixSection, section


class Environment(msgspec.Struct, frozen=True):
    cwd: str
    platform: str
    """``linux``, ``darwin``, ``win32``."""
    os: str
    """Name, version and machine."""
    shell: str


def environment(cwd: Path, environ: Mapping[str, str] = os.environ) -> Environment:
    """What this process runs on."""
    system, version = platform.system(), platform.release()
    if mac := platform.mac_ver()[0]:
        system, version = "macOS", mac
    return Environment(str(cwd), sys.platform, f"{system} {version} {platform.machine()}".strip(), shell(environ))


def shell(environ: Mapping[str, str]) -> str:
    """The shell's bare name (``bash``, ``zsh``, ``powershell``), or ``unknown``."""
    path = environ.get("SHELL") or environ.get("COMSPEC") or environ.get("ComSpec") or ""
    return PureWindowsPath(path).name.removesuffix(".exe") or "unknown"


def environment_section(found: Environment, repository: bool | None, model: str) -> PrefixSection:
    """``repository``: whether the folder is in a git repository, None = unknown. ``model``: provider/name, may be empty."""
    known = {True: "yes", False: "no", None: "unknown"}[repository]
    lines = [
        "# Environment",
        f"- Working folder: {harmless(found.cwd)}",
        f"- Git repository: {known}",
        f"- Platform: {found.platform}",
        f"- OS: {harmless(found.os)}",
        f"- Shell: {harmless(found.shell)}",
    ]
    if model:
        lines.append(f"- Model: {harmless(model)}")
    return section("environment", "environment", "system", "dynamic", "\n".join(lines))
