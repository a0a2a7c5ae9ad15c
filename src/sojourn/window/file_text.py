"""What a session knows of a file's text: lines by number, and how warm each is from being worked on (W-3a)."""

import re
import sys
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

_NUMBERED = re.compile(r"( *)([1-9]\d{0,6})( *)([→\t|│:]?)")
"""A line with its number before it, as tools show it, and the sign between number and text."""
_GAP = 2
"""Spaces that part number and text where no sign does."""
_SURE = 3
"""Lines in a row from which numbers are no chance."""
_TIME = re.compile(r"\d\d(?!\d)")
_HEADER = re.compile(r"\[.*: lines \d+-\d+ of (?:(\d+)|a file).*\]\n")
"""The line above a part of a file, with how many lines it has."""
_CUT = "\n[... "
"""How the line begins that stands for what was left out of a result."""
_OLD_KEYS = ("old_string", "oldText", "old_str", "old", "oldString")
_NEW_KEYS = ("new_string", "newText", "new_str", "new", "newString", "insert_text")
_WHOLE_KEYS = ("content", "file_text", "text")
_MOST_LOOSE = 40
_NEAR = 0.5
"""Warmth of the lines around a change that were quoted to find the place, as a share of the change's."""


Run = tuple[int, str]
"""Lines that follow one another: the number of the first, and their text without the last line break."""


class FileText(msgspec.Struct):
    """Lines that were seen, as they stand now: edits are carried out on them."""

    runs: list[Run] = []
    """In order, none touching the next."""
    warmth: dict[int, float] = {}
    """By number of line."""
    loose: dict[str, float] = {}
    """Changed lines whose number is not known, with their warmth."""
    length: int = 0
    """How many lines the file has; 0 = not known."""
    stale: bool = False
    """Changed in a way that could not be carried out here."""

    def lines(self) -> dict[int, str]:
        """Every known line by number."""
        return {number: line for first, text in self.runs for number, line in enumerate(text.split("\n"), first)}

    def whole(self) -> bool:
        """Whether every line is known."""
        return not self.stale and len(self.runs) == 1 and self.runs[0][0] == 1 and _last(self.runs[0]) == self.length

    def take(self, run: Run, length: int = 0) -> None:
        """Lines as they were just read; ``length``: how many the file has, where that is told."""
        first, last = run[0], _last(run)
        self.length = length or self.length
        if (first, last) == (1, length):
            self.runs, self.stale, self.loose = [run], False, {}
            return
        self.runs = _joined(sorted([run, *_without(self.runs, first, last)]))

    def warm(self, numbers: range, warmth: float) -> None:
        """The lines were pointed at, or changed. The warmest time counts."""
        for number in numbers:
            if warmth > self.warmth.get(number, 0.0):
                self.warmth[number] = warmth

    def edit(self, old: str, new: str, warmth: float, *, everywhere: bool = False, first: int = 0) -> None:
        """Puts ``new`` where ``old`` stands; where that is not known, the new lines are kept from ``first`` on (the number of
        the first changed line, where that is told), else without numbers."""
        placed = False
        for index in range(len(self.runs)) if old else ():
            places = _places(self.runs[index][1], old, everywhere=everywhere)
            if places:
                self._replace(index, places, old, new, warmth)
                placed = True
            if placed and not everywhere:
                return
        if not placed:
            self._unplaced(old, new, warmth, 0 if everywhere else first)

    def _unplaced(self, old: str, new: str, warmth: float, first: int) -> None:
        before, after = old.split("\n"), new.split("\n")
        start, end = _alike(before, after)
        lines = after[start : len(after) - end]
        if first:
            last = first + len(before) - start - end - 1
            self.runs = _without(self.runs, first, last)
            self._shift([last], len(after) - len(before))
            self.runs = _joined(self.runs)
            if lines:
                self.take((first, "\n".join(lines)))
                self.warm(range(first, first + len(lines)), warmth)
            return
        self.stale = self.stale or bool(self.runs)
        self.loose.update((line, warmth) for line in lines if line.strip())
        for line in list(self.loose)[:-_MOST_LOOSE]:
            del self.loose[line]

    def _shift(self, lasts: Sequence[int], by: int) -> None:
        """Lines have moved behind each of ``lasts``, which rise."""
        self.runs = [(number + by * bisect_left(lasts, number), text) for number, text in self.runs]
        self.warmth = {number + by * bisect_left(lasts, number): warm for number, warm in self.warmth.items()}
        self.length += by * len(lasts) if self.length else 0

    def _replace(self, index: int, places: Sequence[int], old: str, new: str, warmth: float) -> None:
        begin, text = self.runs[index]
        firsts: list[int] = []
        pieces: list[str] = []
        number, done = begin, 0
        for at in places:
            number += text.count("\n", done, at)
            firsts.append(number)
            number += old.count("\n")
            pieces += (text[done:at], new)
            done = at + len(old)
        more = new.count("\n") - old.count("\n")
        if more:
            lasts = [first + old.count("\n") for first in firsts]
            gone = {number for first, last in zip(firsts, lasts, strict=True) for number in range(first, last + 1)}
            self.warmth = {number: warm for number, warm in self.warmth.items() if number not in gone}
            self._shift(lasts, more)
        self.runs[index] = (begin, "".join((*pieces, text[done:])))
        for count, at in enumerate(places):
            before, after = _around(text, at, old, new)
            first = firsts[count] + count * more
            same, end = _alike(before, after)
            self.warm(range(first, first + len(after)), warmth * _NEAR)
            self.warm(range(first + same, first + len(after) - end), warmth)


def _last(run: Run) -> int:
    return run[0] + run[1].count("\n")


def _joined(runs: Sequence[Run]) -> list[Run]:
    """Those that touch as one."""
    joined: list[Run] = []
    for run in runs:
        if joined and _last(joined[-1]) + 1 == run[0]:
            joined[-1] = (joined[-1][0], f"{joined[-1][1]}\n{run[1]}")
        else:
            joined.append(run)
    return joined


def _places(text: str, old: str, *, everywhere: bool) -> list[int]:
    found: list[int] = []
    at = text.find(old)
    while at >= 0 and (everywhere or not found):
        found.append(at)
        at = text.find(old, at + len(old))
    return found


def _without(runs: Sequence[Run], first: int, last: int) -> list[Run]:
    """The lines before ``first`` and behind ``last``."""
    kept: list[Run] = []
    for run in runs:
        begin, text = run
        if begin > last or _last(run) < first:
            kept.append(run)
            continue
        lines = text.split("\n")
        if begin < first:
            kept.append((begin, "\n".join(lines[: first - begin])))
        if _last(run) > last:
            kept.append((last + 1, "\n".join(lines[last + 1 - begin :])))
    return kept


def _around(text: str, at: int, old: str, new: str) -> tuple[list[str], list[str]]:
    """The lines of a change before and after it, with as much of the text beside it as can tell one from another."""
    most = len(old) + len(new) + 1
    head = text[max(0, at - most) : at].rpartition("\n")[2]
    tail = text[at + len(old) : at + len(old) + most].partition("\n")[0]
    return (head + old + tail).split("\n"), (head + new + tail).split("\n")


def _alike(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines both begin with, and how many of the others both end with."""
    start = 0
    most = min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, end


def read_lines(text: str, lines: tuple[int, int] | None) -> tuple[Run | None, int]:
    """The lines that a result shows, and how many the file has (0 = the result does not tell).

    Where the text numbers its lines itself that counts. Else they are counted from ``lines`` (from 1 without it), up to
    where the result was cut.
    """
    head, cut, _ = text.partition(_CUT)
    first, last = lines or (1, sys.maxsize)
    run = _with_numbers(head, lines)
    if run is not None:
        end = _last(run)
        return run, end if not cut and run[0] == 1 and end < last else 0
    length = 0
    header = _HEADER.match(head) if lines else None
    if header is not None:
        head, length = head[header.end() :], int(header[1] or 0)
    body = head.removesuffix("\n")
    shown = body.count("\n") + 1
    if header is None and first == 1 and not cut and shown <= last:
        length = shown
    if shown > last - first + 1:
        body = "\n".join(body.split("\n", last - first + 1)[: last - first + 1])
    return ((first, body), length) if body else (None, 0)


def _with_numbers(text: str, lines: tuple[int, int] | None) -> Run | None:
    """The lines of a text that numbers them itself, up to where they do not follow; None where it does not.

    Numbers stand in a column, to its right or its left, and one sign parts all of them from the text. So that no text is
    taken apart that counts for itself (a table, a plan of times): fewer than three of them count only with an arrow, a
    column that is wider than they are, or from the line that was asked for; and most of the text must be numbered.
    """
    every = text.split("\n")
    head = _NUMBERED.match(every[0])
    if head is None or (lines and int(head[2]) != lines[0]):
        return None
    formed = next((found for line in every[:_SURE] if (found := _NUMBERED.match(line)) and (found[3] or found[4])), None)
    if formed is None:
        return None
    first, (indent, number, gap, sign) = int(head[2]), formed.groups()
    asked = lines is not None and first > 1
    if not sign:
        if len(gap) < _GAP or not (indent or asked):
            return None
        gap = gap[:_GAP]
    right = _following(every, first, f"{{:>{len(indent + number)}}}{gap}{sign}")
    left = _following(every, first, f"{{:<{len(number + gap)}}}{sign}") if not indent and gap else []
    shown = max(right, left, key=len)
    told = sum(1 for line in every if line.strip())
    sure = sign == "→" or (2 * len(shown) >= told and (len(shown) >= _SURE or indent or asked))
    if not shown or not sure:
        return None
    if sign == ":" and all(_TIME.match(line) for line in shown):
        return None
    if sign not in ("→", "\t", "") and all(line[:1] in ("", " ") for line in shown):
        shown = [line[1:] for line in shown]
    return first, "\n".join(shown)


def _following(lines: Sequence[str], first: int, form: str) -> list[str]:
    """The texts behind numbers of such a form, from ``first`` on, as long as they follow; a line without text may have lost
    the space before it."""
    shown: list[str] = []
    for number, line in enumerate(lines, first):
        before = form.format(number)
        if not line.startswith(before) and line != before.rstrip():
            break
        shown.append(line[len(before) :])
    return shown


def replacements(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """(old, new, everywhere) of a call that edits, in their order."""
    edits = arguments.get("edits")
    for one in edits if isinstance(edits, list) else (arguments,):
        if isinstance(one, dict):
            new = next((text for key in _NEW_KEYS if isinstance(text := one.get(key), str)), None)
            if new is not None:
                old = next((text for key in _OLD_KEYS if isinstance(text := one.get(key), str)), "")
                yield old, new, bool(one.get("replace_all") or one.get("all"))


def written(arguments: Mapping[str, Any]) -> str | None:
    """The whole text of a call that writes a file; None where it is not told."""
    return next((text for key in _WHOLE_KEYS if isinstance(text := arguments.get(key), str)), None)


def patched(patch: str, path: str) -> Iterator[tuple[str, str, bool]]:
    """What a patch (``*** Update File: path`` with hunks) replaces in one file."""
    _, found, rest = patch.partition(f" File: {path}\n")
    if not found:
        return
    old: list[str] = []
    new: list[str] = []
    for line in [*rest.split("\n*** ", 1)[0].split("\n"), "@@"]:
        if line.startswith("@@"):
            if old != new:
                yield "\n".join(old), "\n".join(new), False
            old, new = [], []
        elif line[:1] in ("-", " ", ""):
            old.append(line[1:])
            if not line.startswith("-"):
                new.append(line[1:])
        elif line.startswith("+"):
            new.append(line[1:])
