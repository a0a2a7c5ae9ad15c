"""What ``sojourn replay`` and ``sojourn demo`` print. Nothing here decides or measures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import cells, listed, one_line, pad, table, wrapped
from sojourn.surfaces.cli.kinds import kind_word, outcome_word, reason_word
from sojourn.surfaces.cli.render import color, paint, width

if TYPE_CHECKING:
    from sojourn.lab.demo import Demo
    from sojourn.lab.journey import SweepRow
    from sojourn.lab.replay import Replay
    from sojourn.lab.report import Transcript

_SKIPPED_SHOWN = 5
_BAR = 30


def replay_report(transcript: "Transcript", done: "Replay", rows: Sequence["SweepRow"], svg: Path | None) -> str:
    """What ``sojourn replay`` prints for one file."""
    from sojourn.lab.journey import sweep_chart, terminal_chart

    counts = transcript.counts
    told = [paint(transcript.path, bold=True) + f"  ({transcript.format})"]
    if transcript.title:
        told.append(wrapped(one_line(transcript.title), width()))
    told += _paragraph(
        say(
            "replay_counts",
            messages=counts.messages,
            calls=counts.tool_calls,
            results=counts.tool_results,
            tokens=done.tokens,
            steps=done.steps,
        )
    )
    told += _skipped(transcript)
    if transcript.others:
        told += _paragraph(say("other_sessions", count=transcript.others))
    if not done.points:
        return "\n".join([*told, say("no_steps")]) + "\n\n"
    told += ["", terminal_chart(done.points, done.stays, width(), color(), done.marks), ""]
    told += [window_table(done), "", *_cost(done), "", *_continuity(done)]
    if done.stops:
        told += _paragraph(say("replay_stops", stops=done.stops))
    if rows:
        told += ["", say("sweep_head"), sweep_chart(rows, width(), color())]
    if svg is not None:
        told += ["", say("picture", path=svg)]
    return "\n".join(told) + "\n\n"


def demo_report(demo: "Demo", window: int) -> str:
    """What ``sojourn demo`` prints."""
    from sojourn.lab.journey import terminal_chart

    done, asked = demo.replay, len(demo.sample.facts)
    told = [paint(demo.sample.title, bold=True), *_paragraph(say("demo_intro", tokens=done.tokens, window=window)), ""]
    told += [terminal_chart(done.points, done.stays, width(), color(), done.marks), ""]
    told += [window_table(done, {seen.window: (seen.asked - len(seen.missing), seen.asked) for seen in demo.in_view}), ""]
    verdict = say("demo_facts", visible=demo.kept, asked=asked, windows=len(done.windows))
    told.append(paint(verdict, fg="green" if demo.kept == asked else "red", bold=True))
    told += _paragraph(say("demo_how"))
    for fact, windows in demo.missing:
        where = ", ".join(str(number) for number in windows)
        told += [wrapped(say("demo_missing", windows=where, fact=one_line(fact.text)), width(), indent="  ")]
    told += ["", *_cost(done), "", *_continuity(done), "", *_paragraph(say("demo_compare"))]
    rows = [("sojourn", f"{done.cost.units:,.0f}", f"{demo.kept} / {asked}")]
    rows += [(other.name, f"{other.units:,.0f}", f"{other.visible} / {other.asked}") for other in demo.others]
    head = [say("column_strategy"), say("column_units"), say("column_facts")]
    told += [_indented(table(head, rows, right=(1, 2)))]
    commands = ("replay SESSION.jsonl", "import SESSION.jsonl", "--help")
    told += ["", say("demo_next")]
    for command, key in zip(commands, ("demo_next_replay", "demo_next_import", "demo_next_help"), strict=True):
        told.append(f"  {pad(f'sojourn {command}', 30)}  {say(key)}")
    return "\n".join(told) + "\n"


def window_table(done: "Replay", facts: Mapping[int, tuple[int, int]] | None = None) -> str:
    """Two lines a window: opened why and at which levels (``facts``: how many were in view of how many), then what each
    section of its opening took."""
    keys = ["number", "kind", "reason", "outcome", "opened", "before", "after", *(["facts"] if facts else [])]
    rows = []
    for one in done.windows:
        levels = ("-", "-") if one.kind == "start" else (f"{one.level_before:,}", f"{one.level_after:,}")
        words = (kind_word(one.kind), reason_word(one.reason), outcome_word(one.outcome))
        row = [f"{one.number}", *words, f"m{one.opened_at_seq}", *levels]
        if facts:
            visible, asked = facts.get(one.number, (0, 0))
            row.append(f"{visible} / {asked}" if asked else "-")
        rows.append(row)
    head, *lines = table([say(f"column_{key}") for key in keys], rows, right=(0, 5, 6, 7)).split("\n")
    told = [paint(head, bold=True)]
    for line, one in zip(lines, done.windows, strict=True):
        told.append(line)
        sections = [f"{name} {tokens:,}" for name, tokens in one.sections.items() if tokens]
        if sections:
            told.append(listed(sections, width() - 2, indent="     "))
    return _indented("\n".join(told))


def _cost(done: "Replay") -> list[str]:
    cost = done.cost
    told = say("cost", units=cost.units, fresh=cost.fresh, written=cost.written, cached=cost.cached)
    return [*_paragraph(told), *_paragraph(say(f"cost_{cost.rule}"))]


def _continuity(done: "Replay") -> list[str]:
    """What later work needed and was still in view, beside other strategies at the same budget (T-6)."""
    if not done.continuity:
        return _paragraph(say("no_boundary"))
    told = _paragraph(say("continuity_head"))
    widest = max(cells(name) for name in done.continuity)
    for name, kept in done.continuity.items():
        share = "    -" if kept.recall is None else f"{kept.recall:>5.0%}"
        bar = "█" * round(_BAR * (kept.recall or 0))
        told.append(f"  {pad(name, widest)}  {share}  {kept.visible:>5,} / {kept.asked:<5,} {bar}".rstrip())
    return told


def _skipped(transcript: "Transcript") -> list[str]:
    bad = [one for one in transcript.skipped if not one.reason.startswith("bookkeeping")]
    told = [say("skipped", count=len(bad))] if bad else []
    told += [say("skipped_line", line=one.line, reason=one_line(one.reason)) for one in bad[:_SKIPPED_SHOWN]]
    if len(bad) > _SKIPPED_SHOWN:
        told.append(say("more_skipped", count=len(bad) - _SKIPPED_SHOWN))
    return told


def _paragraph(text: str) -> list[str]:
    return [wrapped(text, width())]


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
