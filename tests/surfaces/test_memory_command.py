"""``sojourn memory``: the documents of this folder's project and the global ones, for a person (Y-1, K-12)."""

import io
import re
import sys
from pathlib import Path

import pytest

from sojourn.record import Session
from sojourn.surfaces.cli.completing import complete_document
from surfaces.recorded import answered, keep, said
from surfaces.running import Command, Ran

pytestmark = pytest.mark.design("Y-1", "S-1")


@pytest.fixture
def known(sojourn: Command) -> Command:
    """A project's memory and a global one."""
    assert sojourn("memory", "add", "Releases are cut", "on Tuesdays.").code == 0
    assert sojourn("memory", "add", "--global", "Use tabs.").code == 0
    return sojourn


def document(home: Path, work: str = "work") -> Path:
    (found,) = (home / "data" / "memory" / "projects").glob(f"{work}-*/MEMORY.md")
    return found


def test_add_adds_at_the_end_of_the_project_or_the_global_document(sojourn: Command, home: Path) -> None:
    done = sojourn("memory", "add", "Releases are cut", "on Tuesdays.")
    path = document(home)
    assert (done.code, done.out) == (0, f"Added to {path.relative_to(home / 'data' / 'memory').as_posix()}.\n")
    assert path.read_text() == "Releases are cut on Tuesdays.\n"
    row = sojourn("memory", "add", "第二条", "--json").row
    assert path.read_text() == "Releases are cut on Tuesdays.\n\n第二条\n"
    assert list(row) == ["name", "path", "file", "scope", "scope_id", "key", "sha", "modified", "text"]
    assert (row["text"], row["file"], row["scope"], row["key"]) == (path.read_text(), str(path), "project", "MEMORY")
    assert sojourn("memory", "add", "--global", "Use tabs.").out == "Added to global/MEMORY.md.\n"
    assert (home / "data" / "memory" / "global" / "MEMORY.md").read_text() == "Use tabs.\n"
    for words in ([""], ["-"]):
        nothing = sojourn("memory", "add", *words) if words != ["-"] else piped(sojourn, "\n", "memory", "add", "-")
        assert (nothing.code, nothing.err.splitlines()[0]) == (2, "sojourn: there is nothing to add")
    assert piped(sojourn, "from\nelsewhere\n", "memory", "add", "-").code == 0
    assert path.read_text().endswith("\n\nfrom\nelsewhere\n")


def test_add_with_a_session_is_a_note_of_the_persons_under_its_turn(known: Command, home: Path, tmp_path: Path) -> None:
    keep(home, Session(id="ses_one", project_id=str(tmp_path / "work")), said("first", 1), answered("a", 2), said("second", 3))
    keep(home, Session(id="ses_none", project_id=str(tmp_path / "work")))
    before = document(home).read_text()
    done = known("memory", "add", "--session", "ses_one", "Ask before", "you touch the importer.")
    assert (done.code, done.out) == (0, "Added to sessions/ses_one/notes.md.\n")
    notes = home / "data" / "memory" / "sessions" / "ses_one" / "notes.md"
    head, text = notes.read_text().splitlines()
    assert re.fullmatch(r"## \[turn 3, \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\]", head)
    assert text == "Ask before you touch the importer."
    assert document(home).read_text() == before
    known("memory", "add", "--session", "ses_one", "Ask before you touch the importer.")
    assert notes.read_text().count("Ask before") == 1
    row = known("memory", "add", "--session", "ses_one", "More.", "--json").row
    assert (row["scope"], row["scope_id"], row["key"], row["text"]) == ("session", "ses_one", "notes", notes.read_text())
    assert notes.read_text().count("## [turn 3, ") == 2
    known("memory", "add", "--session", "ses_none", "x")
    assert notes.with_name("notes.md").parent.with_name("ses_none").joinpath("notes.md").read_text().startswith("## [turn 0, ")
    kept = known("memory", "history", "notes", "--session", "ses_one", "--json").row["versions"]
    assert [one["who"] for one in kept] == ["user"]


@pytest.mark.parametrize(
    "places", [("--global", "--session", "ses_one"), ("--session", "ses_one", "--of", "."), ("--global", "--of", ".")]
)
def test_add_has_one_place(known: Command, home: Path, places: tuple[str, ...]) -> None:
    keep(home, Session(id="ses_one"))
    done = known("memory", "add", *places, "x")
    assert (done.code, done.err.splitlines()[0]) == (2, "sojourn: --global, --session and --of each name another place")
    assert not (home / "data" / "memory" / "sessions").exists()
    assert (home / "data" / "memory" / "global" / "MEMORY.md").read_text() == "Use tabs.\n"


def test_add_says_where_it_adds(sojourn: Command) -> None:
    told = sojourn("memory", "add", "--help").out
    assert "To this session's notes instead." in told
    assert "--session last" in told


def piped(sojourn: Command, text: str, *arguments: str) -> Ran:
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
    try:
        return sojourn(*arguments)
    finally:
        sys.stdin = before


def test_list(known: Command, home: Path) -> None:
    lines = [line.split() for line in known("memory", "list").out.splitlines()]
    assert lines[0] == ["document", "tokens", "changed", "title"]
    assert sorted((line[0], " ".join(line[4:])) for line in lines[1:]) == [
        ("global", "Use tabs."),
        ("project", "Releases are cut on Tuesdays."),
    ]
    tokens = [line[8:16] for line in known("memory", "list").out.splitlines()[1:]]
    assert all(cell.strip().isdigit() and cell[-1] != " " for cell in tokens), "numbers stand to the right"
    row = known("memory", "list", "--json").row
    assert (row["root"], row["unreadable"]) == (str(home / "data" / "memory"), [])
    assert sorted((one["scope"], one["key"], one["title"]) for one in row["documents"]) == [
        ("global", "MEMORY", "Use tabs."),
        ("project", "MEMORY", "Releases are cut on Tuesdays."),
    ]
    assert all(one["tokens"] > 0 and one["modified"] > 0 for one in row["documents"])
    only = known("memory", "list", "--scope", "global", "--json").row["documents"]
    assert [one["path"] for one in only] == ["global/MEMORY.md"]


def test_nothing_yet(sojourn: Command, home: Path) -> None:
    done = sojourn("memory", "list")
    assert (done.code, done.out, done.err) == (0, "", "Nothing is known durably here yet.\n")
    assert sojourn("memory", "search", "x").err.startswith("Nothing found.")
    absent = sojourn("memory", "history", "project")
    assert (absent.code, absent.out) == (2, "")
    assert absent.err.startswith("sojourn: there is no document project yet\n")
    missing = sojourn("memory", "show", "project")
    assert (missing.code, missing.err.splitlines()[0]) == (2, "sojourn: there is no document project yet")


@pytest.mark.report(85)
def test_another_project_or_session_only_when_it_is_named(
    known: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    keep(home, Session(id="ses_one", project_id=str(tmp_path / "work")))
    notes = home / "data" / "memory" / "sessions" / "ses_one" / "notes.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("## [turn 1, 2026-01-01]\nReleases are noted here\n")
    monkeypatch.chdir(other)
    assert known("memory", "add", "Releases of the other one.").code == 0
    shown = known("memory", "show", "project")
    assert shown.out == "Releases of the other one.\n"
    hits = known("memory", "search", "Releases", "--json").row["hits"]
    assert [hit["path"].split("-")[0] for hit in hits] == ["projects/other"]
    foreign = document(home).relative_to(home / "data" / "memory").as_posix()
    for path, reason in ((foreign, "another project"), ("sessions/ses_one/notes.md", "another session")):
        for act in ("show", "edit", "history"):
            done = known("memory", act, path)
            assert (done.code, f"it belongs to {reason}" in done.err, "--of FOLDER" in done.err) == (2, True, True)
    assert known("memory", "show", "project", "--of", tmp_path / "work").out == "Releases are cut on Tuesdays.\n"
    assert known("memory", "show", foreign, "--of", tmp_path / "work").out == "Releases are cut on Tuesdays.\n"
    # A session brings its own project, wherever the command stands.
    listed = {one["path"] for one in known("memory", "list", "--session", "ses_one", "--json").row["documents"]}
    assert listed == {"global/MEMORY.md", foreign, "sessions/ses_one/notes.md"}
    assert known("memory", "show", "notes", "--session", "ses_one").out.endswith("noted here\n")
    unnamed = known("memory", "show", "notes")
    assert (unnamed.code, unnamed.err) == (2, "sojourn: notes belongs to a session\n  Name it: --session ID.\n")
    nowhere = tmp_path / "nowhere"
    told = f"sojourn: {nowhere} is no folder\n  Name a folder that is there.\n"
    assert known("memory", "list", "--of", nowhere).err == told


def test_search_shows_the_place(known: Command, home: Path) -> None:
    document(home).write_text("# Rules\n\n- 水位 is checked daily\n- other\n")
    done = known("memory", "search", "水位")
    place, *snippet = done.out.splitlines()
    assert (place, snippet) == ("project:3", ["    - 水位 is checked daily - other"])
    row = known("memory", "search", "水位", "--json").row
    assert (row["hits"][0]["line"], row["hits"][0]["scope"], row["unreadable"]) == (3, "project", [])
    assert known("memory", "search", "水位", "--scope", "global", "--json").row["hits"] == []
    known("memory", "add", "--global", "水位 everywhere")
    assert len(known("memory", "search", "水位", "--json").row["hits"]) == 2
    assert len(known("memory", "search", "水位", "--limit", 1, "--json").row["hits"]) == 1


def test_show_prints_the_document_as_it_is(known: Command, home: Path) -> None:
    document(home).write_text("no line end \x1b[31m")
    assert known("memory", "show", "project").out == "no line end ␛[31m\n"
    row = known("memory", "show", "global", "--json").row
    assert (row["path"], row["text"]) == ("global/MEMORY.md", "Use tabs.\n")
    assert known("memory", "show", "global/MEMORY.md").out == known("memory", "show", str(row["file"])).out == "Use tabs.\n"
    fact = document(home).parent / "facts" / "node.md"
    fact.parent.mkdir()
    fact.write_text("Node 20\n")
    for name in ("facts/node", "facts/node.md"):
        assert known("memory", "show", name).out == "Node 20\n"
    for wrong in ("nope", "../x", "projects", "global/x/y.md"):
        done = known("memory", "show", wrong)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"sojourn: {wrong!r} is no document of memory\n  sojourn memory list shows them")


def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str) -> None:
    path = tmp_path / "editor.py"
    path.write_text(f"import sys\npath = sys.argv[1]\ntext = open(path).read()\n{body}\n")
    monkeypatch.setenv("EDITOR", f"{sys.executable} {path}")
    monkeypatch.delenv("VISUAL", raising=False)


def test_edit(known: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, tmp_path, "open(path, 'w').write(text.replace('cut', 'made'))")
    done = known("memory", "edit", "project")
    name = document(home).relative_to(home / "data" / "memory").as_posix()
    assert (done.code, done.out) == (0, f"Saved: {name}.\n")
    assert done.err == "What it replaced: sojourn memory history project\n"
    assert document(home).read_text() == "Releases are made on Tuesdays.\n"
    same = known("memory", "edit", "project")
    assert (same.code, same.out, same.err) == (0, "", "Nothing was changed.\n")
    row = known("memory", "edit", "project", "--json").row
    assert (row["changed"], row["text"]) == (False, "Releases are made on Tuesdays.\n")
    editor(monkeypatch, tmp_path, "assert text == '', text; open(path, 'w').write('Node 20\\n')")
    row = known("memory", "edit", "facts/node", "--json").row
    assert (row["changed"], row["key"], row["text"]) == (True, "facts/node", "Node 20\n")


@pytest.mark.report(79)
def test_an_edit_over_a_change_is_refused_and_kept(
    known: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    body = f"open(path, 'w').write('mine\\n'); open({str(document(home))!r}, 'a').write('theirs\\n')"
    editor(monkeypatch, tmp_path, body)
    done = known("memory", "edit", "project")
    assert (done.code, done.out) == (2, "")
    assert "it has changed since it was read" in done.err
    assert document(home).read_text() == "Releases are cut on Tuesdays.\ntheirs\n"
    (kept,) = tmp_path.glob("sojourn-*/MEMORY.md")
    assert kept.read_text() == "mine\n"
    assert f"What you wrote is kept: {kept}; mended, this takes it in: sojourn memory edit project --from {kept}" in done.err
    assert known("memory", "edit", "project", "--from", kept).code == 0
    assert document(home).read_text() == "mine\n"


def test_history_and_the_way_back(known: Command, home: Path, tmp_path: Path) -> None:
    for text in ("two\nlines\n", "three\n"):
        (tmp_path / "new.md").write_text(text)
        assert known("memory", "edit", "project", "--from", tmp_path / "new.md").code == 0
    lines = [line.split() for line in known("memory", "history", "project").out.splitlines()]
    assert lines[0] == ["no.", "replaced", "by", "lines", "text"]
    assert [(line[0], line[3], line[4], " ".join(line[5:])) for line in lines[1:]] == [
        ("1", "you", "2", "two lines"),
        ("2", "you", "1", "Releases are cut on Tuesdays."),
    ]
    row = known("memory", "history", "project", "--json").row
    assert [(one["number"], one["who"], one["text"]) for one in row["versions"]] == [
        (1, "user", "two\nlines\n"),
        (2, "user", "Releases are cut on Tuesdays.\n"),
    ]
    assert known("memory", "history", "project", "--number", 2).out == "Releases are cut on Tuesdays.\n"
    assert known("memory", "history", "project", "--number", 1, "--json").row["text"] == "two\nlines\n"
    beyond = known("memory", "history", "project", "--restore", 3)
    told = "sojourn: project has no earlier text 3: it has 2\n  See which there are: sojourn memory history project\n"
    assert (beyond.code, beyond.err) == (2, told)
    both = known("memory", "history", "project", "--restore", 1, "--number", 1)
    assert (both.code, document(home).read_text()) == (2, "three\n")
    done = known("memory", "history", "project", "--restore", 2)
    assert done.out.endswith(" is again as it was in number 2; what it replaced is now number 1.\n")
    assert document(home).read_text() == "Releases are cut on Tuesdays.\n"
    newest = known("memory", "history", "project", "--json").row["versions"][0]
    assert newest["text"] == "three\n"
    assert known("memory", "history", "project", "--restore", 1, "--json").row["text"] == "three\n"


@pytest.mark.design("K-12")
def test_a_document_that_no_window_can_show_whole_is_told(known: Command, home: Path) -> None:
    keep(home, Session(id="ses_one", project_id=str(Path.cwd())))
    (home / "data" / "memory" / "sessions" / "ses_one").mkdir(parents=True)
    paths = {
        "project": (document(home), 10_000),
        "global": (home / "data" / "memory" / "global" / "MEMORY.md", 6_000),
        "notes": (home / "data" / "memory" / "sessions" / "ses_one" / "notes.md", 6_000),
    }
    assert "a window shows" not in known("memory", "list", "--session", "ses_one").err
    for path, _ in paths.values():
        path.write_text("word\n\n" * 30_000)
    (document(home).parent / "facts").mkdir()
    (document(home).parent / "facts" / "long.md").write_text("word\n\n" * 30_000)
    rows = {row["name"]: row for row in known("memory", "list", "--session", "ses_one", "--json").row["documents"]}
    assert {name: row["cap"] for name, row in rows.items()} == {
        **{name: cap for name, (_, cap) in paths.items()},
        "facts/long": None,
    }
    told = known("memory", "list", "--session", "ses_one").err
    for name, (_, cap) in paths.items():
        assert f"{name} has about {rows[name]['tokens']:,} tokens, a window shows {cap:,} of them" in told
    assert told.count("a window shows") == 3


@pytest.mark.report(83)
def test_files_that_nobody_reads_are_told(known: Command, home: Path) -> None:
    (home / "data" / "memory" / "odd.md").write_text("x")
    done = known("memory", "list")
    assert done.code == 0
    assert len(done.out.splitlines()) == 3
    head, line = done.err.splitlines()
    assert head == "Files that memory cannot use, so nobody reads them (1):"
    assert line.startswith(f"  {home / 'data' / 'memory' / 'odd.md'}: ")
    for arguments in (["list"], ["search", "Tuesdays"]):
        assert len(known("memory", *arguments, "--json").row["unreadable"]) == 1
    assert "odd.md" in known("memory", "search", "Tuesdays").err


def test_each_listed_name_is_one_that_the_other_commands_take(known: Command, home: Path, tmp_path: Path) -> None:
    keep(home, Session(id="ses_one", project_id=str(tmp_path / "work")))
    root = home / "data" / "memory"
    for path in (
        "global/facts/a.md",
        "sessions/ses_one/notes.md",
        "sessions/ses_one/checkpoint.md",
        "sessions/ses_one/tasks/T1/progress.md",
        document(home).relative_to(root).with_name("facts").as_posix() + "/b.md",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"stands in {path}\n")
    rows = known("memory", "list", "--session", "ses_one", "--json").row["documents"]
    assert sorted(row["name"] for row in rows) == [
        "checkpoint",
        "facts/b",
        "global",
        "global/facts/a.md",
        "notes",
        "project",
        "sessions/ses_one/tasks/T1/progress.md",
    ]
    for row in rows:
        shown = known("memory", "show", row["name"], "--session", "ses_one", "--json").row
        assert (shown["path"], shown["name"]) == (row["path"], row["name"])
    refused = known("memory", "edit", "checkpoint", "--session", "ses_one", "--from", document(home))
    assert (refused.code, "a rendering of the checkpoint" in refused.err) == (2, True)


def test_path(sojourn: Command, home: Path) -> None:
    assert sojourn("memory", "path").out == f"{home / 'data' / 'memory'}\n"
    assert sojourn("memory", "path", "--json").row == {"root": str(home / "data" / "memory")}


def test_a_word_that_is_no_command_of_it(sojourn: Command) -> None:
    done = sojourn("memory", "shw")
    assert (done.code, "shw" in done.err, "sojourn memory --help" in done.err) == (2, True, True)


def test_the_shell_offers_documents(known: Command, home: Path) -> None:
    import click

    ctx = click.Context(click.Command("show"))
    offered = {one.value: one.help for one in complete_document(ctx, click.Option(["--x"]), "")}
    assert offered == {"global": "Use tabs.", "project": "Releases are cut on Tuesdays."}
    assert [one.value for one in complete_document(ctx, click.Option(["--x"]), "glo")] == ["global"]
