"""Our own lossless lines: what ``importers.read_rows`` reads back (R-14)."""

from collections.abc import Iterable, Iterator

from sojourn.exporters.words import BlobReader
from sojourn.record import Checkpoint, File, Image, Message, Session, TaskRow, ToolCall, Undo, Window
from sojourn.record.journal import (
    VERSION,
    BlobRow,
    CheckpointRow,
    Header,
    MessageRow,
    TaskStateRow,
    UndoRow,
    WindowRow,
    write_line,
)


def to_jsonl(
    session: Session,
    messages: Iterable[Message],
    blob: BlobReader,
    *,
    windows: Iterable[Window] = (),
    checkpoints: Iterable[Checkpoint] = (),
    tasks: Iterable[TaskRow] = (),
    undos: Iterable[Undo] = (),
) -> Iterator[str]:
    """Lines of JSON, each with its LF: the header, each message after its blobs, then windows, checkpoints, tasks, undos.

    A blob that is not there is left out; the parts that refer to it stay as they are. ``tasks``: every state of each, as
    ``Store.tasks(..., every_state=True)`` gives them. Snapshots stay behind: the trees that they name are on this machine.
    """
    yield write_line(Header(VERSION, session))
    written: set[str] = set()
    for message in messages:
        for sha in _blobs(message):
            if sha in written:
                continue
            written.add(sha)
            data = blob(sha)
            if data is not None:
                yield write_line(BlobRow(sha, data))
        yield write_line(MessageRow(message))
    yield from (write_line(WindowRow(window)) for window in windows)
    yield from (write_line(CheckpointRow(checkpoint)) for checkpoint in checkpoints)
    yield from (write_line(TaskStateRow(task)) for task in tasks)
    yield from (write_line(UndoRow(undo)) for undo in undos)


def _blobs(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, (Image, File)):
            yield part.blob
        elif isinstance(part, ToolCall):
            yield from (result.blob for result in part.result if isinstance(result, (Image, File)))
