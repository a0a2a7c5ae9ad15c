"""``sojourn pin``: text that stands in every window of a session (W-3 row 0, R-15)."""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.base import UserMistake
from sojourn.record import PinRow, Session, Store
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line, table, wrapped
from sojourn.surfaces.cli.completing import complete_message, complete_pin
from sojourn.surfaces.cli.editor import from_file
from sojourn.surfaces.cli.options import (
    FilePath,
    examples,
    hint,
    message_number,
    opened,
    print_json,
    readable,
    recorded,
    session_argument,
    settings_for,
    whole,
    with_options,
    words_said,
)
from sojourn.surfaces.cli.render import table_width, width
from sojourn.surfaces.cli.words import words_of

if TYPE_CHECKING:
    from sojourn.engine import Engine

_MESSAGE = re.compile(r"m([1-9][0-9]{0,9})")
_LIKE_A_FILE = re.compile(r"(?!\w+://)(?:[!-~]*[/\\][!-~]*|\S*\w\.[A-Za-z][A-Za-z0-9]{0,7})")
"""One word with a folder or an ending in it: a mistyped name should not become a pin."""


@click.command(
    "pin",
    short_help="Keep a text, a file or a message in every window of a session.",
    epilog=examples(
        "sojourn pin last",
        'sojourn pin last "the deadline is Friday; ship without the importer"',
        "sojourn pin last m12",
        "sojourn pin ses_01m8 --file NOTES.md",
        "sojourn pin ses_01m8 --remove pin_01m8",
    ),
)
@session_argument
@click.argument("what", metavar="[TEXT|FILE|mN]", nargs=-1)
@click.option("--file", type=FilePath(), metavar="PATH", help="Pin the text that this file has now.")
@click.option("--text", metavar="TEXT", help="Pin these words, whatever they look like.")
@click.option("--message", type=message_number, metavar="N", shell_complete=complete_message, help="Pin what it says.")
@click.option("--remove", metavar="PIN", shell_complete=complete_pin, help="Take a pin out of the windows to come.")
@with_options
async def command(
    session: str,
    what: tuple[str, ...],
    file: Path | None,
    text: str | None,
    message: int | None,
    remove: str | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Pin a text: from the next window on it stands at the top of every one. All pins of a session together may take 2,000
    tokens; what does not fit is refused, never cut.

    One word that is a message's number (m12) is that message, one that is a file here is the file's text, one that only
    looks like a file is a mistake; --file, --text and --message leave no doubt. TEXT may be several words; - stands for
    standard input. Without any of it: the pins.

    --json prints one document: {"session", "pins", "tokens", "limit"}, after a change too, then with "pin" and
    "changed" (false: it was pinned already).
    """
    from sojourn.engine.pinning import PINS_CAP

    if sum((bool(what), *(one is not None for one in (file, text, message, remove)))) > 1:
        raise UserMistake(say("pin_one_thing"), next_step=say("run_one_session_next"))
    loaded = settings_for(overrides)
    changed: PinRow | None = None
    already: PinRow | None = None
    path: Path | None = None
    acts = bool(what) or any(one is not None for one in (file, text, message, remove))
    async with recorded(session) as (store, found), opened(store, found, loaded.settings, None, read_only=not acts) as engine:
        if remove is not None:
            changed = _named(engine.pins, remove, found)
            await engine.unpin(changed.id)
        elif acts:
            words, source, path = (text, "user", None) if text is not None else await _wanted(store, found, what, file, message)
            if not words.strip():
                raise UserMistake(say("pin_nothing"), next_step=say("pin_nothing_next"))
            already = next((pin for pin in engine.pins if pin.text == words), None)
            if already is None:
                _check_room(engine, words, PINS_CAP)
                changed = await engine.pin(words, source=source)
        counted = [(pin, engine.count(pin.text)) for pin in engine.pins]
    used = sum(tokens for _, tokens in counted)
    if as_json:
        rows = [{**whole(pin), "tokens": tokens} for pin, tokens in counted]
        told = {"session": found.id, "pins": rows, "tokens": used, "limit": PINS_CAP}
        one = changed or already
        print_json({**told, "pin": whole(one), "changed": changed is not None} if one else told)
        return
    if already is not None:
        click.echo(say("pin_already", id=already.id))
    elif changed is not None and remove is not None:
        click.echo(say("pin_removed", id=changed.id))
    elif changed is not None:
        where = _place(path, found)
        click.echo(say("pinned_file", path=where, id=changed.id) if where else say("pinned", id=changed.id))
    elif counted:
        rows_shown = [(pin.id, f"{tokens:,}", one_line(pin.source), one_line(pin.text)) for pin, tokens in counted]
        heads = [say(f"column_{key}") for key in ("id", "tokens", "source", "text")]
        click.echo(table(heads, rows_shown, right=(1,), limit=table_width()))
    hint(say("pins_use", count=len(counted), tokens=used, limit=PINS_CAP))


def _check_room(engine: "Engine", text: str, limit: int) -> None:
    """Raises UserMistake where the text does not fit beside the pins that are there."""
    used, wanted = sum(engine.count(pin.text) for pin in engine.pins), engine.count(text)
    if used + wanted > limit:
        free = max(0, limit - used)
        told = say("pin_no_room", tokens=wanted, free=free, limit=limit, used=used, over=wanted - free)
        raise UserMistake(told, next_step=say("pin_no_room_next"))


def _place(path: Path | None, session: Session) -> str:
    """A pinned file as a person should see it: whole where it lies outside of the session's folder."""
    if path is None:
        return ""
    whole_path, root = path.resolve(), Path(session.cwd).resolve() if session.cwd else None
    inside = root is not None and whole_path.is_relative_to(root)
    return str(path if inside else whole_path)


def _named(pins: Sequence[PinRow], name: str, session: Session) -> PinRow:
    found = [pin for pin in pins if pin.id == name] or [pin for pin in pins if pin.id.startswith(name)]
    if len(found) != 1:
        there = ", ".join(pin.id for pin in found or pins) or "-"
        key = say("pin_ambiguous", name=name) if found else say("no_pin", name=name, id=session.id)
        raise UserMistake(key, next_step=wrapped(say("pins_are", ids=there), width() - 2).replace("\n", "\n  "))
    return found[0]


async def _wanted(
    store: Store, session: Session, what: tuple[str, ...], file: Path | None, message: int | None
) -> tuple[str, str, Path | None]:
    """The text, where it comes from, and the file that it is from."""
    only = what[0] if len(what) == 1 else ""
    if message is None and (number := _MESSAGE.fullmatch(only)):
        message = int(number[1])
    if message is not None:
        found = await store.messages(session.id, after=message - 1, upto=message)
        text = words_of(found[0]) if found else ""
        if not text.strip():
            told = say("pin_silent_message", seq=message) if found else say("no_message", id=session.id, seq=message)
            raise UserMistake(told, next_step=say("no_message_next", id=session.id))
        return text, f"m{message}", None
    if file is None and only not in ("", "-") and os.path.isfile(only):
        file = Path(only)
    if file is None and only not in ("", "-") and os.path.isdir(only):
        again = say("pin_words_next", id=session.id, text=shlex.quote(only))
        raise UserMistake(say("is_folder", path=only), next_step=f"{say('name_a_file')} {again}")
    if file is not None:
        return from_file(str(readable(file))).text, str(file), file
    if _LIKE_A_FILE.fullmatch(only):
        again = say("pin_no_file_next", id=session.id, text=shlex.quote(only))
        raise UserMistake(say("pin_no_file", name=only), next_step=again)
    return words_said(what), "user", None
