"""What windows cost and spared: exact numbers, in dollars where prices are known, else in units (M-5, K-11, C-18)."""

from pathlib import Path

import pytest

from sojourn.base import Usage
from sojourn.record import AddUndo, Session, Undo
from surfaces.recorded import call, keep, read, said, window
from surfaces.running import Command

pytestmark = [pytest.mark.design("M-5", "K-11", "C-18"), pytest.mark.report(127)]

SESSION = Session(id="ses_one", title="the work", updated=2)


@pytest.fixture
def worked(home: Path) -> Path:
    """Two windows after the first; two writers, one of which failed; a file read before each window and again after it."""
    keep(
        home,
        SESSION,
        window(1, 0, kind="start"),
        said("go", 1),
        read("/a.py", 2, 300),
        read("/b.py", 3, 400),
        *call("c1", Usage(1_000, 0, 9_000, 100), window_id="win_1"),
        *call("w1", Usage(100, 9_000, 900, 200), "writer"),
        *call("w2", None, "writer", error="overloaded"),
        window(2, 3, digest=2, before=100_000, after=30_000),
        *call("c2", Usage(510, 1_000, 2_000, 100), window_id="win_2", limit=200_000),
        *call("c3", Usage(10, 30_000, 0, 100), window_id="win_2", limit=90_000),
        read("/a.py", 4, 310),
        read("/b.py", 5, 410),
        read("/a.py", 6, 320),
        read("/a.py", 7, 330),
        window(3, 7, digest=7, before=90_000, after=20_000),
        *call("c4", Usage(0, 20_000, 1_000, 100), window_id="win_3", limit=200_000),
        read("/a.py", 8, 40),
        read("/b.py", 9, 50, kind="edit"),
        *call("k1", Usage(50, 0, 0, 10), "compaction"),
    )
    return home


def test_the_account_in_dollars(sojourn: Command, worked: Path) -> None:
    held = sojourn("cost", "ses_one", "--json").row["effect"]
    # Fresh 150 at 3, cached 9,000 at 0.3, written 900 at 3.75, output 210 at 15 dollars a million.
    writers = (150 * 3 + 9_000 * 0.3 + 900 * 3.75 + 210 * 15) / 1e6
    assert (held["writers"]["count"], held["writers"]["tokens"]) == (3, 10_050)
    assert held["writers"]["price"] == pytest.approx(writers)
    assert held["writers"]["units"] == pytest.approx(150 + 900 + 900 * 1.25 + 210 * 5)
    main = (1_520 * 3 + 51_000 * 0.3 + 12_000 * 3.75 + 400 * 15) / 1e6
    assert held["writers_share"] == pytest.approx(writers / (writers + main))
    openings = (510 * 3 + 3_000 * 3.75) / 1e6
    assert (held["openings"]["count"], held["openings"]["tokens"]) == (2, 3_510)
    assert held["openings"]["price"] == pytest.approx(openings)
    # In window 2 m4 reads /a.py, which is out of view (310); /b.py of m3 stands in the live tail; m6 and m7 have /a.py in
    # view; in window 3 m8 has not (40). m9 changes a file, it does not read it.
    assert (held["read_again"]["count"], held["read_again"]["tokens"]) == (2, 350)
    assert held["read_again"]["price"] == pytest.approx(350 * 3.75 / 1e6)
    # c2 and c3 carried 70,000 less each, c4 140,000.
    assert (held["spared"]["count"], held["spared"]["tokens"]) == (3, 280_000)
    assert held["spared"]["price"] == pytest.approx(280_000 * 0.3 / 1e6)
    assert held["too_large"] == 1, "c3: 30,010 and 70,000 more in a window of 90,000"
    spent = writers + openings + 350 * 3.75 / 1e6
    assert held["net"]["price"] == pytest.approx(280_000 * 0.3 / 1e6 - spent)
    assert held["net"]["units"] == pytest.approx(28_000 - (150 + 900 + 1_125 + 1_050) - (510 + 3_750) - 350 * 1.25)


def test_the_account_for_people(sojourn: Command, worked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    lines = sojourn("cost", "ses_one").out.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("What windows cost"))
    assert lines[at + 1 :] == [
        "  writers     3 calls, 10,050 tokens of input, $0.0097: 12.0% of the session",
        "  openings    2 windows, 3,510 tokens not read from the cache in their first requests, $0.0128",
        "  read again  2 results of files read before, 350 tokens, $0.0013",
        "  spared      3 requests carried 280,000 tokens less, $0.0840 at least",
        "  net         $0.0602 saved",
        "  Without windows 1 of these requests would not have fitted at all.",
    ]
    monkeypatch.setenv("COLUMNS", "60")
    narrow = sojourn("cost", "ses_one").out
    assert (
        "  openings    2 windows, 3,510 tokens not read from the\n              cache in their first requests, $0.0128\n"
        in narrow
    )
    assert narrow.split("What windows", 1)[1].splitlines()[1].startswith("  writers     3 calls")


def test_units_where_a_price_is_unknown(sojourn: Command, home: Path) -> None:
    keep(
        home,
        SESSION,
        window(1, 0, kind="start"),
        *call("w1", Usage(fresh=100, cached=1_000, output=10), "writer", model="no-such"),
        window(2, 0, before=1_000, after=400),
        *call("c1", Usage(fresh=900, cached=0, output=10), window_id="win_2", model="no-such"),
    )
    held = sojourn("cost", "last", "--json").row["effect"]
    assert {held[part]["price"] for part in ("writers", "openings", "spared", "net")} == {None}
    assert held["writers"]["units"] == pytest.approx(100 + 100 + 50)
    assert held["writers_share"] == pytest.approx(250 / (250 + 950))
    assert (held["openings"]["tokens"], held["openings"]["units"], held["spared"]["units"]) == (900, 900, 60)
    assert held["net"]["units"] == pytest.approx(60 - 900 - 250)
    assert held["read_again"] == {"count": 0, "tokens": 0, "price": 0.0, "units": 0.0}
    shown = sojourn("cost", "last").out
    assert ["all", "2", "1,000", "1,000", "?", "20", "50.0%", "?"] in [line.split() for line in shown.splitlines()]
    assert "1 call, 1,100 tokens of input, 250 units: 20.8% of the session" in shown
    assert shown.endswith("  net         1,090 units spent more than spared\n")


def test_nothing_is_said_where_no_window_opened_and_nobody_wrote(sojourn: Command, home: Path) -> None:
    keep(home, SESSION, window(1, 0, kind="start"), *call("c1", Usage(10, 0, 0, 1), window_id="win_1"))
    assert sojourn("cost", "last", "--json").row["effect"] is None
    assert "What windows cost" not in sojourn("cost", "last").out


def test_a_window_that_was_taken_back_spares_its_own_requests_only(sojourn: Command, home: Path) -> None:
    keep(
        home,
        SESSION,
        window(1, 0, kind="start"),
        window(2, 0, before=1_000, after=400),
        *call("c1", Usage(1, 1, 0, 1), window_id="win_2"),
        AddUndo(Undo(id="undo_1", kind="window", window_id="win_2")),
        window(3, 0, before=1_000, after=900),
        *call("c2", Usage(1, 1, 0, 1), window_id="win_3"),
        *call("c3", None, window_id="win_3"),
        window(4, 0, before=700, after=800),
        *call("c4", Usage(1, 1, 0, 1), window_id="win_4"),
        window(5, 0, before=700, after=680),
        window(6, 0, before=700, after=699),
        *call("c6", Usage(1, 1, 0, 1), window_id="win_6"),
    )
    held = sojourn("cost", "last", "--json").row["effect"]
    assert (held["spared"]["count"], held["spared"]["tokens"]) == (4, 600 + 100 + 100 + 121)
    assert held["openings"]["count"] == 4


def test_a_failed_first_request_is_no_opening(sojourn: Command, home: Path) -> None:
    keep(
        home,
        SESSION,
        window(1, 0, kind="start"),
        window(2, 0, before=1_000, after=400),
        *call("c1", None, window_id="win_2", error="overloaded"),
        *call("c2", Usage(7, 0, 5, 1), window_id="win_2"),
        *call("c3", Usage(100, 0, 0, 1), window_id="win_2"),
    )
    held = sojourn("cost", "last", "--json").row["effect"]
    assert (held["openings"]["count"], held["openings"]["tokens"]) == (1, 12)


def test_writers_without_a_window_spared_nothing(sojourn: Command, home: Path) -> None:
    keep(
        home,
        SESSION,
        window(1, 0, kind="start"),
        *call("c1", Usage(1_000, 0, 0, 0), window_id="win_1", model="no-such"),
        *call("w1", Usage(1_000, 0, 0, 0), "writer"),
    )
    held = sojourn("cost", "last", "--json").row["effect"]
    nothing = {"count": 0, "tokens": 0, "price": 0.0, "units": 0.0}
    assert held["openings"] == held["read_again"] == held["spared"] == nothing
    assert (held["net"]["price"], held["net"]["units"]) == (pytest.approx(-0.003), -1_000)
    assert held["writers_share"] == 0.5, "the price of the whole is unknown: by units"


def test_a_provider_that_reports_no_writing_charges_a_fresh_token_for_what_is_read_again(sojourn: Command, home: Path) -> None:
    keep(
        home,
        SESSION,
        window(1, 0, kind="start"),
        read("/a.py", 1, 1_000),
        window(2, 1, digest=1, before=10, after=9),
        read("/a.py", 2, 1_000),
        *call("c1", Usage(1, 1, None, 1), window_id="win_2"),
    )
    held = sojourn("cost", "last", "--json").row["effect"]["read_again"]
    assert (held["tokens"], held["price"], held["units"]) == (1_000, pytest.approx(0.003), 1_000)
