"""Search without ripgrep: the same lines, slower."""

import re
from collections.abc import Iterator
from pathlib import Path

from sojourn.base import UserMistake
from sojourn.tools.globs import matcher
from sojourn.tools.textfile import readable
from sojourn.tools.walk import walk

_FILE_MOST = 16 << 20
_WIDTH = 500


def search(place: Path, pattern: str, glob: str | None, mode: str, context: int, *, ignore_case: bool) -> Iterator[str]:
    """Lines as ripgrep writes them with ``--null``: ``path NUL number:text`` (``-`` for context, ``--`` between places),
    ``path NUL count``, or ``path``, in order of path. Paths are relative to ``place`` (its name where it is a file).

    Raises UserMistake for a pattern that is none.
    """
    try:
        wanted = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise UserMistake(f"The pattern is no regular expression: {error}", next_step=r"Escape brackets: \( \[ \{") from error
    if place.is_file():
        names, folder = [place.name], place.parent
    else:
        chosen = matcher(glob.removeprefix("!")) if glob else None
        names = sorted(
            name
            for name in walk(place)
            if not (place / name).is_symlink()
            and (chosen is None or (chosen.fullmatch(name) is None) == (glob is not None and glob.startswith("!")))
        )
        folder = place
    separate = False
    for name in names:
        lines = _lines(folder / name)
        hits = [number for number, line in enumerate(lines) if wanted.search(line)]
        if not hits:
            continue
        if mode == "files":
            yield name
        elif mode == "count":
            yield f"{name}\0{len(hits)}"
        else:
            for text in _with_context(lines, hits, context):
                if text is None:
                    if separate:
                        yield "--"
                    continue
                separate = context > 0
                yield f"{name}\0{text}"


def _lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > _FILE_MOST or not path.is_file():
            return []
        found = readable(path.read_bytes())
    except OSError:
        return []
    return found[0].removesuffix("\n").split("\n") if found and found[0] else []


def _with_context(lines: list[str], hits: list[int], context: int) -> Iterator[str | None]:
    """None before each place."""
    shown = -1
    matched = set(hits)
    for hit in hits:
        first = max(shown + 1, hit - context)
        if first > shown + 1 or shown < 0:
            yield None
        for number in range(first, min(len(lines), hit + context + 1)):
            # A later hit's own lines are shown in its turn.
            shown = number
            line = lines[number]
            cut = line if len(line) <= _WIDTH else f"{line[:_WIDTH]} [... omitted end of long line]"
            yield f"{number + 1}{':' if number in matched else '-'}{cut}"
