"""A person's edit of a checkpoint: through the editor or from a file, taken in whole or kept and explained (R-6)."""

import os
import sys
from pathlib import Path

import pytest

from sojourn.record import Session
from surfaces.recorded import answered, checkpoint, items, keep, said
from surfaces.running import Command

pytestmark = [pytest.mark.design("R-6"), pytest.mark.report(96)]


@pytest.fixture
def written(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two items of the model's, up to m2; temporary files stand in a folder of this test."""
    held = items("alpha beta", "gamma delta", sources=(1, 2))
    keep(home, Session(id="ses_one"), said("one", 1), answered("two", 2), checkpoint("ckp_1", held, 2))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.delenv("VISUAL", raising=False)
    return home


def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str) -> None:
    path = tmp_path / "editor.py"
    path.write_text(f"import sys\npath = sys.argv[1]\ntext = open(path).read()\n{body}\n")
    monkeypatch.setenv("EDITOR", f"{sys.executable} {path}")


def test_the_editors_difference_is_taken_in_as_the_persons(
    sojourn: Command, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mended = "text.replace('fact alpha beta', 'fact mended').rstrip() + '\\n- brand new\\n'"
    editor(monkeypatch, tmp_path, f"open(path, 'w').write({mended})")
    done = sojourn("checkpoint", "ses_one", "--edit")
    assert (done.code, done.err) == (0, "")
    assert done.out == "Checkpoint up to m2: 3 items (+2 -1); you.\n"
    assert list((tmp_path / "tmp").iterdir()) == []
    row = sojourn("checkpoint", "ses_one", "--json").row
    mine = {one["text"]: one["by"] for one in row["items"] if one["status"] == "open"}
    assert mine == {"fact mended": "user", "fact gamma delta": "model", "brand new": "user"}
    assert (row["writer"], row["previous_id"], row["covered_seq"]) == ("user", "ckp_1", 2)
    assert "brand new (you)" in sojourn("checkpoint", "ses_one").out


def test_nothing_changed(sojourn: Command, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, tmp_path, "pass")
    done = sojourn("checkpoint", "ses_one", "--edit")
    assert (done.code, done.out, done.err) == (0, "", "Nothing was changed.\n")
    row = sojourn("checkpoint", "ses_one", "--edit", "--json").row
    assert (row["changed"], row["id"]) == (False, "ckp_1")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_mistake_names_its_line_and_keeps_the_file(
    sojourn: Command, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(monkeypatch, tmp_path, "open(path, 'w').write(text + '\\n## nonsense heading\\n\\n- x\\n')")
    done = sojourn("checkpoint", "ses_one", "--edit")
    assert (done.code, done.out) == (2, "")
    (kept,) = (tmp_path / "tmp").glob("*/checkpoint.md")
    number = kept.read_text().splitlines().index("## nonsense heading") + 1
    assert f"line {number}" in done.err
    assert (
        f"What you wrote is kept: {kept}; mended, this takes it in: sojourn checkpoint ses_one --edit-from {kept}\n" in done.err
    )
    kept.write_text(kept.read_text().replace("nonsense heading", "decisions"))
    row = sojourn("checkpoint", "ses_one", "--edit-from", kept, "--json").row
    assert row["changed"] is True
    assert [(one["section"], one["text"]) for one in row["items"] if one["by"] == "user"] == [("decisions", "x")]
    assert kept.exists(), "a file that was named is the person's"


def test_a_message_that_is_not_there_is_told_with_its_line(sojourn: Command, written: Path, tmp_path: Path) -> None:
    keep(written, Session(id="ses_one"), said("three", 3))
    path = tmp_path / "mine.md"
    path.write_text("- id: ckp_1\n\n## knowledge\n\n- [kn-alpha] fact alpha beta (m1, m9)\n- [kn-gamma] fact gamma delta\n")
    done = sojourn("checkpoint", "ses_one", "--edit-from", path)
    assert (done.code, done.out) == (2, "")
    assert done.err == "sojourn: line 5: there is no message m9\n  The newest message is m3.\n"
    path.write_text(path.read_text().replace("m9", "m3"))
    row = sojourn("checkpoint", "ses_one", "--edit-from", path, "--json").row
    assert [one["sources"] for one in row["items"] if one["text"] == "fact alpha beta" and one["status"] == "open"] == [[1, 3]]


def test_standard_input(sojourn: Command, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "- id: ckp_1\n\n## knowledge\n\n- [kn-alpha] fact alpha beta\n- new one\n"
    (tmp_path / "typed").write_text(text)
    with (tmp_path / "typed").open() as typed:
        monkeypatch.setattr("sys.stdin", typed)
        row = sojourn("checkpoint", "ses_one", "--edit-from", "-", "--json").row
    assert row["changed"] is True
    assert "new one" in [one["text"] for one in row["items"] if one["status"] == "open"]


def test_what_the_person_did_not_see_does_not_count_as_taken_out(
    sojourn: Command, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.md"
    path.write_text("## knowledge\n\n- only this\n")
    done = sojourn("checkpoint", "ses_one", "--edit-from", path)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "sojourn: the text does not say which checkpoint it is an edit of",
        '  Begin with the page that --edit shows; its line "- id: ckp_1" must stay.',
    ]
    keep(
        written, Session(id="ses_one"), checkpoint("ckp_2", items("alpha beta", "gamma delta", "late"), 2, previous_id="ckp_1")
    )
    path.write_text("# Checkpoint\n\n- id: ckp_1\n\n## knowledge\n\n- only this\n")
    done = sojourn("checkpoint", "ses_one", "--edit-from", path)
    assert done.code == 2
    assert "is an edit of ckp_1, and ckp_2 is the newest by now" in done.err
    assert len(sojourn("checkpoint", "ses_one", "--json").row["items"]) == 3


def test_a_session_that_runs_is_told_before_the_editor_opens(
    sojourn: Command, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from surfaces.recorded import with_store

    async def hold(store: object) -> None:
        await store.acquire("ses_one", "elsewhere:7:x", 60_000)  # type: ignore[attr-defined]

    with_store(written, hold)
    editor(monkeypatch, tmp_path, f"open({str(tmp_path / 'opened')!r}, 'w')")
    done = sojourn("checkpoint", "ses_one", "--edit")
    assert (done.code, "process 7 on elsewhere" in done.err) == (2, True)
    assert not os.path.exists(tmp_path / "opened")


def test_mistakes(sojourn: Command, written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(written, Session(id="ses_bare"))
    bare = sojourn("checkpoint", "ses_bare", "--edit")
    assert (bare.code, bare.err.splitlines()) == (
        2,
        [
            "sojourn: session ses_bare has no checkpoint to edit",
            "  This makes one: sojourn checkpoint ses_bare --write",
        ],
    )
    for pair in (["--edit", "--history"], ["--write", "--edit"], ["--edit", "--edit-from", "x"], ["--write", "--history"]):
        done = sojourn("checkpoint", "ses_one", *pair)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("sojourn: --write, --edit, --edit-from and --history each ask for something else")
    monkeypatch.delenv("EDITOR", raising=False)
    none = sojourn("checkpoint", "ses_one", "--edit")
    assert (none.code, none.err.splitlines()[0]) == (2, "sojourn: no editor is known")
    assert sojourn("checkpoint", "ses_one", "--edit-from", "nowhere.md").err.startswith(
        "sojourn: nowhere.md: there is no such file"
    )
