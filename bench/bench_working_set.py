"""What the working set (W-3a) is worth on real sessions: which of the files that the agent used next it names, and how many of
the lines that it edited next it shows, by budget. Reads the transcripts of ``SOJOURN_SHARED`` (else ``../shared``)."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from bench._row import Row
from sojourn.importers import Imported, SessionStart, read
from sojourn.meter import estimate_text, total
from sojourn.record import Message, ToolCall
from sojourn.window import working_set

_TRIGGER = 57_000
_EVERY = 20
"""Answers between two boundaries, and answers after one that are looked at."""
_SHARES = (0.01, 0.02, 0.03, 0.05)
_FORMATS = ("claude-code", "codex", "pi")
"""Folders of the transcripts in which calls touch files."""
_LEAST = 60
"""Answers of a session that is worth looking at."""
_OLD = ("old_string", "oldText", "old_str", "old")

Render = Callable[[Sequence[Message], int, str, str], str]
"""From the messages of the window that is left, a budget, the working set before and the working folder to a text."""


class Score(msgspec.Struct):
    """Sums over all boundaries of all sessions."""

    used: int = 0
    """Files that were used before a boundary and again within the next answers."""
    named: int = 0
    first_read: int = 0
    """Of them: those that were read first."""
    first_named: int = 0
    edits: int = 0
    """First edits after a boundary of a file that was not read again before it: made from what the agent remembered."""
    shown: int = 0
    """Of them: those of which every old line was shown."""
    shares: float = 0.0
    """Of them: the share of their old lines that was shown, summed."""
    placed: int = 0
    """Of them: those of which one old line at least was shown, so that the place is known."""
    parts: int = 0
    """Parts of files that were read next, for the first time after a boundary."""
    parts_placed: int = 0
    """Of them: those in which, or within 20 lines of which, a line was shown with its number."""
    boundaries: int = 0
    tokens: int = 0


def run(quick: bool) -> list[Row]:
    """Shares in percent, and the tokens of an average working set."""
    shared = os.environ.get("SOJOURN_SHARED", str(Path(__file__).resolve().parents[2] / "shared"))
    sessions = list(_sessions(Path(shared) / "data" / "transcripts"))
    if not sessions:
        return [Row("real sessions measured", 0, "", "none are here: set SOJOURN_SHARED")]
    rows = []
    for share in _SHARES[2:3] if quick else _SHARES:
        score = measured(sessions, int(_TRIGGER * share), _ours)
        note = f"{share:.0%} of {_TRIGGER:,}; {score.boundaries} boundaries in {len(sessions)} sessions"
        parts = (
            ("files used next that are named", score.named, score.used),
            ("files read next that are named", score.first_named, score.first_read),
            ("parts read next whose place is shown", score.parts_placed, score.parts),
            ("edits from memory whose place is shown", score.placed, score.edits),
            ("edits from memory, mean share of old lines shown", score.shares, score.edits),
            ("edits from memory, all old lines shown", score.shown, score.edits),
        )
        rows += [Row(name, 100 * part / max(1, whole), "%", f"of {whole}; {note}") for name, part, whole in parts]
        rows.append(Row("size of a working set", score.tokens / max(1, score.boundaries), "tokens", note))
    return rows


def measured(sessions: Sequence[tuple[str, list[Message]]], budget: int, render: Render) -> Score:
    """Boundaries every 20 answers; each hands over its own messages and what the one before showed."""
    score = Score()
    for folder, messages in sessions:
        answers = [index for index, message in enumerate(messages) if message.role == "assistant" and message.origin == "model"]
        left, before = 0, ""
        known: set[str] = set()
        for start in range(_EVERY, len(answers) - 1, _EVERY):
            end, stop = answers[start], answers[min(len(answers) - 1, start + _EVERY)]
            known |= {touch.path for call in _calls(messages[left:end]) for touch in call.touches}
            before = render(messages[left:end], budget, before, folder)
            _score(score, before, folder, known, messages[end:stop])
            left = end
    return score


def _ours(messages: Sequence[Message], budget: int, before: str, root: str) -> str:
    return working_set(messages, budget, _count, before=before, root=root)


def _score(score: Score, shown: str, folder: str, known: set[str], later: Sequence[Message]) -> None:
    score.boundaries += 1
    score.tokens += _count(shown)
    files = _shown_files(shown, folder)
    seen: set[str] = set()
    edited: set[str] = set()
    read_again: set[str] = set()
    for call in _calls(later):
        for touch in call.touches:
            if touch.path not in known:
                continue
            mine = files.get(touch.path.removeprefix(folder + "/"))
            if touch.path not in seen:
                seen.add(touch.path)
                score.used += 1
                score.named += mine is not None
                score.first_read += touch.kind == "read"
                score.first_named += mine is not None and touch.kind == "read"
            numbers, lines = mine or ((), frozenset())
            if touch.kind == "read":
                if touch.path not in read_again and touch.path not in edited and touch.lines:
                    score.parts += 1
                    score.parts_placed += any(touch.lines[0] - 20 <= number <= touch.lines[1] + 20 for number in numbers)
                read_again.add(touch.path)
            elif touch.path not in edited and touch.path not in read_again:
                edited.add(touch.path)
                _score_edit(score, call, lines)


def _score_edit(score: Score, call: ToolCall, lines: frozenset[str]) -> None:
    old = next((text for key in _OLD if isinstance(text := call.arguments.get(key), str)), "")
    wanted = {line.strip() for line in old.split("\n") if sum(map(str.isalnum, line)) > 2}
    if wanted:
        score.edits += 1
        score.shown += wanted <= lines
        score.shares += len(wanted & lines) / len(wanted)
        score.placed += bool(wanted & lines)


def _shown_files(shown: str, folder: str) -> dict[str, tuple[tuple[int, ...], frozenset[str]]]:
    """By path as shown: the line numbers and the lines below it."""
    files: dict[str, tuple[tuple[int, ...], frozenset[str]]] = {}
    for block in f"\n{shown}".split("\n- ")[1:]:
        head, *below = block.split("\n")
        readings = [reading for line in below for reading in _readings(line)]
        numbers = tuple(number for number, _ in readings if number)
        files[head.partition(" (")[0].removeprefix(folder + "/")] = (numbers, frozenset(line for _, line in readings))
    rest = shown.rpartition("\nalso in use: ")[2] if "\nalso in use: " in shown else ""
    return files | {name: ((), frozenset()) for name in rest.split(", ") if name}


def _readings(line: str) -> Iterator[tuple[int, str]]:
    """A shown line as it may stand in a file: with and without the number or sign before it."""
    yield 0, line.strip()
    yield 0, line.strip().removeprefix("+").strip()
    for sign in (":", "→", "\t", " "):
        number, found, rest = line.strip().partition(sign)
        if found and number.isdigit():
            yield int(number), rest.strip()


def _calls(messages: Sequence[Message]) -> Iterator[ToolCall]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall) and part.state == "completed":
                yield part


def _sessions(folder: Path) -> Iterator[tuple[str, list[Message]]]:
    """Working folder and messages of every session that is long enough, in order of file."""
    for path in sorted(path for name in _FORMATS for path in (folder / name).glob("*.jsonl")):
        place: dict[str, str] = {}
        found: dict[str, list[Message]] = {}
        for record in read(str(path)):
            if isinstance(record, SessionStart):
                place[record.foreign_id] = record.cwd
            elif isinstance(record, Imported):
                mine = found.setdefault(record.foreign_id, [])
                mine.append(msgspec.structs.replace(record.message, seq=len(mine) + 1))
        for name, messages in found.items():
            touched = sum(bool(call.touches) for call in _calls(messages))
            if touched and sum(message.role == "assistant" for message in messages) >= _LEAST:
                yield place.get(name, ""), messages


def _count(text: str) -> int:
    return total(estimate_text(text))
