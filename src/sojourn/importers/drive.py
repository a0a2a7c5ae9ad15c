"""The loop that all line formats share: every line is used, or reported with its reason (R-14)."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import msgspec

from sojourn.base import UserMistake
from sojourn.importers.desk import Desk
from sojourn.importers.lines import decode, is_blank, lines
from sojourn.importers.types import Counts, Done, ImportRecord, Progress, Skipped, SkippedLine

PROGRESS_STEP = 4 * 1024 * 1024

Used = Callable[[int], None]
"""Told the number of each line that became part of a session, so that a test can account for every line."""


def forget(_line: int) -> None:
    """The ``Used`` of a plain read."""


class Distinct:
    """Counts distinct ids. Remembers the last 2,048 at least, in constant memory: an id is repeated nearby or never."""

    def __init__(self) -> None:
        self.count = 0
        self._new: set[str] = set()
        self._old: set[str] = set()

    def add(self, name: str) -> None:
        if name in self._new or name in self._old:
            return
        self.count += 1
        self._new.add(name)
        if len(self._new) >= 2_048:
            self._old, self._new = self._new, set()


class Tally:
    """Counts as the manifest of the real transcripts has them: repeated ids count once."""

    def __init__(self) -> None:
        self._messages = 0
        self._ids = Distinct()
        self._calls = Distinct()
        self._results = Distinct()

    def message(self, foreign_id: str = "") -> None:
        """One message; those of one non-empty id are one."""
        if foreign_id:
            self._ids.add(foreign_id)
        else:
            self._messages += 1

    def call(self, call_id: str) -> None:
        self._calls.add(call_id)

    def result(self, call_id: str) -> None:
        self._results.add(call_id)

    def counts(self) -> Counts:
        return Counts(self._messages + self._ids.count, self._calls.count, self._results.count)


class Run(Protocol):
    """One reading of one file of one format."""

    desk: Desk
    tally: Tally

    def take(self, value: Any, line: int, size: int) -> str:
        """One JSON value of a line: ``""`` when it became part of a session, else why it did not."""
        ...

    def finish(self) -> None:
        """The file has ended."""
        ...


def drive(path: str, run: Run, decoder: msgspec.json.Decoder[Any], used: Used = forget) -> Iterator[ImportRecord]:
    """Reads the file through ``run``. Raises UserMistake where the file cannot be opened or read."""
    number = read = told = 0
    with opened(path) as file:
        for line in lines(file):
            number = line.number
            read += line.size
            if not is_blank(line):
                values, problems = decode(line, decoder)
                refused = _take_all(run, values, line.number, line.size)
                if len(refused) < len(values):
                    used(line.number)
                yield from (SkippedLine(Skipped(line.number, reason)) for reason in (*problems, *refused))
                yield from run.desk.leave()
            if read - told >= PROGRESS_STEP:
                told = read
                yield Progress(read)
    run.finish()
    yield from run.desk.finish()
    yield Done(run.tally.counts(), number, read)


def _take_all(run: Run, values: Iterable[Any], line: int, size: int) -> list[str]:
    return [reason for value in values if (reason := run.take(value, line, size))]


def opened(path: str) -> Any:
    """The file, open for reading bytes. Raises UserMistake where that cannot be."""
    try:
        return open(path, "rb")
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UserMistake(f"Cannot read {path}: {reason}.", next_step="Check the path and its permissions.") from error


def find_lines(path: str, needles: tuple[bytes, ...]) -> Iterator[bytes]:
    """Lines that hold one of the needles, found without decoding the others (a title may stand at the end)."""
    with opened(path) as file:
        for line in lines(file):
            if any(needle in line.raw for needle in needles):
                yield line.raw
