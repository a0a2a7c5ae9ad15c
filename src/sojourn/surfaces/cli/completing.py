"""What the shell offers for an id, a message, a pin, a document of memory."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from sojourn.base import SojournError
from sojourn.surfaces.cli.columns import one_line

_OFFERED = 50
_HELP = 60
"""Characters of help beside an offer."""

Offers = Sequence[tuple[str, str]]
"""Each offer with what it is."""


def complete_session(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``last`` and the newest sessions whose id begins so, with their titles. Nothing where the record cannot be read."""

    async def found() -> Offers:
        from sojourn.surfaces.cli.options import record

        async with record() as store:
            return [(one.id, one.title) for one in await store.sessions()]

    return [*_matching([("last", "")], incomplete), *_offered(found, incomplete)]


def complete_message(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The newest messages of the person in the session that the command line names, with their first words."""

    async def found() -> Offers:
        from sojourn.surfaces.cli.options import one_session, record
        from sojourn.surfaces.cli.words import words_of

        async with record() as store:
            session = await one_session(store, ctx.params.get("session") or "last")
            turns = await store.turns(session.id, upto=session.head, limit=_OFFERED)
            return [(f"m{turn.message.seq}", words_of(turn.message)) for turn in turns]

    return _offered(found, incomplete)


def complete_pin(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The pins of the session that the command line names."""

    async def found() -> Offers:
        from sojourn.surfaces.cli.options import one_session, record

        async with record() as store:
            session = await one_session(store, ctx.params.get("session") or "last")
            return [(pin.id, pin.text) for pin in await store.pins(session.id) if not pin.removed]

    return _offered(found, incomplete)


def complete_document(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The documents of memory that the command would list, with their titles."""

    async def found() -> Offers:
        from sojourn.surfaces.cli.memories import look

        async with look(ctx.params.get("session"), ctx.params.get("of")) as memory:
            listed = await memory.store.entries(memory.belonging)
            return [(memory.name(one.locator, one.path), one.title) for one in listed]

    return _offered(found, incomplete)


def _offered(found: Callable[[], Coroutine[Any, Any, Offers]], incomplete: str) -> list[CompletionItem]:
    """Nothing where the record cannot be read: the shell has no place for an error."""
    try:
        return _matching(asyncio.run(found()), incomplete)
    except SojournError:
        return []


def _matching(offers: Offers, incomplete: str) -> list[CompletionItem]:
    mine = [offer for offer in offers if offer[0].startswith(incomplete)][:_OFFERED]
    return [CompletionItem(value, help=one_line(about)[:_HELP]) for value, about in mine]
