"""What the shell offers for an id."""

import asyncio

import click
from click.shell_completion import CompletionItem

from sojourn.base import SojournError
from sojourn.surfaces.cli.columns import one_line

_OFFERED = 50


def complete_session(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``last`` and the newest sessions whose id begins so, with their titles. Nothing where the record cannot be read."""
    from sojourn.surfaces.cli.options import database, record

    async def found() -> list[tuple[str, str]]:
        async with record() as store:
            return [(one.id, one.title) for one in await store.sessions() if one.id.startswith(incomplete)][:_OFFERED]

    last = [CompletionItem("last")] if "last".startswith(incomplete) else []
    if not database().exists():
        return last
    try:
        sessions = asyncio.run(found())
    except SojournError:
        return last
    return last + [CompletionItem(id, help=one_line(title)[:60]) for id, title in sessions]
