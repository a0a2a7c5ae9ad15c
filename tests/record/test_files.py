"""The store on disk: modes, versions, damage, a full disk, kill -9 (R-9, R-12)."""
# ruff: noqa: ASYNC240  (one test, one loop: nothing else waits; the step that fails is not known beforehand)

import asyncio
import contextlib
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from record.rows import Desk, at_desk, sit, user, window
from sojourn.base import ManualClock, SystemClock, UserMistake, WorkFailed
from sojourn.record import File, Lease, Session
from sojourn.record.schema import APPLICATION_ID, STEPS, migrate, open_database, version
from sojourn.record.sqlite import SqliteStore


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sojourn.db"


@contextlib.contextmanager
def umask(value: int) -> Iterator[None]:
    old = os.umask(value)
    try:
        yield
    finally:
        os.umask(old)


def opened(path: Path) -> SqliteStore:
    return asyncio.run(SqliteStore.open(path, clock=ManualClock()))


@pytest.mark.design("R-9", "T-9")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277])
def test_files_are_private_whatever_the_umask(path: Path, mask: int) -> None:
    async def main() -> None:
        with umask(mask):
            desk = await sit(path)
            await desk.put(user("m1"))
            sha = await desk.store.put_blob(b"secret")
            shelf = path.parent / "blobs" / sha[:2]
            assert {mode(folder) for folder in (path.parent, path.parent / "blobs", shelf)} <= {0o700, 0o700 & ~mask}
            assert mode(shelf / sha) in {0o600, 0o600 & ~mask}
            for side in ("", "-wal", "-shm"):
                assert mode(path.with_name(path.name + side)) == 0o600, side
            await desk.store.close()

    asyncio.run(main())


def test_a_file_that_was_open_to_others_is_closed_to_them_but_not_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "sojourn.db"
    path.touch()
    path.chmod(0o644)
    tmp_path.chmod(0o755)
    asyncio.run(opened(path).close())
    assert mode(path) == 0o600
    assert mode(tmp_path) == 0o755


@pytest.mark.design("R-9")
def test_what_was_written_is_there_after_a_restart_and_the_log_is_empty(path: Path) -> None:
    async def main() -> None:
        desk = await sit(path)
        await desk.put(user("m1"), window("w1"))
        sha = await desk.store.put_blob(b"blob")
        assert (await desk.store.space()).wal > 0
        await desk.store.close()
        assert not path.with_name(path.name + "-wal").exists()
        again = await SqliteStore.open(path, clock=ManualClock())
        assert [message.id for message in await again.messages("ses_1")] == ["m1"]
        assert await again.blob(sha) == b"blob"
        assert (await again.space()).database == path.stat().st_size
        await again.close()

    asyncio.run(main())


@pytest.mark.design("R-9")
def test_every_commit_is_synced_to_a_log_that_stays_small(path: Path) -> None:
    async def story(desk: Desk) -> None:
        db = desk.store._db
        assert db is not None
        settings = ("journal_mode", "synchronous", "foreign_keys", "journal_size_limit")
        assert [db.pragma(name) for name in settings] == ["wal", 2, 1, 16 * 1024 * 1024]

    at_desk(path, story)


@pytest.mark.report(128)
def test_the_log_is_written_back_as_it_grows(path: Path) -> None:
    async def story(desk: Desk) -> None:
        for at in range(400):
            await desk.put(user(f"m{at}", "x" * 20_000))
        assert (await desk.store.space()).wal < 8_500_000

    at_desk(path, story)


# --- versions -----------------------------------------------------------------------------------------------------------


def picture(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


@pytest.mark.design("R-9")
@pytest.mark.parametrize("in_log", [False, True])
def test_a_newer_database_is_refused_and_not_touched(path: Path, in_log: bool) -> None:
    asyncio.run(opened(path).close())
    with contextlib.closing(apsw.Connection(str(path))) as db:
        if in_log:  # another process migrated it and was killed: only the log knows
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        db.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    before = picture(path.parent)
    assert ("sojourn.db-wal" in before) == in_log
    with pytest.raises(UserMistake, match="newer Sojourn") as caught:
        opened(path)
    assert str(path) in str(caught.value)
    after = picture(path.parent)
    after.pop("sojourn.db-shm", None)
    before.pop("sojourn.db-shm", None)
    assert after == before


@pytest.mark.parametrize(
    "content", [b"not a database, but longer than a header " * 9, b"x", b"SQLite format 4\x00" + b"\x00" * 100]
)
def test_a_file_of_another_kind_is_refused_and_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(UserMistake, match="not a Sojourn record"):
        opened(path)
    assert picture(tmp_path) == {"notes.txt": content}


def test_another_programs_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA application_id = 77; CREATE TABLE t (x)")
    before = picture(tmp_path)
    with pytest.raises(UserMistake, match="another program"):
        opened(path)
    assert picture(tmp_path) == before


def test_a_plain_database_with_tables_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute("CREATE TABLE sessions (x)")
    before = picture(tmp_path)
    with pytest.raises(UserMistake, match="another program"):
        opened(path)
    assert picture(tmp_path) == before


def test_a_damaged_database_is_said_to_be(path: Path) -> None:
    async def main() -> None:
        desk = await sit(path)
        await desk.put(*(user(f"m{at}", "x" * 500) for at in range(200)))
        await desk.store.close()
        data = bytearray(path.read_bytes())
        data[4096:] = random.Random(1).randbytes(len(data) - 4096)
        path.write_bytes(data)
        with pytest.raises(WorkFailed, match="damaged") as caught:
            store = await SqliteStore.open(path, clock=ManualClock())
            try:
                await store.messages("ses_1")
            finally:
                await store.close()
        assert str(path) in str(caught.value)
        path.write_bytes(bytes(data[:60]))
        with pytest.raises(WorkFailed, match="cut short"):
            await SqliteStore.open(path, clock=ManualClock())

    asyncio.run(main())


def test_check_finds_damage_and_what_dangles(path: Path) -> None:
    async def main() -> None:
        desk = await sit(path)
        sha = await desk.store.put_blob(b"data")
        await desk.put(user("m1"), user("m2"), window("w1", prefix_id="gone"))
        with contextlib.closing(apsw.Connection(str(path))) as db:
            db.execute("INSERT INTO blob_uses VALUES (1, ?)", (sha,))
            db.execute("INSERT INTO parts VALUES (99, 0, NULL, x'7b7d')")
            db.execute("DELETE FROM parts WHERE message = 2; INSERT INTO parts VALUES (2, 1, NULL, x'7b7d')")
            db.execute("UPDATE sessions SET head = 5")
        assert len(await desk.store.check()) == 4
        (path.parent / "blobs" / sha[:2] / sha).unlink()
        findings = " / ".join(await desk.store.check())
        for wanted in (
            f"blob {sha}",
            "prefix gone",
            "row of parts has no messages",
            "message m2 lacks",
            "head 5, but 2 messages",
        ):
            assert wanted in findings
        await desk.store.close()

    asyncio.run(main())


def test_check_finds_a_hole_in_the_seqs(path: Path) -> None:
    async def main() -> None:
        desk = await sit(path)
        await desk.talk(3)
        with contextlib.closing(apsw.Connection(str(path))) as db:
            db.execute("PRAGMA foreign_keys = ON; DELETE FROM messages WHERE seq = 2")
        assert list(await desk.store.check()) == ["session ses_1: head 3, but 2 messages up to 3"]
        await desk.store.close()

    asyncio.run(main())


@pytest.mark.design("R-8")
def test_a_blob_and_its_name_are_synced_before_it_is_acknowledged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real(handle)

    async def story(desk: Desk) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        await desk.store.put_blob(b"data")
        assert synced == ["folder", "folder", "file", "folder"]  # two new folders, what it holds, its name

    at_desk(path, story)


def test_unfinished_blobs_are_swept_when_old(path: Path) -> None:
    async def story(desk: Desk) -> None:
        sha = await desk.store.put_blob(b"data")
        left = path.parent / "blobs" / sha[:2] / ".put-left"
        left.write_bytes(b"half")
        now = desk.clock.now() * 1_000_000
        os.utime(left, ns=(now, now))
        desk.clock.advance(3_600_000)
        assert await desk.store.collect() == 4  # the whole blob has no row either; the half one is not old enough
        assert left.exists()
        desk.clock.advance(1)
        assert await desk.store.collect() == 4
        assert not left.exists()

    at_desk(path, story)


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WorkFailed, match=r"sojourn\.db"):
        opened(tmp_path / "file" / "sojourn.db")


@pytest.mark.design("R-9")
def test_migrations_run_once_in_order_and_each_as_a_whole(path: Path) -> None:
    asyncio.run(opened(path).close())
    steps = (*STEPS, "CREATE TABLE a (x)", "CREATE TABLE b (x)")
    with contextlib.closing(open_database(path)) as db:
        assert (version(db), db.pragma("application_id")) == (len(STEPS), APPLICATION_ID)
        with pytest.raises(apsw.SQLError):
            migrate(db, "x", (*steps, "CREATE TABLE c (x); CREATE TABLE a (x)"))
        assert version(db) == len(STEPS) + 2
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
        assert {"a", "b"} <= names
        assert "c" not in names
        migrate(db, "x", steps)
        assert version(db) == len(STEPS) + 2
        with pytest.raises(UserMistake, match="newer"):
            migrate(db, "x", STEPS)


# --- crashes ------------------------------------------------------------------------------------------------------------

_WRITER = """
import asyncio, sys
from pathlib import Path
from sojourn.base import SystemClock
from sojourn.record import *
from sojourn.record.sqlite import SqliteStore

async def main(path, run):
    store = await SqliteStore.open(Path(path), clock=SystemClock())
    await store.create(Session(id="ses_1"))
    lease = await store.acquire("ses_1", "elsewhere:1:x", ttl=1)
    while isinstance(lease, Held):
        lease = await store.acquire("ses_1", "elsewhere:1:x", ttl=1)
    at = 0
    while True:
        at += 1
        blob = await store.put_blob(f"{run} {at}".encode() * 50)
        name = f"m{run}_{at}"
        message = Message(name, "assistant", "model", (Text("word " * 100), File(blob, "text/plain", 9)))
        answer = await store.commit("ses_1", Fence(lease.epoch), [AddMessage(message), OpenCall(Call("c" + name, "main", at))])
        print(name, *answer.seqs, flush=True)
        await store.commit("ses_1", Fence(lease.epoch), [SettlePart(name, 2, ToolCall("t", "grep", state="completed"))])
        print("settled", name, flush=True)

# Imported once, then forked for each life: starting Python sixty times would take most of the test's time.
import os
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        asyncio.run(main(*line.split()))
    print("born", child, flush=True)
    os.waitpid(child, 0)
    print("dead", child, flush=True)
"""


class Lives:
    """Processes that write to a store until they are killed."""

    def __init__(self) -> None:
        self._nursery = subprocess.Popen(
            [sys.executable, "-c", _WRITER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def live(self, path: Path, run: int, seconds: float, *, from_first_word: bool = True) -> list[list[str]]:
        """Starts one, kills it after so long, and answers all that it said."""
        assert self._nursery.stdin is not None
        assert self._nursery.stdout is not None
        self._nursery.stdin.write(f"{path} {run}\n")
        self._nursery.stdin.flush()
        # The child may have said more than once before its parent has told its number.
        said: list[list[str]] = []
        while not any(words[0] == "born" for words in said) or (from_first_word and len(said) < 2):
            said.append(self._nursery.stdout.readline().split())
        pid = int(next(words[1] for words in said if words[0] == "born"))
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        while said[-1][0] != "dead":
            said.append(self._nursery.stdout.readline().split())
        return [words for words in said if words[0] not in {"born", "dead"}]

    def close(self) -> None:
        os.killpg(self._nursery.pid, signal.SIGKILL)  # a child too that a failed test has left behind
        self._nursery.communicate()


@pytest.fixture
def lives() -> Iterator[Lives]:
    lives = Lives()
    yield lives
    lives.close()


@pytest.mark.design("R-12", "T-4")
def test_nothing_acknowledged_is_lost_to_kill_9(path: Path, lives: Lives) -> None:
    promised: dict[str, int] = {}
    settled: set[str] = set()
    chance = random.Random(7)

    async def look() -> None:
        store = await SqliteStore.open(path, clock=SystemClock())
        assert list(await store.check()) == []
        stored = {message.id: message for message in await store.messages("ses_1")}
        assert {name: stored[name].seq for name in promised} == promised
        assert all(len(stored[name].parts) == 3 for name in settled)
        assert sorted(message.seq for message in stored.values()) == list(range(1, len(stored) + 1))
        assert len(await store.calls("ses_1")) == len(stored)  # both rows of a commit, or neither
        for message in stored.values():
            file = message.parts[1]
            assert isinstance(file, File)
            assert await store.blob(file.blob) is not None
        await store.close()

    for run in range(60):
        for words in lives.live(path, run, chance.random() * 0.03):
            if words[0] == "settled":
                settled.add(words[1])
            else:
                promised[words[0]] = int(words[1])
        asyncio.run(look())
    assert len(promised) >= 60
    assert settled


def test_killed_while_the_store_is_made_it_opens(tmp_path: Path, lives: Lives) -> None:
    chance = random.Random(3)
    for run in range(20):
        path = tmp_path / str(run) / "sojourn.db"
        lives.live(path, 0, chance.random() * 0.02, from_first_word=False)
        store = opened(path)
        assert list(asyncio.run(store.check())) == []
        asyncio.run(store.close())


# --- a full disk --------------------------------------------------------------------------------------------------------


@pytest.mark.design("R-12")
def test_a_full_disk_refuses_the_commit_keeps_the_rest_and_goes_on_when_there_is_space(path: Path) -> None:
    async def main() -> None:
        desk = await sit(path)
        await desk.put(user("m1", "before"))
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, limit[1]))
        try:
            with pytest.raises(WorkFailed, match=r"sojourn\.db") as caught:
                for at in range(20):
                    await desk.put(user(f"big{at}", "x" * 300_000))
            assert caught.value.next_step
            assert len(await desk.seqs()) < 21  # reading goes on
            with pytest.raises(WorkFailed, match=r"sojourn\.db"):
                await desk.store.put_blob(b"x" * 3_000_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        kept = await desk.store.messages(desk.sid)
        assert [message.id for message in kept] == ["m1", *(f"big{at}" for at in range(len(kept) - 1))]
        await desk.put(user("after"), head=len(kept))
        assert list(await desk.store.check()) == []
        assert [file.name for file in (path.parent / "blobs").rglob(".put-*")] == []
        await desk.store.close()
        again = await sit(path, "ses_2")
        assert len(await again.store.messages("ses_1")) == len(kept) + 1
        await again.store.close()

    asyncio.run(main())


@pytest.mark.skipif(os.geteuid() != 0 or not sys.platform.startswith("linux"), reason="needs to mount a small disk")
@pytest.mark.design("R-12")
def test_a_really_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], check=False, capture_output=True
    ).returncode:
        pytest.skip("mounting is not allowed here")
    try:

        async def main() -> None:
            desk = await sit(disk / "data" / "sojourn.db")
            await desk.put(user("m1"))
            (disk / "filler").write_bytes(b"")
            with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
                while filler.write(b"x" * 4096):
                    pass
            with pytest.raises(WorkFailed, match="no space left to write"):
                for at in range(99):
                    await desk.put(user(f"big{at}", "x" * 30_000))
            count = len(await desk.seqs())
            (disk / "filler").unlink()
            await desk.put(user("after"), head=count)
            assert list(await desk.store.check()) == []
            await desk.store.close()

        asyncio.run(main())
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# --- size ---------------------------------------------------------------------------------------------------------------


@pytest.mark.design("R-10")
@pytest.mark.report(68, 69)
def test_listing_reads_no_messages_however_large_they_are(path: Path) -> None:
    async def main() -> None:
        desk = await sit(path, title="the book")
        await desk.put(user("m1", "a whole book " * 30_000))  # report 69: a first message of 400 KB
        for at in range(19):
            await desk.put(user(f"n{at}", "x" * (12_000_000 if at == 9 else 10)))
        seen: list[str] = []
        desk.store._db.exec_trace = lambda _, sql, __: seen.append(sql) or True  # type: ignore[union-attr, func-returns-value]
        assert [session.title for session in await desk.store.sessions()] == ["the book"]
        assert await desk.store.newest_window(desk.sid) is None
        assert seen
        assert not any("messages" in sql or "parts" in sql for sql in seen)
        desk.store._db.exec_trace = None  # type: ignore[union-attr]
        await desk.store.close()

    asyncio.run(main())


@pytest.mark.design("R-10")
def test_every_read_of_the_view_uses_an_index(path: Path) -> None:
    async def main() -> None:
        desk = await sit(path)
        await desk.put(user("m1"), window("w1"))
        db = desk.store._db
        assert db is not None
        seen: list[tuple[str, tuple[object, ...] | None]] = []
        db.exec_trace = lambda _, sql, bindings: seen.append((sql, bindings)) or True  # type: ignore[func-returns-value]
        await desk.store.newest_window(desk.sid)
        await desk.store.newest_checkpoint(desk.sid)
        await desk.store.messages(desk.sid, after=1)
        await desk.store.messages(desk.sid, after=1, limit=5, newest_first=True)
        await desk.store.turns(desk.sid, upto=1, limit=5)
        await desk.store.newest_call(desk.sid, window_id="w1")
        await desk.store.inbox(desk.sid)
        await desk.store.pins(desk.sid)
        await desk.store.tasks(desk.sid)
        await desk.store.snapshots(desk.sid)
        await desk.store.slot(desk.sid)
        await desk.put(user("m2"), head=1)
        db.exec_trace = None
        plans = [
            row[3]
            for sql, bindings in seen
            if sql.startswith(("SELECT", "UPDATE", "DELETE"))
            for row in db.execute("EXPLAIN QUERY PLAN " + sql, bindings)
        ]
        assert len(plans) > 10
        scans = [plan for plan in plans if plan.startswith("SCAN") and plan not in {"SCAN m", "SCAN CONSTANT ROW"}]
        assert scans == []
        assert any("tasks_session" in plan for plan in plans)  # not by row number through every session's tasks
        await desk.store.close()

    asyncio.run(main())


def test_the_event_loop_goes_on_while_the_store_works(path: Path) -> None:
    async def main() -> None:
        desk = await sit(path)
        blocker = apsw.Connection(str(path))
        blocker.execute("BEGIN IMMEDIATE")  # another process in the middle of a write
        writing = asyncio.create_task(desk.put(user("m1")))
        for _ in range(20):
            await asyncio.sleep(0.002)
        assert not writing.done()
        blocker.execute("COMMIT")
        assert (await writing).head == 1
        blocker.close()
        await desk.store.close()

    asyncio.run(main())


def test_a_fresh_store_lists_nothing(path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(path, clock=ManualClock())
        assert list(await store.sessions()) == []
        assert list(await store.search("x")) == []
        assert list(await store.check()) == []
        assert await store.collect() == 0
        assert (await store.create(Session(id="ses_1"))).head == 0
        assert isinstance(await store.acquire("ses_1", "a:1:b"), Lease)
        await store.close()

    asyncio.run(main())
