"""What the model has seen of files: tells a file that changed since from one that did not (Y-5)."""

import os
from pathlib import Path

import msgspec


class _Stamp(msgspec.Struct, frozen=True):
    modified: int
    size: int
    digest: int | None
    """Of the whole content; None = too large to be looked at whole: time and size must do."""


class Seen:
    """Files that were read or written in this session, as they were then."""

    def __init__(self) -> None:
        self._stamps: dict[str, _Stamp] = {}

    def note(self, path: Path, stat: os.stat_result, data: bytes | None = None) -> None:
        """The file was seen just now; ``data`` = its whole content, where that is at hand."""
        # Python's own hash is enough: it is compared inside this process only, and costs a tenth of a SHA.
        digest = None if data is None else hash(data)
        self._stamps[str(path)] = _Stamp(stat.st_mtime_ns, stat.st_size, digest)

    def note_earlier(self, path: Path, stat: os.stat_result, at: int) -> None:
        """The file was seen at ``at`` (milliseconds since the epoch), by an earlier process: what was written to it since
        makes it another one."""
        same = stat.st_mtime_ns // 1_000_000 <= at
        self._stamps[str(path)] = _Stamp(stat.st_mtime_ns if same else -1, stat.st_size, None)

    def knows(self, path: Path) -> bool:
        """Whether it was read or written in this session."""
        return str(path) in self._stamps

    def changed(self, path: Path, stat: os.stat_result, data: bytes | None = None) -> bool:
        """Whether a file that was seen is another one now. Content decides where both times it was at hand."""
        stamp = self._stamps.get(str(path))
        if stamp is None:
            return False
        if data is not None and stamp.digest is not None:
            return hash(data) != stamp.digest
        return (stamp.modified, stamp.size) != (stat.st_mtime_ns, stat.st_size)
