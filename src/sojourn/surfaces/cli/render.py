"""What all commands share for showing things: widths, colours, progress, times."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from shutil import get_terminal_size

import click

from sojourn.surfaces.cli.columns import cut

_BAR_COLUMNS = 24
_BAR_EVERY = 0.2
"""Seconds between two pictures of a bar."""
_CLEAR = "\x1b[K"
_WIDEST = 110


def width() -> int:
    """Columns to draw in: the terminal's (or COLUMNS), at most 110, at least 40; 80 where there is none."""
    return max(40, min(_WIDEST, get_terminal_size((80, 24)).columns))


def table_width() -> int | None:
    """Columns that a table may take: the terminal's (or COLUMNS); None = no limit, for another program reads it."""
    return get_terminal_size((0, 0)).columns or None


def color() -> bool:
    """Whether standard output is a terminal that shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, *, fg: str | None = None, bold: bool | None = None) -> str:
    """The text in a colour where standard output shows colours, else as it is."""
    return click.style(text, fg=fg, bold=bold) if color() else text


def moment(milliseconds: int) -> str:
    """Local date and time, to the minute."""
    return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M") if milliseconds else "-"


def short_moment(milliseconds: int) -> str:
    """The time of a day of this year, the date of an earlier one: at most 11 columns."""
    if not milliseconds:
        return "-"
    then = datetime.fromtimestamp(milliseconds / 1000).astimezone()
    return then.strftime("%m-%d %H:%M" if then.year == datetime.now().astimezone().year else "%Y-%m-%d")


class Bar:
    """A progress bar on standard error that leaves no trace. While it is told, a pending Ctrl-C is heard."""

    def __init__(self, label: str, length: int, *, shown: bool) -> None:
        self._label = cut(label, 30)
        self._length = max(1, length)
        self._shown = shown
        self._next = time.monotonic() + _BAR_EVERY  # short work shows none
        self._drawn = False

    def to(self, position: int) -> None:
        """Moves to the position; raises CancelledError where the command was interrupted."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + _BAR_EVERY
            share = min(1.0, position / self._length)
            bar = "█" * round(share * _BAR_COLUMNS)
            sys.stderr.write(f"\r{_CLEAR}{self._label}  {bar:░<{_BAR_COLUMNS}} {share:>4.0%}")
            sys.stderr.flush()
            self._drawn = True

    def clear(self) -> None:
        """Removes the bar."""
        if self._drawn:
            sys.stderr.write(f"\r{_CLEAR}")
            sys.stderr.flush()


@contextmanager
def progress(label: str, length: int, *, quiet: bool) -> Iterator[Bar]:
    """A bar while long work goes on; nothing is shown when quiet or where standard error is no terminal."""
    bar = Bar(label, length, shown=not quiet and sys.stderr.isatty())
    try:
        yield bar
    finally:
        bar.clear()
