"""A text in the person's own editor: a private temporary file, the editor that they named, what came of it (R-6, Y-1)."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from sojourn.base import SojournError, UserMistake, WorkFailed
from sojourn.surfaces.catalogue import say

_USUAL = ("vi", "nano", "notepad")


class Edited(msgspec.Struct, frozen=True):
    """What a person made of a text."""

    text: str
    path: Path | None
    """The temporary file it stands in; None = it came from elsewhere."""


def editor_command(environ: Mapping[str, str], instead: str = "") -> list[str]:
    """The words that begin the editor's command line: VISUAL, EDITOR, else what is usually there and needs a terminal.

    Raises UserMistake where there is none; ``instead``: the command that takes the text from a file.
    """
    next_step = say("no_editor_next", command=instead) if instead else say("no_editor_set")
    for name in ("VISUAL", "EDITOR"):
        if environ.get(name, "").strip():
            try:
                return shlex.split(environ[name], posix=os.name != "nt")
            except ValueError as error:  # a quotation that is not closed
                told = say("editor_unreadable", name=name, value=environ[name], reason=error)
                raise UserMistake(told, next_step=next_step) from error
    found = next((path for name in _USUAL if (path := shutil.which(name))), None) if sys.stdin.isatty() else None
    if found is None:
        raise UserMistake(say("no_editor"), next_step=next_step)
    return [found]


def edited(text: str, name: str, environ: Mapping[str, str] = os.environ, *, instead: str = "") -> Edited:
    """The text after the editor has been closed, in a file called ``name`` that only the person can read. ``instead``: the
    command that takes the text from a file, for a person without an editor.

    Raises UserMistake where there is no editor, or it fails; nothing is kept then.
    """
    command = editor_command(environ, instead)
    folder = Path(tempfile.mkdtemp(prefix="sojourn-"))
    path = folder / name
    try:
        path.touch(mode=0o600)
        path.write_text(text, "utf-8")
        code = _run([*command, str(path)], instead)
        if code:
            raise UserMistake(say("editor_failed", editor=command[0], code=code), next_step=say("left_alone_next"))
        return Edited(_read(path), path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def applying(made: Edited, again: str) -> Iterator[None]:
    """While what the person wrote is taken in: if that fails, their file is kept and named; else it is removed.

    ``again``: the command that takes the file in once it is mended, without its path.
    """
    try:
        yield
    except SojournError as error:
        if made.path is None:
            raise
        kept = say("edit_kept", path=made.path, command=f"{again} {shlex.quote(str(made.path))}")
        error.next_step = f"{error.next_step}\n  {kept}" if error.next_step else kept
        raise
    if made.path is not None:
        shutil.rmtree(made.path.parent, ignore_errors=True)


def from_file(named: str) -> Edited:
    """The text of a file, ``-`` = of standard input. Raises UserMistake where it cannot be read."""
    if named == "-":
        return Edited(_decoded(sys.stdin.buffer.read(), "-"), None)
    from sojourn.surfaces.cli.options import readable

    return Edited(_read(readable(Path(named))), None)


def _run(command: list[str], instead: str) -> int:
    try:
        process = subprocess.Popen(command)  # noqa: S603 (the person's own editor)
    except OSError as error:
        reason = error.strerror or error
        next_step = say("no_editor_next", command=instead) if instead else say("no_editor_set")
        raise UserMistake(say("editor_missing", editor=command[0], reason=reason), next_step=next_step) from error
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the editor while it is open
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def _read(path: Path) -> str:
    try:
        return _decoded(path.read_bytes(), str(path))
    except OSError as error:
        told = say("file_refused", path=path, reason=error.strerror)
        raise WorkFailed(told, next_step=say("check_permissions")) from error


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        told = say("not_plain_text", path=name, line=data[: error.start].count(b"\n") + 1)
        raise UserMistake(told, next_step=say("save_as_text")) from error
