"""Our own lossless lines back in (R-14). Messages come with the ids and seqs that they had.

Counts: messages = message rows; calls = their calls; results = calls that have one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from sojourn.importers.drive import PROGRESS_STEP, Used, forget, opened
from sojourn.importers.lines import Line, decode, is_blank, lines
from sojourn.importers.outline import heads
from sojourn.importers.types import Counts, Done, Imported, ImportRecord, Progress, SessionStart, Skipped, SkippedLine
from sojourn.record import Session, ToolCall
from sojourn.record.journal import (
    BlobRow,
    CheckpointRow,
    Header,
    MessageRow,
    Row,
    TaskStateRow,
    UndoRow,
    WindowRow,
    read_line,
)


class SojournJsonl:
    """Importer of the files that ``to_jsonl`` writes."""

    name = "sojourn-jsonl"
    looks_for = 'a first JSON line with "sojourn" and "session"'

    def matches(self, sample: bytes) -> bool:
        return any("sojourn" in head and "session" in head for head in heads(sample)[:1])

    def read(self, path: str) -> Iterator[ImportRecord]:
        return read_sojourn(path)


def read_rows(path: str) -> Iterator[Header | Row]:
    """Every row of the file, windows, checkpoints, tasks and undos too; lines that are none are left out."""
    with opened(path) as file:
        rows = (read_line(line.raw) for line in lines(file))
        yield from (row for row in rows if row is not None)


def read_sojourn(path: str, used: Used = forget) -> Iterator[ImportRecord]:
    """The session and its messages. Windows, checkpoints, tasks and undos are rows of the session they were made in:
    they are told as skipped here, and ``read_rows`` gives them."""
    run = _Run(Path(path).stem)
    number = read = told = 0
    with opened(path) as file:
        for line in lines(file):
            number = line.number
            read += line.size
            if is_blank(line):
                continue
            row = read_line(line.raw)
            reasons = _why_not(row, line)
            if reasons:
                yield from (SkippedLine(Skipped(number, reason)) for reason in reasons)
            elif row is not None:
                used(number)
                yield from run.take(row)
            if read - told >= PROGRESS_STEP:
                told = read
                yield Progress(read)
    yield Done(run.counts(), number, read)


def _why_not(row: Header | Row | None, line: Line) -> list[str]:
    if row is None:
        return decode(line, _ANY).problems or ["no row of a Sojourn export"]
    if isinstance(row, (WindowRow, CheckpointRow, TaskStateRow, UndoRow)):
        return [f"bookkeeping: {row.__struct_config__.tag}"]
    return []


_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


class _Run:
    def __init__(self, session: str) -> None:
        self._session = session
        self._begun = False
        self._blobs: dict[str, bytes] = {}
        self._messages = self._calls = self._results = 0

    def counts(self) -> Counts:
        return Counts(self._messages, self._calls, self._results)

    def take(self, row: Header | Row) -> Iterator[ImportRecord]:
        if isinstance(row, BlobRow):
            self._blobs[row.sha] = row.data
        elif isinstance(row, Header) and not self._begun:
            self._session = row.session.id
            yield self._start(row.session)
        elif isinstance(row, MessageRow):
            if not self._begun:
                yield self._start(Session(self._session))
            calls = [part for part in row.message.parts if isinstance(part, ToolCall)]
            self._messages += 1
            self._calls += len(calls)
            self._results += sum(call.state in ("completed", "error") for call in calls)
            yield Imported(self._session, row.message, self._blobs)
            self._blobs = {}

    def _start(self, session: Session) -> SessionStart:
        self._begun = True
        return SessionStart(
            session.id,
            title=session.title,
            cwd=session.cwd,
            model=session.model,
            created=session.created,
            parent_foreign_id=session.parent_id or "",
            agent=session.agent,
        )
