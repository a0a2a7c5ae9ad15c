"""``sojourn rebuild``: a new window now (C-13)."""

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
    "rebuild",
    short_help="Open a new window now.",
    epilog=examples("sojourn rebuild last", "sojourn rebuild ses_01m8 --window 64K"),
)
@session_argument
@window_option
@json_option
@set_option
@run_async
async def command(session: str, window: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Open a new window from the newest checkpoint; where it is not new enough, one is written first, by the session's model
    if it can be reached. Nothing is lost: `sojourn undo` brings the earlier view back.

    --json prints one document: {"session", "outcome", "level_before", "level_after", "window"}.
    """
    from sojourn.surfaces.cli.keeping_up import kept_up

    loaded = settings_for(overrides)
    async with record() as store:
        found = await one_session(store, session)
        async with kept_up(store, found, loaded, overrides, window) as engine:
            done = await engine.rebuild()
    if as_json:
        rebuilt_json(found.id, done)
    else:
        tell_rebuilt(found.id, done)
