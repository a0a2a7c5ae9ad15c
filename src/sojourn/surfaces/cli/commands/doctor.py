"""``sojourn doctor``: is everything as it should be?"""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click

from sojourn.base import SojournError
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import table
from sojourn.surfaces.cli.options import (
    FilePath,
    confirm,
    data_folders,
    database,
    examples,
    print_json,
    readable,
    record,
    rules_offer,
    settings_for,
    with_options,
)
from sojourn.surfaces.cli.render import paint

_MODES_SHOWN = 10


@click.command(
    "doctor",
    short_help="Check the record and the configuration, and clean up.",
    epilog=examples("sojourn doctor", "sojourn doctor --space", "sojourn doctor --copy-rules ~/.codex/AGENTS.md"),
)
@click.option("--space", is_flag=True, help="What the record takes on disk; removes attachments that nothing refers to.")
@click.option(
    "--copy-rules",
    "rules",
    type=FilePath(),
    metavar="PATH",
    help="Copy rules that you keep for another agent to your own AGENTS.md, if there is none yet.",
)
@click.option("--yes", is_flag=True, help="Do not ask before rules are copied.")
@with_options
async def command(space: bool, rules: Path | None, yes: bool, as_json: bool, overrides: tuple[str, ...]) -> int:
    """Check settings, folders, file modes and the record's integrity, and say where you keep rules for other agents.
    Exit code 1 when something is wrong.

    --json prints one document: {"python", "sqlite", "data", "config", "record", "rules", ..., "findings"}.
    """
    import apsw

    from sojourn.agent.snapshot_care import prune_snapshots
    from sojourn.prefix import USER_RULES, found_elsewhere

    settings_for(overrides)
    where = data_folders()
    own = where.config / USER_RULES
    copied = None if rules is None else _copied(rules, own, yes=yes)
    found: list[str] = []
    told: dict[str, object] = {
        "python": sys.version.split()[0],
        "sqlite": apsw.sqlite_lib_version(),
        "data": str(where.data),
        "config": str(where.config),
        "record": str(database()) if database().exists() else None,
        "rules": str(own) if own.exists() else None,
    }
    elsewhere = found_elsewhere(Path.home())
    if told["record"]:
        # First: opening the record makes its file private again.
        found += _modes(where.data)
        try:
            async with record() as store:
                found += await store.check()
                if space:
                    freed = await store.collect() + await prune_snapshots(where.data, store)
                    taken = await store.space()
                    told |= {"database": taken.database, "wal": taken.wal, "blobs": taken.blobs, "freed": freed}
        except SojournError as error:
            found.append(f"{error} {error.next_step}".strip())
    if as_json:
        copy = {} if copied is None else {"copied": str(copied)}
        print_json({**told, "rules_elsewhere": list(map(str, elsewhere)), **copy, "findings": found})
        return 1 if found else 0
    head, *rows = [(_label(key), _shown(key, value)) for key, value in told.items()]
    click.echo(table(head, rows))
    if copied is not None:
        click.echo(say("rules_copied", path=copied))
    if elsewhere:
        paths = ", ".join(map(str, elsewhere))
        click.echo(say("rules_elsewhere", paths=paths) if own.exists() else rules_offer(elsewhere))
    for one in found:
        click.echo(paint(f"! {one}", fg="red"))
    click.echo(say("something_wrong") if found else paint(say("all_well"), fg="green"))
    return 1 if found else 0


def _copied(rules: Path, own: Path, *, yes: bool) -> Path:
    """Our copy of the rules. Raises UserMistake where there are rules of ours, or nobody says yes."""
    from sojourn.prefix import copy_rules

    source = readable(rules)
    if not yes and not own.exists():
        confirm(say("rules_question", path=source, own=own))
    return copy_rules(source, own.parent)


def _label(key: str) -> str:
    """What a line is about, in the person's language; names of programs are the same in all."""
    labels = {
        "data": say("place_data"),
        "config": say("doctor_config"),
        "record": say("doctor_record"),
        "rules": say("doctor_rules"),
        "database": say("doctor_database"),
        "wal": say("doctor_wal"),
        "blobs": say("doctor_blobs"),
        "freed": say("doctor_freed"),
    }
    return labels.get(key, key)


def _shown(key: str, value: object) -> str:
    if value is None:
        return say("rules_own_none") if key == "rules" else say("record_none")
    return say("bytes", count=value) if isinstance(value, int) else str(value)


def _modes(folder: Path) -> list[str]:
    """Files that other people of this machine could read."""
    if os.name == "nt":
        return []
    loose = list(_loose(folder))
    told = [say("loose_mode", path=path, mode=mode) for path, mode in loose[:_MODES_SHOWN]]
    if len(loose) > _MODES_SHOWN:
        told.append(say("more_loose", count=len(loose) - _MODES_SHOWN))
    return told


def _loose(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in [folder, *sorted(folder.rglob("*"))]:
        with suppress(FileNotFoundError):  # another process has removed it meanwhile
            mode = stat.S_IMODE(path.lstat().st_mode)
            if not path.is_symlink() and mode & 0o077:
                yield path, f"{mode:o}"
