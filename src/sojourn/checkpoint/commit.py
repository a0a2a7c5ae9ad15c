"""From what a writer gave back to the row that is committed (K-7, R-6). Pure."""

import hashlib
import json
from typing import Literal

import msgspec

from sojourn.base import Clock, Ids, Item
from sojourn.checkpoint.writer import WriterInput, Written
from sojourn.record import Checkpoint


def items_sha(items: tuple[Item, ...]) -> str:
    """SHA-256, in hex, of the items as canonical JSON: equal for equal items, in any process."""
    try:
        data = msgspec.json.encode(items, order="deterministic")
    except UnicodeEncodeError:  # half a character in what was quoted: JSON as ASCII can carry it
        data = json.dumps(msgspec.to_builtins(items), sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()


def checkpoint_row(
    run: WriterInput,
    written: Written,
    writer: Literal["model", "extractive", "user"],
    *,
    ids: Ids,
    clock: Clock,
    previous_id: str | None = None,
) -> Checkpoint:
    """The row for one finished run: the mark is the end of the range that the run read."""
    return Checkpoint(
        id=ids.new("ckp"),
        covered_seq=run.range[1],
        items=written.items,
        items_sha=items_sha(written.items),
        writer=writer,
        range=run.range,
        usage=written.usage,
        previous_id=previous_id,
        refused=written.refused,
        mode=written.mode,
        calls=written.calls,
        added=written.added,
        closed=written.closed,
        checked=written.checked,
        promoted=written.promoted,
        created=clock.now(),
    )
