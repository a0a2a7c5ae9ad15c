"""``sojourn replay``: an old transcript through the engine."""

import sys
from pathlib import Path

import click

from sojourn.base import UserMistake
from sojourn.cycle import check_window, effective_limit
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.options import (
    FilePath,
    amount,
    each_file,
    examples,
    json_option,
    print_json,
    run_in_memory,
    set_option,
    settings_for,
    window_size,
    writable,
)
from sojourn.surfaces.cli.render import progress
from sojourn.surfaces.cli.reports import replay_report


@click.command(
    "replay",
    short_help="Run an old transcript through the engine.",
    epilog=examples(
        "sojourn replay ~/.claude/projects/*/*.jsonl --window 200K",
        "sojourn replay SESSION.jsonl --policy economy --sweep --svg journey.svg",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FilePath())
@click.option(
    "--window", default="64K", show_default=True, metavar="TOKENS", help="Size of the model's window: 64K, 200000, 1M."
)
@click.option(
    "--policy", type=click.Choice(["full", "balanced", "economy"]), help="When a window is left; default: the setting."
)
@click.option("--fixed", default="0", show_default=True, metavar="TOKENS", help="Tokens of system prompt and tools to assume.")
@click.option(
    "--rule",
    type=click.Choice(["marked", "automatic"]),
    default="marked",
    show_default=True,
    help="How the provider bills its cache: writing costs 1.25 of a fresh token, or nothing extra.",
)
@click.option("--sweep", is_flag=True, help="Cost and continuity over the trigger.")
@click.option("--svg", type=FilePath(), metavar="OUT", help="Write the journey as a picture.")
@json_option
@set_option
@run_in_memory
async def command(
    files: tuple[Path, ...],
    window: str,
    policy: str | None,
    fixed: str,
    rule: str,
    sweep: bool,
    svg: Path | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> int:
    """Run old transcripts (Claude Code, Codex, Pi, Gemini CLI, message lists) through the engine.

    Shows where windows would have opened, what each held, the cost, and how much of what later work needed stayed in
    view, beside three common strategies at the same budget. No model is called; nothing is written to the record.

    --json prints one object a line, a file each.
    """
    from sojourn.lab import replay as lab
    from sojourn.lab import report
    from sojourn.lab.journey import SweepRow

    settings = settings_for((*overrides, *([f'compaction.policy="{policy}"'] if policy else []))).settings
    if svg is not None and len(files) > 1:
        raise UserMistake(say("svg_one_file"), next_step=say("one_by_one"))
    if svg is not None:
        writable(svg)
    size, assumed = window_size(window), amount(fixed, "--fixed")
    check_window(effective_limit(size, "", settings.compaction)[0], assumed)

    async def one(path: Path) -> None:
        with progress(path.name, path.stat().st_size, quiet=as_json) as bar:
            transcript = report.read_transcript(path, bar.to)
        count = len(transcript.messages)
        with progress(say("doing_replay"), count, quiet=as_json) as bar:
            done = await lab.replay(
                transcript.messages, window=size, settings=settings, fixed=assumed, rule=rule,  # type: ignore[arg-type]
                title=transcript.title, on_progress=bar.to,
            )  # fmt: skip
        rows: tuple[SweepRow, ...] = ()
        if sweep:
            with progress(say("doing_sweep"), count * len(report.SWEEP_RATIOS), quiet=as_json) as bar:
                rows = await report.sweep(
                    transcript, window=size, settings=settings, fixed=assumed, rule=rule, on_progress=bar.to,  # type: ignore[arg-type]
                )  # fmt: skip
        if svg is not None:
            from sojourn.lab.journey import svg as picture

            svg.write_text(picture(done.points, done.stays, transcript.title or path.name, done.marks), "utf-8", "replace")
        if as_json:
            print_json(report.as_json(transcript, done, rows))
        else:
            sys.stdout.write(replay_report(transcript, done, rows, svg))

    return await each_file(files, one)
