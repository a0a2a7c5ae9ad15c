"""Commands over the record: text and JSON of each, imports that add only what is new, the way back."""

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest

from sojourn.base import Item, ItemStatus, Section, SystemClock
from sojourn.checkpoint import items_sha
from sojourn.record import AddCheckpoint, Checkpoint, Committed, Fence, Lease, Session
from sojourn.record.sqlite import SqliteStore
from sojourn.surfaces.cli.columns import cells
from surfaces.running import LONG, Command, answered, put, said, talk

pytestmark = pytest.mark.design("S-1")


@pytest.fixture
def long_session(sojourn: Command, tmp_path: Path) -> str:
    """A session that fills a window of 16K."""
    found = sojourn("import", put(tmp_path / "long.jsonl", talk(20, "long", LONG)), "--json").row["sessions"]
    return str(found[0]["session_id"])


@pytest.mark.design("R-14")
def test_import_text_and_json(sojourn: Command, tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", talk(2))
    with path.open("a") as file:
        file.write("not json\n" + json.dumps({"type": "summary", "summary": "x", "leafUuid": "u0"}) + "\n")
    row = sojourn("import", path, "--json").row
    assert (row["file"], row["format"]) == (str(path), "claude-code")
    assert (row["messages"], row["tool_calls"], row["tool_results"]) == (4, 0, 0)
    assert row["skipped"][0]["line"] == 5
    (session,) = row["sessions"]
    assert (session["added"], session["total"], session["foreign_id"], session["parent_id"]) == (4, 4, "s1", None)
    again = sojourn("import", path)
    assert again.code == 0
    assert again.out == f"{path}  (claude-code)\n  {session['session_id']}  +0 messages (now 4)  question 0 of s1\n"
    bad, kept_apart = again.err.splitlines()
    assert bad.startswith("  line 5: not JSON")
    assert kept_apart == "  1 bookkeeping line holds nothing for the record (--json lists all)"


@pytest.mark.design("R-14")
def test_a_grown_file_adds_only_what_is_new(sojourn: Command, tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", talk(3))
    (first,) = sojourn("import", path, "--json").row["sessions"]
    put(path, talk(5))
    (second,) = sojourn("import", path, "--json").row["sessions"]
    assert (first["added"], second["added"], second["total"]) == (6, 4, 10)
    assert first["session_id"] == second["session_id"]
    shown = sojourn("show", first["session_id"], "--json").row
    texts = [part["text"].strip() for message in shown["messages"] for part in message["parts"]]
    assert texts == [f"{who} {turn} of s1" for turn in range(5) for who in ("question", "answer")]


@pytest.mark.design("R-14")
def test_a_file_that_was_changed_is_refused(sojourn: Command, tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", talk(3))
    sojourn("import", path)
    put(path, talk(3, words="other"))
    done = sojourn("import", path)
    assert done.code == 2
    assert "has been changed since" in done.err
    assert sojourn("sessions", "--json").row["head"] == 6


@pytest.mark.design("R-14")
def test_two_sessions_in_one_file(sojourn: Command, tmp_path: Path) -> None:
    path = put(tmp_path / "two.jsonl", [*talk(2, "one"), *talk(3, "two")])
    sessions = sojourn("import", path, "--json").row["sessions"]
    assert [(one["foreign_id"], one["added"]) for one in sessions] == [("one", 4), ("two", 6)]
    assert {row["title"] for row in sojourn("sessions", "--json").rows} == {"question 0 of one", "question 0 of two"}
    replayed = sojourn("replay", path, "--json").row
    assert (replayed["messages"], replayed["other_sessions"], replayed["steps"]) == (8, 1, 2)
    assert "taken by\nsojourn import: 1" in sojourn("replay", path).out


@pytest.mark.report(68, 69)
def test_sessions_are_listed_whatever_stands_in_them(sojourn: Command, tmp_path: Path) -> None:
    book = "a whole book " * 30_000
    put(tmp_path / "book.jsonl", [said(book, 0, "book"), answered("read", 1, "book")])
    put(tmp_path / "wide.jsonl", [said("水位上升" * 40 + "\n\x1b[31mred", 0, "wide"), answered("好", 1, "wide")])
    assert sojourn("import", tmp_path / "book.jsonl", tmp_path / "wide.jsonl").code == 0
    done = sojourn("sessions")
    head, *lines = done.out.splitlines()
    assert head.split() == ["id", "changed", "messages", "from", "title"]
    assert len(lines) == 2
    assert all(cells(line) <= 80 for line in lines)
    assert "\x1b" not in done.out
    assert lines[0].endswith("水位上升水位上升水…") or lines[0].endswith("…")
    for row in sojourn("sessions", "--json").rows:
        assert {"id", "title", "head", "created", "updated", "parent_id", "source", "model", "cwd"} <= set(row)


def test_sessions_limit_project_and_narrow_terminals(sojourn: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        sojourn("import", put(tmp_path / f"{name}.jsonl", talk(1, name)))
    done = sojourn("sessions", "--limit", 2)
    assert len(done.out.splitlines()) == 3
    assert done.err == "\nThe newest 2; --limit shows more.\n"
    assert sojourn("sessions").err == ""
    assert [row["title"] for row in sojourn("sessions", "--json").rows] == [f"question 0 of {n}" for n in ("c", "b", "a")]
    assert len(sojourn("sessions", "--project", "/repo", "--json").rows) == 3
    assert len(sojourn("sessions", "--project", "/repo/../repo", "--json").rows) == 3
    assert sojourn("sessions", "--project", "/elsewhere").err == "There are no sessions of /elsewhere.\n"
    monkeypatch.setenv("COLUMNS", "75")
    assert "claude-code" not in sojourn("sessions").out
    monkeypatch.setenv("COLUMNS", "76")
    assert "claude-code" in sojourn("sessions").out


def test_the_beginning_of_an_id_a_foreign_id_and_last(sojourn: Command, tmp_path: Path) -> None:
    sojourn("import", put(tmp_path / "a.jsonl", talk(1, "alpha")))
    sojourn("import", put(tmp_path / "b.jsonl", talk(1, "beta")))
    newest, older = sojourn("sessions", "--json").rows
    for name in (older["id"], older["id"][:18], "alpha"):
        assert sojourn("show", name, "--json").row["session"]["id"] == older["id"]
    assert sojourn("show", "last", "--json").row["session"]["id"] == newest["id"]


def test_show(sojourn: Command, tmp_path: Path) -> None:
    sojourn("import", put(tmp_path / "a.jsonl", [said("hello \x1b]0;evil\x07", 0), answered("line\nline", 1), *talk(2)[2:]]))
    done = sojourn("show", "last")
    assert "4 messages, 0 windows" in done.out
    assert "  hello ␛]0;evil␇\n" in done.out
    assert "m2 assistant  2026-01-0" in done.out
    assert done.err == ""
    part = sojourn("show", "last", "--after", 1, "--limit", 2)
    assert "hello" not in part.out.split("\n\n", 1)[1]
    assert "m2 " in part.out
    assert "m3 " in part.out
    assert "m4 " not in part.out
    assert part.err.strip().endswith("--after 3")
    row = sojourn("show", "last", "--after", 1, "--limit", 2, "--json").row
    assert [message["seq"] for message in row["messages"]] == [2, 3]
    assert sojourn("show", "last", "--after", 2, "--limit", 2).err == ""
    missing = sojourn("show", "last", "--number", 1)
    assert missing.code == 2
    assert missing.err.startswith("sojourn: session ses_")
    assert "has no window 1" in missing.err


@pytest.mark.design("R-13")
def test_search(sojourn: Command, tmp_path: Path) -> None:
    lines = [said("请检查水位和 parse_header", 0), answered("水位正常", 1), *talk(2)[2:]]
    sojourn("import", put(tmp_path / "a.jsonl", lines))
    sojourn("import", put(tmp_path / "b.jsonl", [said("水位 elsewhere", 0, "s2"), answered("yes", 1, "s2")]))
    hits = sojourn("search", "水位", "--json").rows
    assert [(hit["seq"], hit["role"]) for hit in hits] == [(1, "user"), (2, "assistant"), (1, "user")]
    assert len(sojourn("search", "水位", "--limit", 2, "--json").rows) == 2
    assert len(sojourn("search", "水位", "--session", "s1", "--json").rows) == 2
    assert [hit["seq"] for hit in sojourn("search", "parse", "检查", "--json").rows] == [1]
    shown = sojourn("search", "header")
    assert " m1  user  2026-" in shown.out
    assert "请检查水位和 parse_header" in shown.out
    none = sojourn("search", "nonexistentword")
    assert (none.code, none.out) == (0, "")
    assert none.err.startswith("Nothing found.")
    assert sojourn("search", "nonexistentword", "--json") == (0, "", "")


@pytest.mark.design("M-4")
def test_context(sojourn: Command, long_session: str) -> None:
    row = sojourn("context", long_session, "--window", "16K", "--json").row
    assert row["lines"]["effective"] == 16_000
    assert row["limit_source"] == "command line"
    assert sum(row["categories"].values()) == row["level"] > row["lines"]["hard"]
    told = sojourn("context", long_session, "--window", "16K")
    assert f"~{row['level']:,} of 16,000 tokens" in told.out
    assert "no window has opened yet, newest message m40" in told.out
    assert "the next request opens a new window" in told.out
    assert max(cells(line) for line in told.out.splitlines()) <= 80
    assert "the next request" not in sojourn("context", long_session, "--window", "1M").out
    assert sojourn("show", long_session, "--json").row["windows"] == []


@pytest.mark.design("R-6")
def test_checkpoint(sojourn: Command, long_session: str) -> None:
    none = sojourn("checkpoint", long_session)
    assert (none.code, none.out) == (0, "")
    assert none.err.startswith("No checkpoint yet.")
    assert sojourn("checkpoint", long_session, "--json").out == "null\n"
    assert sojourn("checkpoint", long_session, "--history").err.startswith("No checkpoint yet.")
    row = sojourn("checkpoint", long_session, "--write", "--window", "16K", "--json").row
    assert 0 < row["covered_seq"] <= 40
    text = sojourn("checkpoint", long_session)
    assert text.out.startswith("# Checkpoint\n")
    assert f"- covers: messages up to m{row['covered_seq']}\n" in text.out
    again = sojourn("checkpoint", long_session, "--write", "--window", "16K")
    assert "Nothing new" in again.err
    (run,) = sojourn("checkpoint", long_session, "--history", "--json").row["checkpoints"]
    assert (run["id"], run["upto"], run["writer"]) == (row["id"], row["covered_seq"], "extractive")


@pytest.mark.design("R-6", "K-7")
def test_a_checkpoint_shows_open_items_unless_all_are_asked_for(sojourn: Command, tmp_path: Path, home: Path) -> None:
    sojourn("import", put(tmp_path / "a.jsonl", talk(2)))
    items = tuple(
        Item(id=f"kn-{status.value}", section=Section.KNOWLEDGE, text=f"an item that is {status.value}", status=status)
        for status in ItemStatus
    )
    items += tuple(
        Item(id=f"de-{n}", section=Section.DECISIONS, text=f"decision number {n}", weight=float(n % 12)) for n in range(12)
    )

    async def add() -> None:
        store = await SqliteStore.open(home / "data" / "sojourn.db", clock=SystemClock())
        (session,) = await store.sessions()
        lease = await store.acquire(session.id, "test:0:0")
        assert isinstance(lease, Lease)
        row = Checkpoint(id="ckp_1", covered_seq=2, range=(0, 2), writer="extractive", items=items, items_sha=items_sha(items))
        done = await store.commit(session.id, Fence(epoch=lease.epoch, head=session.head), [AddCheckpoint(row)])
        assert isinstance(done, Committed)
        await store.release(lease)
        await store.close()

    asyncio.run(add())
    short = sojourn("checkpoint", "last")
    assert "an item that is open" in short.out
    assert "superseded" not in short.out
    # Of twelve decisions the ten of most weight, in their order.
    assert [f"decision number {n} " in short.out + " " or f"decision number {n}\n" in short.out for n in range(12)] == [
        False, False, *[True] * 10,
    ]  # fmt: skip
    assert short.err == (
        "\n2 more open items of less weight: --all shows all.\nLeft out, done or superseded: 2 items; --all shows all.\n"
    )
    whole = sojourn("checkpoint", "last", "--all")
    assert all(f"an item that is {status.value}" in whole.out for status in ItemStatus)
    assert whole.err == ""
    assert len(sojourn("checkpoint", "last", "--json").row["items"]) == 15


@pytest.mark.design("R-16")
def test_deleting_takes_the_files_of_sub_agents_too(sojourn: Command, tmp_path: Path, home: Path) -> None:
    async def add() -> None:
        store = await SqliteStore.open(home / "data" / "sojourn.db", clock=SystemClock())
        for name, parent in (("ses_top", None), ("ses_child", "ses_top"), ("ses_grandchild", "ses_child"), ("ses_other", None)):
            await store.create(Session(id=name, parent_id=parent))
        await store.close()

    (home / "data").mkdir(parents=True)
    asyncio.run(add())
    folder = home / "data" / "memory" / "sessions"
    for name in ("ses_top", "ses_grandchild", "ses_other"):
        (folder / name).mkdir(parents=True)
        (folder / name / "checkpoint.md").write_text("words")
    row = sojourn("delete", "ses_top", "--yes", "--json").row
    assert (row["sessions"], row["documents"]) == (3, 2)
    assert [path.name for path in folder.iterdir()] == ["ses_other"]
    assert [one["id"] for one in sojourn("sessions", "--json").rows] == ["ses_other"]
    assert sojourn("sessions", "--limit", 1).out.splitlines()[1].startswith("ses_other  ")


@pytest.mark.design("W-12", "C-13")
def test_rebuild_and_undo_give_the_earlier_view_back(sojourn: Command, long_session: str) -> None:
    window = ("--window", "16K")
    before = sojourn("context", long_session, *window, "--json").row
    rebuilt = sojourn("rebuild", long_session, *window, "--json").row
    assert rebuilt["outcome"] == "extracted"
    assert rebuilt["level_after"] < rebuilt["level_before"] == before["level"]
    assert rebuilt["window"]["number"] == 2
    assert sum(rebuilt["window"]["sections"].values()) > 0
    after = sojourn("context", long_session, *window, "--json").row
    assert after["level"] == rebuilt["level_after"]
    shown = sojourn("show", long_session, "--number", 2)
    assert shown.out.startswith("Window 2 (rebuild): extracted, because of manual; opened after m40")
    assert sojourn("show", long_session, "--number", 2, "--json").row["opening"]
    listed = sojourn("show", long_session)
    assert "40 messages, 2 windows" in listed.out
    assert f"window 2 opened: {rebuilt['level_before']:,} -> {rebuilt['level_after']:,} tokens" in listed.out
    undone = sojourn("undo", long_session, *window)
    assert undone.out == f"Taken back: window 2. The view holds {before['level']:,} tokens.\n"
    assert "over the hard line" in undone.err
    view = sojourn("context", long_session, *window, "--json").row
    assert (view["level"], view["categories"]) == (before["level"], before["categories"])
    assert "window 2 opened" not in sojourn("show", long_session).out
    redone = sojourn("undo", "--redo", long_session, *window, "--json").row
    assert redone["level"] == rebuilt["level_after"]
    assert sojourn("context", long_session, *window, "--json").row["categories"] == after["categories"]
    assert sojourn("undo", "--redo", long_session, *window).code == 2


def test_rebuild_where_there_is_nothing_to_leave_out(sojourn: Command, tmp_path: Path) -> None:
    sojourn("import", put(tmp_path / "a.jsonl", talk(1)[:1]))
    assert sojourn("rebuild", "last").out.startswith("Nothing changed")
    assert sojourn("rebuild", "last", "--json").row["window"] is None


@pytest.mark.design("R-14")
@pytest.mark.report(67)
def test_export_and_import_again(sojourn: Command, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = "odd \u2028 \u0085 \x00 \\ud800 水位 \U0001f30a"
    sojourn("import", put(tmp_path / "a.jsonl", [said(odd, 0), answered("ok", 1)]))
    kept = tmp_path / "kept.jsonl"
    done = sojourn("export", "last", "-o", kept)
    assert (done.code, done.out) == (0, "")
    assert done.err == f"{kept}: {kept.stat().st_size:,} bytes\n"
    assert sojourn("export", "last").out == kept.read_text("utf-8")
    row = sojourn("export", "last", "--json").row
    assert (row["form"], row["text"]) == ("jsonl", kept.read_text("utf-8"))
    told = sojourn("export", "last", "-o", kept, "--json").row
    assert (told["output"], told["bytes"]) == (str(kept), kept.stat().st_size)
    first = sojourn("show", "last", "--json").row["messages"]
    monkeypatch.setenv("SOJOURN_HOME", str(tmp_path / "second"))
    assert sojourn("import", kept, "--json").row["sessions"][0]["added"] == 2
    second = sojourn("show", "last", "--json").row["messages"]
    assert [message["parts"] for message in second] == [message["parts"] for message in first]
    assert first[0]["parts"][0]["text"] == odd


@pytest.mark.design("R-14")
@pytest.mark.parametrize("form", ["markdown", "openai", "anthropic"])
def test_the_other_exports(sojourn: Command, tmp_path: Path, form: str) -> None:
    sojourn("import", put(tmp_path / "a.jsonl", talk(2)))
    text = sojourn("export", "last", "--to", form).out
    if form == "markdown":
        assert text.startswith("# question 0 of s1\n")
        return
    roles = [message["role"] for message in json.loads(text)["messages"]]
    assert roles == ["user", "assistant", "user", "assistant"]
    path = tmp_path / f"{form}.json"
    path.write_text(text)
    assert sojourn("replay", path, "--json").row["steps"] == 2


@pytest.mark.design("R-16", "K-1")
def test_delete_erases_rows_and_files(sojourn: Command, long_session: str, home: Path, tmp_path: Path) -> None:
    sojourn("import", put(tmp_path / "other.jsonl", talk(2, "other")))
    sojourn("checkpoint", long_session, "--write", "--window", "16K")
    document = home / "data" / "memory" / "sessions" / long_session / "checkpoint.md"
    assert document.is_file()
    row = sojourn("delete", long_session, "--yes", "--json").row
    assert (row["session"], row["messages"], row["documents"], row["sessions"]) == (long_session, 40, 1, 1)
    assert not document.parent.exists()
    assert sojourn("show", long_session).code == 2
    assert sojourn("search", "gauge1", "--json").rows == []
    assert b"gauge17 word" not in (home / "data" / "sojourn.db").read_bytes()
    assert sojourn("sessions", "--json").row["head"] == 4
    assert sojourn("delete", "last", "--yes").out.endswith("4 messages, sessions with its sub-agents: 1.\n")
    assert sojourn("sessions").err.startswith("There are no sessions yet.")


@pytest.mark.design("R-16")
@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("yes\n", 0), ("n\n", 2), ("\n", 2), ("", 2)])
def test_delete_asks(sojourn: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int) -> None:
    sojourn("import", put(tmp_path / "a.jsonl", talk(2)))
    typed = tmp_path / "typed"
    typed.write_text(answer)
    with typed.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        done = sojourn("delete", "last")
    assert done.code == code
    assert done.err.startswith("Erase ses_")
    assert len(sojourn("sessions", "--json").rows) == (0 if code == 0 else 1)


@pytest.mark.design("R-16")
def test_scrub_reaches_rows_and_files(sojourn: Command, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hunter2hunter2"
    lines = [said(f"always use the phrase {secret} for the gate, never another", 0, "long"), *talk(20, "long", LONG)[1:]]
    sojourn("import", put(tmp_path / "a.jsonl", lines))
    sojourn("checkpoint", "last", "--write", "--window", "16K")
    document = next((home / "data" / "memory").rglob("checkpoint.md"))
    assert secret in document.read_text()
    assert sojourn("scrub", "abc", "--yes").code == 2
    assert sojourn("scrub", "-").code == 2
    typed = tmp_path / "typed"
    typed.write_text(secret + "\n")
    with typed.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert sojourn("scrub", "-", "--yes", "--json").row["places"] >= 3
    assert secret not in sojourn("export", "last").out
    assert secret not in document.read_text()
    assert "[scrubbed]" in document.read_text()
    assert stat.S_IMODE(document.stat().st_mode) == 0o400
    assert secret.encode() not in (home / "data" / "sojourn.db").read_bytes()


def test_doctor(sojourn: Command, tmp_path: Path, home: Path) -> None:
    fresh = sojourn("doctor")
    assert fresh.code == 0
    assert "none yet: sojourn import FILE begins one" in fresh.out
    assert sojourn("doctor", "--json").row["record"] is None
    sojourn("import", put(tmp_path / "a.jsonl", talk(2)))
    row = sojourn("doctor", "--space", "--json").row
    assert (row["findings"], row["record"]) == ([], str(home / "data" / "sojourn.db"))
    assert row["database"] > 0
    assert sojourn("doctor").out.endswith("All is well.\n")
    (home / "data" / "sojourn.db").chmod(0o644)
    bad = sojourn("doctor")
    assert bad.code == 1
    assert f"! {home / 'data' / 'sojourn.db'} can be read by others (mode 644)" in bad.out
    assert bad.out.endswith("Something is wrong.\n")
    (home / "data" / "extra").write_text("x")
    (home / "data" / "extra").chmod(0o610)
    assert [("extra" in one and "610" in one) for one in sojourn("doctor", "--json").row["findings"]] == [True]
    (home / "data" / "extra").chmod(0o700)
    assert sojourn("doctor").code == 0


def test_doctor_finds_a_damaged_record(sojourn: Command, tmp_path: Path, home: Path) -> None:
    sojourn("import", put(tmp_path / "a.jsonl", talk(30, words=LONG)))
    path = home / "data" / "sojourn.db"
    data = bytearray(path.read_bytes())
    data[8192:24576] = os.urandom(16384)
    path.write_bytes(bytes(data))
    done = sojourn("doctor", "--json")
    assert done.code == 1
    assert done.row["findings"]


@pytest.mark.design("S-9")
def test_config(sojourn: Command, home: Path) -> None:
    row = sojourn("config", "--set", "compaction.trigger_ratio=0.7", "--json").row
    assert row["settings"]["compaction.trigger_ratio"] == {"value": 0.7, "from": "command line"}
    assert row["settings"]["compaction.policy"] == {"value": "full", "from": "default"}
    assert row["folders"]["data"] == str(home / "data")
    text = sojourn("config").out
    assert "compaction.trigger_ratio      0.9" in text
    assert str(home / "config" / "config.toml") in text


def test_completion(sojourn: Command) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_SOJOURN_COMPLETE" in sojourn("completion", shell).out
    assert sojourn("completion", "tcsh").code == 2


@pytest.mark.design("C-14")
def test_a_switch_that_overrules_what_was_asked_for_is_told(sojourn: Command, long_session: str) -> None:
    off = sojourn("rebuild", long_session, "--window", "32K", "--set", "checkpoint.enabled=false", "--json")
    assert off.row["outcome"] == "checkpoint_off"
    assert off.row["window"]["kind"] == "compaction"
    assert "Checkpoints are switched off (checkpoint.enabled)" in off.err
