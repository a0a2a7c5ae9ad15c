"""``sojourn fork``: a new session that begins with the present view of another (R-4)."""

import click

from sojourn.base import UserMistake
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.completing import complete_message
from sojourn.surfaces.cli.options import (
    examples,
    hint,
    message_number,
    print_json,
    recorded,
    session_argument,
    settings_for,
    whole,
    with_options,
)
from sojourn.surfaces.cli.taken_back import newest_in_view


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
@with_options
async def command(session: str, at: int | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Begin a new session with the view of another, and print its id. Nothing is copied, and nothing that happens in one
    of them changes the other. With --at its view ends after that message, as if nothing later had come: no message, no
    window, no pin.

    --json prints one document: the new session.
    """
    from sojourn.engine import Engine

    settings_for(overrides)
    async with recorded(session) as (store, found):
        if at is not None and not await store.messages(found.id, after=at - 1, upto=at):
            raise UserMistake(say("no_message", id=found.id, seq=at), next_step=say("no_message_next", id=found.id))
        async with await Engine.open(store=store, session_id=found.id, read_only=True) as engine:
            made = await engine.fork(at=at)
        newest = await newest_in_view(store, made)
    if as_json:
        print_json(whole(made))
        return
    click.echo(made.id)
    hint(say("forked_next", id=made.id, parent=found.id, seq=newest))
