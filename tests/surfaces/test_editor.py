"""The person's own editor: which one, what it is given, what is kept (R-6)."""

import os
import stat
import sys
from pathlib import Path

import pytest

from sojourn.base import UserMistake
from sojourn.surfaces.cli.editor import applying, edited, editor_command, from_file

pytestmark = pytest.mark.design("R-6", "S-1")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Temporary files of this test only."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def script(tmp_path: Path, body: str) -> dict[str, str]:
    """An editor whose command has words of its own; ``path`` is the file."""
    path = tmp_path / "my editor.py"
    path.write_text(f"import os, stat, sys\npath = sys.argv[-1]\nassert sys.argv[1] == '--wait'\n{body}\n")
    return {"EDITOR": f"'{sys.executable}' '{path}' --wait"}


def test_visual_goes_before_editor_and_both_before_what_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert editor_command({"VISUAL": " ", "EDITOR": "'my vi' -f"}) == ["my vi", "-f"]
    nano = tmp_path / "nano"
    nano.write_text("#!/bin/sh\n")
    nano.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert editor_command({}) == [str(nano)]
    (tmp_path / "vi").write_text("#!/bin/sh\n")
    (tmp_path / "vi").chmod(0o755)
    assert editor_command({}) == [str(tmp_path / "vi")]
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(UserMistake, match="no editor is known") as none:
        editor_command({})
    assert "VISUAL or EDITOR" in none.value.next_step
    with pytest.raises(UserMistake, match=r"EDITOR=\"vi 'x\" is not a command"):
        editor_command({"EDITOR": "vi 'x"})


def test_the_file_is_private_and_gone_when_all_went_well(tmp_path: Path, temporary: Path) -> None:
    body = """
assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
text = open(path, encoding="utf-8", newline="").read()
open(path, "w", encoding="utf-8", newline="").write("\\ufeff" + text + "写\\r\\n")
"""
    made = edited("before\n", "checkpoint.md", script(tmp_path, body))
    assert made.text == "before\n写\n"
    assert made.path is not None
    assert made.path.name == "checkpoint.md"
    assert made.path.exists()
    with applying(made, "sojourn x --edit-from"):
        pass
    assert list(temporary.iterdir()) == []


def test_a_mistake_keeps_the_file_and_names_it(tmp_path: Path, temporary: Path) -> None:
    made = edited("before\n", "notes.md", script(tmp_path, "open(path, 'w').write('mine')"))
    with pytest.raises(UserMistake) as wrong, applying(made, "sojourn memory edit notes --from"):
        raise UserMistake("line 3: no such heading", next_step="Mend it.")
    assert made.path is not None
    assert made.path.read_text() == "mine"
    kept = f"What you wrote is kept: {made.path}; mended, this takes it in: sojourn memory edit notes --from {made.path}"
    assert wrong.value.next_step == f"Mend it.\n  {kept}"
    with pytest.raises(UserMistake) as bare, applying(made, "x"):
        raise UserMistake("wrong")
    assert bare.value.next_step.startswith("What you wrote is kept: ")


def test_an_editor_that_fails_changes_nothing(tmp_path: Path, temporary: Path) -> None:
    with pytest.raises(UserMistake, match="ended with code 3") as failed:
        edited("x", "a.md", script(tmp_path, "sys.exit(3)"))
    assert failed.value.next_step == "Nothing was changed."
    with pytest.raises(UserMistake, match="the editor /nowhere/vi cannot be started: No such file"):
        edited("x", "a.md", {"EDITOR": "/nowhere/vi"})
    with pytest.raises(UserMistake, match=r"a\.md, line 2: the text is not UTF-8"):
        edited("x", "a.md", script(tmp_path, r"open(path, 'wb').write(b'one\n\xff')"))
    assert list(temporary.iterdir()) == []


def test_a_text_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes("\ufeff写\r\nb".encode())
    made = from_file(str(path))
    assert (made.text, made.path) == ("写\nb", None)
    with pytest.raises(UserMistake), applying(made, "x"):
        raise UserMistake("wrong", next_step="as it was")
    assert path.exists()
    with pytest.raises(UserMistake, match="there is no such file"):
        from_file(str(tmp_path / "none"))


def test_ctrl_c_belongs_to_the_editor(tmp_path: Path, temporary: Path) -> None:
    body = "import signal, time; time.sleep(0.3); os.kill(os.getppid(), signal.SIGINT); open(path, 'w').write('went on')"
    assert edited("x", "a.md", script(tmp_path, body)).text == "went on"
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), 2)
        import time

        time.sleep(1)
    assert stat.S_IMODE(temporary.stat().st_mode) & 0o700
