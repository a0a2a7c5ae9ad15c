"""``sojourn search``: words in all sessions (R-13)."""

import click
import msgspec

from sojourn.base import UserMistake
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line
from sojourn.surfaces.cli.options import MOST, examples, hint, one_session, print_json, record, settings_for, with_options
from sojourn.surfaces.cli.render import moment, paint


@click.command(
    "search",
    short_help="Find words in all sessions, Chinese and code names included.",
    epilog=examples("sojourn search parse_header", "sojourn search 水位 --limit 5"),
)
@click.argument("query", nargs=-1, required=True)
@click.option("--session", metavar="ID", help="Only in this session.")
@click.option("--limit", type=click.IntRange(1, MOST), default=20, show_default=True)
@with_options
async def command(query: tuple[str, ...], session: str | None, limit: int, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Find messages that hold all the words: what people and models said, and tool calls; the engine's text is left out.

    --json prints one object a line, a hit each: {"session_id", "seq", "role", "created", "title", "snippet", ...}.
    """
    settings_for(overrides)
    if not "".join(query).strip():
        raise UserMistake(say("search_nothing"), next_step=say("search_nothing_next"))
    async with record() as store:
        only = (await one_session(store, session)).id if session else None
        hits = await store.search(" ".join(query), session_id=only, limit=limit)
    if as_json:
        for hit in hits:
            print_json(msgspec.to_builtins(hit))
        return
    for hit in hits:
        click.echo(paint(f"{hit.session_id} m{hit.seq}", bold=True) + f"  {hit.role}  {moment(hit.created)}")
        click.echo(f"  {one_line(hit.title)}\n    {one_line(hit.snippet)}")
    if not hits:
        hint(say("nothing_found"))
