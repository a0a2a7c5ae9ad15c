"""``sojourn cost``: what model calls took and what they cost (M-5, A-7)."""

import click

from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.completing import complete_session
from sojourn.surfaces.cli.options import (
    database,
    examples,
    hint,
    json_option,
    one_session,
    print_json,
    record,
    run_async,
    set_option,
    settings_for,
)

_NEWEST = 20


@click.command(
    "cost",
    short_help="What model calls took and cost: each call of a session, or a line a session.",
    epilog=examples("sojourn cost", "sojourn cost last", "sojourn cost ses_01m8 --json"),
)
@click.argument("session", metavar="[ID]", required=False, shell_complete=complete_session)
@json_option
@set_option
@run_async
async def command(session: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Each model call of a session: its tokens as the provider reported them, its price, and whether the cache was read.

    Input is what was sent: fresh, read from the cache, written to it. What a provider does not report is shown as
    unknown, never as 0. The number of a call is the one that `sojourn show ID --request N` takes. Sub-agents' sessions
    count under the purpose actor. Without ID: the newest 20 sessions, a line each.
    """
    from sojourn.surfaces.cli.costs import ledger, ledger_json, ledger_report, overview, overview_report

    settings_for(overrides)
    if session is None and not database().exists():
        hint(say("no_sessions"))
        return
    async with record() as store:
        if session is None:
            rows = await overview(store, _NEWEST)
            if as_json:
                for row in rows:
                    print_json(row)
            elif rows:
                click.echo(overview_report(rows))
            else:
                hint(say("no_sessions"))
            return
        found = await one_session(store, session)
        held = await ledger(store, found)
    if as_json:
        print_json(ledger_json(held))
    else:
        click.echo(ledger_report(held))
