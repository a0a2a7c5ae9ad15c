"""``sojourn compact``: a compaction window now (W-14, C-13)."""

import click

from sojourn.surfaces.cli.options import (
    examples,
    json_option,
    one_session,
    record,
    run_async,
    session_argument,
    set_option,
    settings_for,
    window_option,
)
from sojourn.surfaces.cli.windows import rebuilt_json, tell_rebuilt


@click.command(
    "compact",
    short_help="Open a compaction window now: the newest rounds stay word for word.",
    epilog=examples("sojourn compact last", 'sojourn compact ses_01m8 "the schema of the orders table"'),
)
@session_argument
@click.argument("focus", nargs=-1)
@window_option
@json_option
@set_option
@run_async
async def command(session: str, focus: tuple[str, ...], window: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Open a window in which the newest complete rounds stay word for word and what came before them becomes items.
    Nothing is lost: `sojourn undo` brings the earlier view back.

    FOCUS says what the summary should look after. It is not a request: it ends with the summary. Where no model can be
    reached, items are extracted.

    --json prints one document: {"session", "outcome", "level_before", "level_after", "window"}.
    """
    from sojourn.surfaces.cli.keeping_up import kept_up

    loaded = settings_for(overrides)
    async with record() as store:
        found = await one_session(store, session)
        async with kept_up(store, found, loaded, overrides, window) as engine:
            done = await engine.compact(" ".join(focus))
    if as_json:
        rebuilt_json(found.id, done)
    else:
        tell_rebuilt(found.id, done)
