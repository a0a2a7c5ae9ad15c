"""``sojourn fork``: a new session that begins with the present view of another (R-4)."""

import click

from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.completing import complete_message
from sojourn.surfaces.cli.options import (
    examples,
    hint,
    json_option,
    message_number,
    one_session,
    print_json,
    record,
    run_async,
    session_argument,
    set_option,
    settings_for,
    whole,
)


@click.command(
    "fork",
    short_help="Begin a new session with the present view of another.",
    epilog=examples(
        "sojourn fork last", "sojourn fork ses_01m8 --at m41", 'sojourn run --resume "$(sojourn fork last)" "try it"'
    ),
)
@session_argument
@click.option(
    "--at", type=message_number, metavar="mN", shell_complete=complete_message, help="End its view after this message."
)
@json_option
@set_option
@run_async
async def command(session: str, at: int | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Begin a new session with the view of another, and print its id. Nothing is copied, and nothing that happens in one
    of them changes the other. With --at its view ends after that message, as if the later ones had not come.

    --json prints one document: the new session.
    """
    from sojourn.surfaces.cli.forking import forked

    settings_for(overrides)
    async with record() as store:
        found = await one_session(store, session)
        made = await forked(store, found, at)
    if as_json:
        print_json(whole(made))
        return
    click.echo(made.id)
    hint(say("forked_next", id=made.id, parent=found.id, seq=made.head if at is None else at))
