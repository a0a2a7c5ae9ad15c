"""Where data, configuration and cache live (S-9)."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from sojourn.base import WorkFailed


class Folders(msgspec.Struct, frozen=True):
    """The three folders; none is created by naming it."""

    data: Path
    config: Path
    cache: Path


def folders(environ: Mapping[str, str]) -> Folders:
    """``data/``, ``config/`` and ``cache/`` below SOJOURN_HOME; without it (or empty) the platform's folders."""
    home = environ.get("SOJOURN_HOME", "").strip()
    if home:
        base = Path(home).expanduser().absolute()
        return Folders(data=base / "data", config=base / "config", cache=base / "cache")
    import platformdirs  # here: half of this room's import time

    return Folders(
        data=platformdirs.user_data_path("sojourn", appauthor=False),
        config=platformdirs.user_config_path("sojourn", appauthor=False),
        cache=platformdirs.user_cache_path("sojourn", appauthor=False),
    )


def project_folder(cwd: Path) -> Path:
    """The nearest folder from here up to the git root that has ``.sojourn/config.toml``; without one, or outside a
    repository, this folder."""
    levels = (cwd, *cwd.parents)
    root = next((at for at, folder in enumerate(levels) if (folder / ".git").exists()), 0)
    return next((folder for folder in levels[: root + 1] if (folder / ".sojourn" / "config.toml").is_file()), cwd)


def ensure_private(path: Path) -> Path:
    """Creates the folder and its missing parents, readable by their owner alone (0700); answers ``path``.

    A folder that exists is left as it is. Raises WorkFailed that names the path.
    """
    missing = []
    place = path
    try:
        while not place.exists():
            missing.append(place)
            place = place.parent
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _cannot(path, error.strerror or str(error)) from error
    if not path.is_dir():
        raise _cannot(path, "there is a file in its place")
    return path


def _cannot(path: Path, why: str) -> WorkFailed:
    return WorkFailed(
        f"The folder {path} cannot be made: {why}", next_step="Make it by hand, or set SOJOURN_HOME to another place."
    )
