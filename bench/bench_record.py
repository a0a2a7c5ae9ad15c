"""The record: what an append, an opening and a search cost, and that they do not grow with the session (R-10, T-7)."""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench._row import Row
from sojourn.base import SystemClock
from sojourn.record import AddMessage, AddWindow, Fence, Lease, Message, Session, Text, Window
from sojourn.record.sqlite import SqliteStore

_SMALL, _LARGE = 1_000, 100_000
_TEXT = (
    "the window opens when the level passes its trigger and a checkpoint is ready so read_file and configLoader run again over"
    " src/sojourn/record/store.py while the writer keeps decisions errors files and next steps 水位线 检查点 写手 重建 上下文"
)
_WORDS = tuple(_TEXT.split())


def run(quick: bool) -> list[Row]:
    """The figures; ``quick`` with a tenth of the messages."""
    return asyncio.run(_run(10 if quick else 1))


async def _run(part: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        rows = await _appends(Path(folder) / "append", 2_000 // part)
        rows += await _openings(Path(folder) / "open", _LARGE // part)
        rows += await _searches(Path(folder) / "search", 1_000_000 // part)
    return rows


async def _appends(folder: Path, count: int) -> list[Row]:
    clock: dict[str, tuple[float, float]] = {}
    read = 0.0
    for name, path in (("memory", None), ("file", folder / "sojourn.db")):
        store, lease = await _session(path)
        changes = [[_message(f"{name}{at}", at)] for at in range(count)]
        wall, cpu = time.perf_counter(), time.process_time()
        for change in changes:
            await store.commit("ses_1", Fence(lease.epoch), change)
        clock[name] = ((time.perf_counter() - wall) / count * 1e6, (time.process_time() - cpu) / count * 1e6)
        if path is not None:
            read = await _fastest(lambda store=store: store.messages("ses_1", limit=1_000))  # type: ignore[misc]
        await store.close()
    note = "one message of 700 characters, its own commit"
    return [
        Row("append, in memory", clock["memory"][0], "µs", note),
        Row("append, on disk, durable", clock["file"][0], "µs", note),
        Row("append, on disk: times in memory", clock["file"][0] / clock["memory"][0], "x", "the price of being durable"),
        Row("append, on disk: processor", clock["file"][1], "µs", "sync calls and the hop to the store's thread included"),
        Row(f"read {min(count, 1_000):,} messages", read * 1e3, "ms", "from disk to values"),
    ]


async def _openings(folder: Path, large: int) -> list[Row]:
    seconds: dict[int, float] = {}
    for count in (_SMALL, large):
        path = folder / str(count) / "sojourn.db"
        store, lease = await _session(path)
        for start in range(0, count, 500):
            await store.commit("ses_1", Fence(lease.epoch), [_message(f"m{at}", at) for at in range(start, start + 500)])
            window = Window(f"w{start}", 0, "rebuild", start + 300, start + 300, start + 500)
            await store.commit("ses_1", Fence(lease.epoch), [AddWindow(window)])
        await store.close()
        seconds[count] = await _fastest(lambda path=path: _open(path))  # type: ignore[misc]
    ratio = seconds[large] / seconds[_SMALL]
    return [
        Row(f"open a session of {_SMALL:,} messages", seconds[_SMALL] * 1e3, "ms", "open, newest window, its 200 messages"),
        Row(f"open a session of {large:,} messages", seconds[large] * 1e3, "ms", "the same"),
        Row(f"open: {large:,} messages against {_SMALL:,}", ratio, "x", "near 1: flat in the age of the session (R-10)"),
    ]


async def _open(path: Path) -> None:
    store = await SqliteStore.open(path, clock=SystemClock())
    window = await store.newest_window("ses_1")
    assert window is not None
    assert len(await store.messages("ses_1", after=window.digest_seq)) == 200
    await store.close()


async def _searches(folder: Path, count: int) -> list[Row]:
    store, lease = await _session(folder / "sojourn.db")
    start = time.perf_counter()
    for first in range(0, count, 1_000):
        await store.commit("ses_1", Fence(lease.epoch), [_message(f"m{at}", at) for at in range(first, first + 1_000)])
    built = time.perf_counter() - start
    rows = [Row(f"store and index {count:,} messages", built, "s", f"{count / built:,.0f} messages a second, 1,000 a commit")]
    for query in ("水位", "read_file trigger", f"needle{count // 2}"):
        seconds = await _fastest(lambda query=query: store.search(query, session_id="ses_1"))  # type: ignore[misc]
        rows.append(
            Row(f"search {count:,} messages: {query}", seconds * 1e3, "ms", f"{len(await store.search(query))} hits shown")
        )
    await store.close()
    return rows


async def _session(path: Path | None) -> tuple[SqliteStore, Lease]:
    store = await SqliteStore.open(path, clock=SystemClock())
    await store.create(Session(id="ses_1", project_id="p"))
    lease = await store.acquire("ses_1", "bench:1:x", ttl=3_600_000)
    assert isinstance(lease, Lease)
    return store, lease


def _message(name: str, at: int) -> AddMessage:
    words = random.Random(at).choices(_WORDS, k=110)
    return AddMessage(Message(f"msg_{name}", "user", "user", (Text(f"needle{at} {' '.join(words)}"[:700]),)))


async def _fastest(work: Callable[[], Awaitable[object]], times: int = 7) -> float:
    """Seconds: the median of a few runs after one that warms up."""
    await work()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        await work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
