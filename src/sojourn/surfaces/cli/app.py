"""The group of commands, loaded one by one, and how an error reaches a person."""

import difflib
import errno
import importlib
import os
import sys
from contextlib import suppress
from typing import Any

import click

from sojourn.base import SojournError, UserMistake
from sojourn.surfaces.catalogue import say, speak
from sojourn.surfaces.cli.options import complain, settings_for
from sojourn.surfaces.cli.usage import usage_words

# name -> (module, short help). The help stands here so that `sojourn --help` loads no command.
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run", "Give the agent a task and see it through, without a screen."),
    "tell": ("tell", "Say something to a session while it works."),
    "demo": ("demo", "A long session passes through its windows: no key, no network."),
    "replay": ("replay", "Run an old transcript through the engine: windows, cost, recall."),
    "import": ("importing", "Take transcripts of other agents into the record."),
    "export": ("export", "Write a session as JSONL, Markdown or a message list."),
    "sessions": ("sessions", "List the sessions in the record."),
    "show": ("show", "Read a session: its messages, one of its windows, or a request."),
    "search": ("search", "Find words in all sessions, Chinese and code names included."),
    "context": ("context", "What stands in a session's window, by part, in tokens."),
    "cost": ("cost", "What model calls, windows and background writers took and cost."),
    "checkpoint": ("checkpoint", "The checkpoint of a session: read, write or edit it."),
    "memory": ("memory", "What is known durably: list, search, show, edit, take back."),
    "pin": ("pin", "Keep a text, a file or a message in every window of a session."),
    "rebuild": ("rebuild", "Open a new window now."),
    "compact": ("compact", "Open a compaction window: the newest rounds stay word for word."),
    "undo": ("undo", "Take back the newest window or turn, files with it."),
    "fork": ("fork", "Begin a new session with the present view of another."),
    "delete": ("delete", "Erase a session for good."),
    "scrub": ("scrub", "Replace a text by a marker everywhere in the record."),
    "doctor": ("doctor", "Check the record and the configuration, and clean up."),
    "models": ("models", "The models that can be used, and what is missing for others."),
    "config": ("config", "The settings in force, and where each comes from."),
    "completion": ("completion", "Print the shell completion script."),
}


class LazyGroup(click.Group):
    """Imports a command's module only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"sojourn.surfaces.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help) for name, (_, help) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = say("did_you_mean", name=near[0]) if near else say("see_help", command="sojourn")
            raise UserMistake(say("no_command", name=args[0]), next_step=hint)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExamples:\n  sojourn demo\n  sojourn replay SESSION.jsonl --window 64K\n  sojourn import SESSION.jsonl",
)
@click.version_option(package_name="sojourn", prog_name="sojourn", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Agent sessions that outlive their context window.

    Begin with `sojourn demo`, then `sojourn replay` on a transcript of your own.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: list[str]) -> int:
    """Runs the command line and answers its exit code."""
    speak()
    with suppress(SojournError):  # what is wrong with the settings is told by the command
        settings_for()
    for stream in (sys.stdout, sys.stderr):
        # A terminal without these letters, or half a character in a transcript, must not end a report.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if "_SOJOURN_COMPLETE" in os.environ:
        cli.main(args=arguments, prog_name="sojourn")
    try:
        with cli.make_context("sojourn", list(arguments)) as ctx:
            result: Any = cli.invoke(ctx)
        sys.stdout.flush()
    except (SojournError, click.ClickException, OSError) as error:
        return _failed(error)
    except click.exceptions.Exit as done:
        return _flushed(done.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("\n" + say("interrupted") + "\n")
        return 130
    return result if isinstance(result, int) else 0


def _failed(error: SojournError | click.ClickException | OSError) -> int:
    if isinstance(error, SojournError):
        flushed = _flushed(0)  # what was found stands before what went wrong, also where both go to one file
        complain(str(error), error.next_step)
        return max(error.exit_code, flushed)
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "sojourn"
        return _failed(UserMistake(usage_words(error), next_step=say("see_help", command=command)))
    if isinstance(error, click.ClickException):
        return _failed(UserMistake(error.format_message(), next_step=say("see_help", command="sojourn")))
    if error.errno == errno.EPIPE:
        _let_go_of_output()
        return 0
    named = f"{error.filename}: " if error.filename else ""
    told = f"{named}{error.strerror or error}" if named else say("output_failed", reason=error.strerror or error)
    complain(told, say("check_disk"))
    _let_go_of_output()
    return 1


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except OSError as error:
        return _failed(error)
    return code


def _let_go_of_output() -> None:
    """The reader (head, less) has gone, or the disk is full: Python would complain once more at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
