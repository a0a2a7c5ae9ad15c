"""``sojourn delete``: erasure, a person's act (R-16)."""

import asyncio
from pathlib import Path

import click

from sojourn.base import SojournError, UserMistake, WorkFailed
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line
from sojourn.surfaces.cli.options import (
    confirm,
    data_folders,
    documents,
    examples,
    held_by,
    hint,
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
    """Erase a session and its sub-agents' sessions: rows, attachments, notes and checkpoint files, snapshots of files that no
    other session has. This cannot be undone; export it first to keep it.

    --json prints one document: {"session", "sessions", "messages", "documents", "blob_bytes", "left"}.
    """
    from sojourn.agent.snapshot_care import erase_snapshots
    from sojourn.surfaces.cli.documents import erase_documents, with_children

    settings_for(overrides)
    left: list[str] = []
    unremoved: SojournError | None = None
    async with record() as store:
        found = await one_session(store, session)
        doomed = await with_children(store, found)
        for one in doomed:
            if (holder := await store.holder(one.id)) is not None:
                raise UserMistake(say("is_run", id=one.id, holder=held_by(holder.owner)), next_step=say("close_it_first"))
        ids = {one.id for one in doomed}
        forks = [
            one.id for one in await store.sessions() if one.fork_of and one.fork_of.session_id in ids and one.id not in ids
        ]
        if forks:
            refused = say("delete_forked", id=found.id, count=len(forks), ids=", ".join(forks))
            raise UserMistake(refused, next_step=say("delete_forked_next"))
        if not yes:
            # A fork's numbers go on from its parent's, whose messages stay.
            count = sum(one.head - (one.fork_of.seq if one.fork_of else 0) for one in doomed)
            confirm(say("erase_question", id=found.id, count=count, sessions=len(doomed), title=one_line(found.title)))
        roots = sorted({Path(row.root) for one in doomed for row in await store.snapshots(one.id)})
        messages = await store.delete(found.id)
        # The session is gone: whatever fails from here on is told beside that, and the rest is done all the same.
        files = 0
        try:
            files = await asyncio.to_thread(erase_documents, documents(), doomed)
        except SojournError as error:
            unremoved = error
        freed = await store.collect()
        for root in roots:
            try:
                erased = await erase_snapshots(data_folders().data, store, root, [one.id for one in doomed])
            except WorkFailed as error:
                left.append(say("snapshots_left", folder=root, reason=str(error)))
                continue
            freed += erased.freed
            if not erased.at_once:
                left.append(say("snapshots_young", folder=root))
    if as_json:
        told = {"session": found.id, "sessions": len(doomed), "messages": messages, "documents": files, "blob_bytes": freed}
        print_json({**told, "left": left})
    else:
        click.echo(say("erased", id=found.id, sessions=len(doomed), messages=messages))
    for one_left in left:
        hint(one_left)
    if unremoved is not None:
        raise unremoved
