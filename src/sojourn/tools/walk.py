"""Every file below a folder but what ``.gitignore`` and its like leave out."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from sojourn.base import WorkFailed

SECONDS = 20.0
_LOOK_EVERY = 1_000
_NEVER = frozenset({".git", "node_modules", "__pycache__", ".venv"})
"""Left out where only our own walk is at hand."""


def walk(folder: Path, seconds: float = SECONDS) -> Iterator[str]:
    """Paths of files and links relative to the folder, with ``/``, in no order. Links are not followed, ``.git`` left out.

    Raises WorkFailed where it takes longer than ``seconds``.
    """
    until = time.monotonic() + seconds
    root = str(folder)
    skip = len(root) + (not root.endswith("/"))
    for count, path in enumerate(_paths(root)):
        if count % _LOOK_EVERY == 0 and time.monotonic() > until:
            raise WorkFailed(f"{folder} holds too much to look through.", next_step="Give a smaller folder as path.")
        yield path[skip:]


def _paths(root: str) -> Iterator[str]:
    try:
        import rignore
    except ImportError:
        yield from _plain(root)
        return
    # Hidden files are files; a folder need not be a repository for its .gitignore to count.
    walker = iter(rignore.walk(Path(root), ignore_hidden=False, require_git=False, overrides=["!.git"]))
    while True:
        try:
            path = next(walker)
        except StopIteration:
            return
        except OSError:
            continue  # a folder that may not be looked into
        name = str(path)
        if not os.path.isdir(name) or os.path.islink(name):
            yield name


def _plain(root: str) -> Iterator[str]:
    """As above with the root's own ``.gitignore`` only."""
    from pathspec import GitIgnoreSpec

    try:
        ignored = GitIgnoreSpec.from_lines(Path(root, ".gitignore").read_text("utf-8", "replace").splitlines())
    except OSError:
        ignored = GitIgnoreSpec.from_lines([])
    for folder, folders, names in os.walk(root):
        inside = os.path.relpath(folder, root)
        inside = "" if inside == "." else f"{inside}/"
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [
            name for name in folders if name not in _NEVER and name not in links and not ignored.match_file(f"{inside}{name}/")
        ]
        for name in (*links, *names):
            if name != ".git" and not ignored.match_file(f"{inside}{name}"):
                yield os.path.join(folder, name)
