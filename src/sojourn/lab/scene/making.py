"""The scratch repository: its written files, and what a seeded generator adds in bulk."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from random import Random

LOCKERS = [f"K-{number:02d}" for number in range(1, 15)]
_COMPANIES = ("Kestrel", "Northgate", "Parcelette", "Quickstep")
_HEIGHTS = (80, 80, 80, 80, 200, 200, 200, 200, 420, 420, 420, 600)
_PARCELS = 900
_LINES = 2_400
_FIRST_MINUTE = 29_549_280
"""8 March 2026, 00:00 UTC."""
_MADE = 1_773_041_400
"""Seconds: when all of it was committed, and the age of every file; listings are sorted by it."""
_TURNED = "440x95x320", "430x180x340", "442x60x300", "420x190x330"
"""Sizes that fit only when they are turned."""


def make(folder: Path) -> None:
    """Writes the repository into the folder, which must be empty, and commits it where git is there. Deterministic.

    Only ``./check``, which is not committed, names this machine: the interpreter that runs the tests.
    """
    for path, text in written(files(__package__).joinpath("repo")):
        _put(folder, path, text)
    _put(folder, "config/lockers.json", _lockers())
    _put(folder, "data/parcels.csv", _parcels())
    _put(folder, "var/log/lockerd.log", _log())
    _put(folder, ".gitignore", "/check\n__pycache__/\n")
    _put(folder, "check", f'#!/bin/sh\n# Runs the tests.\nexec "{sys.executable}" -E -s -S -B -X utf8 tests/run.py "$@"\n')
    for name in ("check", "commit"):
        (folder / name).chmod(0o755)
    _commit(folder)


def written(folder: Traversable, under: str = "") -> Iterator[tuple[str, str]]:
    """Path and text of each file that is kept in this package, in order of names."""
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir():
            yield from written(one, f"{under}{one.name}/")
        elif one.name.endswith(".txt"):
            yield under + one.name.removesuffix(".txt"), one.read_text("utf-8")


def _put(folder: Path, path: str, text: str) -> None:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")
    os.utime(target, (_MADE, _MADE))


def _commit(folder: Path) -> None:
    """The first commit, the same everywhere: nothing of this machine's git configuration goes into it."""
    git = shutil.which("git")
    if git is None:
        return
    named = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _WHO.items()}
    environ = {**os.environ, **named, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for arguments in (
        ["init", "--quiet", "--initial-branch=main"],
        ["config", "user.name", _WHO["NAME"]],
        ["config", "user.email", _WHO["EMAIL"]],
        ["config", "commit.gpgsign", "false"],
        ["config", "core.autocrlf", "false"],
        ["config", "core.hooksPath", ".git/hooks"],
        ["add", "--all"],
        ["commit", "--quiet", "--message=lockerd as it is in production"],
    ):
        subprocess.run([git, *arguments], cwd=folder, env=environ, check=True, capture_output=True)  # noqa: S603 (all ours)


_WHO = {"NAME": "lockerd", "EMAIL": "lockerd@example.invalid", "DATE": f"@{_MADE} +0000"}


def _seeded(name: str) -> Random:
    return Random(name)  # noqa: S311 (it picks words, nothing is kept secret)


def _lockers() -> str:
    rows = {}
    for number, locker in enumerate(LOCKERS):
        doors = [{"door": i + 1, "width": 450, "height": height, "depth": 350} for i, height in enumerate(_HEIGHTS)]
        firmware = "2.8.3" if locker == "K-12" else "2.8.2"
        if firmware == "2.8.3":
            for door in doors:
                door["width"], door["height"], door["depth"] = sorted((450, door["height"], 350), reverse=True)
        rows[locker] = {"modem": f"10.40.7.{20 + number}", "firmware": firmware, "doors": doors}
    lines = [f'  "{name}": ' + json.dumps(row).replace(' {"door"', '\n    {"door"') for name, row in rows.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _parcels() -> str:
    chance = _seeded("parcels")
    lines = ["id,locker,company,size,dropped,fetched"]
    for number in range(_PARCELS):
        dropped = _FIRST_MINUTE + chance.randrange(7 * 1_440)
        stayed = chance.choice((40, 300, 900, 1_500, 2_900, 4_400, 5_760, 6_200))
        fetched = str(dropped + stayed + chance.randrange(30)) if chance.random() < 0.94 else ""
        lines.append(
            f"P{10_000 + number},{chance.choice(LOCKERS)},{chance.choice(_COMPANIES)},{_size(chance)},{dropped},{fetched}"
        )
    return "\n".join(lines) + "\n"


def _size(chance: Random) -> str:
    height = chance.choice((30, 45, 60, 72, 120, 180, 190, 300))
    return f"{chance.randrange(120, 440, 10)}x{height}x{chance.randrange(100, 340, 10)}"


_EVENTS = (
    "INFO  link locker={locker} OPENED door={door} after={ms}",
    "INFO  link locker={locker} SHUT door={door} weight={grams}",
    "INFO  courier placed parcel=P{parcel} into={locker}/{door:02d} company={company} minute={minute}",
    "INFO  codes typed locker={locker} door={door} parcel=P{parcel} tries=1",
    "DEBUG tariff parcel=P{parcel} stayed={stayed} fee={fee} cents",
    "DEBUG expiry sweep found={small} reminded={small} in {ms} ms",
    "DEBUG store put parcel=P{parcel} compartment={locker}/{door:02d} in {ms} ms",
    "INFO  notify sms parts={parts} language={language} parcel=P{parcel}",
    "WARN  link locker={locker} wrong sum, line dropped ({small} so far)",
)


def _log() -> str:
    """The night of 9 March: ordinary lines, and three troubles that have a cause."""
    chance = _seeded("night")
    seconds, lines = 18 * 3_600, []
    for number in range(_LINES):
        seconds += chance.randrange(3, 22)
        day, rest = divmod(seconds, 86_400)
        stamp = f"2026-03-{9 + day:02d}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}Z"
        lines.append(f"{stamp} {_trouble(number, chance) or _event(chance)}")
    return "\n".join(lines) + "\n"


def _event(chance: Random) -> str:
    return chance.choice(_EVENTS).format(
        locker=chance.choice(LOCKERS),
        door=chance.randrange(1, 13),
        ms=chance.randrange(4, 840),
        grams=chance.randrange(80, 9_000),
        parcel=chance.randrange(10_000, 10_900),
        company=chance.choice(_COMPANIES),
        minute=_FIRST_MINUTE + chance.randrange(1_440),
        stayed=chance.randrange(30, 9_000),
        fee=chance.choice((0, 0, 0, 150, 300)),
        small=chance.randrange(9),
        parts=chance.choice((1, 1, 2)),
        language=chance.choice(("en", "zh")),
    )


def _trouble(number: int, chance: Random) -> str:
    if number == 610:
        return "INFO  link locker=K-12 HELLO id=K-12 fw=2.8.3 door=12"
    if number > 620 and number % 97 == 0:
        free = chance.randrange(3, 9)
        return f"ERROR allocate E-4107 no compartment for {chance.choice(_TURNED)} at K-12 ({free} free)"
    if number > 900 and number % 211 == 0:
        return (
            f"ERROR codes door opened twice with one code locker={chance.choice(LOCKERS)}"
            f" parcel=P{chance.randrange(10_000, 10_900)} (the first parcel of that code was fetched the same day)"
        )
    if number == 1_733:
        return "ERROR store E-5003 the database is busy: report.by_locker held it for 41 minutes"
    return ""
