"""``sojourn context``: what stands in the window (M-4)."""

from pathlib import Path

import click
import msgspec

from sojourn.surfaces.cli.keeping import Pinned, keeping_json, keeping_report, reminders_by_kind, rule_lines
from sojourn.surfaces.cli.options import (
    data_folders,
    examples,
    hint,
    opened,
    print_json,
    recorded,
    session_argument,
    settings_for,
    window_option,
    with_options,
)
from sojourn.surfaces.cli.reading import context_report
from sojourn.surfaces.cli.taken_back import newest_in_view, taken_back, taken_back_line


@click.command(
    "context",
    short_help="What stands in a session's window, by part, in tokens.",
    epilog=examples("sojourn context last", "sojourn context ses_01m8 --window 200K"),
)
@session_argument
@window_option
@with_options
async def command(session: str, window: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """What the next request would hold, by part. The parts add up to the level; nothing is changed by looking.

    Below: what a rebuilt window would keep, make again, summarise or leave out, which rule files were looked for and
    loaded, and the reminders in view by kind.

    --json prints one document: {"level", "lines", "categories", "window", "in_view", "rebuild", "pins", "rules", "reminders",
    ...}.
    """
    loaded = settings_for(overrides)
    async with recorded(session) as (store, found):
        async with opened(store, found, loaded.settings, window, read_only=True) as engine:
            context = await engine.context()
            reminders = reminders_by_kind(engine.in_view)
            pinned = Pinned(len(engine.pins), sum(engine.count(pin.text) for pin in engine.pins))
        newest = await store.newest_window(found.id)
        seen = await newest_in_view(store, found)
        taken = await taken_back(store, found)
        prefix = await store.prefix(newest.prefix_id) if newest and newest.prefix_id else None
    rules = rule_lines(Path(found.cwd), loaded.settings, data_folders().config, prefix) if found.cwd else ()
    if as_json:
        told = {**msgspec.to_builtins(context), "in_view": seen, "taken_back": len(taken.seqs)}
        print_json({**told, **keeping_json(context.categories, rules, reminders, pinned)})
        return
    click.echo(context_report(context, seen))
    click.echo("\n" + keeping_report(context.categories, rules, reminders, pinned))
    if taken.seqs:
        hint(taken_back_line(found, taken))
