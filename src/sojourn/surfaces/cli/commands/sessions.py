"""``sojourn sessions``: what is in the record."""

import os

import click

from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line, table
from sojourn.surfaces.cli.options import MOST, database, examples, hint, print_json, record, settings_for, whole, with_options
from sojourn.surfaces.cli.render import short_moment, table_width

_ID_SHOWN = 18
"""Enough of an id to name it: the millisecond and 20 random bits. Where two are alike, the command says so."""
_ROOMY = 76
"""Columns of a terminal that has room for where a session came from."""


@click.command(
    "sessions",
    short_help="List the sessions in the record.",
    epilog=examples("sojourn sessions", "sojourn sessions --project . --limit 5"),
)
@click.option("--limit", type=click.IntRange(1, MOST), default=30, show_default=True)
@click.option("--project", metavar="FOLDER", help="Only sessions of this project.")
@with_options
async def command(limit: int, project: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """List sessions, newest first; ↳ marks a sub-agent's. The beginning of an id is enough for the other commands.

    --json prints one object a line, a session each.
    """
    settings_for(overrides)
    if not database().exists():
        hint(say("no_sessions") + " " + say("import_first"))
        return
    async with record() as store:
        from sojourn.engine.project import project_of

        named = None if project is None else os.path.abspath(project)
        found = await store.sessions(project_id=project_of(named) if named else None, limit=limit)
    if as_json:
        for session in found:
            print_json(whole(session))
        return
    if not found:
        hint(say("no_sessions_here", project=named) if named else say("no_sessions") + " " + say("import_first"))
        return
    limit_of_table = table_width()
    roomy = limit_of_table is None or limit_of_table >= _ROOMY
    rows = [
        (
            session.id[:_ID_SHOWN],
            short_moment(session.updated),
            f"{session.head:,}",
            *([session.source.format if session.source else ""] if roomy else []),
            ("↳ " if session.parent_id else "") + one_line(session.title),
        )
        for session in found
    ]
    keys = ("id", "changed", "messages", *(["from"] if roomy else []), "title")
    click.echo(table([say(f"column_{key}") for key in keys], rows, right=(2,), limit=limit_of_table))
    if len(found) == limit:
        hint("\n" + say("more_sessions", limit=limit))
