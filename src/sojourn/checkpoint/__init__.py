"""Writers of checkpoints: what they are handed, what they give back, extraction, redaction, the files (K-1 to K-14)."""

from sojourn.checkpoint.commit import checkpoint_row, items_sha
from sojourn.checkpoint.documents import (
    checkpoint_path,
    global_memory_path,
    notes_path,
    progress_path,
    project_memory_path,
    render_checkpoint,
    write_checkpoint_file,
)
from sojourn.checkpoint.extract import extract
from sojourn.checkpoint.extractive import ExtractiveWriter
from sojourn.checkpoint.redact import MARK, redact
from sojourn.checkpoint.validate import validate
from sojourn.checkpoint.writer import Writer, WriterFailed, WriterInput, Written

__all__ = [
    "MARK",
    "ExtractiveWriter",
    "Writer",
    "WriterFailed",
    "WriterInput",
    "Written",
    "checkpoint_path",
    "checkpoint_row",
    "extract",
    "global_memory_path",
    "items_sha",
    "notes_path",
    "progress_path",
    "project_memory_path",
    "redact",
    "render_checkpoint",
    "validate",
    "write_checkpoint_file",
]
