"""``sojourn undo``: take back a window, a turn, or several turns, files with them (W-12)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from sojourn.base import UserMistake
from sojourn.record import Session, Store, Window
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.asking import at_terminal, says_yes
from sojourn.surfaces.cli.columns import cut, one_line
from sojourn.surfaces.cli.completing import complete_message
from sojourn.surfaces.cli.options import (
    data_folders,
    examples,
    hint,
    message_number,
    opened,
    print_json,
    recorded,
    session_argument,
    settings_for,
    window_option,
    with_options,
)
from sojourn.surfaces.cli.render import width
from sojourn.surfaces.cli.taken_back import taken_back
from sojourn.surfaces.cli.words import words_of

if TYPE_CHECKING:
    from sojourn.agent.undoing import UndoneTurn

_FILES_SHOWN = 20
_TURNS_SHOWN = 8
_TURN = 76
"""Columns of a turn's line."""


@click.command(
    "undo",
    short_help="Take back the newest window or turn, files with it (--redo: the undo itself).",
    epilog=examples(
        "sojourn undo last",
        "sojourn undo ses_01m8 --to m41",
        "sojourn undo ses_01m8 --no-files",
        "sojourn undo --redo last",
    ),
)
@session_argument
@click.option(
    "--to", type=message_number, metavar="mN", shell_complete=complete_message, help="Back to before this message of yours."
)
@click.option("--no-files", is_flag=True, help="The conversation only; files stay as they are.")
@click.option("--force", is_flag=True, help="Take back files that were changed since, too.")
@click.option("--redo", is_flag=True, help="Take back the newest undo; possible until the next message.")
@window_option
@with_options
async def command(
    session: str,
    to: int | None,
    no_files: bool,
    force: bool,
    redo: bool,
    window: str | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Take back the newest window or your newest turn, whichever is newer. The exact earlier view returns; nothing is erased.

    A turn takes the files that it changed with it: conversation and files, both or neither. Files that were changed since
    are named, and nothing is done: --force takes them back all the same, --no-files leaves files alone.

    --json prints one document: {"session", "kind", "what", "prompt", "level", "over_hard", "restored", "removed", "forced",
    "left", "steps"}.
    """
    from sojourn.agent import undoing

    if (redo and to is not None) or (force and no_files):
        raise UserMistake(say("undo_one_act"), next_step=say("run_one_session_next"))
    loaded = settings_for(overrides)
    if force and at_terminal() and not await says_yes(say("undo_force_question")):
        raise UserMistake(say("left_alone"), next_step=say("ask_again"))
    data = data_folders().data
    async with recorded(session) as (store, found), opened(store, found, loaded.settings, window) as engine:
        if to is not None:
            await _check_turn(store, found, to)
            done = await undoing.rewind(engine, to, files=not no_files, force=force, data=data)
        elif redo:
            done = await undoing.redo(engine, files=not no_files, force=force, data=data)
        else:
            await _check_something(store, found)
            done = await undoing.undo(engine, files=not no_files, force=force, data=data)
        windows = await store.windows(found.id, include_undone=True)
    if as_json:
        print_json({"session": found.id, **msgspec.to_builtins(done)})
        return
    _tell(done, what_was_undone(done, windows))
    if done.over_hard:
        hint(say("over_hard"))
    if not redo:
        hint(say("redo_next", id=found.id))


async def _check_turn(store: Store, session: Session, to: int) -> None:
    """Raises UserMistake, with the newest turns in view, where none of them begins with this message."""
    if any(turn.message.seq == to for turn in await store.turns(session.id, upto=to, limit=1)):
        return
    newest = await store.turns(session.id, upto=session.head, limit=_TURNS_SHOWN)
    shown = [
        cut(f"  m{turn.message.seq}  {one_line(words_of(turn.message)) or '-'}", min(width(), _TURN))
        for turn in reversed(newest)
    ]
    told = [say("turns_in_view"), *shown] if shown else []
    raise UserMistake(
        say("no_turn", id=session.id, seq=to), next_step="\n  ".join([*told, say("no_message_next", id=session.id)])
    )


async def _check_something(store: Store, session: Session) -> None:
    """Raises UserMistake where neither a window nor a turn stands in view."""
    window = await store.newest_window(session.id)
    if (window is None or window.kind == "start") and not await store.turns(session.id, upto=session.head, limit=1):
        taken = await taken_back(store, session)
        redo = say("redo_taken_back", id=session.id) if taken.redo else say("no_message_next", id=session.id)
        raise UserMistake(say("nothing_to_undo", id=session.id), next_step=redo)


def what_was_undone(done: "UndoneTurn", windows: Sequence[Window]) -> str:
    """What the undo, redo or rewind was of, in the person's language."""
    first, last = done.steps[0].undo, done.steps[-1].undo
    if done.kind == "turns":
        turns = sum(step.undo.kind == "turn" for step in done.steps)
        return say("undone_turns", turns=turns, seq=last.after_seq + 1)
    if first.kind == "window":
        number = next((one.number for one in windows if one.id == first.window_id), "?")
        what = say("undone_window", number=number)
    else:
        what = say("undone_turn", seq=first.after_seq + 1)
    return say("undone_undo", what=what) if first.closes else what


def _tell(done: "UndoneTurn", what: str) -> None:
    click.echo(say("taken_back", what=what, level=done.level))
    if done.prompt:
        click.echo("  " + say("undo_prompt", words=one_line(done.prompt)))
    if done.restored:
        click.echo("  " + say("undo_restored", count=len(done.restored), files=_listed(done.restored)))
    if done.removed:
        click.echo("  " + say("undo_removed", count=len(done.removed), files=_listed(done.removed)))
    if done.forced:
        click.echo("  " + say("undo_forced", files=_listed(done.forced)))
    if done.left:
        hint("  " + say("undo_left", files=_listed(done.left)))


def _listed(files: tuple[str, ...]) -> str:
    names = ", ".join(one_line(name) for name in files[:_FILES_SHOWN])
    return names if len(files) <= _FILES_SHOWN else f"{names}, {say('undo_more_files', count=len(files) - _FILES_SHOWN)}"
