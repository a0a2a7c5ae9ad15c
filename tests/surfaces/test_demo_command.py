"""``sojourn demo`` as a person and a program see it: live, kept, replayed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sojourn.agent.types import Called, StepStarted, TurnEnded, TurnStarted
from sojourn.base import Finish, Usage
from sojourn.lab.live import Began
from sojourn.surfaces.cli.account import Account
from sojourn.surfaces.cli.columns import cells
from surfaces.running import Command, Ran, in_own_process

pytestmark = [pytest.mark.design("S-1", "A-5"), pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")]


def test_it_tells_the_run_as_it_goes_and_what_it_came_to(sojourn: Command) -> None:
    done = sojourn("demo")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line for line in lines if cells(line) > 80] == []
    assert lines[0] == "lockerd: a working day with three bugs"
    at = [lines.index(line) for number in range(1, 9) for line in lines if line.startswith(f" {number}  ")][:8]
    assert at == sorted(at)
    assert len(at) == 8
    windows = [line for line in lines if line.startswith("   ── window ")]
    assert len(windows) >= 2
    assert "── window 2 opened: " in windows[0]
    assert any(line.startswith("      carried over: label ") and " · checkpoint " in line for line in lines)
    proof = lines.index("      $ ./check tariff")
    assert lines[proof + 1 : proof + 4] == [
        "        before  AssertionError: 300 != 150",
        "                1 failed, 56 passed",
        "        after   57 passed",
    ]
    assert f"19 of 19 facts in view in {len(windows) + 1} windows" in lines
    assert any(line.startswith("What the person asked for last stood word for word in ") for line in lines)
    assert "The model found all that its script expected, in results and in view" in lines
    assert any(line.split() == ["sojourn", "19", "/", "19"] for line in lines)
    assert any(line.startswith("  sojourn demo --keep DIR ") for line in lines)
    assert "█ level" in done.out


def test_kept_it_can_be_looked_at_with_the_other_commands(sojourn: Command, home: Path, tmp_path: Path) -> None:
    keep = tmp_path / "kept here"
    keep.mkdir()
    row = sojourn("demo", "--keep", keep, "--json")
    assert row.code == 0
    told = row.row
    assert told["facts"] == {"planted": 19, "asked": 19, "visible": 19}
    assert not home.exists(), "nothing of it goes into the person's own record"

    def look(*arguments: object) -> Ran:
        return in_own_process(keep, *arguments)

    assert look("sessions", "--json").row["id"] == told["session_id"]
    shown = look("show", "last", "--json").row
    assert [one["number"] for one in shown["windows"]] == [one["number"] for one in told["windows"]]
    assert look("search", "8512", "--json").rows
    assert look("checkpoint", "last").out.startswith("# Checkpoint\n")
    assert list((keep / "data" / "memory").rglob("checkpoint.md"))
    log = subprocess.run(["git", "-C", keep / "repo", "log", "--format=%s"], check=True, capture_output=True, text=True)
    assert log.stdout.startswith("Write down what changed\n")
    again = sojourn("demo", "--keep", keep)
    assert (again.code, again.out) == (2, "")
    assert again.err == f"sojourn: {keep}: there is something already\n  Name a folder that is empty or not there yet.\n"


def test_a_kept_run_says_how_to_look_at_it(sojourn: Command, tmp_path: Path) -> None:
    done = sojourn("demo", "--keep", tmp_path / "kept here", "--window", "1M", "--set", "language=zh")
    assert done.code == 0
    assert f"\n  SOJOURN_HOME='{tmp_path}/kept here' sojourn show last\n" in done.out
    assert f"\n  git -C '{tmp_path}/kept here/repo' log --stat\n那里不保存文件快照：sojourn undo 只撤销对话。\n" in done.out
    assert "整个会话装得进一个窗口" in done.out
    assert "drop_oldest" not in done.out


def test_a_file_is_no_place_to_keep_it(sojourn: Command, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    assert sojourn("demo", "--keep", path).code == 2
    assert path.read_text() == "mine"


def test_it_exits_with_1_when_a_fact_is_missing(sojourn: Command) -> None:
    """Without checkpoints and without the person's words nothing can carry the facts over."""
    done = sojourn("demo", "--set", "checkpoint.enabled=false", "--set", "rebuild.recent_user=0")
    assert done.code == 1
    assert "not in view (windows: " in done.out
    assert "19 of 19" not in done.out


def test_it_is_the_same_whatever_is_configured(sojourn: Command, home: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text("[compaction]\ntrigger_ratio = 0.5\n")
    (home / "config" / "AGENTS.md").write_text("Answer in verse.\n")
    row = sojourn("demo", "--window", "1M", "--json").row
    assert [one["trigger"] for one in row["windows"]] == [900_000]
    assert row["facts"] == {"planted": 19, "asked": 0, "visible": 0}
    assert [path.name for path in home.iterdir()] == ["config"]
    assert sojourn("demo", "--window", "4K").code == 2


def test_an_interrupt_ends_it_soon_and_leaves_nothing(home: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "sojourn", "demo"],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    begun = process.stdout.readline() + process.stdout.readline()
    assert begun.startswith(b"lockerd")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.decode() == "\nInterrupted. Nothing that was acknowledged is lost.\n"
    assert time.monotonic() - sent < 5
    assert list(scratch.iterdir()) == []
    assert not home.exists()


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_the_step_and_clears_it_before_each_line(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    account = Account(40_000, quiet=False)
    account.tell(Began("the scene", 97, Path("/nowhere")))
    account.tell(TurnStarted(1, "Do it.\nPlease."))
    account.tell(StepStarted(1, "call_1", 1_234, 36_000, False, 1))
    account.tell(Called("call_1", "read", {}))
    account.tell(Called("call_2", "bash", {}))
    account.tell(Called("call_3", "bash", {}))
    account.tell(TurnEnded(Finish.STOP, 1, "", Usage(), None))
    account.tell(TurnStarted(5, "More."))
    account.tell(StepStarted(1, "call_4", 2_345, 36_000, False, 1))
    account.clear()
    told = capsys.readouterr()
    assert told.out.splitlines()[0] == "the scene"
    assert "\n\n 1  Do it. Please.\n      1 step; bash 2, read 1\n\n 2  More.\n" in told.out
    clear = "\r\x1b[K"
    status = [f"{clear}    step {step} of 97, level {level}" for step, level in ((1, "1,234"), (2, "2,345"))]
    wanted = clear * 2 + status[0] + clear * 2 + status[1] + clear
    assert told.err == (wanted if terminal else "")


def test_quiet_nothing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(40_000, quiet=True)
    account.tell(Began("the scene", 97, Path("/nowhere")))
    account.tell(TurnStarted(1, "Do it."))
    account.clear()
    assert capsys.readouterr() == ("", "")


# --- replayed -----------------------------------------------------------------------------------------------------


@pytest.mark.design("T-6")
def test_replayed(sojourn: Command) -> None:
    row = sojourn("demo", "--replay", "--json")
    told = row.row
    facts = told["facts"]
    assert facts["asked"] == 24
    assert facts["windows"] == len(told["windows"]) >= 4
    assert row.code == (0 if facts["visible"] == 24 else 1)
    assert facts["visible"] == 24 - len(told["missing"])
    assert {other["name"] for other in told["others"]} == {"drop_oldest", "keep_last"}
    text = sojourn("demo", "--replay")
    assert text.code == row.code
    assert f"\n{facts['visible']} of 24 facts in view in {facts['windows']} windows\n" in text.out
    for one in told["missing"]:
        assert f"not in view (windows: {', '.join(map(str, one['windows']))}): " in text.out
    assert [line for line in text.out.splitlines() if cells(line) > 80] == []
    assert "sojourn replay SESSION.jsonl" in text.out


def test_replayed_it_exits_with_1_when_a_fact_is_missing(sojourn: Command) -> None:
    settings = ("--set", "checkpoint.enabled=false", "--set", "rebuild.recent_user=0")
    done = sojourn("demo", "--replay", *settings, "--json")
    assert done.row["missing"]
    assert done.code == 1


def test_replayed_it_is_the_same_whatever_is_configured(sojourn: Command, home: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text("[compaction]\ntrigger_ratio = 0.5\n")
    assert sojourn("demo", "--replay", "--window", "64K", "--json").row["windows"][0]["trigger"] == 57_600
    asked = sojourn("demo", "--replay", "--window", "64K", "--set", "compaction.trigger_ratio=0.5", "--json").row
    assert asked["windows"][0]["trigger"] == 32_000
    assert sojourn("demo", "--replay", "--window", "7K").code == 2


def test_a_replay_keeps_nothing(sojourn: Command, tmp_path: Path) -> None:
    done = sojourn("demo", "--replay", "--keep", tmp_path / "kept")
    assert done.code == 2
    assert "--keep has nothing to keep with --replay" in done.err
    assert not (tmp_path / "kept").exists()
