"""Patterns for paths, as models write them: ``*``, ``**``, ``?``, ``[a-z]``, ``{a,b}``.

No pattern takes long: each star takes as little as it can and never gives it back (what stands behind it is found at the
first place where it fits, and no later place would be better), but the last one.
"""

import re
from functools import lru_cache

from sojourn.base import UserMistake

_BRACES = re.compile(r"\{([^{}]*)\}")
_EXPANDED_MOST = 200
_FOLDERS = "(?:[^/]+/)*"


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


def written_out(word: str, braces: re.Pattern[str], most: int) -> list[str] | None:
    """``a{b,c}`` as all the words that it stands for; None: more than ``most``. ``braces`` finds one, its choices a group."""
    done: list[str] = []
    todo = [word]
    while todo:
        one = todo.pop()
        found = braces.search(one)
        if found is None:
            done.append(one)
        else:
            todo += [one[: found.start()] + choice + one[found.end() :] for choice in found[1].split(",")]
        if len(done) + len(todo) > most:
            return None
    return done


def _expanded(pattern: str) -> list[str]:
    words = written_out(pattern, _BRACES, _EXPANDED_MOST)
    if words is None:
        raise UserMistake("The pattern has too many braces.", next_step="Give a simpler one.")
    return words


def _regex(pattern: str) -> str:
    *folders, last = pattern.split("/")
    runs: list[str] = [""]
    """Folders that follow each other; ``**`` between two runs."""
    for folder in folders:
        if folder != "**":
            runs[-1] += f"{_segment(folder)}/"
        elif runs[-1] or len(runs) == 1:
            runs.append("")
    first, *between = runs
    if not between:
        return first + _segment(last, at_end=True)
    *middle, end = between
    return first + "".join(f"(?>{_FOLDERS[:-1]}*?{run})" for run in middle) + _FOLDERS + end + _segment(last, at_end=True)


def _segment(name: str, *, at_end: bool = False) -> str:
    """One name; ``**`` at the end of all takes in what lies deeper."""
    pieces = [""]
    at = 0
    while at < len(name):
        if name[at] == "*":
            while name.startswith("*", at + 1):
                at += 1
            pieces.append("")
            at += 1
        elif name[at] == "?":
            pieces[-1] += "[^/]"
            at += 1
        elif name[at] == "[" and (end := name.find("]", at + 2 + (name[at + 1 : at + 2] in ("!", "^")))) > 0:
            inner = re.sub(r"([\\\[&~|]|-(?=-))", r"\\\1", name[at + 1 : end])
            pieces[-1] += f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]"
            at = end + 1
        else:
            pieces[-1] += re.escape(name[at])
            at += 1
    first, *others = pieces
    if not others:
        return first
    *middle, last = others
    star = ".*" if at_end and name.endswith("**") else "[^/]*"
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle) + star + last
