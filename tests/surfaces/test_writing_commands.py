"""``checkpoint --write`` and ``compact``: work between turns, with a model or without, told with its cost (K-11, W-14)."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from sojourn.base import Usage
from sojourn.checkpoint import ExtractiveWriter, Writer, WriterFailed, WriterInput, Written
from sojourn.config import Settings
from sojourn.engine import Engine
from sojourn.record import Fence, Lease, Store
from sojourn.wire import Traits
from surfaces.recorded import call, items, with_store
from surfaces.running import LONG, Command, put, talk

pytestmark = [pytest.mark.design("K-11", "W-14", "C-13")]


@pytest.fixture
def long_session(sojourn: Command, tmp_path: Path) -> str:
    """A session that fills a window of 16K."""
    found = sojourn("import", put(tmp_path / "long.jsonl", talk(20, "long", LONG)), "--json").row["sessions"]
    return str(found[0]["session_id"])


class Upkeep(ModuleType):
    """Stands for ``sojourn.agent.upkeep``: opens the session with this writer, and notes what it was asked for."""

    def __init__(self, writer: Writer, why: str = "") -> None:
        super().__init__("sojourn.agent.upkeep")
        self.writer = writer
        self.why = why
        self.settings = Settings()
        self.documents: Path | None = None
        self.limit = 0

    @asynccontextmanager
    async def open_for_upkeep(
        self, store: Store, session_id: str, settings: Settings, *, documents: Path, environ: Any, on_event: Any = None
    ) -> AsyncIterator[Any]:
        self.settings, self.documents = settings, documents
        engine = await Engine.open(
            store=store,
            session_id=session_id,
            traits=Traits(name="model-x", limit=16_000),
            settings=settings,
            writer=self.writer,
            documents=documents,
            on_event=on_event,
        )
        async with engine:
            yield SimpleNamespace(engine=engine, why_no_model=self.why)
            self.limit = engine.traits.limit


class Paid:
    """A writer whose two calls cost something; ``fails`` = it comes to nothing."""

    name = "model"
    forks = True

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.runs: list[WriterInput] = []

    async def write(self, run: WriterInput) -> Written | WriterFailed:
        self.runs.append(run)
        if self.fails:
            return WriterFailed("retryable", "empty answer")
        return Written(
            items("a", "b", "c", sources=(1,)),
            mode="fork",
            calls=("w1", "w2"),
            added=("kn-a", "kn-b", "kn-c"),
            checked=("kn-c",),
            refused=("+ nowhere: x",),
        )


def wired(monkeypatch: pytest.MonkeyPatch, writer: Any, why: str = "") -> Upkeep:
    upkeep = Upkeep(writer, why)
    monkeypatch.setitem(sys.modules, "sojourn.agent.upkeep", upkeep)
    return upkeep


def test_a_written_checkpoint_is_told_with_its_cost(
    sojourn: Command, long_session: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pay(store: Any) -> None:
        lease = await store.acquire(long_session, "test:0:0")
        assert isinstance(lease, Lease)
        rows = (*call("w1", Usage(100, 9_000, 900, 200), "writer"), *call("w2", Usage(1_000, 0, 0, 0), "writer"))
        await store.commit(long_session, Fence(lease.epoch), list(rows))
        await store.release(lease)

    with_store(home, pay)
    writer = Paid()
    upkeep = wired(monkeypatch, writer)
    done = sojourn("checkpoint", long_session, "--write", "--window", "24K", "--set", "compaction.policy=economy")
    assert (upkeep.limit, upkeep.settings.compaction.policy) == (24_000, "economy")
    assert upkeep.documents == home / "data" / "memory"
    covered = writer.runs[0].range[1]
    assert (done.code, done.out) == (
        0,
        f"Checkpoint up to m{covered}: 3 items (+3 -0); +1 by the extractive check; model/fork; "
        "calls 2, $0.0124, 81.8% of their input from the cache.\n",
    )
    assert done.err == "Refused by validation: 1 (--all and --json show them).\n"
    again = sojourn("checkpoint", long_session, "--write", "--json")
    assert (again.row["changed"], again.row["run"]["price"]) == (False, pytest.approx(0.012375))
    assert again.err.startswith("Nothing new")


def test_with_json(sojourn: Command, long_session: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wired(monkeypatch, Paid())
    row = sojourn("checkpoint", long_session, "--write", "--json").row
    assert (row["changed"], row["writer"], row["run"]["mode"], row["run"]["added"]) == (True, "model", "fork", 3)
    assert row["refused"] == ["+ nowhere: x"]


@pytest.mark.design("K-8", "K-10")
def test_without_a_model_that_is_said_and_items_are_extracted(
    sojourn: Command, long_session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wired(monkeypatch, ExtractiveWriter(), "no key for anthropic")
    done = sojourn("checkpoint", long_session, "--write")
    assert done.code == 0
    assert done.err == "No model writes here (no key for anthropic): items are extracted.\n"
    assert "; extraction.\n" in done.out
    assert "calls" not in done.out


@pytest.mark.design("K-8")
def test_a_failed_writer_changes_nothing(
    sojourn: Command, long_session: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wired(monkeypatch, Paid(fails=True))
    done = sojourn("checkpoint", long_session, "--write")
    assert (done.code, done.out) == (1, "")
    assert done.err == "sojourn: no checkpoint was written: empty answer\n  Everything stays as it was; try again.\n"
    assert sojourn("checkpoint", long_session, "--json").out == "null\n"


@pytest.mark.report(93)
def test_the_focus_goes_to_the_summary_and_nowhere_else(
    sojourn: Command, long_session: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Paid()
    wired(monkeypatch, writer)
    done = sojourn("compact", long_session, "write a table", "of gauges", "--json").row
    assert done["outcome"] == "compacted"
    assert done["level_after"] < done["level_before"]
    assert done["window"]["kind"] == "compaction"
    assert [run.focus for run in writer.runs] == ["write a table of gauges"]
    assert "write a table" not in sojourn("show", long_session, "--number", done["window"]["number"], "--json").out
    messages = sojourn("show", long_session, "--json").row["messages"]
    assert "write a table" not in str(messages)
    assert sojourn("search", "table", "--json").rows == []


def test_compact_is_told_as_a_rebuild_is(sojourn: Command, long_session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wired(monkeypatch, ExtractiveWriter(), "no key")
    done = sojourn("compact", long_session)
    assert done.code == 0
    assert done.out.startswith("Window 2 opened (compacted): ")
    assert " ".join(done.out.split()).endswith(" now stand in the record only.")
    why, see, back = done.err.splitlines()
    assert why.startswith("No model writes here (no key)")
    assert (see, back) == (f"See it: sojourn show {long_session} --number 2", f"Take it back: sojourn undo {long_session}")
    assert sojourn("undo", long_session).out.startswith("Taken back: window 2.")


def test_nothing_to_compact(sojourn: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wired(monkeypatch, ExtractiveWriter())
    sojourn("import", put(tmp_path / "a.jsonl", talk(1)[:1]))
    done = sojourn("compact", "last")
    assert (done.code, done.out, done.err) == (
        0,
        "Nothing changed: a new window would not be smaller than the present one.\n",
        "",
    )
    assert sojourn("compact", "last", "--json").row["window"] is None


def test_with_the_real_upkeep_a_session_without_a_model_is_written_by_extraction(sojourn: Command, long_session: str) -> None:
    written = sojourn("checkpoint", long_session, "--write", "--window", "16K")
    assert (written.code, written.out.endswith("; extraction.\n")) == (0, True)
    assert written.err.startswith("No model writes here (")
    row = sojourn("compact", long_session, "--window", "16K", "--json").row
    assert (row["outcome"], row["window"]["kind"]) == ("compacted", "compaction")
    assert row["window"]["hard"] < 16_000, "the window that was named, not the one that is assumed"


@pytest.mark.design("W-3", "Y-1")
@pytest.mark.parametrize("command", ["rebuild", "compact"])
def test_a_window_by_hand_shows_what_is_known_durably(sojourn: Command, long_session: str, command: str) -> None:
    project = sojourn("show", long_session, "--json").row["session"]["project_id"]
    assert sojourn("memory", "add", "--session", long_session, "Releases are cut on Tuesdays.").code == 0
    assert project
    assert sojourn(command, long_session, "--window", "16K").code == 0
    opening = sojourn("show", long_session, "--number", 2, "--json").row["opening"]
    assert "Releases are cut on Tuesdays." in "".join(block["text"] for block in opening)
