"""Every mistake of a person: one clear message, the right exit code, no traceback; the others' work is still done."""

import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from sojourn.surfaces.cli.app import COMMANDS
from surfaces.running import LONG, Command, in_own_process, put, started, talk

pytestmark = pytest.mark.design("S-1")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return put(tmp_path / "good.jsonl", talk(2))


def files(tmp_path: Path) -> dict[str, tuple[Path, str]]:
    """Bad files, and what is said about each."""
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "zeros").write_bytes(b"\0" * 4096)
    (tmp_path / "binary").write_bytes(bytes(range(128, 256)) * 40)
    (tmp_path / "prose.txt").write_text("Dear diary\n" * 40)
    (tmp_path / "folder").mkdir()
    return {
        "missing": (tmp_path / "missing", "there is no such file"),
        "below a file": (tmp_path / "prose.txt" / "x", "cannot be read: Not a directory"),
        "folder": (tmp_path / "folder", "is a folder\n  Name the transcript file"),
        "empty": (tmp_path / "empty.jsonl", "is empty"),
        "zeros": (tmp_path / "zeros", "is empty"),
        "binary": (tmp_path / "binary", "is not a transcript of a known format. Looked for:\n"),
        "unknown": (tmp_path / "prose.txt", "claude-code: JSON lines with"),
        "too long": (tmp_path / ("n" * 300), "cannot be read: File name too long"),
        "NUL": (Path(f"{tmp_path}/a\0b"), "cannot be read: embedded null byte"),
        "device": (Path("/dev/null"), "is not a plain file"),
    }


@pytest.mark.design("R-14")
@pytest.mark.parametrize("command", ["replay", "import"])
@pytest.mark.parametrize(
    "kind", ["missing", "below a file", "folder", "empty", "zeros", "binary", "unknown", "too long", "NUL", "device"]
)
def test_bad_files_are_named_and_the_others_done(sojourn: Command, tmp_path: Path, good: Path, command: str, kind: str) -> None:
    bad, message = files(tmp_path)[kind]
    done = sojourn(command, bad, good, "--json")
    assert done.code == 2
    assert done.row["file"] == str(good)
    assert done.err.startswith("sojourn: ")
    assert message in done.err
    assert str(bad).replace("\0", "\\0") in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", ["replay", "import"])
def test_each_bad_file_is_told(sojourn: Command, tmp_path: Path, good: Path, command: str) -> None:
    done = sojourn(command, tmp_path / "one", good, tmp_path / "two")
    assert done.code == 2
    assert [line for line in done.err.splitlines() if line.startswith("sojourn:")] == [
        f"sojourn: {tmp_path / 'one'}: there is no such file",
        f"sojourn: {tmp_path / 'two'}: there is no such file",
    ]
    assert str(good) in done.out


def test_unreadable_files(sojourn: Command, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    done = sojourn("replay", good)
    assert (done.code, done.err) == (2, f"sojourn: {good}: no permission to read it\n  Check its permissions.\n")


def test_a_known_format_that_cannot_be_read_yet(sojourn: Command, tmp_path: Path) -> None:
    (tmp_path / "chat.md").write_text("# aider chat started at 2026-01-02 03:04:05\n\n> aider v1\n")
    done = sojourn("import", tmp_path / "chat.md")
    assert done.code == 2
    assert "is a transcript of aider" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--window", "7999"), "The window of 7,999 tokens is too small"),
        (("--window", "64K", "--fixed", "16001"), "is too small"),
        (("--window", "banana"), "--window = 'banana' is not an amount"),
        (("--window", "40%"), "--window = '40%' is not an amount"),
        (("--window", ""), "--window = '' is not an amount"),
        (("--fixed", "-1"), "--fixed = '-1' is not an amount"),
        (("--policy", "greedy"), "'greedy' is not one of"),
        (("--rule", "x"), "'x' is not one of"),
        (("--set", "compaction.triger_ratio=0.5"), "compaction.triger_ratio"),
        (("--set", "compaction.trigger_ratio=2"), "compaction.trigger_ratio = 2"),
        (("--set", "nonsense"), "is not key=value"),
        (("--set", "compaction.max_context=5000"), "The window of 5,000 tokens is too small"),
        (("--svg", "nowhere/out.svg"), "nowhere/out.svg: no file can be written there"),
        (("--svg", "."), "no file can be written there"),
        (("--svg", "a\0b"), "no file can be written there"),
        (("--widow", "64K"), "No such option"),
    ],
)
def test_bad_options_of_replay(sojourn: Command, good: Path, options: tuple[str, ...], message: str) -> None:
    done = sojourn("replay", good, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("sojourn: ") == 1
    assert "Traceback" not in done.err


def test_the_smallest_window_is_one(sojourn: Command, good: Path) -> None:
    assert sojourn("replay", good, "--window", "8000").code == 0
    assert sojourn("replay", good, "--window", "64K", "--fixed", "16K").code == 0


def test_svg_takes_one_file(sojourn: Command, good: Path, tmp_path: Path) -> None:
    assert sojourn("replay", good, good, "--svg", tmp_path / "x.svg").code == 2
    done = sojourn("replay", good, "--svg", tmp_path / "x.svg")
    assert done.out.endswith(f"Picture: {tmp_path / 'x.svg'}\n\n")
    assert (tmp_path / "x.svg").read_text("utf-8").startswith("<svg ")


@pytest.mark.parametrize("command", ["show", "context", "checkpoint", "rebuild", "undo", "delete", "export"])
def test_ids_that_name_no_session_or_several(sojourn: Command, tmp_path: Path, good: Path, command: str) -> None:
    before = sojourn(command, "last")
    assert before.code == 2
    assert before.err.startswith("sojourn: there are no sessions yet (")
    sojourn("import", good, put(tmp_path / "b.jsonl", talk(1, "s2")))
    unknown = sojourn(command, "nope")
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err == "sojourn: there is no session 'nope'\n  sojourn sessions lists them.\n"
    several = sojourn(command, "ses_")
    assert several.code == 2
    assert several.err.startswith("sojourn: 'ses_' names 2 sessions: ses_")
    assert sojourn(command, "").code == 2


def test_unknown_commands_and_missing_arguments(sojourn: Command) -> None:
    assert sojourn("shw") == (2, "", "sojourn: there is no command 'shw'\n  Did you mean 'show'?\n")
    assert sojourn("zzzzz") == (2, "", "sojourn: there is no command 'zzzzz'\n  See: sojourn --help\n")
    missing = sojourn("replay")
    assert missing.code == 2
    assert missing.err == "sojourn: Missing argument 'FILE...'.\n  See: sojourn replay --help\n"
    assert sojourn("sessions", "--limit", 10**30).code == 2
    assert sojourn("show", "x", "--number", 0).code == 2


def test_a_newer_record_is_left_alone(sojourn: Command, good: Path, home: Path) -> None:
    sojourn("import", good)
    path = home / "data" / "sojourn.db"
    db = apsw.Connection(str(path))
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = path.read_bytes()
    for command in (("sessions",), ("import", good), ("show", "last")):
        done = sojourn(*command)
        assert done.code == 2
        assert "was written by a newer Sojourn" in done.err
    doctor = sojourn("doctor", "--json")
    assert doctor.code == 1
    assert "newer Sojourn" in doctor.row["findings"][0]
    assert path.read_bytes() == before


def test_a_home_that_cannot_be_used(sojourn: Command, good: Path, home: Path) -> None:
    home.write_text("a file stands here")
    done = sojourn("import", good)
    assert done.code == 1
    assert done.err.startswith(f"sojourn: The folder {home / 'data'} cannot be made: ")
    assert "SOJOURN_HOME" in done.err
    assert sojourn("sessions").code == 0
    assert sojourn("replay", good).code == 0, "a replay needs no record"


def test_a_working_directory_that_is_gone(
    sojourn: Command, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert sojourn("replay", good, "--json").code == 0
    monkeypatch.chdir(tmp_path)


def test_a_bad_configuration_names_file_and_line(sojourn: Command, home: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text("[compaction]\nauto = 7\n")
    done = sojourn("sessions")
    assert done.code == 2
    assert f"{home / 'config' / 'config.toml'}:2" in done.err


@pytest.mark.design("R-11")
@pytest.mark.report(106)
@pytest.mark.parametrize("command", ["rebuild", "undo", "checkpoint --write", "delete --yes", "import"])
def test_a_second_process_is_told_who_runs_the_session(sojourn: Command, good: Path, home: Path, command: str) -> None:
    sojourn("import", good)
    other = subprocess.Popen(["sleep", "60"])
    try:
        db = apsw.Connection(str(home / "data" / "sojourn.db"))
        now = time.time_ns() // 1_000_000
        db.execute(
            "UPDATE sessions SET lease_owner = ?, lease_since = ?, lease_until = ?",
            (f"{socket.gethostname()}:{other.pid}:abc", now, now + 20_000),
        )
        db.close()
        name, *options = command.split()
        target = good if name == "import" else "last"
        done = sojourn(name, target, *options)
        assert (done.code, done.out) == (2, "")
        assert str(other.pid) in done.err
        assert socket.gethostname() in done.err
        assert sojourn("show", "last").code == sojourn("context", "last").code == 0, "reading needs no lease"
    finally:
        other.kill()
        other.wait()
    assert sojourn("rebuild", "last").code == 0, "a dead owner frees it"


# --- processes of their own ---------------------------------------------------------------------------------------


def test_a_reader_that_leaves(home: Path, tmp_path: Path) -> None:
    path = put(tmp_path / "long.jsonl", talk(300, words=LONG))
    assert in_own_process(home, "import", path).code == 0
    for command in (("export", "last"), ("show", "last", "--limit", 9999), ("export", "last", "--to", "markdown")):
        process = started(home, *command)
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(20)
        process.stdout.close()
        assert process.wait(60) == 0, command
        assert process.stderr.read() == b""
        process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk(home: Path, tmp_path: Path, good: Path) -> None:
    assert in_own_process(home, "import", good).code == 0
    for command in (("sessions",), ("show", "last", "--json"), ("export", "last"), ("--help",)):
        with open("/dev/full", "wb") as full:
            done = in_own_process(home, *command, stdout=full)
        assert (done.code, done.err) == (
            1,
            "sojourn: the output cannot be written: No space left on device\n  Check the disk and the permissions.\n",
        )
    done = in_own_process(home, "export", "last", "-o", "/dev/full")
    assert done.code == 1
    assert done.err.startswith("sojourn: /dev/full cannot be written: No space left on device\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash for ulimit")
def test_a_record_that_cannot_grow(home: Path, tmp_path: Path) -> None:
    path = put(tmp_path / "long.jsonl", talk(400, words=LONG))
    limited = ["bash", "-c", 'ulimit -f 200; exec "$0" "$@"']
    process = subprocess.run(
        [*limited, sys.executable, "-m", "sojourn", "import", str(path)],
        env={**os.environ, "SOJOURN_HOME": str(home)},
        capture_output=True,
        check=False,
    )
    assert process.returncode == 1
    assert b"sojourn.db" in process.stderr
    assert b"Traceback" not in process.stderr
    again = in_own_process(home, "import", path, "--json")
    assert again.code == 0
    assert again.row["sessions"][0]["total"] == 800


@pytest.mark.parametrize("command", ["replay", "demo"])
def test_an_interrupt_ends_a_replay_at_once(home: Path, tmp_path: Path, command: str) -> None:
    path = put(tmp_path / "long.jsonl", talk(3000, words=LONG))
    arguments = ["replay", str(path)] if command == "replay" else ["demo", "--replay"]
    begun = f"import sys; from sojourn.surfaces.cli.app import run; sys.stderr.write('!'); sys.exit(run({arguments!r}))"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", begun],
        env={**os.environ, "SOJOURN_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert process.stderr.read(1) == b"!"
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert err.decode() == "\nInterrupted. Nothing that was acknowledged is lost.\n"
    assert time.monotonic() - sent < 5


def test_an_interrupted_import_is_taken_up_where_it_stopped(home: Path, tmp_path: Path) -> None:
    path = put(tmp_path / "long.jsonl", talk(2500, words=LONG))
    process = started(home, "import", path)
    database, deadline = home / "data" / "sojourn.db-wal", time.monotonic() + 30
    while not (database.exists() and database.stat().st_size > 400_000) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.decode() == "\nInterrupted. Nothing that was acknowledged is lost.\n"
    kept = in_own_process(home, "sessions", "--json").row["head"]
    assert 0 < kept < 5_000
    (session,) = in_own_process(home, "import", path, "--json").row["sessions"]
    assert (session["added"], session["total"]) == (5_000 - kept, 5_000)


def test_a_terminal_without_our_letters(home: Path, good: Path) -> None:
    done = in_own_process(home, "replay", good, environ={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert (done.code, done.err) == (0, "")
    assert "4 messages" in done.out


def test_without_a_terminal_nothing_is_coloured_and_no_bar_is_drawn(home: Path, good: Path) -> None:
    done = in_own_process(home, "replay", good)
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert done.err == ""


def test_bare_and_help(home: Path) -> None:
    bare = in_own_process(home)
    assert bare.code == 0
    assert in_own_process(home, "--help").out == bare.out
    for name in COMMANDS:
        assert f"\n  {name} " in bare.out


_IN_MEMORY = [f"memory {name}" for name in ("list", "search", "show", "edit", "history", "add", "path")]


@pytest.mark.parametrize("name", [*COMMANDS, *_IN_MEMORY])
def test_every_command_has_help_with_an_example_and_takes_settings(sojourn: Command, name: str) -> None:
    done = sojourn(*name.split(), "--help")
    assert done.code == 0
    assert f"\n    sojourn {name}" in done.out
    if name != "memory":  # its own commands do
        assert "--set KEY=VALUE" in done.out
    if name != "completion":
        assert "--json" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_every_command_of_memory_is_checked(sojourn: Command) -> None:
    shown = sojourn("memory", "--help").out.split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    assert {f"memory {line.split()[0]}" for line in shown.splitlines()} == set(_IN_MEMORY)


@pytest.mark.design("S-9", "Y-6")
def test_a_projects_file_is_heard_in_its_subfolders(sojourn: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / ".git").mkdir(parents=True)
    (project / ".sojourn").mkdir()
    (project / ".sojourn" / "config.toml").write_text('[permissions]\ndeny = ["bash(rm *)"]\n')
    below = project / "a" / "b"
    below.mkdir(parents=True)
    outside.mkdir()
    for folder, heard in ((project, ["bash(rm *)"]), (below, ["bash(rm *)"]), (outside, [])):
        monkeypatch.chdir(folder)
        assert sojourn("config", "--json").row["settings"]["permissions.deny"]["value"] == heard
    monkeypatch.chdir(below)
    assert str(project / ".sojourn" / "config.toml") in sojourn("config").out


@pytest.mark.design("Y-6")
@pytest.mark.parametrize("rule", ["Bash(rm *)", "nosuch", "reed(.env)"])
def test_a_rule_of_no_tool_is_a_mistake(sojourn: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    monkeypatch.chdir(tmp_path)
    said = sojourn("run", "--model", "scripted", "--set", f'permissions.deny=["{rule}"]', "hello")
    assert said.code == 2
    assert rule.partition("(")[0] in said.err
    assert "Did you mean" in said.err or "There are" in said.err


@pytest.mark.design("Y-6")
def test_trust_alone_is_a_whole_command(sojourn: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    said = sojourn("run", "--trust")
    assert said.code == 0
    assert "trusted from now on" in said.err
