"""``sojourn show``: read a session or one of its windows."""

import click
import msgspec

from sojourn.base import UserMistake
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line
from sojourn.surfaces.cli.options import (
    MOST,
    examples,
    hint,
    json_option,
    one_session,
    print_json,
    record,
    run_async,
    session_argument,
    set_option,
    settings_for,
    whole,
)
from sojourn.surfaces.cli.reading import message_lines, window_lines, window_list
from sojourn.surfaces.cli.render import paint


@click.command(
    "show",
    short_help="Read a session: its messages, or one of its windows.",
    epilog=examples("sojourn show last", "sojourn show ses_01m8 --after 100 --limit 20", "sojourn show ses_01m8 --number 2"),
)
@session_argument
@click.option("--number", type=click.IntRange(1, MOST), help="A window: its opening exactly as the model saw it.")
@click.option("--after", type=click.IntRange(0, MOST), default=0, help="Only messages after this one.")
@click.option("--limit", type=click.IntRange(1, MOST), default=50, show_default=True, help="At most so many messages.")
@json_option
@set_option
@run_async
async def command(session: str, number: int | None, after: int, limit: int, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Read a session's messages, with the boundary of each window, or with --number one window's opening."""
    from sojourn.engine import summarise

    settings_for(overrides)
    async with record() as store:
        found = await one_session(store, session)
        windows = await store.windows(found.id)
        if number is not None:
            every = await store.windows(found.id, include_undone=True)
            chosen = next((window for window in every if window.number == number), None)
            if chosen is None:
                there = ", ".join(str(window.number) for window in every)
                has = say("it_has", numbers=there) if there else say("it_has_none")
                raise UserMistake(say("no_window", id=found.id, number=number), next_step=has)
            if as_json:
                print_json(msgspec.to_builtins(chosen))
            else:
                click.echo("\n".join(window_lines(chosen)))
            return
        messages = await store.messages(found.id, after=after, limit=limit)
    if as_json:
        print_json({"session": whole(found), "windows": [summarise(window) for window in windows], "messages": messages})
        return
    click.echo(paint(f"{found.id}  {one_line(found.title)}", bold=True))
    click.echo(say("session_size", messages=found.head, windows=len(windows)))
    if windows:
        click.echo("\n" + window_list(windows))
    click.echo()
    for line in message_lines(messages, windows):
        click.echo(line)
    if len(messages) == limit and messages[-1].seq < found.head:
        hint("\n" + say("goes_on", id=found.id, seq=messages[-1].seq))
