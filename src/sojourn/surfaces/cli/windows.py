"""A window opened by hand, and what came of it (C-13)."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click
import msgspec

from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import wrapped
from sojourn.surfaces.cli.kinds import outcome_word
from sojourn.surfaces.cli.options import hint, print_json, recorded, settings_for
from sojourn.surfaces.cli.render import width

if TYPE_CHECKING:
    from sojourn.engine import Engine
    from sojourn.engine.types import Rebuilt


async def open_by_hand(
    session: str,
    window: str | None,
    overrides: tuple[str, ...],
    act: Callable[["Engine"], Awaitable["Rebuilt"]],
    *,
    as_json: bool,
) -> None:
    """Does the act on the session and tells what it came to."""
    from sojourn.surfaces.cli.keeping_up import kept_up

    loaded = settings_for(overrides)
    async with recorded(session) as (store, found), kept_up(store, found, loaded, overrides, window) as engine:
        done = await act(engine)
    if as_json:
        _print(found.id, done)
    else:
        _tell(found.id, done)


def _print(session_id: str, done: "Rebuilt") -> None:
    """One document; ``window`` is null where nothing changed."""
    from sojourn.engine import summarise

    print_json(
        {
            "session": session_id,
            "outcome": done.outcome,
            "level_before": done.level_before,
            "level_after": done.level_after,
            "window": msgspec.to_builtins(summarise(done.window)) if done.window else None,
        }
    )


def _tell(session_id: str, done: "Rebuilt") -> None:
    """How to look at the window and take it back, too."""
    if done.window is None:
        click.echo(say("nothing_to_leave_out"))
        return
    levels = {"before": done.level_before, "after": done.level_after}
    covered = done.window.covered_seq
    outcome = outcome_word(done.outcome)
    click.echo(wrapped(say("rebuilt", number=done.window.number, outcome=outcome, covered=covered, **levels), width()))
    hint(say("rebuilt_next", id=session_id, number=done.window.number))
