"""Writers of checkpoints: what they are handed, what they give back, extraction, redaction, the files (K-1 to K-14)."""

from sojourn.checkpoint.check import add_what_is_sure
from sojourn.checkpoint.commit import checkpoint_row, items_sha
from sojourn.checkpoint.documents import (
    render_checkpoint,
    write_checkpoint_file,
)
from sojourn.checkpoint.editing import apply_user, edited
from sojourn.checkpoint.extract import done_by_record, extract, sure
from sojourn.checkpoint.extractive import ExtractiveWriter
from sojourn.checkpoint.model_writer import ModelWriter
from sojourn.checkpoint.redact import MARK, redact
from sojourn.checkpoint.sources import said_as
from sojourn.checkpoint.validate import validate
from sojourn.checkpoint.writer import Fork, Ledger, Lookup, Note, Writer, WriterFailed, WriterInput, Written

__all__ = [
    "MARK",
    "ExtractiveWriter",
    "Fork",
    "Ledger",
    "Lookup",
    "ModelWriter",
    "Note",
    "Writer",
    "WriterFailed",
    "WriterInput",
    "Written",
    "add_what_is_sure",
    "apply_user",
    "checkpoint_row",
    "done_by_record",
    "edited",
    "extract",
    "items_sha",
    "redact",
    "render_checkpoint",
    "said_as",
    "sure",
    "validate",
    "write_checkpoint_file",
]
