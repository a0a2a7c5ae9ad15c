"""``sojourn delete``: erasure, a person's act (R-16)."""

import click

from sojourn.base import UserMistake
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line
from sojourn.surfaces.cli.options import (
    confirm,
    data_folders,
    documents,
    examples,
    held_by,
    json_option,
    one_session,
    print_json,
    record,
    run_async,
    session_argument,
    set_option,
    settings_for,
)


@click.command(
    "delete",
    short_help="Erase a session for good.",
    epilog=examples("sojourn export ses_01m8 -o kept.jsonl", "sojourn delete ses_01m8"),
)
@session_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@set_option
@run_async
async def command(session: str, yes: bool, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Erase a session and its sub-agents' sessions: rows, attachments, checkpoint files. This cannot be undone; export it
    first to keep it."""
    from sojourn.agent.snapshot_care import prune_snapshots
    from sojourn.surfaces.cli.documents import erase_documents, with_children

    settings_for(overrides)
    async with record() as store:
        found = await one_session(store, session)
        doomed = await with_children(store, found)
        for one in doomed:
            if (holder := await store.holder(one.id)) is not None:
                raise UserMistake(say("is_run", id=one.id, holder=held_by(holder.owner)), next_step=say("close_it_first"))
        if not yes:
            count = sum(one.head for one in doomed)
            confirm(say("erase_question", id=found.id, count=count, sessions=len(doomed), title=one_line(found.title)))
        messages = await store.delete(found.id)
        files = erase_documents(documents(), doomed)
        running = [one for one in await store.sessions() if await store.holder(one.id) is not None]
        freed = await store.collect() + await prune_snapshots(data_folders().data, store, at_once=not running)
    if as_json:
        print_json(
            {"session": found.id, "sessions": len(doomed), "messages": messages, "documents": files, "blob_bytes": freed}
        )
    else:
        click.echo(say("erased", id=found.id, sessions=len(doomed), messages=messages))
