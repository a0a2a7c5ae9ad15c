"""``sojourn show``: read a session, one of its windows, or one request as it was sent."""

import click
import msgspec

from sojourn.base import UserMistake
from sojourn.record import Session, Store
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line
from sojourn.surfaces.cli.kinds import verdict_word
from sojourn.surfaces.cli.options import (
    MOST,
    examples,
    hint,
    print_json,
    recorded,
    session_argument,
    settings_for,
    whole,
    with_options,
)
from sojourn.surfaces.cli.reading import message_lines, window_lines, window_list
from sojourn.surfaces.cli.render import paint
from sojourn.surfaces.cli.taken_back import newest_in_view, taken_back, taken_back_line


@click.command(
    "show",
    short_help="Read a session: its messages, one of its windows, or a request.",
    epilog=examples(
        "sojourn show last",
        "sojourn show ses_01m8 --after 100 --limit 20",
        "sojourn show ses_01m8 --number 2",
        "sojourn show last --request 12 --full",
        "sojourn show last --request 12 --diff 11",
    ),
)
@session_argument
@click.option("--number", type=click.IntRange(1, MOST), help="A window: its opening exactly as the model saw it.")
@click.option("--after", type=click.IntRange(0, MOST), default=0, help="Only messages after this one.")
@click.option("--limit", type=click.IntRange(1, MOST), default=50, show_default=True, help="At most so many messages.")
@click.option("--undone", is_flag=True, help="The messages that an undo has taken back, too.")
@click.option("--request", type=click.IntRange(1, MOST), help="A model call (see sojourn cost): its request, block by block.")
@click.option("--diff", type=click.IntRange(1, MOST), metavar="M", help="With --request: what is different in request M.")
@click.option("--full", is_flag=True, help="With --request: the whole text of every block.")
@with_options
async def command(
    session: str,
    number: int | None,
    after: int,
    limit: int,
    undone: bool,
    request: int | None,
    diff: int | None,
    full: bool,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Read a session's messages, with the boundary of each window, or with --number one window's opening.

    With --request one request as it was sent: each block with its role, where it comes from, its tokens, its cache mark,
    and whether the cache should have held it already because the request before began with the same blocks.

    --json prints one document: {"session", "windows", "messages", "taken_back"}, with --number the window, with --diff
    {"first_difference", ...}; with --request alone one object a line, a block each.
    """
    from sojourn.engine import summarise

    settings_for(overrides)
    if request is None and (diff is not None or full):
        raise UserMistake(say("needs_request"), next_step=say("needs_request_next"))
    if request is not None and number is not None:
        raise UserMistake(say("window_or_request"), next_step=say("run_one_session_next"))
    async with recorded(session) as (store, found):
        if request is not None:
            await _show_request(store, found, request, diff, full=full, as_json=as_json)
            return
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
        messages = await store.messages(found.id, after=after, limit=limit, include_undone=undone)
        taken = await taken_back(store, found)
        newest = found.head if undone else await newest_in_view(store, found)
    if as_json:
        rows = [summarise(window) for window in windows]
        told = {"session": whole(found), "windows": rows, "messages": messages, "taken_back": sorted(taken.seqs)}
        print_json(told)
        return
    click.echo(paint(f"{found.id}  {one_line(found.title)}", bold=True))
    click.echo(say("session_size", messages=found.head - len(taken.seqs), windows=len(windows)))
    if taken.seqs:
        click.echo(taken_back_line(found, taken))
    if windows:
        click.echo("\n" + window_list(windows))
    click.echo()
    for line in message_lines(messages, windows, taken.seqs):
        click.echo(line)
    if not messages and after:
        hint(say("after_the_end", after=after, newest=newest))
    if len(messages) == limit and messages[-1].seq < newest:
        again = f"{found.id} --undone" if undone else found.id
        hint("\n" + say("goes_on", id=again, seq=messages[-1].seq))


async def _show_request(store: Store, session: Session, number: int, other: int | None, *, full: bool, as_json: bool) -> None:
    from sojourn.engine.looking import numbered_request
    from sojourn.surfaces.cli.requests import blocks, difference, difference_report, request_report

    call, request = await numbered_request(store, session.id, number)
    if other is not None:
        one, two = blocks(request), blocks((await numbered_request(store, session.id, other))[1])
        if as_json:
            first, ours, theirs = difference(one, two)
            print_json({"first_difference": first, f"only_in_{number}": ours, f"only_in_{other}": theirs})
        elif other < number:  # as every diff reads: from the older to the newer
            click.echo(difference_report(other, number, two, one, full=full))
        else:
            click.echo(difference_report(number, other, one, two, full=full))
        return
    before = (await numbered_request(store, session.id, number - 1))[1] if number > 1 else None
    found = blocks(request, before)
    if as_json:
        for block in found:
            print_json(whole(block))
        return
    head = say("request_head", number=number, id=session.id, model=call.model, blocks=len(found) - 1, seq=call.upto_seq)
    click.echo(request_report(found, head, full=full))
    if verdict := verdict_word(call.verdict, call.usage):
        hint(say("request_verdict", verdict=verdict))
