"""``sojourn import``: transcripts into the record."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from sojourn.base import SystemClock, SystemIds
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line
from sojourn.surfaces.cli.options import (
    FilePath,
    each_file,
    examples,
    hint,
    print_json,
    record,
    settings_for,
    whole,
    with_options,
)
from sojourn.surfaces.cli.render import paint, progress

if TYPE_CHECKING:
    from sojourn.importers import Skipped

_SKIPPED_SHOWN = 20


@click.command(
    "import",
    short_help="Take transcripts of other agents into the record.",
    epilog=examples("sojourn import ~/.claude/projects/*/*.jsonl", "sojourn import rollout.jsonl --json"),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FilePath())
@with_options
async def command(files: tuple[Path, ...], as_json: bool, overrides: tuple[str, ...]) -> int:
    """Take transcripts into the record. A file that has grown since adds only what is new.

    Reads Claude Code (with sub-agent files), Codex, Pi, Gemini CLI, OpenAI and Anthropic message lists, and our own
    export. Every line that is not imported is listed with its number and reason.

    --json prints one object a line, a file each.
    """
    from sojourn.engine.ingest import ingest
    from sojourn.importers import detect

    settings_for(overrides)
    clock = SystemClock()
    async with record(create=True) as store:

        async def one(path: Path) -> None:
            importer = detect(str(path))
            with progress(path.name, path.stat().st_size, quiet=as_json) as bar:
                done = await ingest(
                    store, path, importer.name, importer.read(str(path)), clock=clock, ids=SystemIds(clock), on_progress=bar.to
                )
            if as_json:
                print_json(
                    {
                        "file": str(path),
                        "format": done.format,
                        **whole(done.counts),
                        "sessions": [whole(session) for session in done.sessions],
                        "skipped": msgspec.to_builtins(done.skipped),
                    }
                )
                return
            click.echo(paint(str(path), bold=True) + f"  ({done.format})")
            for session in done.sessions:
                told = say("imported", id=session.session_id, added=session.added, total=session.total)
                child = f"  ({say('sub_agent')})" if session.parent_id else ""
                click.echo(f"  {told}  {one_line(session.title)}{child}".rstrip())
            if not done.sessions:
                click.echo(f"  {say('no_session_in_file')}")
            for line in _worth_telling(done.skipped):
                hint(f"  {line}")

        return await each_file(files, one)


def _worth_telling(skipped: Sequence["Skipped"]) -> list[str]:
    """Bad lines one by one, bookkeeping as a count: a person wants to see what was lost, not what was never speech."""
    bad = [one for one in skipped if not one.reason.startswith("bookkeeping")]
    told = [say("skipped_line", line=one.line, reason=one_line(one.reason)).strip() for one in bad[:_SKIPPED_SHOWN]]
    if len(bad) > _SKIPPED_SHOWN:
        told.append(say("more_skipped", count=len(bad) - _SKIPPED_SHOWN).strip())
    if len(skipped) > len(bad):
        told.append(say("bookkeeping", count=len(skipped) - len(bad)))
    return told
