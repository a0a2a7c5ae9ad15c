"""``sojourn export``: a session to a file or the terminal."""

import sys
from pathlib import Path
from typing import BinaryIO

import click

from sojourn.base import WorkFailed
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.options import (
    FilePath,
    examples,
    hint,
    print_json,
    recorded,
    session_argument,
    settings_for,
    with_options,
    writable,
)


@click.command(
    "export",
    short_help="Write a session as JSONL, Markdown or a message list.",
    epilog=examples("sojourn export last --to markdown | less", "sojourn export ses_01m8 --to jsonl -o session.jsonl"),
)
@session_argument
@click.option(
    "--to", "form", type=click.Choice(["jsonl", "markdown", "openai", "anthropic"]), default="jsonl", show_default=True
)
@click.option("--output", "-o", type=FilePath(), help="A file; default: standard output.")
@with_options
async def command(session: str, form: str, output: Path | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Write a session. `jsonl` is lossless and can be imported again; `markdown` is for people.

    --json prints one document: {"session", "form", "text"}, or with --output {"session", "form", "output", "bytes"}.
    """
    from sojourn.surfaces.cli.exporting import chunks

    settings_for(overrides)
    if output is not None:
        writable(output)
    async with recorded(session) as (store, found):
        pieces = chunks(store, found, form)
        if output is None and as_json:
            print_json({"session": found.id, "form": form, "text": "".join([piece async for piece in pieces])})
            return
        if output is None:
            sys.stdout.flush()
            async for piece in pieces:
                _write(sys.stdout.buffer, piece)
            sys.stdout.buffer.flush()
            return
        size = 0
        try:
            with output.open("wb") as file:
                async for piece in pieces:
                    size += _write(file, piece)
        except OSError as error:
            raise WorkFailed(say("file_failed", path=output, reason=error.strerror), next_step=say("check_disk")) from error
    if as_json:
        print_json({"session": found.id, "form": form, "output": str(output), "bytes": size})
    else:
        hint(say("exported", path=output, size=size))


def _write(file: BinaryIO, text: str) -> int:
    """Always UTF-8, whatever the terminal speaks: what is written here is read by programs."""
    return file.write(text.encode("utf-8", "surrogatepass"))
