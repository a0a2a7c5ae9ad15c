"""A session as lines of JSON: the lossless form of export and import (R-14).

The first line is the header, ``{"sojourn": 1, "session": {...}}``; every other line is one row with its kind in
``row``. A blob's line stands before the first row that refers to it. A task has a line for each of its states.

Snapshots of files have no lines: they name trees in the object store of one machine, and elsewhere they would name nothing.
"""

import json

import msgspec

from sojourn.record.types import Checkpoint, Message, Session, TaskRow, Undo, Window

VERSION = 1


class Header(msgspec.Struct, frozen=True):
    sojourn: int
    """The version of this form."""
    session: Session


class MessageRow(msgspec.Struct, frozen=True, tag_field="row", tag="message"):
    message: Message


class WindowRow(msgspec.Struct, frozen=True, tag_field="row", tag="window"):
    window: Window


class CheckpointRow(msgspec.Struct, frozen=True, tag_field="row", tag="checkpoint"):
    checkpoint: Checkpoint


class TaskStateRow(msgspec.Struct, frozen=True, tag_field="row", tag="task"):
    task: TaskRow


class UndoRow(msgspec.Struct, frozen=True, tag_field="row", tag="undo"):
    undo: Undo


class BlobRow(msgspec.Struct, frozen=True, tag_field="row", tag="blob"):
    sha: str
    data: bytes
    """Base64 on the line."""


Row = MessageRow | WindowRow | CheckpointRow | TaskStateRow | UndoRow | BlobRow

_ROWS: msgspec.json.Decoder[Row] = msgspec.json.Decoder(Row)
_HEADERS = msgspec.json.Decoder(Header)


def write_line(row: Header | Row) -> str:
    """One line with its LF. Half surrogate pairs, which UTF-8 cannot hold, are written as escapes."""
    try:
        return msgspec.json.encode(row).decode() + "\n"
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(row), ensure_ascii=True) + "\n"


def read_line(line: bytes) -> Header | Row | None:
    """The row on a line; None where it is none, or of a version that is newer than ours."""
    try:
        return _checked(_HEADERS.decode(line) if line.lstrip().startswith(b'{"sojourn"') else _ROWS.decode(line))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _read_odd(line)


def _read_odd(line: bytes) -> Header | Row | None:
    try:
        value = json.loads(line)
        is_header = isinstance(value, dict) and "sojourn" in value
        return _checked(msgspec.convert(value, Header) if is_header else msgspec.convert(value, Row))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _checked(row: Header | Row) -> Header | Row | None:
    return None if isinstance(row, Header) and row.sojourn > VERSION else row
