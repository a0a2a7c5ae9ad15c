"""Files of documents: read whole, replaced whole or not at all, private, never through a link (Y-2)."""

import contextlib
import os
import stat
import tempfile
from hashlib import sha256
from pathlib import Path

import msgspec

from sojourn.base import UserMistake, WorkFailed


class Content(msgspec.Struct, frozen=True):
    data: bytes
    stat: os.stat_result


def guarded(root: Path, path: Path) -> Path:
    """The path, made real below the real root. UserMistake: a link on the way leads elsewhere."""
    real = Path(os.path.realpath(root))
    wanted = real / path.relative_to(root)
    if os.path.normcase(os.path.realpath(wanted)) != os.path.normcase(wanted):
        raise UserMistake(
            f"{path} is reached through a link that leads elsewhere", next_step="Put the file itself in the memory folder."
        )
    return wanted


def read(path: Path) -> Content | None:
    """The file's bytes; None = there is none. UserMistake: no regular file. WorkFailed: it cannot be read."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
        try:
            state = os.fstat(handle)
            if not stat.S_ISREG(state.st_mode):
                raise UserMistake(f"{path} is no regular file", next_step="Move it away.")
            with os.fdopen(handle, "rb", closefd=False) as file:
                return Content(file.read(), state)
        finally:
            os.close(handle)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WorkFailed(
            f"{path} cannot be read: {error.strerror or error}", next_step="Check what it is and who may read it."
        ) from error


def as_text(data: bytes) -> str:
    """The text, lines ended by ``\\n``; what is not UTF-8 shows as replacement characters."""
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def sha_of(text: str) -> str:
    """SHA-256 of the text, hex."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def is_text(data: bytes) -> bool:
    """Whether it is UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def put(path: Path, data: bytes, *, over: bytes | None, mode: int = 0o600) -> bool:
    """Puts the bytes in place, durably: temporary file, fsync, rename, folder on disk. Raises OSError; then nothing changed.

    False, and nothing is done, where the file is no longer what the caller read (``over``; None = there was none).
    """
    make_folders(path.parent)
    prefix = _prefix(path.name)
    for left in path.parent.glob(f"{prefix}*"):  # of a process that was killed: who holds the document's lock may remove it
        left.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(prefix=prefix, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        if over is None:
            if not _place_new(temporary, path):
                return False
        else:
            there = read(path)
            if there is None or there.data != over:
                return False
            temporary.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
    sync_folder(path.parent)
    return True


def make_folders(folder: Path) -> None:
    """Makes the folder and its missing parents, 0700, on disk when this returns."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)
        one.chmod(0o700)
        sync_folder(one.parent)


def sync_folder(folder: Path) -> None:
    """A new name survives a crash only when its folder is on disk too."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _place_new(temporary: Path, path: Path) -> bool:
    """Gives the file its name only if no other has it."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        if path.exists():
            return False
        temporary.replace(path)
    return True


def _prefix(name: str) -> str:
    return f".{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}."
