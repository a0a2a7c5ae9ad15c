"""Where a path really leads, and whether a rule's pattern means it (Y-6).

Everything is judged by real paths: what ``..`` and links come to at the moment of the question.
"""

import os
from functools import lru_cache

import pathspec

from sojourn.tools.keys import KEY_LINES

_KEYS = pathspec.GitIgnoreSpec.from_lines(KEY_LINES)
_ANY_CHILD = "\x01" * 9
_SPECIAL = str.maketrans({mark: f"\\{mark}" for mark in "\\*?[]!#"})


def real_path(path: str, root: str) -> str | None:
    """Absolute, without links and ``..``; relative ones start at ``root``. None: no system could mean anything by it."""
    try:
        return os.path.realpath(os.path.join(root, os.path.expanduser(path)))
    except (OSError, ValueError):
        return None


def lexical_path(path: str, root: str) -> str:
    """As it is written, made absolute; links are not followed."""
    return path if "\0" in path else os.path.normpath(os.path.join(root, os.path.expanduser(path)))


def inside(path: str, folder: str) -> bool:
    """Whether the real path is the folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def secret(path: str) -> bool:
    """Whether the name says that keys or passwords are in it (``.env``, ``~/.ssh``, ``*.pem``, ...)."""
    name = path.lstrip(os.sep).lower()
    return _KEYS.match_file(name) or _KEYS.match_file(f"{name}/{_ANY_CHILD}")


def protected(path: str, own: tuple[str, ...]) -> bool:
    """Whether changing it would change what runs or what is allowed: git's own folder, a project's settings of ours,
    the folders ``own``."""
    names = [name.lower() for name in path.split(os.sep)]
    return ".git" in names or names[-2:] == [".sojourn", "config.toml"] or any(inside(path, folder) for folder in own)


def covers(pattern: str, path: str, root: str, *, wide: bool = False) -> bool:
    """Whether a rule's pattern means the absolute path.

    As in ``.gitignore``, from ``root`` on; ``./x`` only there; ``/x`` and ``~/x`` are absolute; ``../x`` starts beside
    root. A folder is meant where all that lies in it is. ``wide`` (rules that forbid or ask): a pattern without a
    slash means that name everywhere.
    """
    expanded = os.path.expanduser(pattern)
    if pattern.startswith("../"):
        expanded = os.path.normpath(os.path.join(root, pattern)) + ("/" if pattern.endswith("/") else "")
    if expanded.startswith("/"):
        return any(_matches(one, path) for one in {expanded, _really(expanded)})
    if inside(path, root):
        below = "/" if path == root else path[len(root.rstrip(os.sep)) :]
        if _matches(expanded.removeprefix("."), below) if expanded.startswith("./") else _matches(expanded, below):
            return True
    return wide and "/" not in expanded.rstrip("/") and _matches(expanded, path)


def anywhere(pattern: str, root: str) -> tuple[str, ...]:
    """A pattern that forbids or asks, without its root: one with a slash (not at its end) is an absolute path then, one
    without means the name everywhere."""
    expanded = os.path.expanduser(pattern)
    if pattern.startswith("../"):
        expanded = os.path.normpath(os.path.join(root, pattern)) + ("/" if pattern.endswith("/") else "")
    if expanded.startswith("/"):
        return tuple(dict.fromkeys((expanded, _really(expanded))))
    if "/" not in expanded.rstrip("/"):
        return (expanded,)
    return (f"{'' if root == '/' else literal(root)}/{expanded.removeprefix('./')}",)


def literal(path: str) -> str:
    """The pattern that means this absolute path and what lies in it; for a line end in a name, any character."""
    escaped = "".join("?" if mark.isspace() and mark != " " else mark for mark in path.translate(_SPECIAL))
    escaped = "/**" if path == "/" else escaped
    return escaped[:-1] + "\\ " if escaped.endswith(" ") else escaped


def check_pattern(pattern: str) -> str:
    """What is wrong with a path pattern, in words; empty = nothing."""
    if pattern.startswith("!"):
        return "a pattern that begins with ! means nothing here"
    try:
        return "" if _spec(pattern).patterns[0].regex is not None else "the pattern matches nothing"
    except ValueError as error:
        return str(error)
    except IndexError:
        return "the pattern is empty"


def _matches(pattern: str, path: str) -> bool:
    name = path.lstrip("/")
    return bool(name and _spec(pattern).match_file(name)) or _spec(pattern).match_file(f"{name}/{_ANY_CHILD}".lstrip("/"))


@lru_cache(maxsize=1024)
def _spec(pattern: str) -> pathspec.GitIgnoreSpec:
    return pathspec.GitIgnoreSpec.from_lines([pattern])


def _really(pattern: str) -> str:
    """An absolute pattern with the links in its fixed beginning followed."""
    fixed = pattern.split("/")
    until = next((index for index, name in enumerate(fixed) if any(mark in name for mark in "*?[\\")), len(fixed))
    folder = "/".join(fixed[:until])
    return "/".join([os.path.realpath(folder or "/").rstrip("/"), *fixed[until:]]) if until else pattern
