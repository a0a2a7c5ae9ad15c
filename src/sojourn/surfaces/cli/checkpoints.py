"""A checkpoint as a page for people and as JSON: each item with what it rests on and who wrote it (R-6, report 96)."""

from typing import Any

import msgspec

from sojourn.base import Item, ItemStatus, Section
from sojourn.checkpoint import render_checkpoint
from sojourn.checkpoint.documents import heaviest, left_out_line
from sojourn.record import Checkpoint
from sojourn.surfaces.cli.columns import harmless, one_line
from sojourn.surfaces.cli.kinds import writer_word
from sojourn.surfaces.cli.options import whole
from sojourn.surfaces.cli.runs import History, run_json


def checkpoint_json(one: Checkpoint, held: History) -> dict[str, Any]:
    """All fields of the row and of its items, defaults too, and ``run``: what it added, closed and cost."""
    return {
        **whole(one),
        "items": [{**whole(item), "section": item.section.value, "status": item.status.value} for item in one.items],
        "run": run_json(held.of(one)),
    }


def page(one: Checkpoint, *, everything: bool) -> tuple[str, int]:
    """The page, and how many open items of less weight it leaves out; ``everything`` shows those that have left too. Its
    headings are the same in every language: the page can be edited and taken in again."""
    shown = one.items if everything else heaviest(one.items)
    head = render_checkpoint(msgspec.structs.replace(one, items=(), refused=()))
    lines = [head.rstrip("\n")]
    more = sum(item.status is ItemStatus.OPEN for item in one.items) - sum(item.status is ItemStatus.OPEN for item in shown)
    if more:
        lines.append(left_out_line(more))
    for section in Section:
        mine = [item for item in shown if item.section is section and item.status is ItemStatus.OPEN]
        if mine:
            lines += ["", f"## {section.value}", "", *(_line(item) for item in mine)]
    left = [item for item in shown if item.status is not ItemStatus.OPEN]
    if left:
        lines += ["", "## left", ""]
        lines += [f"{_line(item)} - {item.section.value}, {item.status.value}" for item in left]
    if one.refused:
        lines += ["", "## refused", "", *(f"- {one_line(reason)}" for reason in one.refused)]
    return harmless("\n".join(lines)), more


def _line(item: Item) -> str:
    rests = ", ".join(f"m{seq}" for seq in item.sources)
    who = writer_word(item.by)
    return f"- [{item.id}] {one_line(item.text)} ({rests}; {who})" if rests else f"- [{item.id}] {one_line(item.text)} ({who})"
