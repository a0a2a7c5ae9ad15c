"""A transcript file, replayed and reported: the shapes that ``sojourn replay --json`` prints (N8)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from sojourn.config import Settings
from sojourn.importers import Counts, Done, Imported, Progress, SessionStart, Skipped, SkippedLine, detect
from sojourn.lab.journey import SweepRow
from sojourn.lab.replay import Kept, OnProgress, Replay, replay
from sojourn.lab.strategies import VIEWS
from sojourn.meter import CacheRule
from sojourn.record import Message

SWEEP_RATIOS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class Transcript(msgspec.Struct, frozen=True):
    """The first session of a file with its messages, and what the file held."""

    path: str
    format: str
    title: str
    messages: tuple[Message, ...]
    counts: Counts
    skipped: tuple[Skipped, ...]
    others: int
    """Other sessions in the file (sub-agents, a second session): imported by ``sojourn import``, not replayed."""


def read_transcript(path: Path, on_bytes: Callable[[int], None] | None = None) -> Transcript:
    """Reads a file for replay. Raises UserMistake for an unknown format, saying what was looked for."""
    importer = detect(str(path))
    first, title, others = "", "", 0
    messages: list[Message] = []
    skipped: list[Skipped] = []
    counts = Counts()
    for record in importer.read(str(path)):
        match record:
            case SessionStart():
                if not first:
                    first, title = record.foreign_id, record.title
                elif record.foreign_id != first:
                    others += 1
            case Imported():
                if record.foreign_id == first:
                    messages.append(record.message)
            case SkippedLine():
                skipped.append(record.skipped)
            case Progress():
                if on_bytes is not None:
                    on_bytes(record.bytes_read)
            case Done():
                counts = record.counts
    return Transcript(str(path), importer.name, title, tuple(messages), counts, tuple(skipped), others)


async def sweep(
    transcript: Transcript,
    *,
    window: int,
    settings: Settings,
    fixed: int,
    rule: CacheRule,
    on_progress: OnProgress | None = None,
) -> tuple[SweepRow, ...]:
    """Cost and continuity over the trigger (C-18). ``on_progress`` is told the messages of all rounds so far."""
    rows = []
    for round, ratio in enumerate(SWEEP_RATIOS):
        compaction = msgspec.structs.replace(settings.compaction, trigger_ratio=ratio)
        done = await replay(
            transcript.messages,
            window=window,
            settings=msgspec.structs.replace(settings, compaction=compaction),
            fixed=fixed,
            rule=rule,
            on_progress=_going_on(on_progress, round * len(transcript.messages)),
        )
        kept = done.continuity.get("sojourn")
        trigger = done.windows[0].trigger if done.windows else 0
        rows.append(SweepRow(trigger, done.cost.units, kept.recall if kept else None, len(done.windows)))
    return tuple(rows)


def _going_on(on_progress: OnProgress | None, before: int) -> OnProgress | None:
    return None if on_progress is None else lambda count: on_progress(before + count)


def as_json(transcript: Transcript, done: Replay, rows: tuple[SweepRow, ...] = ()) -> dict[str, Any]:
    """The documented JSON of one replayed file."""
    return {
        "file": transcript.path,
        "format": transcript.format,
        "title": transcript.title,
        "messages": transcript.counts.messages,
        "tool_calls": transcript.counts.tool_calls,
        "tool_results": transcript.counts.tool_results,
        "skipped": [{"line": one.line, "reason": one.reason} for one in transcript.skipped],
        "other_sessions": transcript.others,
        "tokens": done.tokens,
        "steps": done.steps,
        "windows": [msgspec.to_builtins(window) for window in done.windows],
        "cost": msgspec.to_builtins(done.cost),
        "continuity": continuity_of(done),
        "stops": done.stops,
        "over_hard": done.over_hard,
        **({"sweep": [msgspec.to_builtins(row) for row in rows]} if rows else {}),
    }


def continuity_of(done: Replay) -> dict[str, Any]:
    """All strategies, also where there was no boundary: then nothing was asked for."""
    kept = {name: done.continuity.get(name, Kept(None, 0, 0, 0)) for name in ("sojourn", *VIEWS)}
    return {name: msgspec.to_builtins(one) for name, one in kept.items()}
