"""Totals by day and over several sessions (M-5)."""

from datetime import datetime
from pathlib import Path

import pytest

from sojourn.base import Usage
from sojourn.record import Session
from surfaces.recorded import call, keep
from surfaces.running import Command

pytestmark = pytest.mark.design("M-5", "S-1")


def at(day: str, clock: str) -> int:
    return int(datetime.fromisoformat(f"{day}T{clock}").timestamp() * 1_000)


@pytest.fixture
def days(home: Path) -> Path:
    keep(
        home,
        Session(id="ses_one", title="first", updated=2),
        *call("c1", Usage(100, 300, 0, 10), price=0.5, started=at("2026-03-01", "23:59:59")),
        *call("c2", Usage(50, 0, 0, 5), price=0.25, started=at("2026-03-02", "00:00:00")),
        *call("w1", Usage(10, 90, 0, 1), "writer", price=0.125, started=at("2026-03-02", "12:00:00")),
    )
    keep(
        home,
        Session(id="ses_child", parent_id="ses_one"),
        *call("a1", Usage(7, 0, 0, 1), price=1.0, started=at("2026-03-02", "13:00:00")),
    )
    keep(
        home,
        Session(id="ses_two", title="second", updated=1),
        *call("d1", Usage(1_000, 0, 0, 1), price=2.0, started=at("2026-03-01", "08:00:00")),
    )
    return home


def test_a_line_a_day(sojourn: Command, days: Path) -> None:
    head, *lines = [line.split() for line in sojourn("cost", "--days").out.splitlines()]
    assert head == ["day", "calls", "fresh", "cached", "written", "output", "from", "cache", "price"]
    assert lines == [
        ["2026-03-01", "2", "1,100", "300", "0", "11", "21.4%", "$2.5000"],
        ["2026-03-02", "3", "67", "90", "0", "7", "57.3%", "$1.3750"],
    ]
    own = sojourn("cost", "ses_one", "--days", "--json").row
    assert own["session"] == "ses_one"
    assert [(day["day"], day["calls"], day["price"]) for day in own["days"]] == [
        ("2026-03-01", 1, 0.5),
        ("2026-03-02", 3, 1.375),
    ]
    assert own["days"][0]["cached_share"] == 0.75
    every = sojourn("cost", "--days", "--json").row
    assert (every["session"], [day["calls"] for day in every["days"]]) == (None, [2, 3])


def test_totals_of_several_sessions(sojourn: Command, days: Path) -> None:
    row = sojourn("cost", "--json").row
    assert [(one["session"], one["calls"], one["price"]) for one in row["sessions"]] == [
        ("ses_two", 1, 2.0),
        ("ses_one", 4, 1.875),
    ]
    assert [(one["purpose"], one["calls"], one["fresh"]) for one in row["totals"]] == [
        ("main", 3, 1_150), ("writer", 1, 10), ("actor", 1, 7),
    ]  # fmt: skip
    assert (row["total"]["calls"], row["total"]["price"]) == (5, 3.875)
    lines = [line.split() for line in sojourn("cost").out.splitlines()]
    assert lines[-4:] == [
        ["main", "3", "1,150", "300", "0", "16", "20.7%", "$2.7500"],
        ["writer", "1", "10", "90", "0", "1", "90.0%", "$0.1250"],
        ["actor", "1", "7", "0", "0", "1", "0.0%", "$1.0000"],
        ["all", "5", "1,167", "390", "0", "18", "25.0%", "$3.8750"],
    ]


def test_nothing_yet(sojourn: Command, home: Path) -> None:
    assert sojourn("cost", "--days").err == "There are no sessions yet.\n"
    assert sojourn("cost", "--days", "--json").row == {"days": []}
    assert sojourn("cost", "--json").row == {"sessions": [], "totals": [], "total": None}
    keep(home, Session(id="ses_bare"))
    for arguments in (["--days"], ["last", "--days"]):
        done = sojourn("cost", *arguments)
        assert (done.code, done.out, done.err) == (0, "", "No model call is recorded yet.\n")


def test_mistakes(sojourn: Command, days: Path) -> None:
    for arguments in (["--writers"], ["ses_one", "--writers", "--days"]):
        done = sojourn("cost", *arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("sojourn: --writers is about one session")
