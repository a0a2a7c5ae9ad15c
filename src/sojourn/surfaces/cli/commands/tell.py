"""``sojourn tell``: text for a session that works, or for its next turn (S-1, M-R6)."""

import click

from sojourn.base import SystemClock, SystemIds, UserMistake, WorkFailed
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.completing import complete_session
from sojourn.surfaces.cli.options import examples, held_by, print_json, recorded, settings_for, whole, with_options, words_said


@click.command(
    "tell",
    short_help="Say something to a session while it works.",
    epilog=examples(
        'sojourn tell last "use tabs, please"',
        "git diff | sojourn tell ses_01m8 'this is what I changed meanwhile:' -",
    ),
)
@click.argument("session", metavar="ID", shell_complete=complete_session)
@click.argument("words", metavar="TEXT", nargs=-1, required=True)
@with_options
async def command(session: str, words: tuple[str, ...], as_json: bool, overrides: tuple[str, ...]) -> None:
    """Put TEXT into the session's inbox. It is kept at once; the agent reads it, as your own words, before its next
    request, or in the session's next turn where nobody runs it. ID may be the beginning of one, or last.

    TEXT may be several words; - stands for standard input.

    --json prints one document: {"session", "id", "text", ..., "running"}.
    """
    from sojourn.record import Fence, Fenced, InboxRow, PutInbox

    settings_for(overrides)
    text = words_said(words)
    if not text:
        raise UserMistake(say("tell_nothing"), next_step=say("tell_nothing_next"))
    clock = SystemClock()
    async with recorded(session) as (store, found):
        row = InboxRow(id=SystemIds(clock).new("inb"), text=text, created=clock.now())
        kept = await store.commit(found.id, Fence(epoch=0), [PutInbox(row)])
        if isinstance(kept, Fenced):  # deleted meanwhile
            raise WorkFailed(say("tell_failed", reason=kept.detail or kept.reason), next_step=say("list_sessions"))
        holder = await store.holder(found.id)
    if as_json:
        print_json({"session": found.id, **whole(row), "running": holder is not None})
    elif holder is not None:
        click.echo(say("tell_running", id=found.id, holder=held_by(holder.owner)))
    else:
        click.echo(say("tell_waiting", id=found.id))
