"""``sojourn demo``: a long session passes through its windows."""

import os
import sys

import click

from sojourn.config import load
from sojourn.surfaces.cli.options import (
    amount,
    examples,
    json_option,
    print_json,
    run_in_memory,
    set_option,
    settings_for,
)
from sojourn.surfaces.cli.render import progress
from sojourn.surfaces.cli.reports import demo_report


@click.command(
    "demo",
    short_help="A long session passes through its windows: no key, no network.",
    epilog=examples("sojourn demo", "sojourn demo --window 64K --set compaction.policy=economy"),
)
@click.option("--window", default="40K", show_default=True, metavar="TOKENS", help="Size of the model's window.")
@json_option
@set_option
@run_in_memory
async def command(window: str, as_json: bool, overrides: tuple[str, ...]) -> int:
    """A day of work with rules, corrections, decisions and findings, about 150K tokens, in a 40K window.

    What has to survive is known beforehand: it is looked for in the request that would have left for the model. Exit
    code 1 when something is missing. It runs with the default settings and --set, so that everybody sees the same.
    """
    from sojourn.lab import demo as lab
    from sojourn.lab.sample import sample_session

    settings_for(overrides)
    settings = load(project=None, overrides=overrides, environ={"SOJOURN_HOME": os.devnull}).settings
    size = amount(window, "--window")
    sample = sample_session()
    with progress("sojourn", len(sample.messages), quiet=as_json) as bar:
        demo = await lab.demonstrate(sample, window=size, settings=settings, on_progress=bar.to)
    if as_json:
        print_json(lab.as_json(demo, size))
    else:
        sys.stdout.write(demo_report(demo, size))
    return 0 if demo.kept == len(sample.facts) else 1
