"""What a search through a folder leaves out without being told: files with keys, files that a rule denies or asks for (Y-6).

A folder's own path is judged before the call; what is left out here lies below it.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import pathspec

from sojourn.tools.keys import KEY_GLOBS

_DEEP = "**"
Segments = tuple[str, ...]


def hidden_below(patterns: Sequence[str], folder: str) -> tuple[str, ...]:
    """Lines as of a ``.gitignore`` in the folder (an absolute real path) for what ``patterns`` mean below it.

    A pattern with a slash (not at its end) is an absolute path, one without a name anywhere. One that means the whole
    folder says nothing: whether the folder may be searched was judged by its path.
    """
    names = [name for name in folder.split(os.sep) if name]
    lines: dict[str, None] = {}
    for pattern in patterns:
        only_folders = "/" if pattern.endswith("/") else ""
        segments = tuple(pattern.strip("/").split("/"))
        if "/" not in pattern.rstrip("/"):
            segments = (_DEEP, *segments)
        left = _left(segments, names)
        if any(all(one == _DEEP for one in rest) for rest in left):
            continue
        lines.update((f"/{'/'.join(rest)}{only_folders}", None) for rest in sorted(left))
    return tuple(lines)


def keys_below(folder: str) -> tuple[str, ...]:
    """The same for files that look like keys; for names in small letters."""
    return hidden_below(KEY_GLOBS, folder.lower())


def ripgrep_options(hidden: Sequence[str], folder: str) -> list[str]:
    """For ripgrep, run in the folder, behind all that the model gave: the last one that matches counts."""
    own = [f"--glob=!{_without_braces(line)}" for line in hidden_below(hidden, folder)]
    return own + [f"--iglob=!{line}" for line in keys_below(folder)]


class Hidden:
    """Whether a file below the folder is left out, for a walk of our own."""

    def __init__(self, hidden: Sequence[str], folder: str) -> None:
        self._own = pathspec.GitIgnoreSpec.from_lines(hidden_below(hidden, folder))
        self._keys = pathspec.GitIgnoreSpec.from_lines(keys_below(folder))

    def __call__(self, name: str) -> bool:
        """Of its path relative to the folder, with ``/``."""
        return self._own.match_file(name) or self._keys.match_file(name.lower())


def _left(segments: Segments, names: Iterable[str]) -> set[Segments]:
    """What is left of the pattern behind the folder's own names; an empty rest: it means the folder or one around it."""
    states = set(_started(segments))
    for name in names:
        if () in states:
            break
        states = {
            rest
            for state in states
            for then in ([state] if state[0] == _DEEP else [state[1:]] if _same(state[0], name) else [])
            for rest in _started(then)
        }
    return states


def _started(segments: Segments) -> Iterator[Segments]:
    """``**`` also stands for no folder at all (but at the end, where it means what is inside)."""
    yield segments
    if len(segments) > 1 and segments[0] == _DEEP:
        yield from _started(segments[1:])


@lru_cache(maxsize=1024)
def _same(pattern: str, name: str) -> bool:
    return pathspec.GitIgnoreSpec.from_lines([f"/{pattern}"]).match_file(name)


def _without_braces(line: str) -> str:
    """Braces are letters in a ``.gitignore``, alternatives to ripgrep."""
    return line.replace("{", "[{]").replace("}", "[}]")
