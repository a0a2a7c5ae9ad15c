"""How a checkpoint reads for people and grep, and how its file is put in place (K-7, R-6)."""

import os
import re
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from sojourn.base import Item, ItemStatus, Section, WorkFailed
from sojourn.record import Checkpoint

SHOWN = 10
"""Items of a section that a page for people shows."""
_LEFT_OUT = re.compile(r"^- left out: [1-9]", re.MULTILINE)


def heaviest(items: Sequence[Item]) -> tuple[Item, ...]:
    """Of each section the open items that matter most, in their order: a page for a person to read."""
    kept: set[str] = set()
    for section in Section:
        mine = [item for item in items if item.section is section and item.status is ItemStatus.OPEN]
        kept |= {item.id for item in sorted(mine, key=lambda item: -item.weight)[:SHOWN]}
    return tuple(item for item in items if item.id in kept)


def left_out_line(count: int) -> str:
    """What stands at the head of a page of the ``heaviest``: who edits it has not seen the others (``leaves_out``)."""
    return f"- left out: {count} open items of less weight"


def leaves_out(page: str) -> bool:
    """Whether the page shows the ``heaviest`` only: its head says so."""
    return _LEFT_OUT.search(page.partition("\n## ")[0]) is not None


def render_checkpoint(checkpoint: Checkpoint, title: str = "") -> str:
    """The checkpoint as Markdown: mark and writer, its open items by section with id and sources, then what left.

    A rendering only: the row is the truth (R-6). The same row gives the same text.
    """
    after, upto = checkpoint.range
    lines = [f"# Checkpoint{f': {_line(title)}' if title else ''}", ""]
    lines += [f"- id: {checkpoint.id}", f"- covers: messages up to m{checkpoint.covered_seq}"]
    lines.append(f"- read: m{after + 1} to m{upto}")
    lines.append(f"- writer: {checkpoint.writer}")
    if checkpoint.created:
        lines.append(f"- written: {datetime.fromtimestamp(checkpoint.created / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC")
    if checkpoint.previous_id:
        lines.append(f"- previous: {checkpoint.previous_id}")
    for section in Section:
        items = [item for item in checkpoint.items if item.section is section and item.status is ItemStatus.OPEN]
        if items:
            lines += ["", f"## {section.value}", "", *map(_item, items)]
    left = [item for item in checkpoint.items if item.status is not ItemStatus.OPEN]
    if left:
        lines += ["", "## left", "", *(f"{_item(item)} - {item.section.value}, {item.status.value}" for item in left)]
    if checkpoint.refused:
        lines += ["", "## refused", "", *(f"- {_line(reason)}" for reason in checkpoint.refused)]
    return "\n".join(lines) + "\n"


def write_checkpoint_file(path: Path, text: str) -> None:
    """Puts the text in place whole or not at all: temporary file, fsync, rename; mode 0400, folders it makes 0700 (K-7).

    A file that stands there, read-only or a link, is replaced. Raises WorkFailed; then the old file is as it was.
    """
    try:
        _make_folders(path.parent)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(0o400)
            if os.name == "nt" and path.exists():
                path.chmod(0o600)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise WorkFailed(
            f"the checkpoint file {path} could not be written: {error.strerror or error}",
            next_step="The checkpoint itself is stored; free the path (space, rights) and it is written at the next one.",
        ) from error


def _item(item: Item) -> str:
    sources = f" ({', '.join(f'm{seq}' for seq in item.sources)})" if item.sources else ""
    return f"- [{item.id}] {_line(item.text)}{sources}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _make_folders(folder: Path) -> None:
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)
        one.chmod(0o700)


def _sync_folder(folder: Path) -> None:
    """The rename itself survives a crash only when the folder is on disk too."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
