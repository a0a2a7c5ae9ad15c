"""``sojourn cost``: what model calls, windows and background writers took and cost (M-5, A-7, K-11)."""

import click

from sojourn.base import UserMistake
from sojourn.record import Session, Store
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.completing import complete_session
from sojourn.surfaces.cli.options import database, examples, hint, one_session, print_json, record, settings_for, with_options

_NEWEST = 20


@click.command(
    "cost",
    short_help="What model calls, windows and background writers took and cost.",
    epilog=examples(
        "sojourn cost",
        "sojourn cost last",
        "sojourn cost --days",
        "sojourn cost ses_01m8 --writers",
        "sojourn cost ses_01m8 --json",
    ),
)
@click.argument("session", metavar="[ID]", required=False, shell_complete=complete_session)
@click.option("--days", is_flag=True, help="A line a day: of the session, or of all sessions.")
@click.option("--writers", is_flag=True, help="A line each checkpoint of the session, as checkpoint --history.")
@with_options
async def command(session: str | None, days: bool, writers: bool, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Each model call of a session: its tokens as the provider reported them, its price, and whether the cache was read.

    Input is what was sent: fresh, read from the cache, written to it. What a provider does not report is shown as
    unknown, never as 0. The number of a call is the one that `sojourn show ID --request N` takes. Sub-agents' sessions
    count under the purpose actor. Without ID: the newest 20 sessions, a line each.

    Below stands the net effect of windows: what background writers, openings and files read again cost, and what later
    requests did not have to carry.

    --json prints one document: {"calls", "totals", "total", "effect"} of a session, {"sessions", "totals", "total"}
    without ID, {"days"} with --days, {"checkpoints", "failed", "price", "units"} with --writers.
    """
    from sojourn.surfaces.cli.cost_tables import days_json, days_report, overview_json, overview_report
    from sojourn.surfaces.cli.costs import by_day, overview

    if writers and (days or session is None):
        raise UserMistake(say("cost_writers_one"), next_step=say("cost_writers_one_next"))
    settings_for(overrides)
    if session is None and not database().exists():
        if as_json:
            print_json({"days": []} if days else {"sessions": [], "totals": [], "total": None})
        else:
            hint(say("no_sessions"))
        return
    async with record() as store:
        found = await one_session(store, session) if session is not None else None
        if days:
            listed = await by_day(store, found)
            if as_json:
                print_json({"session": found.id if found else None, "days": days_json(listed)})
            elif listed:
                click.echo(days_report(listed))
            else:
                hint(say("cost_no_days"))
        elif found is None:
            held = await overview(store, _NEWEST)
            if as_json:
                print_json(overview_json(held))
            elif held.sessions:
                click.echo(overview_report(held))
            else:
                hint(say("no_sessions"))
        elif writers:
            await _writers(store, found, as_json=as_json)
        else:
            await _one(store, found, as_json=as_json)


async def _one(store: Store, session: Session, *, as_json: bool) -> None:
    from sojourn.surfaces.cli.cost_tables import ledger_json, ledger_report
    from sojourn.surfaces.cli.costs import ledger
    from sojourn.surfaces.cli.effects import effect, effect_json, effect_report

    held = await ledger(store, session)
    net = await effect(store, session)
    if as_json:
        print_json({**ledger_json(held), "effect": effect_json(net) if net else None})
        return
    click.echo(ledger_report(held))
    if net is not None:
        click.echo("\n" + effect_report(net))


async def _writers(store: Store, session: Session, *, as_json: bool) -> None:
    from sojourn.surfaces.cli.runs import history, history_json, history_report

    held = await history(store, session.id)
    if as_json:
        print_json({"session": session.id, **history_json(held)})
    elif held.runs or held.failures:
        click.echo(history_report(held))
    else:
        hint(say("no_checkpoint", id=session.id))
