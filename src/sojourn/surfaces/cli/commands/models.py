"""``sojourn models``: what can be used, and what is missing (A-4, A-5)."""

import os
from collections.abc import Sequence

import click

from sojourn.base import UserMistake
from sojourn.models.choice import resolve, usable
from sojourn.models.connect import is_scripted
from sojourn.models.local import probe
from sojourn.models.types import Choice, Usable
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line, table
from sojourn.surfaces.cli.options import examples, hint, json_option, print_json, set_option, settings_for, whole
from sojourn.surfaces.cli.render import table_width


@click.command(
    "models",
    short_help="The models that can be used, and what is missing for others.",
    epilog=examples("sojourn models", 'sojourn models --set model.limit=\'{"ollama/*" = "32K"}\'', "sojourn models --json"),
)
@json_option
@set_option
def command(as_json: bool, overrides: tuple[str, ...]) -> None:
    """Models by provider, with the window of each in tokens and where that number is from.

    Keys are taken from the environment. Servers on their usual ports of this machine are asked (no key is sent there);
    model.servers names others.

    --json prints one object a line, a model each; those that cannot be used are among them ("usable").
    """
    settings = settings_for(overrides).settings
    servers = probe()
    lines = usable(os.environ, settings, lambda: servers)
    if as_json:
        for line in lines:
            print_json(whole(line))
        return
    ready = [line for line in lines if line.usable]
    keys = ("model", "api", "limit", "from", "reached")
    rows = [(line.model, line.api, f"{line.limit:,}", line.limit_source, one_line(line.why)) for line in ready]
    click.echo(table([say(f"column_{key}") for key in keys], rows, right=(2,), limit=table_width()))
    _missing([line for line in lines if not line.usable])
    if any(line.limit_source == "default" for line in ready):
        hint("\n" + say("models_limit_assumed"))
    try:
        chosen = resolve(Choice(), os.environ, settings, probe=lambda: servers)
    except UserMistake as mistake:
        hint("\n" + say("models_default_fails", reason=str(mistake)))
        return
    name = chosen.traits.name if is_scripted(chosen) else f"{chosen.traits.provider}/{chosen.traits.name}"
    hint("\n" + say("models_default", model=name))


def _missing(lines: Sequence[Usable]) -> None:
    if not lines:
        return
    keys = ("model", "missing")
    rows = [(line.model, one_line(line.why)) for line in lines]
    click.echo("\n" + table([say(f"column_{key}") for key in keys], rows, limit=table_width()))
