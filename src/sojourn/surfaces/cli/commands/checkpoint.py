"""``sojourn checkpoint``: what a rebuilt window starts from; its history; a person's own edits (R-6, K-11)."""

import re
from typing import TYPE_CHECKING

import click

from sojourn.base import ItemStatus, UserMistake, WorkFailed
from sojourn.config import Settings
from sojourn.record import Checkpoint, Session, Store
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.options import (
    examples,
    held_by,
    hint,
    opened,
    print_json,
    recorded,
    session_argument,
    settings_for,
    window_option,
    with_options,
)

if TYPE_CHECKING:
    from sojourn.config import Loaded
    from sojourn.surfaces.cli.runs import History

_NAMED = re.compile(r"^- id: (\S+)$", re.MULTILINE)


@click.command(
    "checkpoint",
    short_help="The checkpoint of a session: read, write or edit it.",
    epilog=examples(
        "sojourn checkpoint last",
        "sojourn checkpoint ses_01m8 --write",
        "sojourn checkpoint ses_01m8 --edit",
        "sojourn checkpoint ses_01m8 --edit-from mended.md",
        "sojourn checkpoint ses_01m8 --history",
    ),
)
@session_argument
@click.option("--write", is_flag=True, help="Write one now, up to the newest safe message.")
@click.option("--edit", is_flag=True, help="Open it in your editor; what you change, no writer replaces or closes.")
@click.option("--edit-from", metavar="FILE", help="Take the edited text from a file; - = standard input.")
@click.option("--history", "as_history", is_flag=True, help="A line each checkpoint: what it read, added, closed, cost.")
@click.option("--all", "everything", is_flag=True, help="All items, those that are done or superseded too.")
@window_option
@with_options
async def command(
    session: str,
    write: bool,
    edit: bool,
    edit_from: str | None,
    as_history: bool,
    everything: bool,
    window: str | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """What a rebuilt window would start from: items under a fixed schema, each with the messages it rests on (m12: see
    sojourn show ID --after 11 --limit 1) and who wrote it: the model, extraction, or you.

    An edit changes, removes or adds lines under the headings; a mistake is told with its line, and the edited text is
    kept.

    --json prints one document: the checkpoint (null: there is none), or with --history
    {"checkpoints", "failed", "price", "units"}.
    """
    from sojourn.surfaces.cli.checkpoints import checkpoint_json
    from sojourn.surfaces.cli.runs import history, history_json, history_report

    if write + edit + (edit_from is not None) + as_history > 1:
        raise UserMistake(say("checkpoint_one_act"), next_step=say("run_one_session_next"))
    loaded = settings_for(overrides)
    acts = write or edit or edit_from is not None
    changed = False
    async with recorded(session) as (store, found):
        if write:
            changed = await _write(store, found, loaded, overrides, window)
        elif acts:
            changed = await _edit(store, found, loaded.settings, edit_from)
        newest = await store.newest_checkpoint(found.id)
        held = await history(store, found.id)
    if as_json and as_history:
        print_json({"session": found.id, **history_json(held)})
    elif as_json:
        row = checkpoint_json(newest, held) if newest is not None else None
        print_json({"changed": changed, **row} if acts and row is not None else row)
    elif as_history and (held.runs or held.failures):
        click.echo(history_report(held))
    elif newest is None:
        hint(say("no_checkpoint", id=found.id))
    elif changed:
        _tell_run(newest, held)
    elif not acts:
        _show(newest, everything=everything)


def _show(newest: Checkpoint, *, everything: bool) -> None:
    from sojourn.surfaces.cli.checkpoints import page

    text, more = page(newest, everything=everything)
    click.echo(text)
    if more:
        hint("\n" + say("more_items", count=more))
    left = sum(item.status is not ItemStatus.OPEN for item in newest.items)
    if left and not everything:
        hint(say("closed_items", count=left))


def _tell_run(newest: Checkpoint, held: "History") -> None:
    from sojourn.surfaces.cli.runs import run_told

    click.echo(say("checkpoint_now", covered=newest.covered_seq, told=run_told(held.of(newest))))
    if newest.refused:
        hint(say("checkpoint_refused", count=len(newest.refused)))


async def _write(store: Store, found: Session, loaded: "Loaded", overrides: tuple[str, ...], window: str | None) -> bool:
    """Whether one was written."""
    from sojourn.checkpoint import WriterFailed
    from sojourn.surfaces.cli.keeping_up import kept_up

    async with kept_up(store, found, loaded, overrides, window) as engine:
        written = await engine.write_checkpoint()
    if isinstance(written, WriterFailed):
        raise WorkFailed(say("writer_failed", reason=written.reason), next_step=say("writer_failed_next"))
    if written is None:
        hint(say("nothing_to_write"))
    return written is not None


async def _edit(store: Store, found: Session, settings: Settings, named: str | None) -> bool:
    """Whether the person changed anything."""
    from sojourn.checkpoint import render_checkpoint
    from sojourn.surfaces.cli.editor import applying, edited, from_file

    before = await store.newest_checkpoint(found.id)
    if before is None:
        raise UserMistake(say("nothing_to_edit", id=found.id), next_step=say("nothing_to_edit_next", id=found.id))
    if (holder := await store.holder(found.id)) is not None:  # before the person begins to write
        raise UserMistake(say("is_run", id=found.id, holder=held_by(holder.owner)), next_step=say("close_it_first"))
    again = f"sojourn checkpoint {found.id} --edit-from"
    if named is not None:
        made = from_file(named)
    else:
        made = edited(render_checkpoint(before), "checkpoint.md", instead=f"{again} FILE")
    with applying(made, again):
        async with opened(store, found, settings, None) as engine:
            newest = await store.newest_checkpoint(found.id)
            _check_basis(made.text, newest.id if newest else "")
            row = await engine.edit_checkpoint(made.text)
    if row is None:
        hint(say("nothing_edited"))
    return row is not None


def _check_basis(text: str, newest: str) -> None:
    """What the person did not see must not count as taken out by them."""
    basis = _NAMED.search(text)
    if basis is None:
        raise UserMistake(say("edit_without_id"), next_step=say("edit_without_id_next", id=newest))
    if basis[1] != newest:
        raise UserMistake(say("edit_of_another", id=basis[1], newest=newest), next_step=say("edit_of_another_next"))
