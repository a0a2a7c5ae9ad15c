"""What opening a window by hand came to."""

from typing import TYPE_CHECKING

import click
import msgspec

from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.options import hint, print_json

if TYPE_CHECKING:
    from sojourn.engine.types import Rebuilt


def rebuilt_json(session_id: str, done: "Rebuilt") -> None:
    """Prints it as one document; ``window`` is null where nothing changed."""
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


def tell_rebuilt(session_id: str, done: "Rebuilt") -> None:
    """Says it, and how to look at the window and take it back."""
    if done.window is None:
        click.echo(say("nothing_to_leave_out"))
        return
    levels = {"before": done.level_before, "after": done.level_after}
    covered = done.window.covered_seq
    click.echo(say("rebuilt", number=done.window.number, outcome=done.outcome, covered=covered, **levels))
    hint(say("rebuilt_next", id=session_id, number=done.window.number))
