"""``sojourn rebuild``: a new window now (C-13)."""

import click

from sojourn.surfaces.cli.options import examples, session_argument, window_option, with_options
from sojourn.surfaces.cli.windows import open_by_hand


@click.command(
    "rebuild",
    short_help="Open a new window now.",
    epilog=examples("sojourn rebuild last", "sojourn rebuild ses_01m8 --window 64K"),
)
@session_argument
@window_option
@with_options
async def command(session: str, window: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Open a new window from the newest checkpoint; where it is not new enough, one is written first, by the session's model
    if it can be reached. Nothing is lost: `sojourn undo` brings the earlier view back.

    --json prints one document: {"session", "outcome", "level_before", "level_after", "window"}.
    """
    await open_by_hand(session, window, overrides, lambda engine: engine.rebuild(), as_json=as_json)
