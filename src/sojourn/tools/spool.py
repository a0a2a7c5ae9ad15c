"""A command's output in bounded memory: whole up to 8 MiB, then its first and last 4 MiB, the rest in a file."""

import codecs
import contextlib
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

MEMORY_MOST = 8 << 20
"""Bytes kept in memory."""
FILE_MOST = 256 << 20
"""Bytes kept on disk: a command that never stops talking must not fill it."""
_END = MEMORY_MOST // 2


class Spool:
    """Takes bytes in, gives text out. ``path`` is called once, when the output outgrows memory, and names the file."""

    def __init__(self, path: Callable[[], Path]) -> None:
        self._path = path
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._size = 0
        self._file: BinaryIO | None = None
        self._filed = 0
        self._where: Path | None = None

    def add(self, data: bytes) -> None:
        self._size += len(data)
        if self._where is None and len(self._kept) + len(data) <= MEMORY_MOST:
            self._kept += data
            return
        if self._where is None:
            data = self._overflow(data)
        else:
            self._to_file(data)
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= _END:
            self._tail_size -= len(self._tail.popleft())

    def _overflow(self, data: bytes) -> bytes:
        """Opens the file and leaves the head in memory; answers what goes on behind it."""
        self._where = self._path()
        with contextlib.suppress(OSError):
            self._file = self._where.open("wb")
        whole = bytes(self._kept) + data
        self._to_file(whole)
        self._kept = bytearray(whole[:_END])
        return whole[_END:]

    def _to_file(self, data: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(data[: FILE_MOST - self._filed])
            self._filed = min(FILE_MOST, self._filed + len(data))
        except OSError:  # the disk is full: head and tail are still there, and the text says what is not
            self.close()
            self._filed = 0

    def take(self, *, final: bool) -> str:
        """The output since the last call of this, and an empty spool; ``final`` = no more will come."""
        tail = b"".join(self._tail)[-_END:]
        left_out = self._size - len(self._kept) - len(tail)
        text = self._decoder.decode(bytes(self._kept), final=final and not tail)
        if tail:
            if left_out:
                text += f"\n[... {left_out:,} bytes left out; {self._kept_where()} ...]\n"
            text += self._decoder.decode(tail, final=final)
        self.close()
        self._kept, self._size, self._where, self._filed = bytearray(), 0, None, 0
        self._tail.clear()
        self._tail_size = 0
        return text

    def _kept_where(self) -> str:
        if not self._filed:
            return "they could not be kept on disk"
        return f"{'all' if self._filed == self._size else f'the first {self._filed:,} bytes'} of the output: {self._where}"

    def close(self) -> None:
        """Closes the file, if there is one. Whoever made its folder removes it."""
        if self._file is not None:
            self._file.close()
            self._file = None
