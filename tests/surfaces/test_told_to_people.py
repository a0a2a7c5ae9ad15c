"""What commands tell after an undo, of pins, of what is not there; lines that fit; one language (S-1, S-2, S-3)."""

import json
import shlex
from pathlib import Path

import pytest

from sojourn.base import Usage
from sojourn.record import AddUndo, Call, CloseCall, ForkOf, OpenCall, Session, Undo
from sojourn.surfaces.cli.app import COMMANDS
from sojourn.surfaces.cli.columns import cells
from sojourn.surfaces.cli.kinds import kind_word, outcome_word, reason_word, state_word, verdict_word, writer_word
from surfaces.recorded import answered, call, keep, read, said, window
from surfaces.running import Command, in_own_process

pytestmark = pytest.mark.design("S-1")

ONE = Session(id="ses_one", title="the work")
ZH = ("--set", "language=zh")


def talked(home: Path, turns: int = 3, **fields: object) -> None:
    changes = [one for turn in range(turns) for one in (said(f"ask {turn + 1}", turn), answered(f"say {turn + 1}", turn))]
    keep(home, Session(id="ses_one", title="the work", **fields), window(1, 0, kind="start"), *changes)  # type: ignore[arg-type]


def undone(home: Path, after: int, upto: int, name: str = "u1") -> None:
    keep(home, ONE, AddUndo(Undo(id=name, kind="turn", after_seq=after, upto_seq=upto)))


# --- after an undo ----------------------------------------------------------------------------------------------------


@pytest.mark.design("R-4")
def test_show_tells_what_was_taken_back(sojourn: Command, home: Path) -> None:
    talked(home)
    assert "taken back" not in sojourn("show", "ses_one").out
    undone(home, 4, 6)
    shown = sojourn("show", "ses_one")
    assert "4 messages, 1 window\n2 messages are taken back by undo, out of view.\n" in shown.out
    assert "  To see them: sojourn show ses_one --undone\n  To have them again: sojourn undo --redo ses_one\n" in shown.out
    assert "ask 3" not in shown.out
    assert shown.err == ""
    assert sojourn("show", "ses_one", "--limit", 4).err == "", "nothing in view goes on"
    assert sojourn("show", "ses_one", "--limit", 3).err == "\nIt goes on: sojourn show ses_one --after 3\n"
    every = sojourn("show", "ses_one", "--undone").out
    heads = [line for line in every.splitlines() if line.startswith("m")]
    assert [line.endswith("(undone)") for line in heads] == [False] * 4 + [True] * 2
    assert sojourn("show", "ses_one", "--undone", "--limit", 4).err == "\nIt goes on: sojourn show ses_one --undone --after 4\n"
    row = sojourn("show", "ses_one", "--json").row
    assert (row["taken_back"], len(row["messages"])) == ([5, 6], 4)
    keep(home, ONE, said("another way", 9))
    later = sojourn("show", "ses_one").out
    assert "5 messages, 1 window\n2 messages are taken back" in later
    assert "--redo" not in later, "a message has come since"
    keep(home, ONE, AddUndo(Undo(id="u2", kind="turn", after_seq=4, upto_seq=6, closes="u1")))
    assert "taken back" not in sojourn("show", "ses_one").out


@pytest.mark.design("R-4")
def test_the_newest_message_in_view_is_named(sojourn: Command, home: Path) -> None:
    talked(home)
    undone(home, 2, 6)
    told = sojourn("context", "ses_one")
    assert "window 1, newest message m2\n" in told.out
    assert told.err.startswith("4 messages are taken back by undo, out of view.\n")
    row = sojourn("context", "ses_one", "--json").row
    assert (row["in_view"], row["taken_back"], row["head"]) == (2, 4, 6)
    assert "view of ses_one up to m2. " in sojourn("fork", "ses_one").err


def test_after_the_end(sojourn: Command, home: Path) -> None:
    talked(home)
    undone(home, 4, 6)
    for after in (4, 500):
        assert sojourn("show", "ses_one", "--after", after).err == f"There is no message after m{after}: the newest is m4.\n"
    assert sojourn("show", "ses_one", "--after", 3).err == ""


@pytest.mark.design("W-12")
def test_an_undo_to_no_turn_lists_the_newest_turns(sojourn: Command, home: Path) -> None:
    talked(home, 10)
    done = sojourn("undo", "ses_one", "--to", "m2")
    assert (done.code, done.out) == (2, "")
    first, head, *turns, last = done.err.splitlines()
    assert first == "sojourn: no turn in view begins with message 2 of session ses_one"
    assert head == "  The newest turns in view begin with:"
    assert turns == [f"    m{2 * turn - 1}  ask {turn}" for turn in range(3, 11)]
    assert last == "  sojourn show ses_one lists them."
    assert sojourn("undo", "ses_one", "--to", "m5", "--no-files").code == 0


@pytest.mark.design("W-12")
def test_nothing_to_undo_has_a_next_step(sojourn: Command, home: Path) -> None:
    keep(home, ONE, window(1, 0, kind="start"))
    done = sojourn("undo", "ses_one")
    assert (done.code, done.err) == (2, "sojourn: session ses_one has nothing to undo\n  sojourn show ses_one lists them.\n")
    keep(home, ONE, said("ask", 1), AddUndo(Undo(id="u1", kind="turn", after_seq=0, upto_seq=1)))
    assert sojourn("undo", "ses_one").err.endswith("  To have them again: sojourn undo --redo ses_one\n")


# --- cost -------------------------------------------------------------------------------------------------------------


@pytest.mark.design("M-5")
@pytest.mark.report(57)
def test_unknown_prices_are_no_dollars(sojourn: Command, home: Path) -> None:
    usage = Usage(fresh=500, cached=0, output=10)
    opened = [window(1, 0, kind="start"), said("go", 1), window(2, 1, before=10, after=10)]
    keep(home, ONE, *opened, *call("c1", usage, model="no-such", window_id="win_1"))
    for arguments in (("cost", "ses_one"), ("cost",), ("checkpoint", "ses_one", "--history")):
        assert "$" not in sojourn(*arguments).out
    assert sojourn("cost", "ses_one").out.endswith("  net         as much spent as spared\n")
    assert sojourn("cost", "ses_one", "--json").row["effect"]["priced"] is False


@pytest.mark.design("M-5")
def test_known_prices_are_dollars(sojourn: Command, home: Path) -> None:
    usage = Usage(fresh=500, cached=0, output=10)
    keep(home, ONE, window(1, 0, kind="start"), said("go", 1), window(2, 1), *call("c1", usage, window_id="win_1"))
    shown = sojourn("cost", "ses_one")
    assert "0 calls, 0 tokens of input, $0.0000" in shown.out
    assert sojourn("cost", "ses_one", "--json").row["effect"]["priced"] is True


@pytest.mark.design("A-7")
def test_a_read_of_nothing_is_no_hit(sojourn: Command, home: Path) -> None:
    rows = []
    for name, cached, verdict in (("c1", 0, "first"), ("c2", 0, "hit"), ("c3", 1, "hit")):
        opened, closed = call(name, Usage(fresh=100, cached=cached, output=1))
        assert isinstance(opened, OpenCall)
        assert isinstance(closed, CloseCall)
        rows += [opened, CloseCall(name, usage=closed.usage, verdict=verdict)]
    keep(home, ONE, *rows)
    lines = [line.split() for line in sojourn("cost", "ses_one").out.splitlines()]
    assert [line[-1] for line in lines if line[1:2] == ["main"]][:3] == ["first", "-", "hit"]
    assert [one["verdict"] for one in sojourn("cost", "ses_one", "--json").row["calls"]] == ["first", "hit", "hit"]


# --- pins -------------------------------------------------------------------------------------------------------------


@pytest.mark.design("R-15")
def test_the_same_pin_is_not_added_twice(sojourn: Command, home: Path) -> None:
    keep(home, ONE, said("ask", 1))
    Path("NOTES.md").write_text("use tabs\n")
    for what in (("ship it",), ("NOTES.md",), ("m1",)):
        first = sojourn("pin", "ses_one", *what, "--json").row
        assert first["changed"] is True
        again = sojourn("pin", "ses_one", *what)
        assert (again.code, again.out) == (
            0,
            f"The same text is already pinned as {first['pin']['id']}: nothing was added.\n",
        )
        row = sojourn("pin", "ses_one", *what, "--json").row
        assert (row["changed"], row["pin"]["id"]) == (False, first["pin"]["id"])
    assert len(sojourn("pin", "ses_one", "--json").row["pins"]) == 3


@pytest.mark.design("R-15")
def test_a_file_from_elsewhere_is_named_whole(sojourn: Command, home: Path, tmp_path: Path) -> None:
    keep(home, Session(id="ses_one", cwd=str(Path.cwd())), said("ask", 1))
    Path("sub").mkdir()
    (Path("sub") / "in.md").write_text("in")
    (tmp_path / "out.md").write_text("out")
    assert sojourn("pin", "ses_one", "sub/in.md").out.startswith("Pinned sub/in.md (pin_")
    assert sojourn("pin", "ses_one", "../out.md").out.startswith(f"Pinned {(tmp_path / 'out.md').resolve()} (pin_")


@pytest.mark.design("R-15")
def test_a_folder_is_no_pin(sojourn: Command, home: Path) -> None:
    keep(home, ONE, said("ask", 1))
    Path(".git").mkdir()
    for name in (".git", "."):
        done = sojourn("pin", "ses_one", name)
        assert (done.code, done.out) == (2, "")
        told = f"  Name a file in it. To pin this word itself: sojourn pin ses_one --text {shlex.quote(name)}\n"
        assert done.err == f"sojourn: {name} is a folder\n{told}"
    assert sojourn("pin", "ses_one", "--json").row["pins"] == []


@pytest.mark.design("W-3", "M-2")
def test_figures_of_pins_agree(sojourn: Command, home: Path) -> None:
    """The model counts twice what we estimate: so do the list, the refusal and the engine."""
    row = Call(id="c1", purpose="main", upto_seq=1, model="m", window_id="win_1", started=1, estimate={"prose": 100_000})
    asked = OpenCall(row)
    keep(home, Session(id="ses_one", model="m"), window(1, 0, kind="start"), said("ask", 1), asked)
    keep(home, ONE, CloseCall("c1", usage=Usage(fresh=200_000, output=1)))
    first = sojourn("pin", "ses_one", "word " * 500, "--json").row["tokens"]
    done = sojourn("pin", "ses_one", "other " * 1_000)
    assert done.code == 2
    words = done.err.replace(",", "").split()
    wanted, free, limit, used, over = (int(word) for word in words if word.isdigit())
    assert (used, limit, free, over) == (first, 2_000, 2_000 - first, wanted - 2_000 + first)
    assert over > 0
    assert first > 500
    shown = sojourn("context", "ses_one")
    assert f"1 pin of yours, about {first:,} tokens: in every window that opens" in " ".join(shown.out.split())
    assert sojourn("context", "ses_one", "--json").row["pins"] == {"count": 1, "tokens": first}


# --- hints that fit ---------------------------------------------------------------------------------------------------


def test_hints_fit_what_was_asked(sojourn: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from surfaces.recorded import checkpoint, items

    keep(home, ONE, said("ask", 1), checkpoint("ckp_1", items("a"), 1))
    for arguments in (("pin", "ses_one", "--file"), ("checkpoint", "ses_one", "--edit-from")):
        assert sojourn(*arguments, tmp_path).err == f"sojourn: {tmp_path} is a folder\n  Name a file in it.\n"
    device = sojourn("memory", "edit", "global", "--from", "/dev/null")
    assert device.err == "sojourn: /dev/null is not a plain file\n  Save the text to a plain file first.\n"
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    assert "from a file: sojourn checkpoint ses_one --edit-from FILE\n" in sojourn("checkpoint", "ses_one", "--edit").err
    asked = sojourn("memory", "edit", "notes", "--session", "ses_one").err
    assert "from a file: sojourn memory edit notes --session ses_one --from FILE\n" in asked
    monkeypatch.setenv("EDITOR", "no-such-editor-at-all")
    assert "sojourn memory edit global --from FILE\n" in sojourn("memory", "edit", "global").err


def test_what_was_replaced_is_told_where_something_was(sojourn: Command, home: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one\n")
    assert sojourn("memory", "edit", "global", "--from", tmp_path / "a.md").err == ""
    (tmp_path / "a.md").write_text("two\n")
    assert sojourn("memory", "edit", "global", "--from", tmp_path / "a.md").err == (
        "What it replaced: sojourn memory history global\n"
    )


def test_a_window_that_is_too_small(sojourn: Command, home: Path) -> None:
    talked(home)
    for size in ("0", "7999"):
        done = sojourn("context", "ses_one", "--window", size)
        assert (done.code, done.out) == (2, "")
        assert done.err.endswith(" tokens is too small: at least 8,000 are needed\n  Give a larger --window, such as 64K.\n")
    assert sojourn("context", "ses_one", "--window", "8000").code == 0


# --- nothing there ----------------------------------------------------------------------------------------------------


@pytest.mark.design("R-16")
def test_scrub_that_finds_nothing(sojourn: Command, home: Path) -> None:
    keep(home, ONE, said("the secret word", 1))
    done = sojourn("scrub", "nowhere", "--yes")
    assert (done.code, done.out) == (1, "")
    assert done.err == "Not found: it stands nowhere in the record, and nothing was changed.\n"
    row = sojourn("scrub", "nowhere", "--yes", "--json")
    assert (row.code, row.row) == (1, {"places": 0})
    assert sojourn("scrub", "secret", "--yes").code == 0


@pytest.mark.design("R-13")
def test_a_search_for_nothing(sojourn: Command, home: Path) -> None:
    keep(home, ONE, said("ask", 1))
    for arguments in (("search", ""), ("search", " ", ""), ("memory", "search", "")):
        done = sojourn(*arguments)
        assert (done.code, done.out, done.err.splitlines()[0]) == (2, "", "sojourn: there is nothing to search for")


@pytest.mark.design("R-16")
def test_delete_counts_its_own_messages(sojourn: Command, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talked(home)
    keep(home, Session(id="ses_fork", fork_of=ForkOf("ses_one", "win_1", 6)))
    refused = sojourn("delete", "ses_one")
    assert refused.err == (
        "sojourn: session ses_one cannot be deleted: 1 session was forked from it and read its messages: ses_fork\n"
        "  Delete the forks first.\n"
    )
    keep(home, Session(id="ses_other", fork_of=ForkOf("ses_one", "win_1", 4)))
    assert "2 sessions were forked from it and read its messages: " in sojourn("delete", "ses_one", "--yes").err
    asked: list[str] = []
    monkeypatch.setattr("sojourn.surfaces.cli.commands.delete.confirm", asked.append)
    assert "Erased ses_fork: 0 messages" in sojourn("delete", "ses_fork").out
    assert "0 messages" in asked[0]
    sojourn("delete", "ses_other", "--yes")
    assert "Erased ses_one: 6 messages" in sojourn("delete", "ses_one").out
    assert "6 messages" in asked[1]


# --- lines, languages, help -------------------------------------------------------------------------------------------


def test_lines_fit_the_terminal(sojourn: Command, home: Path) -> None:
    done = in_own_process(home, "run", "--model", "scripted", "hello", stdin=-3)
    where = str(Path.cwd())
    assert done.code == 0
    assert [line for line in done.err.splitlines() if cells(line) > 80 and where not in line] == []
    ids = [sojourn("pin", "last", f"text {at}", "--json").row["pin"]["id"] for at in range(4)]
    none = sojourn("pin", "last", "--remove", "zzz").err
    assert all(one in none for one in ids)
    assert max(cells(line) for line in none.splitlines()) <= 80
    opened = sojourn("rebuild", "last")
    assert max(cells(line) for line in (opened.out + opened.err).splitlines()) <= 80


@pytest.mark.design("S-2")
def test_fixed_words_are_told_in_the_persons_language(sojourn: Command, home: Path, tmp_path: Path) -> None:
    usage = Usage(fresh=1, cached=1, output=1)
    opened, _ = call("c1", usage)
    closed = CloseCall("c1", usage=usage, verdict="ttl_expired")
    keep(home, ONE, window(1, 0, kind="start"), said("ask", 1), read("/a.py", 2), window(2, 2), opened, closed)
    assert "已过期" in sojourn("cost", "ses_one", *ZH).out
    shown = sojourn("show", "ses_one", *ZH).out
    assert "已完成" in shown
    assert "重建" in shown
    assert "开始" in shown
    assert "completed" not in shown
    assert "（重建）" in sojourn("show", "ses_one", "--number", 2, *ZH).out
    for text in ("one\n", "two\n"):
        (tmp_path / "a.md").write_text(text)
        sojourn("memory", "edit", "global", "--from", tmp_path / "a.md")
    assert " 你 " in sojourn("memory", "history", "global", *ZH).out
    assert " you " in sojourn("memory", "history", "global", "--set", "language=en").out


def test_words_that_nobody_knows_stay(home: Path) -> None:
    words = (kind_word, reason_word, outcome_word, state_word, writer_word, verdict_word)
    assert [word("new-fangled") for word in words] == ["new-fangled"] * 6
    assert verdict_word("prefix_changed: tools") == "prefix_changed: tools"
    assert verdict_word("") == ""


def test_every_help_says_how_json_is_printed(sojourn: Command, home: Path) -> None:
    lines = {"sessions", "models", "search", "import", "replay", "run"}
    for name in sorted(set(COMMANDS) - {"memory", "completion"}):
        told = " ".join(sojourn(name, "--help").out.split())
        assert ("prints one object a line" in told) is (name in lines), name
        assert ("prints one document" in told) is (name not in lines), name


def test_lines_and_documents_are_what_help_says(sojourn: Command, home: Path) -> None:
    talked(home)
    keep(home, Session(id="ses_two"), said("ask 1", 77))
    for arguments, count in ((("sessions",), 2), (("search", "ask"), 4)):
        rows = [json.loads(line) for line in sojourn(*arguments, "--json").out.splitlines()]
        assert len(rows) == count
        assert all(isinstance(row, dict) for row in rows)
