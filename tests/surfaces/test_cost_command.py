"""``sojourn cost``: the ledger of model calls; what a provider does not say is unknown, never nothing (M-5, A-7)."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sojourn.base import Finish, SystemClock, Usage
from sojourn.record import Call, CloseCall, Committed, Fence, Lease, OpenCall, Session
from sojourn.record.sqlite import SqliteStore
from surfaces.running import Command, in_own_process

pytestmark = pytest.mark.design("M-5", "S-1")

MODEL = "claude-sonnet-4-5"
"""Three dollars a million in, 3.75 written, 0.30 read, 15 out."""


def call(id: str, purpose: str = "main", model: str = MODEL) -> Call:
    return Call(id=id, purpose=purpose, upto_seq=1, model=model, started=1_000)  # type: ignore[arg-type]


def keep(home: Path, session: Session, *calls: tuple[Call, CloseCall | None]) -> None:
    async def main() -> None:
        (home / "data").mkdir(parents=True, mode=0o700, exist_ok=True)
        store = await SqliteStore.open(home / "data" / "sojourn.db", clock=SystemClock())
        await store.create(session)
        lease = await store.acquire(session.id, "test:0:0")
        assert isinstance(lease, Lease)
        for opened, closed in calls:
            done = await store.commit(session.id, Fence(lease.epoch), [OpenCall(opened), *([closed] if closed else [])])
            assert isinstance(done, Committed), done
        await store.release(lease)
        await store.close()

    asyncio.run(main())


@pytest.fixture
def ledger(home: Path) -> Path:
    """Four calls of the conversation, a writer's, a sub-agent's."""
    keep(
        home,
        Session(id="ses_one", title="the work", updated=2),
        (call("c1"), CloseCall("c1", usage=Usage(1_000, 0, 2_000, 100), price=0.5, verdict="first", finish=Finish.STOP)),
        (call("w1", "writer"), CloseCall("w1", usage=Usage(10, 3_000, 0, 50), price=0.25, verdict="hit")),
        (call("c2"), CloseCall("c2", usage=Usage(fresh=100_000, output=10_000), verdict="not_reported")),
        (call("c3"), CloseCall("c3", error="overloaded: try later")),
        (call("c4", model="no-such"), CloseCall("c4", usage=Usage(5, 4_000, 0, 7, 3), verdict="ttl_expired")),
    )
    keep(
        home,
        Session(id="ses_child", parent_id="ses_one", title="helper"),
        (call("a1"), CloseCall("a1", usage=Usage(70, 0, 0, 3), price=0.125, verdict="first")),
    )
    return home


@pytest.mark.report(129)
def test_every_call_that_was_made_is_there_and_none_besides(sojourn: Command, home: Path) -> None:
    """A session, idle time, one message: what was read in each step can be looked up, and looking is no call."""
    ran: list[dict[str, Any]] = []
    for words in (["look around"], ["--continue", "and once more"]):
        run = in_own_process(
            home, "run", "--trust", "--mode", "plan", "--model", "scripted", "--json", *words, stdin=subprocess.DEVNULL
        )
        assert run.code == 0
        ran += run.rows
        for _ in range(2):
            calls = [one for one in sojourn("cost", "last", "--json").row["calls"] if one["purpose"] == "main"]
            assert len(calls) == sum(one["type"] == "step" for one in ran) > 1
    reported = [
        (one["usage"]["fresh"], one["usage"]["cached"], one["usage"]["output"]) for one in ran if one["type"] == "usage"
    ]
    assert [(one["fresh"], one["cached"], one["output"]) for one in calls] == reported
    shown = [line.split() for line in sojourn("cost", "last").out.splitlines()]
    for number, (fresh, cached, output) in enumerate(reported, 1):
        line = [str(number), "main", f"{fresh:,}", f"{cached:,}", "?", f"{output:,}"]
        assert [one[:6] for one in shown].count(line) == 1


@pytest.mark.design("A-7")
@pytest.mark.report(57)
def test_each_call_with_its_numbers(sojourn: Command, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    done = sojourn("cost", "ses_one")
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["ses_one", "the", "work"]
    assert lines[2] == ["no.", "purpose", "fresh", "cached", "written", "output", "price", "cache", "model"]
    assert lines[3] == ["1", "main", "1,000", "0", "2,000", "100", "$0.5000", "first", MODEL]
    assert lines[4] == ["writer", "10", "3,000", "0", "50", "$0.2500", "hit", MODEL]
    # Reported nothing about the cache: a question mark, and the price of the table (0.30 + 0.15).
    assert lines[5] == ["2", "main", "100,000", "?", "?", "10,000", "$0.4500", "not_reported", MODEL]
    assert lines[6] == ["3", "main", "?", "?", "?", "?", "?", "error:", "overloaded:", "try", "later", MODEL]
    assert lines[7] == ["4", "main", "5", "4,000", "0", "7", "?", "ttl_expired", "no-such"]


@pytest.mark.report(57)
def test_the_sums_by_purpose_leave_out_what_is_unknown_and_say_so(sojourn: Command, ledger: Path) -> None:
    lines = sojourn("cost", "ses_one").out.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("purpose"))
    assert [line.split() for line in lines[at + 1 : at + 5]] == [
        ["main", "4", "101,005", "4,000", "2,000", "10,107", "57.1%", "$0.9500"],
        ["writer", "1", "10", "3,000", "0", "50", "99.7%", "$0.2500"],
        ["actor", "1", "70", "0", "0", "3", "0.0%", "$0.1250"],
        ["all", "6", "101,085", "7,000", "2,000", "10,160", "69.4%", "$1.3250"],
    ]
    at = lines.index(next(line for line in lines if line.startswith("What windows cost")))
    assert lines[at - 4 : at - 1] == [
        "Calls without reported usage (unanswered, failed, or the provider does not say), not in the sums: 1",
        "Calls whose provider does not report cache reads (?): 1",
        "Calls of unknown price (?), not in the sums: 2",
    ]


@pytest.mark.report(57)
def test_json(sojourn: Command, ledger: Path) -> None:
    row = sojourn("cost", "ses_one", "--json").row
    assert [(one["request"], one["purpose"]) for one in row["calls"]] == [
        (1, "main"), (None, "writer"), (2, "main"), (3, "main"), (4, "main"),
    ]  # fmt: skip
    silent, failed, last = row["calls"][2:]
    assert (silent["fresh"], silent["cached"], silent["written"], silent["reasoning"]) == (100_000, None, None, None)
    assert silent["price"] == pytest.approx(0.45)
    assert {failed[key] for key in ("fresh", "cached", "written", "output", "reasoning", "price")} == {None}
    assert failed["error"] == "overloaded: try later"
    assert (last["reasoning"], last["price"], last["verdict"]) == (3, None, "ttl_expired")
    assert [one["purpose"] for one in row["totals"]] == ["main", "writer", "actor"]
    total = row["total"]
    assert (total["calls"], total["cached"]) == (6, 7_000)
    assert (total["unknown_usage"], total["unknown_cached"], total["unknown_price"]) == (1, 1, 2)
    assert total["price"] == pytest.approx(1.325)
    assert row["session"] == "ses_one"


def test_a_line_a_session(sojourn: Command, ledger: Path) -> None:
    keep(ledger, Session(id="ses_bare", title="nothing yet"))
    done = sojourn("cost")
    head, *lines = [line.split() for line in done.out.splitlines()]
    assert head == ["id", "calls", "fresh", "cached", "written", "output", "price", "title"]
    assert sorted(lines[:2]) == [
        ["ses_bare", "0", "-", "-", "-", "-", "-", "nothing", "yet"],
        ["ses_one", "6", "101,085", "7,000", "2,000", "10,160", "$1.3250", "the", "work"],
    ]
    rows = {row["session"]: row for row in sojourn("cost", "--json").row["sessions"]}
    assert rows["ses_bare"]["price"] is rows["ses_bare"]["cached"] is None
    assert rows["ses_one"]["calls"] == 6
    assert sojourn("cost", "ses_bare").out.endswith("No model call is recorded in it.\n")
    row = sojourn("cost", "ses_bare", "--json").row
    assert (row["calls"], row["totals"], row["total"]["calls"]) == ([], [], 0)


@pytest.mark.report(57)
def test_a_provider_that_never_says_stays_unknown_in_the_sums(sojourn: Command, home: Path) -> None:
    usage = Usage(fresh=10, output=2)
    keep(home, Session(id="ses_x"), *((call(f"c{n}", model="no-such"), CloseCall(f"c{n}", usage=usage)) for n in range(3)))
    lines = sojourn("cost", "last").out.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("purpose"))
    assert lines[at + 1].split() == ["main", "3", "30", "?", "?", "6", "?", "?"]
    assert len(lines) == at + 5, "one purpose: its sum is the whole"
    assert lines[0].split() == ["ses_x", "no-such"]
    assert lines[2].split()[-1] == "cache", "one model stands in the title"
    assert sojourn("cost", "last", "--json").row["total"]["cached"] is None


def test_the_newest_twenty(sojourn: Command, home: Path) -> None:
    for number in range(22):
        keep(home, Session(id=f"ses_{number:02}", updated=number + 1, created=number + 1))
    assert [row["session"] for row in sojourn("cost", "--json").row["sessions"]] == [f"ses_{n:02}" for n in range(21, 1, -1)]


def test_no_sessions(sojourn: Command) -> None:
    done = sojourn("cost")
    assert (done.code, done.out, done.err) == (0, "", "There are no sessions yet.\n")
    assert sojourn("cost", "last").code == 2


def test_the_price_table_is_loaded_only_where_a_price_is_missing(sojourn: Command, home: Path) -> None:
    from surfaces.test_startup import command, modules_after

    keep(home, Session(id="ses_a"), (call("c"), CloseCall("c", usage=Usage(1), price=0.1)))
    assert "genai_prices" not in modules_after(command("cost", "ses_a"))
    keep(home, Session(id="ses_b"), (call("d"), CloseCall("d", usage=Usage(1))))
    assert "genai_prices" in modules_after(command("cost", "ses_b"))
