"""The engine as its host feels it: a step, an opening, a rebuild, a replay, a message taken in (S-8, W-13, R-10, T-7)."""

import asyncio
import gc
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

import msgspec

from bench._row import Row
from sojourn.base import Finish, Item, SystemClock
from sojourn.checkpoint import WriterInput, extract
from sojourn.config import CheckpointSettings, Settings
from sojourn.cycle import draw_lines
from sojourn.engine import Engine
from sojourn.lab.replay import replay
from sojourn.lab.sample import sample_session
from sojourn.meter import count_message, message_tokens, total
from sojourn.record import AddMessage, AddWindow, Block, Fence, Lease, Message, Session, Text, ToolCall, Touch, Window
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import Traits

_LIMIT = 200_000
_WINDOW = 300
"""Messages between one window and the next in the stored session."""
_OPENING = 40_000
"""Characters of a stored opening: about what a rebuild in a 200K window writes."""


def run(quick: bool) -> list[Row]:
    """Processor time (all threads), the best of several runs; steps as the mean of the best of several groups."""
    return asyncio.run(_run(quick))


async def _run(quick: bool) -> list[Row]:
    rows = await _steps(quick)
    with tempfile.TemporaryDirectory() as folder:
        rows += await _openings(Path(folder), quick)
        rows += await _observing(Path(folder), quick)
    rows += await _rebuilds(3 if quick else 7)
    rows += await _replays(1 if quick else 3)
    return rows


# --- what to send (a) ---------------------------------------------------------------------------------------------


async def _steps(quick: bool) -> list[Row]:
    """The first request of a window, and what one more message costs on top: with checkpoints and without."""
    rows: list[Row] = []
    small, large = 1_000, 5_000 if quick else 10_000
    for name, checkpoints in (("", True), (", checkpoints off", False)):
        spent = {size: await _one_more(size, quick, checkpoints=checkpoints) for size in (small, large)}
        for size, (first, one) in spent.items():
            written = "window opened, a checkpoint written where a tier is crossed" if checkpoints else "window opened"
            rows.append(Row(f"project: first request, {size:,} messages{name}", first * 1e3, "ms", written))
            rows.append(Row(f"project: one more step at {size:,}{name}", one * 1e6, "µs", "observe a message, project again"))
        ratio = spent[large][1] / spent[small][1]
        goal = "goal at most 1.5: 1 = the cost of the new part only"
        rows.append(Row(f"project: one more step, {large:,} over {small:,}{name}", ratio, "x", goal))
    return rows


async def _one_more(size: int, quick: bool, *, checkpoints: bool) -> tuple[float, float]:
    """Seconds of the first request and of one more step, the mean of the best of several groups of steps."""
    groups, steps = (3, 20) if quick else (7, 50)
    messages = history(size + groups * steps)
    async with await _in_memory(10_000_000, checkpoints=checkpoints) as engine:
        await engine.observe(*messages[:size])
        first = await _spent(engine.project)
        each = []
        for start in range(size, size + groups * steps, steps):
            each.append(await _spent(partial(_step, engine, messages[start : start + steps])))
        return first, min(each) / steps


async def _step(engine: Engine, messages: tuple[Message, ...]) -> None:
    for message in messages:
        await engine.observe(message)
        await engine.project()


# --- opening a stored session (b) ---------------------------------------------------------------------------------


async def _openings(folder: Path, quick: bool) -> list[Row]:
    small, large = 1_000, 10_000 if quick else 100_000
    paths = {size: folder / f"age-{size}" / "sojourn.db" for size in (small, large)}
    for size, path in paths.items():
        await stored_session(path, size)
    # In turn, so that a busy moment of the machine falls on both.
    every = [{size: await _spent(partial(_open, path)) for size, path in paths.items()} for _ in range(7 if quick else 15)]
    spent = {size: min(one[size] for one in every) for size in paths}
    ratio = spent[large] / spent[small]
    return [
        Row(f"open and project, {small:,} messages old", spent[small] * 1e3, "ms", f"newest window: {_WINDOW} messages"),
        Row(f"open and project, {large:,} messages old", spent[large] * 1e3, "ms", "the same newest window"),
        Row(f"open and project, {large:,} over {small:,}", ratio, "x", "goal at most 1.2: 1 = flat in the age (R-10)"),
    ]


async def stored_session(path: Path, size: int) -> None:
    """A session on disk: ``size`` messages, a window every 300, the newest of which has exactly 300 in view."""
    store = await SqliteStore.open(path, clock=SystemClock())
    await store.create(Session(id="ses_1", title="an old session"))
    lease = await store.acquire("ses_1", "bench:1:x", ttl=3_600_000)
    assert isinstance(lease, Lease)
    fence = Fence(lease.epoch)
    texts = [count_message(message) for message in history(_WINDOW)]
    lines = draw_lines(_LIMIT, output_cap=None, settings=Settings())
    block = Block("checkpoint", ("- the reader keeps its batch until the gauge answers\n" * 800)[:_OPENING], _OPENING // 4)
    head = 0
    while head < size:
        # The newest window begins 300 messages before the end, so the first stretch takes what is left over.
        upto = head + (_WINDOW if (size - head) % _WINDOW == 0 else (size - head) % _WINDOW)
        window = Window(
            f"win_{head}", 0, "rebuild", head, head, head, (block,), trigger=lines.trigger, hard=lines.hard, tiers=lines.tiers
        )
        await store.commit("ses_1", fence, [AddWindow(window)])
        batch = [
            AddMessage(Message(f"msg_{seq}", one.role, one.origin, one.parts, model=one.model, finish=one.finish))
            for seq, one in zip(range(head, upto), texts, strict=False)
        ]
        await store.commit("ses_1", fence, batch)
        head = upto
    await store.release(lease)
    await store.close()


async def _open(path: Path) -> None:
    store = await SqliteStore.open(path, clock=SystemClock())
    engine = await Engine.open(store=store, session_id="ses_1", traits=Traits(limit=_LIMIT), clock=SystemClock())
    projected = await engine.project()
    assert len(engine.in_view) == _WINDOW
    assert projected.request.messages
    await engine.close()
    await store.close()


# --- a new window (c) ---------------------------------------------------------------------------------------------


async def _rebuilds(times: int) -> list[Row]:
    """A rebuild of a window that holds 200K tokens, its checkpoint ready; the reading by rule (W-2a) timed apart."""
    messages = history(1_000)
    tokens = sum(total(message_tokens(message)) for message in messages)
    whole, reading, writing = [], [], []
    for _ in range(times):
        async with await _in_memory(256_000, checkpoints=True) as engine:
            await engine.observe(*messages)
            writing.append(await _spent(engine.write_checkpoint))
            await engine.project()
            with patch("sojourn.engine.opening.extract", _Clocked()) as clocked:
                whole.append(await _spent(engine.rebuild))
            reading.append(clocked.seconds)
    rest = min(one - apart for one, apart in zip(whole, reading, strict=True))
    note = f"{tokens:,} tokens in {len(messages):,} messages"
    return [
        Row("rebuild, its checkpoint ready", min(whole) * 1e3, "ms", note),
        Row("rebuild, without the reading by rule", rest * 1e3, "ms", "goal under 50 (W-13)"),
        Row("rebuild, the reading by rule alone", min(reading) * 1e3, "ms", "what came after the checkpoint (W-2a)"),
        Row("write_checkpoint, extractive", min(writing) * 1e3, "ms", f"goal under 200 (K-10); {note}, its commit included"),
    ]


class _Clocked:
    """``extract`` with a clock: its processor time, summed up."""

    seconds = 0.0

    def __call__(self, run: WriterInput) -> tuple[Item, ...]:
        started = time.process_time()
        try:
            return extract(run)
        finally:
            self.seconds += time.process_time() - started


# --- a whole session (d) ------------------------------------------------------------------------------------------


async def _replays(times: int) -> list[Row]:
    sample = sample_session()
    done = await replay(sample.messages, window=40_000, continuity=False)
    bare = await _best(lambda: replay(sample.messages, window=40_000, continuity=False), times)
    measured = await _best(lambda: replay(sample.messages, window=40_000), times)
    note = f"{done.tokens:,} tokens, {done.steps} steps, {len(done.windows)} windows of 40K"
    return [
        Row("replay of the sample day", done.tokens / bare / 1e3, "K tokens/s", note),
        Row("replay with continuity measured", done.tokens / measured / 1e3, "K tokens/s", "four strategies at each boundary"),
    ]


# --- a message taken in (e) ---------------------------------------------------------------------------------------


async def _observing(folder: Path, quick: bool) -> list[Row]:
    messages = history(300 if quick else 2_000)
    rows = []
    for name, path in (("in memory", None), ("on disk", folder / "observe" / "sojourn.db")):
        store = await SqliteStore.open(path, clock=SystemClock())
        ours, bare = [await work / len(messages) * 1e6 for work in (_observed(store, messages), _committed(store, messages))]
        await store.close()
        rows.append(Row(f"observe one message, {name}", ours, "µs", f"{ours / bare:.2f} times the bare commit ({bare:.0f} µs)"))
    return rows


async def _observed(store: SqliteStore, messages: tuple[Message, ...]) -> float:
    """Seconds for all of them, one by one."""
    async with await Engine.open(store=store, traits=Traits(limit=10_000_000), clock=SystemClock()) as engine:

        async def each() -> None:
            for message in messages:
                await engine.observe(message)

        return await _spent(each)


async def _committed(store: SqliteStore, messages: tuple[Message, ...]) -> float:
    """Seconds for the same messages, counted already, straight into the store."""
    await store.create(Session(id="ses_plain"))
    lease = await store.acquire("ses_plain", "bench:1:x", ttl=3_600_000)
    assert isinstance(lease, Lease)
    fence = Fence(lease.epoch)
    counted = [count_message(msgspec.structs.replace(one, id=f"p{at}")) for at, one in enumerate(messages)]

    async def each() -> None:
        for message in counted:
            await store.commit("ses_plain", fence, [AddMessage(message)])

    return await _spent(each)


# --- shared -------------------------------------------------------------------------------------------------------


def history(count: int) -> tuple[Message, ...]:
    """A coding session of so many messages, about 200 tokens each: a request, then reads, edits and test runs."""
    return tuple(_message(at) for at in range(count))


def _message(at: int) -> Message:
    path = f"src/service_{at // 10 % 40}/handler_{at % 7}.py"
    touches: tuple[Touch, ...] = ()
    if at % 10 == 0:
        words = " ".join(f"queue_{at}_{n} must keep its order when batch {n} is late;" for n in range(8))
        return Message("", "user", "user", (Text(f"Fix {path}: {words} never change `public_api_{at % 5}`."),))
    if at % 10 == 9:
        said = f"Handler {at} is fixed: the root cause in `handle_{at}` was a missing lock. All tests pass. " * 6
        return Message("", "assistant", "model", (Text(said),), model="m", finish=Finish.STOP)
    match at % 3:
        case 0:
            name, arguments = "read_file", {"path": path}
            touches = (Touch(path, "read", (1, 20)),)
            result = "\n".join(f"{n}\tdef handle_{at}_{n}(self, payload, limit={n}):  # queue {n}" for n in range(13))
        case 1:
            name = "edit_file"
            arguments = {
                "path": path,
                "old": f"    limit = {at}\n" * 8,
                "new": f"    with lock_{at}:\n        limit = {at}\n" * 6,
            }
            touches = (Touch(path, "edit", (8, 20)),)
            result = f"edited {path}: 8 lines out, 12 lines in"
        case _:
            name, arguments = "bash", {"command": f"pytest tests/test_service_{at % 40}.py"}
            result = "\n".join(f"tests/test_service_{at % 40}.py::test_{n} PASSED [{n}%] in {n * 7} ms" for n in range(11))
    call = ToolCall(f"call_{at}", name, arguments, state="completed", result=(Text(result),), touches=touches)
    return Message("", "assistant", "model", (Text(f"Now {name} for handler {at}."), call), model="m", finish=Finish.TOOL_CALLS)


async def _in_memory(limit: int, *, checkpoints: bool) -> Engine:
    settings = Settings(checkpoint=CheckpointSettings(enabled=checkpoints))
    return await Engine.open(traits=Traits(name="m", limit=limit), settings=settings, clock=SystemClock())


async def _spent(work: Callable[[], Awaitable[object]]) -> float:
    """Seconds of processor time in all threads of this process."""
    gc.collect()
    started = time.process_time()
    await work()
    return time.process_time() - started


async def _best(work: Callable[[], Awaitable[object]], times: int) -> float:
    return min([await _spent(work) for _ in range(times)])
