"""A session whose writing model hangs in the middle of its answer until the process is killed: run by test_writers.py.

Usage: ``python writer_nursery.py DATABASE AT``; prints the session's id when the writer is where it is to be killed.
"""

import asyncio
import sys
from pathlib import Path

from engine.scribe import GOOD, PAID, Scribe, scribe_engine, steps
from engine.sessions import user
from sojourn.base import SystemClock
from sojourn.record.sqlite import SqliteStore
from sojourn.wire import Event, TextEvent, UsageEvent

AT: dict[str, list[Event | float]] = {
    "asked": [60.0],
    "half": [TextEvent(GOOD[:40]), 60.0],
    "all": [TextEvent(GOOD), UsageEvent(PAID), 60.0],
}


async def main(path: Path, at: str) -> None:
    store = await SqliteStore.open(path, clock=SystemClock())
    scribe = Scribe(AT[at])
    engine = await scribe_engine(scribe, store=store, clock=SystemClock(), ids=None)
    await engine.observe(user("Go."))
    step = 0
    while not scribe.requests:
        await steps(engine, 1, start=step)
        await asyncio.sleep(0.01)
        step += 1
    await asyncio.sleep(0.05)
    print(engine.session_id, engine.head, flush=True)
    await asyncio.sleep(60)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
