"""A text file as a model sees it (``\\n`` line ends, no BOM), with what it takes to write it back as it was."""

import codecs
import os
import secrets
from bisect import bisect_left
from pathlib import Path

import msgspec

from sojourn.base import WorkFailed
from sojourn.prefix.sources.decode import decode

WHOLE_MOST = 16 << 20
"""Bytes of a file that is changed in memory."""
THREAD_FROM = 1 << 20
"""Bytes from which on work on a file leaves the event loop: below, a thread costs more than the work."""
_LENIENT_SHARE = 0.1
"""More undecodable characters than this, and it is not text."""
_NULS_SHARE = 0.1
"""UTF-16 without BOM is taken for text from here on: half of each plain letter is a NUL."""


class TextFile(msgspec.Struct, frozen=True):
    """``raw`` is the text with the line ends that it has on disk."""

    raw: str
    codec: str = "utf-8"
    bom: bytes = b""

    @property
    def view(self) -> str:
        """The text with ``\\n`` line ends."""
        return unified(self.raw)

    @property
    def newline(self) -> str:
        """The line end that most lines have; ``\\n`` where there is none."""
        return newline_of(self.raw)

    def bytes(self, raw: str) -> bytes:
        """Another text in the same encoding. Raises UnicodeEncodeError where it cannot hold it."""
        return self.bom + raw.encode(self.codec)


def unified(text: str) -> str:
    """The text with ``\\n`` line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def newline_of(text: str) -> str:
    """``\\r\\n`` where more than half of the line ends are, ``\\r`` where nothing else is, else ``\\n``."""
    if "\r" not in text:
        return "\n"
    pairs = text.count("\r\n")
    if not pairs and "\n" not in text:
        return "\r"
    return "\r\n" if pairs * 2 > text.count("\n") else "\n"


def parse(data: bytes) -> TextFile | None:
    """The file's text and encoding; None = not text, or text that could not be written back as it was."""
    try:
        # Nearly every file: no second pass, and strict UTF-8 always goes back to the same bytes.
        raw = data.decode("utf-8")
        if not data.startswith(codecs.BOM_UTF8) and "\0" not in raw:
            return TextFile(raw)
    except UnicodeDecodeError:
        pass
    found = _decoded(data, cut=False)
    if found is None:
        return None
    codec, bom = _codec(found[1], data)
    try:
        file = TextFile(data[len(bom) :].decode(codec), codec, bom)
        return file if file.bytes(file.raw) == data else None
    except UnicodeError:
        return None


def _codec(encoding: str, data: bytes) -> tuple[str, bytes]:
    if encoding == "utf-8-sig":
        return "utf-8", codecs.BOM_UTF8
    if encoding == "utf-16":
        if data.startswith(codecs.BOM_UTF16_BE):
            return "utf-16-be", codecs.BOM_UTF16_BE
        return "utf-16-le", codecs.BOM_UTF16_LE
    return encoding, b""


def readable(data: bytes, *, cut: bool = False) -> tuple[str, str] | None:
    """``(text, note)`` for showing, ``note`` empty for clean text; None = this is not text.

    A few stray bytes in a text (a log, an old source) are shown as U+FFFD, and the note says so.
    """
    try:
        text = data.decode("utf-8")
        if "\0" not in text and not text.startswith("\ufeff"):
            return unified(text), ""
    except UnicodeDecodeError:
        pass
    found = _decoded(data, cut=cut)
    if found is not None:
        text, encoding = found
        return text, "" if encoding in ("utf-8", "utf-8-sig") else encoding
    if b"\0" in data:
        return None
    text = data.decode("utf-8", "replace")
    if text.count("\ufffd") > len(text) * _LENIENT_SHARE:
        return None
    return unified(text), "some bytes are no text and shown as \ufffd"


def _decoded(data: bytes, *, cut: bool) -> tuple[str, str] | None:
    """As ``decode``, but data with only a few NULs is no UTF-16: chance would make Chinese of it."""
    zeros = data.count(0)
    if zeros and zeros < len(data) * _NULS_SHARE and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    return decode(data, cut=cut)


class Offsets:
    """From places in ``view`` to places in ``raw``."""

    def __init__(self, raw: str) -> None:
        self._pairs: list[int] = []
        at = raw.find("\r\n")
        while at >= 0:
            self._pairs.append(at - len(self._pairs))  # where its line end stands in the view
            at = raw.find("\r\n", at + 2)

    def raw(self, place: int) -> int:
        """A place at a line end is the one before it, ``\\r`` included."""
        return place + bisect_left(self._pairs, place)


def save(path: Path, data: bytes, before: os.stat_result | None) -> os.stat_result:
    """Writes the whole file, at once or not at all, and answers what it is then; ``before`` = what it was (None = it is
    new). Parents are made; an old file keeps its mode.

    Raises OSError; WorkFailed where somebody else changed or made the file in the meantime.
    """
    if before is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    elif before.st_nlink > 1 or not os.access(path.parent, os.W_OK):
        # A second name would keep the old content, and a locked folder takes no new file: written in place.
        path.write_bytes(data)
        return path.stat()
    aside = path.parent / f".{path.name[:100]}.{secrets.token_hex(4)}.tmp"
    # 0o666 here is cut by the process's umask, as for any program's new file.
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if before is not None:
                os.chmod(aside, before.st_mode & 0o7777)
        _unchanged(path, before)
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return path.stat()


def _unchanged(path: Path, before: os.stat_result | None) -> None:
    try:
        now = path.stat()
    except FileNotFoundError:
        now = None
    if _identity(now) != _identity(before):
        raise WorkFailed(f"{path} was changed by somebody else at this moment.", next_step="Read it again, then repeat.")


def _identity(stat: os.stat_result | None) -> tuple[int, int] | None:
    return None if stat is None else (stat.st_mtime_ns, stat.st_size)
