"""``sojourn checkpoint``: the newest checkpoint (R-6)."""

import click
import msgspec

from sojourn.base import Item, ItemStatus, Section, WorkFailed
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import harmless
from sojourn.surfaces.cli.options import (
    examples,
    hint,
    json_option,
    one_session,
    opened,
    print_json,
    record,
    run_async,
    session_argument,
    set_option,
    settings_for,
    window_option,
)
from sojourn.surfaces.cli.render import moment

_SHOWN = 10
"""Items of a section that a page shows; ``--all`` shows every one."""


@click.command(
    "checkpoint",
    short_help="The newest checkpoint of a session.",
    epilog=examples("sojourn checkpoint last", "sojourn checkpoint ses_01m8 --write", "sojourn checkpoint ses_01m8 --history"),
)
@session_argument
@click.option("--write", is_flag=True, help="Write one now, up to the newest safe message.")
@click.option("--history", is_flag=True, help="All checkpoints, a line each.")
@click.option("--all", "everything", is_flag=True, help="All items, those that are done or superseded too.")
@window_option
@json_option
@set_option
@run_async
async def command(
    session: str, write: bool, history: bool, everything: bool, window: str | None, as_json: bool, overrides: tuple[str, ...]
) -> None:
    """What a rebuilt window would start from: items under a fixed schema, each with the messages it rests on.

    With --json the checkpoint (null: there is none), or with --history one object a line.
    """
    from sojourn.checkpoint import WriterFailed, render_checkpoint

    loaded = settings_for(overrides)
    async with record() as store:
        found = await one_session(store, session)
        if write:
            async with opened(store, found, loaded.settings, window) as engine:
                written = await engine.write_checkpoint()
            if isinstance(written, WriterFailed):
                raise WorkFailed(say("writer_failed", reason=written.reason), next_step=say("writer_failed_next"))
            if written is None:
                hint(say("nothing_to_write"))
        every = await store.checkpoints(found.id, include_undone=True) if history else ()
        newest = await store.newest_checkpoint(found.id)
    if history:
        for one in every:
            if as_json:
                print_json(msgspec.to_builtins(one))
            else:
                click.echo(
                    say(
                        "checkpoint_line",
                        id=one.id,
                        covered=one.covered_seq,
                        items=len(one.items),
                        writer=one.writer,
                        written=moment(one.created),
                    )
                )
    elif as_json:
        print_json(msgspec.to_builtins(newest))
    elif newest is not None:
        shown = newest.items if everything else _heaviest(newest.items)
        click.echo(harmless(render_checkpoint(msgspec.structs.replace(newest, items=shown))), nl=False)
        open_items = sum(item.status is ItemStatus.OPEN for item in newest.items)
        if len(shown) < open_items:
            hint("\n" + say("more_items", count=open_items - len(shown)))
        if not everything and len(newest.items) > open_items:
            hint(say("closed_items", count=len(newest.items) - open_items))
    if newest is None and not as_json:
        hint(say("no_checkpoint", id=found.id))


def _heaviest(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Of each section the open items that matter most, in their order: a page for a person to read."""
    kept: set[str] = set()
    for section in Section:
        mine = [item for item in items if item.section is section and item.status is ItemStatus.OPEN]
        kept |= {item.id for item in sorted(mine, key=lambda item: -item.weight)[:_SHOWN]}
    return tuple(item for item in items if item.id in kept)
