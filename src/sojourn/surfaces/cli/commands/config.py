"""``sojourn config``: the settings in force (S-9)."""

from pathlib import Path

import click
import msgspec

from sojourn.config import project_folder
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import table
from sojourn.surfaces.cli.options import data_folders, examples, json_option, print_json, set_option, settings_for
from sojourn.surfaces.cli.render import table_width


@click.command(
    "config",
    short_help="The settings in force, and where each comes from.",
    epilog=examples("sojourn config", "sojourn config --set compaction.policy=economy"),
)
@json_option
@set_option
def command(as_json: bool, overrides: tuple[str, ...]) -> None:
    """Every setting with its value and where it comes from: default, a file and line, the environment, this command line.

    --json prints one document.
    """
    loaded = settings_for(overrides)
    values = _flat(msgspec.to_builtins(loaded.settings))
    where = data_folders()
    if as_json:
        print_json(
            {
                "settings": {key: {"value": value, "from": loaded.origin.get(key, "default")} for key, value in values.items()},
                "folders": {"data": str(where.data), "config": str(where.config), "cache": str(where.cache)},
            }
        )
        return
    words = {"default": say("from_default"), "command line": say("from_command_line")}
    origins = {key: loaded.origin.get(key, "default") for key in values}
    rows = [(key, msgspec.json.encode(value).decode(), words.get(origins[key], origins[key])) for key, value in values.items()]
    head = [say(f"column_{key}") for key in ("setting", "value", "from")]
    click.echo(table(head, rows, limit=table_width()))
    places = (
        (say("place_user"), str(where.config / "config.toml")),
        (say("place_project"), str(project_folder(Path.cwd()) / ".sojourn" / "config.toml")),
        (say("place_data"), str(where.data)),
    )
    click.echo("\n" + table(places[0], places[1:]))


def _flat(tree: dict[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in tree.items():
        if isinstance(value, dict) and not prefix:
            flat |= _flat(value, f"{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
