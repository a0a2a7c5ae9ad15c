"""From every released version to the newest one: nothing lost, nothing shown that was not there (R-9)."""

import asyncio
import contextlib
import hashlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from record.rows import OWNER, Desk, task
from sojourn.base import Finish, ManualClock, UserMistake
from sojourn.record import Lease, PinRow, PutSnapshot, Slot, Snapshot, TaskRow, Text, Trim, Undo
from sojourn.record.schema import APPLICATION_ID, STEPS, migrate, open_database, version
from sojourn.record.sqlite import SqliteStore

RELEASED = ("8c97a84a06f828e89fcef8131d5540562774a986c545b129e3be2ff57e4f8760",)
"""SHA-256 of each step that a release has."""

_ROWS_OF_VERSION_1 = """
INSERT INTO sessions VALUES
  (1, 'ses_1', 'p', NULL, 'codex', 'f1', 5, 9, 3, 2, 7, NULL, 0, 0, '{"generation":4}',
   NULL, NULL, NULL, NULL, NULL, NULL, '{"id":"ses_1","title":"old","source":{"format":"codex","foreign_id":"f1"}}'),
  (2, 'ses_f', 'p', NULL, NULL, NULL, 6, 6, 3, 0, 0, NULL, 0, 0, '{}', 1, 3, 1, 1, 1, 1,
   '{"id":"ses_f","fork_of":{"session_id":"ses_1","window_id":"w1","seq":3}}');
INSERT INTO messages VALUES
  (1, 1, 1, 'm1', 'user', NULL, 0, '{"id":"m1","role":"user","origin":"user"}'),
  (2, 1, 2, 'm2', 'model', 'stop', 1, '{"id":"m2","role":"assistant","origin":"model"}'),
  (3, 1, 3, 'm3', 'user', NULL, 0, '{"id":"m3","role":"user","origin":"user"}');
INSERT INTO parts VALUES (1, 0, NULL, '{"type":"text","text":"needle"}'), (2, 0, NULL, '{"type":"text","text":"yes"}'),
  (3, 0, NULL, '{"type":"text","text":"never mind"}');
INSERT INTO blob_uses VALUES (1, 'aa');
INSERT INTO windows VALUES (1, 1, 'w1', 1, 0, 0, NULL,
  '{"id":"w1","number":1,"kind":"start","covered_seq":0,"digest_seq":0,"opened_at_seq":0}');
INSERT INTO window_states VALUES (1, 1, '{"tiers":[10],"trims":[{"seq":1,"part":0,"head":2,"tail":3}]}');
INSERT INTO checkpoints VALUES (1, 1, 'k1', 1, 0,
  '{"id":"k1","covered_seq":1,"items":[],"items_sha":"","writer":"model","range":[0,1]}');
INSERT INTO undos VALUES (1, 1, 'u1', '{"id":"u1","kind":"turn","after_seq":2,"upto_seq":3}');
INSERT INTO calls VALUES (1, 1, 'c1', 'w1', 'main', 'x', 0, '{"id":"c1","purpose":"main","upto_seq":1}');
INSERT INTO pins VALUES (1, 1, 'p1', '{"id":"p1","text":"keep"}');
INSERT INTO inbox VALUES (1, 1, 'i1', 0, '{"id":"i1","text":"later"}');
INSERT INTO prefixes VALUES ('x', '{"id":"x"}');
INSERT INTO unindexed VALUES (1), (2), (3);
"""


def of_version_1(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """A file as version 1 left it; its rows by table."""
    path.parent.mkdir()
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA journal_mode = WAL")
        migrate(db, "x", STEPS[:1])
        db.execute(_as_blobs(_ROWS_OF_VERSION_1))
        assert (version(db), db.pragma("application_id")) == (1, APPLICATION_ID)
        return rows_of(db)


def _as_blobs(script: str) -> str:
    """Bodies are blobs in a strict table: JSON literals are written as such."""
    pieces = script.split("'")
    return "".join(
        (f"x'{piece.encode().hex()}'" if piece.startswith("{") else f"'{piece}'") if at % 2 else piece
        for at, piece in enumerate(pieces)
    )


def rows_of(db: apsw.Connection) -> dict[str, list[tuple[object, ...]]]:
    names = [
        name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'message_i%'")
    ]
    return {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in names}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sojourn.db"


@pytest.mark.design("R-9")
def test_a_released_step_never_changes() -> None:
    assert [hashlib.sha256(step.encode()).hexdigest() for step in STEPS[: len(RELEASED)]] == list(RELEASED)


@pytest.mark.design("R-9")
def test_every_row_of_version_1_is_there_afterwards(path: Path) -> None:
    before = of_version_1(path)
    assert all(before.values())  # no table is left untried
    with contextlib.closing(open_database(path)) as db:
        assert version(db) == len(STEPS) == 2
        after = rows_of(db)
    added = {name: after.pop(name) for name in set(after) - set(before)}
    assert added == {"tasks": [], "snapshots": []}
    before["sessions"] = [(*row, 0) for row in before["sessions"]]  # which tasks a fork has: none yet
    assert after == before


@pytest.mark.design("R-9", "Y-3")
def test_a_session_of_version_1_goes_on(path: Path) -> None:
    async def main() -> None:
        of_version_1(path)
        store = await SqliteStore.open(path, clock=ManualClock())
        session = await store.session("ses_1")
        assert session is not None
        assert (session.title, session.head, session.revision, session.plan_seq) == ("old", 3, 7, 0)
        for sid in ("ses_1", "ses_f"):
            one, two = await store.messages(sid)
            assert (one.parts, two.finish) == ((Text("needle"),), Finish.STOP)
            window = await store.newest_window(sid)
            assert window is not None
            assert (window.id, window.measured, window.files) == ("w1", {}, ())
            mark = await store.newest_checkpoint(sid)
            assert mark is not None
            assert (mark.id, mark.mode, mark.calls) == ("k1", "", ())
            assert [undo.id for undo in await store.undos(sid)] == ["u1"]
            assert await store.pins(sid) == [PinRow("p1", "keep")]
            assert list(await store.tasks(sid)) == list(await store.snapshots(sid)) == []
        assert (await store.newest_window("ses_1")).trims == (Trim(1, 0, 2, 3),)  # type: ignore[union-attr]
        assert [call.id for call in await store.calls("ses_1")] == ["c1"]
        assert [row.id for row in await store.inbox("ses_1")] == ["i1"]
        assert await store.slot("ses_1") == Slot(generation=4)
        assert [hit.seq for hit in await store.search("needle", session_id="ses_f")] == [1]
        lease = await store.acquire("ses_1", OWNER)
        assert isinstance(lease, Lease)
        desk = Desk(store, ManualClock(), lease)
        await desk.put(task("T1", "new", 3), PutSnapshot(Snapshot("s1", 3, "t", "/r", "after_turn")))
        assert await store.tasks("ses_1") == [TaskRow("T1", "new", at_seq=3)]  # made after the undo of its seq
        assert list(await store.tasks("ses_f")) == []  # the fork is older than the task
        assert len(await store.undos("ses_1")) == 1
        assert (await store.undos("ses_1"))[0] == Undo("u1", "turn", 2, 3)
        assert [finding.split()[0] for finding in await store.check()] == ["blob"]
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-9")
def test_version_1_refuses_what_version_2_has_written(path: Path) -> None:
    of_version_1(path)
    open_database(path).close()
    with contextlib.closing(apsw.Connection(str(path))) as db, pytest.raises(UserMistake, match="newer Sojourn"):
        migrate(db, str(path), STEPS[:1])


@pytest.mark.design("R-9")
def test_who_waits_for_a_migration_does_not_repeat_it(path: Path) -> None:
    of_version_1(path)
    with ThreadPoolExecutor(1) as pool, contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute("BEGIN IMMEDIATE")
        waiting = pool.submit(lambda: open_database(path).close())
        time.sleep(0.3)  # it has read the old version and waits for the lock
        db.execute(STEPS[1])
        db.execute("PRAGMA user_version = 2; COMMIT")
        waiting.result()
        assert version(db) == 2


_OPENER = """
import asyncio, sys
from pathlib import Path
from sojourn.base import SystemClock
from sojourn.record.sqlite import SqliteStore

async def main():
    store = await SqliteStore.open(Path(sys.argv[1]), clock=SystemClock())
    print(len(await store.messages("ses_f")), len(await store.tasks("ses_1")))
    await store.close()

print("ready", flush=True)
sys.stdin.readline()
asyncio.run(main())
"""


@pytest.mark.design("R-9")
def test_several_processes_migrate_at_once(path: Path) -> None:
    of_version_1(path)
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", _OPENER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "ready\n"
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    assert [opener.communicate() for opener in openers] == [("2 0\n", "")] * 4
    with contextlib.closing(open_database(path)) as db:
        assert version(db) == 2
