"""Patterns for paths, as models write them: ``*``, ``**``, ``?``, ``[a-z]``, ``{a,b}``."""

import re
from functools import lru_cache

from sojourn.base import UserMistake

_BRACES = re.compile(r"\{([^{}]*)\}")
_EXPANDED_MOST = 200


@lru_cache(maxsize=64)
def matcher(pattern: str) -> re.Pattern[str]:
    """Full matches a relative path with ``/``. A pattern without ``/`` is of the name, at any depth.

    Raises UserMistake for an absolute pattern or one with ``..``: the folder is given as path, so that it can be judged.
    """
    parts = pattern.split("/")
    if pattern.startswith(("/", "~")) or ".." in parts:
        raise UserMistake(f"The pattern {pattern!r} leaves the folder.", next_step="Give the folder as path.")
    if not pattern.strip("/ "):
        raise UserMistake("The pattern is empty.", next_step="Give one such as **/*.py")
    pattern = pattern.removeprefix("./")
    if "/" not in pattern.rstrip("/"):
        pattern = f"**/{pattern}"
    pattern = pattern.rstrip("/")
    try:
        return re.compile("|".join(_regex(one) for one in _expanded(pattern)), re.DOTALL)
    except re.error as error:  # a range the wrong way round
        raise UserMistake(f"The pattern is none: {error}", next_step="Give one such as **/*.py") from error


def _expanded(pattern: str) -> list[str]:
    """Braces written out."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        one = todo.pop()
        found = _BRACES.search(one)
        if found is None:
            done.append(one)
        else:
            todo += [one[: found.start()] + choice + one[found.end() :] for choice in found[1].split(",")]
        if len(done) + len(todo) > _EXPANDED_MOST:
            raise UserMistake("The pattern has too many braces.", next_step="Give a simpler one.")
    return done


def _regex(pattern: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            out.append("(?:[^/]+/)*")
            at += 3
        elif pattern[at] == "*":
            end = at
            while end < len(pattern) and pattern[end] == "*":
                end += 1
            out.append(".*" if end - at > 1 and end == len(pattern) else "[^/]*")
            at = end
        elif pattern[at] == "?":
            out.append("[^/]")
            at += 1
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2 + (pattern[at + 1 : at + 2] in ("!", "^")))) > 0:
            inner = re.sub(r"([\\\[&~|]|-(?=-))", r"\\\1", pattern[at + 1 : end])
            out.append(f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]")
            at = end + 1
        else:
            out.append(re.escape(pattern[at]))
            at += 1
    return "".join(out)
