"""Search without ripgrep: the same lines, slower.

A model's pattern can take for ever to match here, so the search runs in a process of its own (``python -m`` this module),
which can be ended: reads one JSON object of arguments, prints one of what was found.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sojourn.base import SojournError, UserMistake
from sojourn.tools.globs import matcher
from sojourn.tools.hiding import Hidden
from sojourn.tools.textfile import readable
from sojourn.tools.walk import walk

_FILE_MOST = 16 << 20
_WIDTH = 500


def search(
    place: Path,
    pattern: str,
    glob: str | None,
    mode: str,
    context: int,
    *,
    ignore_case: bool,
    hidden: Sequence[str] = (),
) -> Iterator[str]:
    """Lines as ripgrep writes them with ``--null``: ``path NUL number:text`` (``-`` for context, ``--`` between places),
    ``path NUL count``, or ``path``, in order of path. Paths are relative to ``place`` (its name where it is a file).
    ``hidden``: see ``hiding.hidden_below``; a file that is named as ``place`` is never left out.

    Raises UserMistake for a pattern that is none.
    """
    try:
        wanted = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise UserMistake(f"The pattern is no regular expression: {error}", next_step=r"Escape brackets: \( \[ \{") from error
    if place.is_file():
        names, folder = [place.name], place.parent
    else:
        wants, leaves_out = _wants(glob), Hidden(hidden, str(place))
        names = sorted(name for name in walk(place) if wants(name) and not leaves_out(name) and not (place / name).is_symlink())
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


def _wants(glob: str | None) -> Callable[[str], bool]:
    if not glob:
        return lambda name: True
    chosen, wanted = matcher(glob.removeprefix("!")), not glob.startswith("!")
    return lambda name: (chosen.fullmatch(name) is not None) == wanted


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


def _answer(place: str, limit: int, asked: dict[str, Any]) -> dict[str, Any]:
    """The first ``limit`` lines and how many more there are, or what was wrong."""
    kept: list[str] = []
    more = 0
    try:
        for line in search(Path(place), **asked):
            if len(kept) < limit:
                kept.append(line)
            else:
                more += line != "--"
    except SojournError as error:
        return {"mistake": str(error), "next_step": error.next_step}
    return {"kept": kept, "more": more}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_answer(**json.load(sys.stdin))))
