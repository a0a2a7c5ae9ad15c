"""Real transcripts: the counts that the manifest has, every line accounted for, the same records twice."""

import json
from pathlib import Path
from typing import Any

import pytest

from importers.small import READERS, import_file
from sojourn.base import UserMistake
from sojourn.importers import IMPORTERS, detect
from sojourn.record import ToolCall


def entries(transcripts: Path) -> list[tuple[dict[str, Any], Path]]:
    found = json.loads((transcripts / "MANIFEST.json").read_text())
    return [(entry, next((transcripts / entry["format"]).glob(entry["name"] + "*"))) for entry in found]


@pytest.mark.design("R-14")
def test_counts_are_those_of_the_manifest(transcripts: Path) -> None:
    checked = set()
    for entry, path in entries(transcripts):
        if entry["format"] not in READERS:
            continue
        assert detect(str(path)).name == entry["format"], path.name
        counts = import_file(path).done.counts
        wanted = (entry["messages"], entry["tool_calls"], entry["tool_results"])
        assert (counts.messages, counts.tool_calls, counts.tool_results) == wanted, path.name
        checked.add(entry["format"])
    assert checked == {"claude-code", "codex", "gemini", "pi", "openai-messages"}


@pytest.mark.design("R-14")
def test_every_line_is_used_or_told(transcripts: Path) -> None:
    for entry, path in entries(transcripts):
        if entry["format"] not in READERS or path.suffix != ".jsonl":
            continue
        found = import_file(path)
        raw = path.read_bytes().split(b"\n")
        lines = {number for number, line in enumerate(raw, 1) if line.strip()}
        told = {skipped.line for skipped in found.skipped}
        assert found.used | told == lines, path.name
        assert found.done.bytes == path.stat().st_size
        assert found.done.lines == len(raw) - (raw[-1] == b"")


@pytest.mark.design("R-14")
def test_the_same_file_gives_equal_records(transcripts: Path) -> None:
    for entry, path in entries(transcripts):
        if entry["format"] in READERS:
            assert import_file(path).records == import_file(path).records, path.name


@pytest.mark.design("R-3")
def test_no_call_is_left_open(transcripts: Path) -> None:
    for entry, path in entries(transcripts):
        if entry["format"] not in READERS:
            continue
        calls = [part for m in import_file(path).messages for part in m.parts if isinstance(part, ToolCall)]
        assert {part.state for part in calls} <= {"completed", "error", "interrupted"}
        ids = [part.call_id for part in calls]
        assert all(ids), path.name


@pytest.mark.design("R-14")
@pytest.mark.report(58)
def test_unanswered_calls_of_an_aborted_session_are_interrupted(transcripts: Path) -> None:
    found = import_file(transcripts / "pi" / "pi02-large-session.jsonl")
    states = [part.state for m in found.messages for part in m.parts if isinstance(part, ToolCall)]
    assert (states.count("completed"), states.count("error"), states.count("interrupted")) == (354, 19, 18)


@pytest.mark.design("R-14")
def test_other_known_formats_are_refused_by_name(transcripts: Path) -> None:
    labels = {
        "qwen": "Qwen Code", "kimi": "Kimi", "copilot": "Copilot CLI", "swe-agent": "SWE-agent",
        "mini-swe-agent": "mini-SWE-agent", "openhands": "OpenHands", "aider": "aider",
    }  # fmt: skip
    seen = set()
    for entry, path in entries(transcripts):
        if entry["format"] in READERS:
            continue
        with pytest.raises(UserMistake, match=f"transcript of {labels[entry['format']]}: ") as caught:
            detect(str(path))
        assert all(importer.name in caught.value.next_step for importer in IMPORTERS)
        seen.add(entry["format"])
    assert seen == set(labels)
    for name in ("session/proj_test/ses_s_stage0_large.json", "message/s_stage0_large/msg_0002.json"):
        with pytest.raises(UserMistake, match="transcript of OpenCode: "):
            detect(str(transcripts / "opencode" / "storage_v2" / name))


@pytest.mark.design("R-2")
def test_typed_text_of_a_codex_session_is_the_persons_and_injected_text_is_not(transcripts: Path) -> None:
    found = import_file(transcripts / "codex" / "cx03-turn-aborted.jsonl")
    kinds = [(m.origin, m.source) for m in found.messages if m.role == "user"]
    assert kinds == [
        ("import", "developer"), ("import", "environment"), ("user", ""), ("import", "interrupted"),
        ("user", ""), ("user", ""), ("user", ""),
    ]  # fmt: skip
    assert found.starts[0].title.startswith("why did this fail")
    assert found.starts[0].model == "gpt-5.5"


@pytest.mark.design("R-14")
def test_nested_sub_agents_of_a_real_session_are_sessions_of_their_own(transcripts: Path) -> None:
    found = import_file(transcripts / "claude-code" / "cc05-queue-ops.jsonl")
    main = "1284c080-f9cd-45f8-9942-ff58f5c517e5"
    assert [(s.foreign_id, s.parent_foreign_id) for s in found.starts] == [(main, ""), ("a9c0ddf", main), ("a580f73", main)]
