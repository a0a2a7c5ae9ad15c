"""Replay of transcripts: the figures of one file, the sweep, and what must hold on every real session (N8, T-3)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sojourn.base import Finish, UserMistake
from sojourn.config import Settings
from sojourn.importers import Counts
from sojourn.lab.replay import Replay, replay
from sojourn.lab.report import SWEEP_RATIOS, Transcript, as_json, read_transcript, sweep
from sojourn.meter import message_tokens, total, units
from sojourn.record import Message, Text

COUNTS = Counts()
WORDS = ("tide", "gauge", "harbour", "offset", "station", "reading", "batch", "column", "datum", "schedule")
FORMATS = {"claude-code", "codex", "pi", "gemini", "openai-messages"}


def prose(tokens: int, seed: int) -> str:
    return "\n".join(" ".join(WORDS[(seed + i * 3 + i // 7) % 10] for i in range(at, at + 10)) for at in range(0, tokens, 10))


def talk(turns: int, tokens: int = 900) -> list[Message]:
    """Questions and answers of so many tokens."""
    messages = []
    for turn in range(turns):
        messages.append(Message(id=f"u{turn}", role="user", origin="user", parts=(Text(f"Question {turn}?"),), created=turn))
        parts = (Text(f"Answer {turn}: {prose(tokens, turn)}"),)
        messages.append(Message(id=f"a{turn}", role="assistant", origin="model", parts=parts, finish=Finish.STOP, created=turn))
    return messages


def run(messages: list[Message], **options: Any) -> Replay:
    return asyncio.run(replay(messages, **options))


@pytest.mark.design("T-3")
def test_one_window_costs_what_the_cache_rules_say() -> None:
    messages = talk(3)
    sizes = [total(message_tokens(message)) for message in messages]
    done = run(messages, window=64_000)
    levels = [sizes[0], sum(sizes[:3]), sum(sizes[:5])]
    assert [point.level for point in done.points] == levels
    assert (done.cost.fresh, done.cost.written, done.cost.cached) == (0, levels[-1], levels[0] + levels[1])
    assert done.cost.units == units(0, levels[-1], levels[0] + levels[1], "marked")
    assert (done.tokens, done.steps, done.over_hard, done.stops) == (sum(sizes), 3, 0, 0)
    assert len(done.windows) == 1
    automatic = run(messages, window=64_000, rule="automatic")
    assert (automatic.cost.fresh, automatic.cost.written) == (levels[-1], 0)
    fixed = run(messages, window=64_000, fixed=1_000)
    assert [point.level for point in fixed.points] == [level + 1_000 for level in levels]


@pytest.mark.design("T-3")
def test_a_new_window_shares_only_the_fixed_part_with_the_cache() -> None:
    messages = talk(30)
    done = run(messages, window=16_000, fixed=500)
    assert len(done.windows) > 2
    levels, openings = [point.level for point in done.points], {stay.step for stay in done.stays}
    cached = sum(500 if step in openings else levels[step - 2] for step in range(2, len(levels) + 1))
    assert done.cost.cached == cached
    assert done.cost.written == sum(levels) - cached
    assert done.over_hard == 0
    with pytest.raises(UserMistake, match="too small"):
        run(messages, window=7_999)


@pytest.mark.design("T-3")
def test_the_same_file_gives_the_same_result() -> None:
    assert run(talk(30), window=16_000) == run(talk(30), window=16_000)


@pytest.mark.design("T-3", "N8")
def test_json_has_all_names_also_without_a_boundary() -> None:
    transcript = Transcript("f.jsonl", "pi", "t", tuple(talk(2)), COUNTS, (), 1)
    row = as_json(transcript, run(talk(2), window=64_000))
    assert set(row) >= {
        "file", "format", "messages", "tool_calls", "tool_results", "skipped", "tokens", "windows", "cost", "continuity",
        "over_hard", "other_sessions", "steps", "stops",
    }  # fmt: skip
    assert set(row["windows"][0]) >= {
        "number", "kind", "reason", "outcome", "opened_at_seq", "covered_seq", "digest_seq", "level_before", "level_after",
        "trigger", "hard", "sections",
    }  # fmt: skip
    assert set(row["cost"]) == {"units", "fresh", "written", "cached", "rule"}
    nothing = {"recall": None, "asked": 0, "visible": 0, "opening_tokens": 0}
    assert row["continuity"] == dict.fromkeys(("sojourn", "drop_oldest", "keep_last", "clear_results"), nothing)
    assert "sweep" not in row
    json.dumps(row)


@pytest.mark.design("C-18")
def test_the_sweep_tries_each_trigger_and_tells_its_progress() -> None:
    transcript = Transcript("f", "pi", "t", tuple(talk(20)), COUNTS, (), 0)
    told: list[int] = []
    rows = asyncio.run(sweep(transcript, window=20_000, settings=Settings(), fixed=0, rule="marked", on_progress=told.append))
    assert [row.trigger for row in rows] == [int(20_000 * ratio) for ratio in SWEEP_RATIOS]
    assert told == list(range(1, 40 * len(SWEEP_RATIOS) + 1))
    assert [row.windows for row in rows] == sorted((row.windows for row in rows), reverse=True)
    settings = Settings()
    assert settings.compaction.trigger_ratio == 0.9
    alone = run(talk(20), window=20_000)
    assert rows[-1].units == alone.cost.units
    assert as_json(transcript, alone, rows)["sweep"][0]["trigger"] == 6_000


# --- real sessions ------------------------------------------------------------------------------------------------


def real(transcripts: Path) -> list[tuple[dict[str, Any], Path]]:
    entries = [one for one in json.loads((transcripts / "MANIFEST.json").read_text()) if one["format"] in FORMATS]
    return [(one, next((transcripts / one["format"]).glob(one["name"] + "*"))) for one in entries]


def sound(done: Replay, name: str) -> None:
    """What must hold for every session at every size."""
    assert done.over_hard == 0, name
    assert done.stops == 0, name
    assert [window.number for window in done.windows] == list(range(1, len(done.windows) + 1))
    for window in done.windows[1:]:
        opening, base = sum(window.sections.values()), window.trigger
        tail = window.level_after - opening
        budget = max(base * 15 // 100, min(base * 40 // 100, base * 60 // 100 - tail))
        assert 0 < opening <= budget, f"{name}: window {window.number} opens with {opening:,} of {budget:,}"
        assert window.level_after < window.trigger, f"{name}: window {window.number}"
        assert window.level_after < window.level_before
        assert window.covered_seq <= window.opened_at_seq
    for kept in done.continuity.values():
        assert kept.visible <= kept.asked
        assert kept.recall is None if kept.asked == 0 else kept.recall == kept.visible / kept.asked


@pytest.mark.design("T-3", "W-4")
@pytest.mark.report(68)
@pytest.mark.parametrize("window", [16_000, 64_000, 128_000, 1_000_000])
def test_every_real_session_replays_within_its_budgets(transcripts: Path, window: int) -> None:
    biggest = {path for _, path in sorted(real(transcripts), key=lambda one: -one[0]["saved_bytes"])[:2]}
    checked = 0
    for entry, path in real(transcripts):
        if path in biggest and window not in (64_000, 1_000_000):
            continue
        transcript = read_transcript(path)
        counts = transcript.counts
        wanted = (entry["messages"], entry["tool_calls"], entry["tool_results"])
        assert (counts.messages, counts.tool_calls, counts.tool_results) == wanted, path.name
        done = run(list(transcript.messages), window=window)
        sound(done, path.name)
        assert len(done.windows) > 1 or done.points[-1].level < done.windows[0].trigger
        checked += 1
    assert checked >= 14
