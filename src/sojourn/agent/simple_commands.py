"""Commands that only look, and what a command is known by (Y-6). Pure but for real paths."""

import re
from collections.abc import Sequence

from sojourn.agent.places import inside, lexical_path, real_path, secret
from sojourn.agent.shell import Part, script

_LOOKING = frozenset({"pwd", "ls", "cat", "head", "tail", "wc"})
_GIT_LOOKING = frozenset({"status", "diff", "log", "show", "blame", "ls-files", "rev-parse"})
_GIT_FORBIDDEN = ("--output", "--ext-diff", "--textconv", "--no-index", "--contents")
_SUBCOMMANDS = frozenset(
    {"git", "npm", "pnpm", "yarn", "cargo", "go", "uv", "pip", "poetry", "make", "dotnet", "mvn", "gradle"}
)
_RUNS = frozenset({"run", "exec", "x", "tool", "dlx"})
_ANYTHING = ("python", "node", "bash", "sh", "perl", "ruby", "deno", "bun", "env")
"""Programs that run whatever they are given."""
_WRITES_NOTHING = _LOOKING | {"cd", "cmp", "diff", "du", "echo", "egrep", "fgrep", "grep", "printf", "pushd", "stat", "test"}
"""Programs that change no file, whatever they are given."""
_OPTION = re.compile(r"-[A-Za-z]*\+?\d*|--([A-Za-z][A-Za-z0-9-]*(=.*)?)?", re.DOTALL)
"""Without a path: letters and a number, or a long one (its value is looked at)."""
_WORD = re.compile(r"[A-Za-z][\w:-]*")


def only_looks(part: Part, root: str, base: str) -> bool:
    """Whether it is one of a few commands that change nothing, with plain words, on files in the folder that hold no keys.
    ``base``: where its relative paths start."""
    if not part.plain or part.writes or not part.words or not inside(base, root):
        return False
    name, *rest = part.words
    if name == "git":
        if not _git_looks(rest):
            return False
        rest = rest[1:]
    elif name not in _LOOKING:
        return False
    return all(_harmless(word, root, base) for word in rest)


def writes_nothing(part: Part) -> bool:
    """Whether the files that its words name stay as they are (those that it redirects to are its ``writes``)."""
    if not part.words:
        return True
    name, *rest = part.words
    return _git_looks(rest) if name == "git" else name in _WRITES_NOTHING


def _git_looks(words: Sequence[str]) -> bool:
    if not words or words[0] not in _GIT_LOOKING:
        return False
    options = [word.partition("=")[0] for word in words if word.startswith("--") and len(word) > 2]
    # git takes the beginning of a long option for the option.
    return not any(bad.startswith(option) for option in options for bad in _GIT_FORBIDDEN)


def _harmless(word: str, root: str, base: str) -> bool:
    if word.startswith("-"):
        if not _OPTION.fullmatch(word):
            return False
        word = word.partition("=")[2]
    for path in {word, word.rpartition(":")[2]} - {""}:
        really = real_path(path, base)
        if really is None or not inside(really, root) or secret(really) or secret(lexical_path(path, base)):
            return False
    return True


def first_words(command: str) -> str | None:
    """The pattern of a simple command whose tool has subcommands: ``git commit *``, ``npm run test *``. None: the command
    could do anything, so that only the whole of it says what was meant."""
    found = script(command)
    if not found.clear or len(found.parts) != 1:
        return None
    (part,) = found.parts
    if not part.plain or part.reads or part.writes or len(part.words) < 2:
        return None
    tool, verb = part.words[:2]
    if tool not in _SUBCOMMANDS or not _WORD.fullmatch(verb) or not part.text.startswith(f"{tool} {verb}"):
        return None
    if verb in _RUNS:
        what = part.words[2] if len(part.words) > 2 else ""
        known = _WORD.fullmatch(what) and not what.startswith(_ANYTHING) and part.text.startswith(f"{tool} {verb} {what}")
        return f"{tool} {verb} {what} *" if known else None
    return None if verb == "config" else f"{tool} {verb} *"
