"""``sojourn rebuild``: a new window now (C-13)."""

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
    "rebuild",
    short_help="Open a new window now.",
    epilog=examples("sojourn rebuild last", "sojourn rebuild ses_01m8 --window 64K --compact"),
)
@session_argument
@click.option("--compact", is_flag=True, help="A compaction window: the newest rounds stay verbatim, the rest becomes items.")
@window_option
@json_option
@set_option
@run_async
async def command(session: str, compact: bool, window: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Open a new window from the newest checkpoint. Nothing is lost: `sojourn undo` brings the earlier view back."""
    from sojourn.engine import summarise

    loaded = settings_for(overrides)
    async with record() as store:
        found = await one_session(store, session)
        async with opened(store, found, loaded.settings, window) as engine:
            done = await (engine.compact() if compact else engine.rebuild())
    if as_json:
        print_json(
            {
                "session": found.id,
                "outcome": done.outcome,
                "level_before": done.level_before,
                "level_after": done.level_after,
                "window": msgspec.to_builtins(summarise(done.window)) if done.window else None,
            }
        )
    elif done.window is None:
        click.echo(say("nothing_to_leave_out"))
    else:
        click.echo(
            say(
                "rebuilt",
                number=done.window.number,
                outcome=done.outcome,
                before=done.level_before,
                after=done.level_after,
                covered=done.window.covered_seq,
            )
        )
        hint(say("rebuilt_next", id=found.id, number=done.window.number))
