"""``sojourn compact``: a compaction window now (W-14, C-13)."""

import click

from sojourn.surfaces.cli.options import examples, session_argument, window_option, with_options
from sojourn.surfaces.cli.windows import open_by_hand


@click.command(
    "compact",
    short_help="Open a compaction window now: the newest rounds stay word for word.",
    epilog=examples("sojourn compact last", 'sojourn compact ses_01m8 "the schema of the orders table"'),
)
@session_argument
@click.argument("focus", nargs=-1)
@window_option
@with_options
async def command(session: str, focus: tuple[str, ...], window: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Open a window in which the newest complete rounds stay word for word and what came before them becomes items.
    Nothing is lost: `sojourn undo` brings the earlier view back.

    FOCUS says what the summary should look after. It is not a request: it ends with the summary. Where no model can be
    reached, items are extracted.

    --json prints one document: {"session", "outcome", "level_before", "level_after", "window"}.
    """
    await open_by_hand(session, window, overrides, lambda engine: engine.compact(" ".join(focus)), as_json=as_json)
