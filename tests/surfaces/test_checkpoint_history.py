"""Each checkpoint as an event: what it read, changed and cost, and what it rests on (K-11, R-6)."""

from pathlib import Path
from typing import Any

import pytest

from sojourn.base import Item, ItemStatus, Section, Usage
from sojourn.record import AddUndo, Session, Undo
from sojourn.surfaces.cli.columns import cells
from sojourn.surfaces.cli.render import short_moment
from surfaces.recorded import answered, call, checkpoint, items, keep, said
from surfaces.running import Command

pytestmark = [pytest.mark.design("K-11", "R-6"), pytest.mark.report(125)]

SESSION = Session(id="ses_one", title="the work")


@pytest.fixture
def written(home: Path) -> Path:
    """Extraction, then a model in fork mode, then a person; a call of the writer that came to nothing."""
    first, second = items("a", "b", "c", by="extractive"), items("b", "c", "d", "e")
    closed = (Item(id="kn-a", section=Section.KNOWLEDGE, text="fact a", status=ItemStatus.DONE),)
    keep(
        home,
        SESSION,
        said("one", 1), answered("two", 2), said("three", 3), answered("four", 4),
        checkpoint("ckp_1", first, 2, writer="extractive", range=(0, 2)),
        *call("w1", Usage(100, 9_000, 900, 200), "writer"),
        *call("w2", Usage(1_000, 0, 0, 0), "writer"),
        *call("w3", Usage(200, 0, 0, 0), "writer", error="empty\nanswer"),
        checkpoint(
            "ckp_2", (*second, *closed), 4, range=(2, 4), mode="fork", previous_id="ckp_1", calls=("w1", "w2"),
            added=("kn-d", "kn-e"), closed=("kn-a",), checked=("kn-e",), promoted=("kn-d",), refused=("no such id: kn-z",),
        ),
        checkpoint("ckp_3", second[1:], 4, writer="user", range=(4, 4), previous_id="ckp_2", closed=("kn-b",)),
    )  # fmt: skip
    return home


def test_json(sojourn: Command, written: Path) -> None:
    row = sojourn("checkpoint", "ses_one", "--history", "--json").row
    assert sojourn("cost", "ses_one", "--writers", "--json").row == row
    assert list(row) == ["session", "checkpoints", "failed", "price", "units"]
    one, two, three = row["checkpoints"]
    counts = ("writer", "mode", "after", "upto", "items", "added", "closed", "checked", "promoted", "calls", "undone")
    assert [one[key] for key in counts] == ["extractive", "", 0, 2, 3, 3, 0, 0, 0, 0, False]
    assert [two[key] for key in counts] == ["model", "fork", 2, 4, 4, 2, 1, 1, 1, 2, False]
    assert [three[key] for key in counts] == ["user", "", 4, 4, 3, 0, 1, 0, 0, 0, False]
    assert two["refused"] == ["no such id: kn-z"]
    assert two["cached_share"] == pytest.approx(9_000 / 11_000)
    price = (1_100 * 3 + 9_000 * 0.3 + 900 * 3.75 + 200 * 15) / 1e6
    assert two["price"] == pytest.approx(price)
    assert two["units"] == pytest.approx(1_100 + 900 + 1_125 + 1_000)
    assert (one["cached_share"], one["price"], one["units"]) == (None, 0.0, 0.0)
    (failed,) = row["failed"]
    assert (failed["purpose"], failed["error"], failed["started"]) == ("writer", "empty\nanswer", 1_000)
    assert row["price"] == pytest.approx(price + 200 * 3 / 1e6)


def test_a_line_each(sojourn: Command, written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    done = sojourn("checkpoint", "ses_one", "--history")
    head, *lines = done.out.splitlines()
    assert head.split("  ")[0] == "written"
    when = short_moment(1_700_000_000_000).split()
    assert [line.split() for line in lines[:3]] == [
        [*when, "extraction", "m1-m2", "3", "+3", "-0", "+0", "0", "0", "-", "-", "ckp_1"],
        [*when, "model/fork", "m3-m4", "4", "+2", "-1", "+1", "1", "2", "81.8%", "$0.0124", "ckp_2"],
        [*when, "you", "m4", "3", "+0", "-1", "+0", "0", "0", "-", "-", "ckp_3"],
    ]
    assert lines[3:] == [
        "In the background, failed calls too: $0.0130.",
        "Writer's calls that came to no checkpoint: 1",
        f"  {short_moment(1_000)}  empty answer",
    ]
    assert sojourn("cost", "ses_one", "--writers").out == done.out


def test_undone_ones_are_marked(sojourn: Command, written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    keep(written, SESSION, AddUndo(Undo(id="undo_1", kind="turn", after_seq=2, upto_seq=4)))
    row = sojourn("checkpoint", "ses_one", "--history", "--json").row
    assert [one["undone"] for one in row["checkpoints"]] == [False, True, True]
    lines = sojourn("checkpoint", "ses_one", "--history").out.splitlines()
    assert ["(undone)" in line for line in lines[1:4]] == [False, True, True]


def test_it_fits_the_terminal(sojourn: Command, written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least telling columns leave first; what is left is whole, and --json has it all."""
    keep(
        written,
        SESSION,
        AddUndo(Undo(id="undo_1", kind="turn", after_seq=2, upto_seq=4)),
        *call("w9", Usage(200, 0, 0, 0), "writer", error="no " * 60),
    )
    monkeypatch.setenv("COLUMNS", "300")
    widest = max(map(cells, sojourn("checkpoint", "ses_one", "--history").out.splitlines()[:4]))
    heads = {}
    for columns in range(40, widest + 1):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = sojourn("checkpoint", "ses_one", "--history").out.splitlines()
        assert max(map(cells, lines)) <= columns, columns
        heads[columns] = " ".join(lines[0].split())
    whole = "written by read items new closed check refused calls from cache price id"
    assert heads[widest] == whole
    assert heads[widest - 1] == whole.removesuffix(" id")
    assert heads[80] == "written by read items new closed from cache price"
    shorter = list(dict.fromkeys(head for columns, head in reversed(heads.items()) if columns >= 70))
    assert shorter == [
        whole,
        "written by read items new closed check refused calls from cache price",
        "written by read items new closed refused calls from cache price",
        "written by read items new closed calls from cache price",
        "written by read items new closed from cache price",
        "written by read items new closed price",
    ]
    monkeypatch.setenv("COLUMNS", "80")
    lines = sojourn("checkpoint", "ses_one", "--history").out.splitlines()
    assert [line.split()[-1] for line in lines[1:4]] == ["-", "$0.0124", "-"]
    for language in ("zh", "en"):
        assert max(map(cells, sojourn("cost", "ses_one", "--writers", "--set", f"language={language}").out.splitlines())) <= 80


def test_none_yet(sojourn: Command, home: Path) -> None:
    keep(home, SESSION)
    for arguments in (["checkpoint", "ses_one", "--history"], ["cost", "ses_one", "--writers"]):
        done = sojourn(*arguments)
        assert (done.code, done.out) == (0, "")
        assert done.err == "No checkpoint yet. This makes one: sojourn checkpoint --write ses_one\n"
    empty = {"session": "ses_one", "checkpoints": [], "failed": [], "price": 0.0, "units": 0.0}
    assert sojourn("checkpoint", "ses_one", "--history", "--json").row == empty


@pytest.mark.report(96)
def test_the_page_says_what_each_item_rests_on_and_who_wrote_it(sojourn: Command, home: Path) -> None:
    held = (
        *items("a", by="model", sources=(1, 12)),
        *items("b", by="extractive", sources=(3,)),
        *items("c", by="user", sources=()),
    )
    keep(home, SESSION, checkpoint("ckp_1", held, 12, refused=("line\nbroken",)))
    done = sojourn("checkpoint", "ses_one")
    lines = done.out.splitlines()
    assert lines[0] == "# Checkpoint"
    assert [line for line in lines if line.startswith("- [")] == [
        "- [kn-a] fact a (m1, m12; model)",
        "- [kn-b] fact b (m3; extraction)",
        "- [kn-c] fact c (you)",
    ]
    assert lines[-3:] == ["## refused", "", "- line broken"]
    for arguments in (["checkpoint", "ses_one", "--history"], ["cost", "ses_one", "--writers"]):
        table, spent = sojourn(*arguments).out.splitlines()[1:]
        assert (table.split()[1:3], spent) == (["model", "m1-m12"], "In the background, failed calls too: 0 units.")
    row = sojourn("checkpoint", "ses_one", "--json").row
    keys: list[Any] = [(one["id"], one["by"], one["sources"], one["status"], one["section"]) for one in row["items"]]
    assert keys[1:] == [("kn-b", "extractive", [3], "open", "knowledge"), ("kn-c", "user", [], "open", "knowledge")]
    assert (row["id"], row["run"]["id"], row["run"]["items"]) == ("ckp_1", "ckp_1", 3)
    assert "changed" not in row
