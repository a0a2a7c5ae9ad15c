"""``sojourn completion``: shell completion."""

import click
from click.shell_completion import get_completion_class

from sojourn.surfaces.cli.options import examples, set_option, settings_for


@click.command(
    "completion",
    short_help="Print the shell completion script.",
    epilog=examples("sojourn completion bash >> ~/.bash_completion"),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@set_option
def command(shell: str, overrides: tuple[str, ...]) -> None:
    """Print the script that completes commands and options in a shell."""
    from sojourn.surfaces.cli.app import cli

    settings_for(overrides)
    completion = get_completion_class(shell)
    if completion is not None:
        click.echo(completion(cli, {}, "sojourn", "_SOJOURN_COMPLETE").source())
