"""``sojourn replay`` as a person and a program see them; real transcripts through the command."""

import json
from pathlib import Path

import pytest

from sojourn.surfaces.cli.columns import cells
from surfaces.running import LONG, Command, put, talk

pytestmark = pytest.mark.design("S-1", "N8")


def test_replay_json_of_several_files(sojourn: Command, tmp_path: Path) -> None:
    small, long = put(tmp_path / "small.jsonl", talk(2)), put(tmp_path / "long.jsonl", talk(20, "s2", LONG))
    done = sojourn("replay", small, long, "--window", "16K", "--json")
    assert (done.code, done.err) == (0, "")
    first, second = done.rows
    assert (first["file"], first["format"], first["messages"]) == (str(small), "claude-code", 4)
    assert (first["tool_calls"], first["tool_results"], first["skipped"]) == (0, 0, [])
    assert [window["kind"] for window in first["windows"]] == ["start"]
    assert first["continuity"]["sojourn"] == {"recall": None, "asked": 0, "visible": 0, "opening_tokens": 0}
    assert set(first["continuity"]) == {"sojourn", "drop_oldest", "keep_last", "clear_results"}
    opened = second["windows"]
    assert len(opened) > 1
    assert opened[1]["reason"] == "usage"
    assert opened[1]["trigger"] == 14_400
    assert opened[1]["hard"] == 14_976
    assert opened[1]["sections"]["closing"] > 0
    assert second["over_hard"] == 0
    cost = second["cost"]
    assert cost["rule"] == "marked"
    assert cost["units"] == pytest.approx(cost["fresh"] + 1.25 * cost["written"] + 0.1 * cost["cached"])
    assert not (tmp_path / "home").exists(), "a replay writes nothing to the record"


def test_replay_options_reach_the_engine(sojourn: Command, tmp_path: Path) -> None:
    path = put(tmp_path / "long.jsonl", talk(20, "s1", LONG))
    plain = sojourn("replay", path, "--window", "32K", "--json").row
    assert plain["windows"][0]["trigger"] == 28_800
    assert sojourn("replay", path, "--json").row["windows"][0]["trigger"] == 57_600
    low = sojourn("replay", path, "--window", "32K", "--set", "compaction.trigger_ratio=0.5", "--json").row
    assert low["windows"][0]["trigger"] == 16_000
    assert len(low["windows"]) > len(plain["windows"])
    automatic = sojourn("replay", path, "--window", "32K", "--rule", "automatic", "--json").row["cost"]
    assert automatic["written"] == 0
    assert automatic["fresh"] == plain["cost"]["written"]
    fixed = sojourn("replay", path, "--window", "32K", "--fixed", "2K", "--json").row
    assert fixed["cost"]["units"] > plain["cost"]["units"]
    economy = sojourn("replay", path, "--window", "32K", "--policy", "economy", "--json")
    assert economy.code == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_replay_text_fits_80_columns(sojourn: Command, tmp_path: Path, language: str) -> None:
    path = put(tmp_path / "long.jsonl", talk(20, "s1", LONG))
    with path.open("a") as file:
        file.write("broken\n" * 7)
    sweep = ["--sweep"] if language == "en" else []
    done = sojourn("replay", path, "--window", "16K", *sweep, "--set", f"language={language}")
    assert (done.code, done.err) == (0, "")
    wide = [line for line in done.out.splitlines() if cells(line) > 80 and str(path) not in line]
    assert wide == []
    assert "claude-code" in done.out
    if language == "en":
        assert "40 messages, 0 tool calls, 0 results; " in done.out
        assert "Lines that could not be read, or only in part: 7\n  line 41: not JSON" in done.out
        assert "  line 45: " in done.out
        assert "  line 46: " not in done.out
        assert "  ... and 2 more (--json lists all)\n" in done.out
        assert "no.  kind " in done.out
        assert "\n       label " in done.out
        assert " · closing " in done.out
        assert "The same session at other triggers:\n" in done.out


def test_replay_of_a_file_without_answers(sojourn: Command, tmp_path: Path) -> None:
    path = put(tmp_path / "asked.jsonl", talk(1)[:1])
    assert sojourn("replay", path).out.endswith("No answer of a model is in it: there is nothing to replay.\n\n")
    row = sojourn("replay", path, "--json").row
    assert (row["windows"], row["steps"], row["messages"]) == ([], 0, 1)
    assert sojourn("replay", path, "--sweep", "--json").code == 0
    assert sojourn("replay", path, "--svg", tmp_path / "x.svg").code == 0


@pytest.mark.design("T-3", "R-14")
def test_real_transcripts_are_imported_with_the_counts_of_the_manifest(sojourn: Command, transcripts: Path) -> None:
    formats = {"claude-code", "codex", "pi", "gemini", "openai-messages"}
    entries = [one for one in json.loads((transcripts / "MANIFEST.json").read_text()) if one["format"] in formats]
    paths = [next((transcripts / one["format"]).glob(one["name"] + "*")) for one in entries]
    done = sojourn("import", *paths, "--json")
    assert done.code == 0
    for entry, path, row in zip(entries, paths, done.rows, strict=True):
        wanted = (str(path), entry["format"], entry["messages"], entry["tool_calls"], entry["tool_results"])
        assert (row["file"], row["format"], row["messages"], row["tool_calls"], row["tool_results"]) == wanted
        assert all(session["added"] == session["total"] > 0 for session in row["sessions"])
    again = sojourn("import", *paths, "--json").rows
    assert {session["added"] for row in again for session in row["sessions"]} == {0}
    assert sojourn("doctor", "--json").row["findings"] == []
