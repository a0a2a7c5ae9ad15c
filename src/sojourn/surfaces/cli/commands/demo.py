"""``sojourn demo``: a long session passes through its windows, live or replayed."""

import os
import sys
from pathlib import Path

import click

from sojourn.base import SystemClock, UserMistake
from sojourn.config import Settings, ensure_private, folders, load
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.options import (
    FilePath,
    examples,
    json_option,
    print_json,
    run_async,
    run_in_memory,
    set_option,
    settings_for,
    window_size,
)
from sojourn.surfaces.cli.render import progress
from sojourn.surfaces.cli.reports import demo_report


@click.command(
    "demo",
    short_help="A long session passes through its windows: no key, no network.",
    epilog=examples("sojourn demo", "sojourn demo --keep /tmp/lockerd", "sojourn demo --replay --window 64K"),
)
@click.option("--window", default="40K", show_default=True, metavar="TOKENS", help="Size of the model's window.")
@click.option("--keep", type=FilePath(), metavar="DIR", help="Keep the scratch repository and the session's record there.")
@click.option("--replay", "replayed", is_flag=True, help="Replay a stored day instead: no tool runs, other means compared.")
@json_option
@set_option
def command(window: str, keep: Path | None, replayed: bool, as_json: bool, overrides: tuple[str, ...]) -> int:
    """The built-in scripted model works through a day on a scratch repository: real tools, real edits, real tests.

    What has to survive is known beforehand: it is looked for in the bytes that left for the model. Exit code 1 when
    something is missing. It runs with the default settings and --set, so that everybody sees the same.

    --json prints one document.
    """
    settings_for(overrides)
    settings = load(project=None, overrides=overrides, environ={"SOJOURN_HOME": os.devnull}).settings
    size = window_size(window)
    if not replayed:
        return _live(size, settings, keep, as_json)
    if keep is not None:
        raise UserMistake(say("live_keep_replay"), next_step=say("live_keep_replay_next"))
    return _replay(size, settings, as_json)


@run_async
async def _live(size: int, settings: Settings, keep: Path | None, as_json: bool) -> int:
    from sojourn.lab import live as lab
    from sojourn.record.sqlite import SqliteStore
    from sojourn.surfaces.cli.account import Account, live_report

    account = Account(size, quiet=as_json)
    try:
        if keep is None:
            live = await lab.perform(window=size, settings=settings, on_moment=account.tell)
        else:
            keep = Path(os.path.abspath(keep))
            data = _place(keep)
            store = await SqliteStore.open(data / "sojourn.db", clock=SystemClock())
            try:
                live = await lab.perform(
                    window=size,
                    settings=settings,
                    folder=keep / "repo",
                    store=store,
                    documents=data / "memory",
                    on_moment=account.tell,
                )
            finally:
                await store.close()
    finally:
        account.clear()
    if as_json:
        print_json(lab.as_json(live))
    else:
        sys.stdout.write(live_report(live, keep))
    return 0 if live.good else 1


def _place(keep: Path) -> Path:
    """The folder is made, or is empty; answers where its record goes (as SOJOURN_HOME says)."""
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise UserMistake(say("live_keep_taken", path=keep), next_step=say("live_keep_taken_next"))
    data = folders({"SOJOURN_HOME": str(keep)}).data
    ensure_private(data)
    (keep / "repo").mkdir()
    return data


@run_in_memory
async def _replay(size: int, settings: Settings, as_json: bool) -> int:
    from sojourn.lab import demo as lab
    from sojourn.lab.sample import sample_session

    sample = sample_session()
    with progress("sojourn", len(sample.messages), quiet=as_json) as bar:
        demo = await lab.demonstrate(sample, window=size, settings=settings, on_progress=bar.to)
    if as_json:
        print_json(lab.as_json(demo, size))
    else:
        sys.stdout.write(demo_report(demo, size))
    return 0 if demo.kept == len(sample.facts) else 1
