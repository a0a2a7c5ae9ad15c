"""W-3a: which files were worked on, and where."""

import pytest

from sojourn.record import Message, Text, ToolCall, Touch
from sojourn.window.file_text import FileText
from sojourn.window.file_uses import MOST_FILES, cited, fade, known_text, shown_path, uses
from window.making import call, calls, says, user


def _read(path: str, result: str = "one\ntwo", lines: tuple[int, int] | None = None) -> ToolCall:
    return call("read", result, touches=(Touch(path, "read", lines),), path=path)


def _shell(command: object, result: str = "one\ntwo") -> ToolCall:
    return call("bash", result, command=command)


def _kinds(command: object, root: str = "") -> list[tuple[str, str, tuple[int, int] | None]]:
    found = uses([calls(1, _shell(command))], root)
    return [(use.path, act.kind, act.touch.lines) for use in found.values() for act in use.acts]


def _text(*messages: Message, path: str = "a.py") -> FileText:
    return known_text(uses(messages, "")[path].acts, FileText())


@pytest.mark.design("W-3a")
def test_weights_fade_by_the_answers_since() -> None:
    edit = call("edit", "ok", touches=(Touch("a.py", "edit"),))
    found = uses([calls(1, _read("a.py")), user(2), calls(3, edit, _read("b.py")), says(4)], "")
    assert list(found) == ["b.py", "a.py"]
    assert found["b.py"].weight == pytest.approx(0.93)
    assert found["a.py"].weight == pytest.approx(0.93**2 + 2 * 0.93)
    assert [(act.seq, act.kind, act.age) for act in found["a.py"].acts] == [(1, "read", 2), (3, "edit", 1)]
    assert fade(0) == 1.0


@pytest.mark.design("W-3a")
def test_only_the_last_60_answers_and_only_what_worked() -> None:
    old = [calls(1, _read("old.py")), *(says(n) for n in range(2, 61))]
    assert list(uses(old, "")) == ["old.py"]
    assert uses([*old, says(61)], "") == {}
    assert list(uses([*old, user(61), user(62)], "")) == ["old.py"]
    foreign = Message("m", "assistant", "import", (_read("a.py"),), 61)
    asked = Message("m", "user", "model", (_read("a.py"),), 61)
    assert list(uses([*old, foreign, asked], "")) == ["old.py"]
    failed = call("read", "no", "error", (Touch("a.py", "read"),))
    assert uses([calls(1, failed)], "") == {}


@pytest.mark.design("W-3a")
def test_at_most_40_files_the_newest() -> None:
    history = [calls(1, *(_read(f"f{n}.py") for n in range(MOST_FILES + 1)))]
    found = uses(history, "")
    assert len(found) == 40
    assert "f40.py" in found
    assert "f0.py" not in found


@pytest.mark.design("W-3a")
def test_paths_are_shown_from_the_working_folder() -> None:
    assert shown_path("/repo/src/a.py", "/repo") == "src/a.py"
    assert shown_path("/repo/src/a.py", "/repo/") == "src/a.py"
    assert shown_path("/repository/a.py", "/repo") == "/repository/a.py"
    assert shown_path("./a.py", "/repo") == "a.py"
    assert shown_path("/repo/a.py", "") == "/repo/a.py"
    history = [calls(1, _read("/repo/a.py")), calls(2, _shell("cat a.py"))]
    assert [act.kind for act in uses(history, "/repo")["a.py"].acts] == ["read", "read"]


@pytest.mark.design("W-3a")
@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("cat src/a.py", [("src/a.py", "read", None)]),
        ("cat -n a.py", [("a.py", "read", None)]),
        ("sed -n '10,40p' a.py", [("a.py", "read", (10, 40))]),
        ("sed -n 10,40p a.py", [("a.py", "read", (10, 40))]),
        ("head -n 20 a.py", [("a.py", "read", (1, 20))]),
        ("head -20 'my file.py'", [("my file.py", "read", (1, 20))]),
        (["bash", "-lc", "cat a.py"], [("a.py", "read", None)]),
        ("cat a.py | head", [("a.py", "look", None)]),
        ("cd src && sed -n 1,9p a.py", [("a.py", "look", (1, 9))]),
        ("cat a.py; cat b.py", [("b.py", "look", None), ("a.py", "look", None)]),
        ("echo x >> a.py", [("a.py", "change", None)]),
        ("make > out.log 2>/dev/null", []),
        ("make > out.log", [("out.log", "change", None)]),
        ("make > /dev/null", []),
        ("cat Makefile", []),  # could be a word of any kind
        ("cat *.py", []),
        ("concat a.py", []),
        ("cat <<EOF\nx\nEOF", []),
        ("ls -la src/a.py", []),
    ],
)
def test_shell_commands_that_name_files(command: object, wanted: list[tuple[str, str, tuple[int, int] | None]]) -> None:
    assert _kinds(command) == wanted


@pytest.mark.design("W-3a")
def test_recorded_touches_go_before_what_a_command_says() -> None:
    recorded = call("bash", "x", touches=(Touch("b.py", "edit"),), command="cat a.py")
    assert list(uses([calls(1, recorded)], "")) == ["b.py"]


@pytest.mark.design("W-3a")
def test_what_a_command_showed_is_known_where_it_stood_alone() -> None:
    assert _text(calls(1, _shell("sed -n 5,6p a.py"))).runs == [(5, "one\ntwo")]
    mixed = _text(calls(1, _shell("cd src; sed -n 5,6p a.py")))
    assert (mixed.runs, mixed.warmth) == ([], {5: 0.4, 6: 0.4})


@pytest.mark.design("W-3a")
def test_a_part_read_for_itself_is_warm_a_whole_file_is_not() -> None:
    body = "\n".join("x" for _ in range(60))
    assert _text(calls(1, _read("a.py", body, (11, 70)))).warmth == dict.fromkeys(range(11, 71), 0.4)
    assert _text(calls(1, _read("a.py", body + "\nx", (11, 71)))).warmth == {}
    assert _text(calls(1, _read("a.py"))).warmth == {}
    assert _text(calls(1, _read("a.py", "x\ny", (5, 6))), says(2)).warmth == pytest.approx({5: 0.372, 6: 0.372})
    long = "cd src; sed -n 1,61p a.py"
    assert _text(calls(1, _shell(long))).warmth == {}
    assert len(_text(calls(1, _shell(long.replace("61", "60")))).warmth) == 60


@pytest.mark.design("W-3a")
def test_what_calls_changed() -> None:
    read = _read("a.py", "a\nb\nc")
    edit = call("Edit", "ok", touches=(Touch("a.py", "edit"),), old_string="b", new_string="B")
    assert _text(calls(1, read), calls(2, edit)).runs == [(1, "a\nB\nc")]
    assert _text(calls(1, read), calls(2, edit)).warmth == {2: 1.0}
    many = call(
        "edit", "ok", touches=(Touch("a.py", "edit", (1, 3)),), edits=[{"old": "a", "new": "A"}, {"old": "c", "new": "C"}]
    )
    assert _text(calls(1, read, many)).runs == [(1, "A\nb\nC")]
    unplaced = call("edit", "ok", touches=(Touch("a.py", "edit", (7, 8)),), edits=[{"old": "g", "new": "G\nH"}])
    assert _text(calls(1, unplaced)).runs == [(7, "G\nH")]
    two = call(
        "edit", "ok", touches=(Touch("a.py", "edit", (7, 9)),), edits=[{"old": "g", "new": "G"}, {"old": "i", "new": "I"}]
    )
    assert _text(calls(1, two)).loose == {"G": 1.0, "I": 1.0}
    whole = call("write", "ok", touches=(Touch("a.py", "write", (1, 2)),), content="x\ny\n")
    assert _text(calls(1, read), calls(2, whole)).runs == [(1, "x\ny")]
    patch = call("apply_patch", "ok", touches=(Touch("a.py", "edit"),), raw="*** Update File: a.py\n@@\n-b\n+BB\n*** End Patch")
    assert _text(calls(1, read), calls(2, patch)).runs == [(1, "a\nBB\nc")]
    assert not _text(calls(1, read), calls(2, patch)).stale
    unknown = call("magic", "ok", touches=(Touch("a.py", "edit"),))
    assert _text(calls(1, read), calls(2, unknown)).stale
    assert _text(calls(1, read), calls(2, _shell("echo x >> a.py"))).stale
    assert not _text(calls(1, _shell("echo x >> a.py")), calls(2, read)).stale


@pytest.mark.design("W-3a")
def test_lines_that_answers_and_results_point_at() -> None:
    paths = ["src/a.py", "lib/b.ts", "x/same.go", "y/same.go"]

    def found(message: Message) -> dict[str, dict[int, float]]:
        return {path: lines for path, lines in cited([message], paths, "/repo").items() if lines}

    assert found(says(1, "See src/a.py:12 and /repo/src/a.py:14.")) == {"src/a.py": {12: 0.7, 14: 0.7}}
    assert found(says(1, "in a.py:3")) == {"src/a.py": {3: 0.7}}
    assert found(calls(1, _shell("tsc", "../lib/b.ts(28,2): error"))) == {"lib/b.ts": {28: 0.7}}
    assert found(calls(1, _shell("pytest", 'File "/repo/src/a.py", line 9, in f'))) == {"src/a.py": {9: 0.7}}
    assert found(says(1, "same.go:3")) == {}  # which one?
    assert found(says(1, "y/same.go:3")) == {"y/same.go": {3: 0.7}}
    assert found(says(1, "other/a.pyx:3, ba.py:4, a.py: 5")) == {}
    hits = "lib/c.ts\n5:x\nsrc/a.py\n12:import os\n13-x\n--\nlib/b.ts\n1:y"
    assert found(calls(1, call("grep", hits))) == {"src/a.py": {12: 0.7, 13: 0.7}, "lib/b.ts": {1: 0.7}}
    assert found(calls(1, _read("z", "src/a.py:12"))) == {}  # the text of a file points at nothing
    assert found(user(1, "src/a.py:12")) == {}
    newer = cited([says(1, "a.py:1 a.py:2"), says(2, "a.py:1")], ["a.py"], "")
    assert newer == {"a.py": {1: pytest.approx(0.7), 2: pytest.approx(0.7 * 0.93)}}


@pytest.mark.design("W-13")
def test_a_long_run_of_letters_and_dots_takes_no_time() -> None:
    blob = "ab/c+d9." * 40_000
    message = Message("m1", "assistant", "model", (Text(blob), _shell(f"echo > {blob}", blob)), 1)
    assert cited([message], ["a.py"], "") == {"a.py": {}}
    assert uses([message], "") == {}
