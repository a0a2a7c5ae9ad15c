"""``sojourn undo``: take back a window or a turn (W-12)."""

import click
import msgspec

from sojourn.surfaces.catalogue import say
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


@click.command(
    "undo",
    short_help="Take back the newest window or turn (--redo: the undo itself).",
    epilog=examples("sojourn undo last", "sojourn undo --redo last"),
)
@session_argument
@click.option("--redo", is_flag=True, help="Take back the newest undo; possible until the next message.")
@window_option
@json_option
@set_option
@run_async
async def command(session: str, redo: bool, window: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Take back the newest window or user turn, whichever is newer. The exact earlier view returns; nothing is erased."""
    loaded = settings_for(overrides)
    async with record() as store:
        found = await one_session(store, session)
        async with opened(store, found, loaded.settings, window) as engine:
            done = await (engine.redo() if redo else engine.undo())
    if as_json:
        print_json({"session": found.id, **msgspec.to_builtins(done)})
        return
    click.echo(say("taken_back", what=done.what, level=done.level))
    if done.over_hard:
        hint(say("over_hard"))
    if not redo:
        hint(say("redo_next", id=found.id))
