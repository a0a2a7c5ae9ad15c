"""``sojourn scrub``: a text out of everything (R-16)."""

import asyncio
import sys

import click

from sojourn.base import UserMistake
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.options import (
    confirm,
    documents,
    examples,
    hint,
    json_option,
    print_json,
    record,
    run_async,
    set_option,
    settings_for,
)

_MARKER = "[scrubbed]"
_SHORTEST = 4


@click.command(
    "scrub",
    short_help="Replace a text by a marker everywhere in the record.",
    epilog=examples("sojourn scrub --yes - < secret.txt"),
)
@click.argument("text", metavar="TEXT|-")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@set_option
@run_async
async def command(text: str, yes: bool, as_json: bool, overrides: tuple[str, ...]) -> int:
    """Replace TEXT by a marker in every message, window, checkpoint, pin and attachment. `-` reads it from standard
    input, so that a secret does not stand in the shell's history. This cannot be undone.
    Exit code 1 where it stands nowhere.

    --json prints one document: {"places"}.
    """
    from sojourn.memory import scrub_documents

    settings_for(overrides)
    if text == "-" and not yes:
        raise UserMistake(say("input_taken"), next_step=say("give_yes"))
    wanted = sys.stdin.read().strip("\r\n") if text == "-" else text
    if len(wanted) < _SHORTEST:
        raise UserMistake(say("too_short", least=_SHORTEST), next_step=say("whole_secret"))
    async with record() as store:
        if not yes:
            confirm(say("scrub_question", count=len(wanted)))
        places = await store.scrub(wanted, _MARKER)
        await store.collect()
    places += await asyncio.to_thread(scrub_documents, documents(), wanted, _MARKER)
    if as_json:
        print_json({"places": places})
    if not places:
        hint(say("scrub_not_found"))
        return 1
    if not as_json:
        click.echo(say("scrubbed", places=places, marker=_MARKER))
    return 0
