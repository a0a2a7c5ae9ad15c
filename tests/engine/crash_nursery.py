"""Kills a working session at random points, over and over, and looks after each: run by test_restart.py.

One process that forks a child a round: the child works and tells what was acknowledged, the parent kills it.
Usage: ``python crash_nursery.py DATABASE ROUNDS SECONDS SEED``; prints ``rounds acknowledged``.
"""

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path

from engine.sessions import prose, reads, says, user
from sojourn.base import SystemClock
from sojourn.engine import Engine
from sojourn.models import Protocol
from sojourn.record import Session
from sojourn.record.sqlite import SqliteStore
from sojourn.request import problems
from sojourn.wire import Traits

TRAITS = Traits(name="test-model", limit=16_000)


async def begin(path: Path) -> str:
    """The id of a new session."""
    store = await SqliteStore.open(path, clock=SystemClock())
    async with await Engine.open(store=store, session=Session(id=""), traits=TRAITS) as engine:
        session_id = engine.session_id
    await store.close()
    return session_id


async def work(path: Path, session_id: str, told: int) -> None:
    """Works until it is killed; every acknowledged message is told as ``seq id``."""
    store = await SqliteStore.open(path, clock=SystemClock())
    engine = await Engine.open(store=store, session_id=session_id, traits=TRAITS)
    step = engine.head
    while True:
        await engine.project()
        messages = [user(f"Turn {step}.")] if step % 9 == 0 else []
        messages.append(reads(f"p{step}.py", prose(700, step)) if step % 9 < 7 else says(f"Step {step} is done."))
        for message in messages:
            stored = await engine.observe(message)
            os.write(told, f"{stored[0].seq} {stored[0].id}\n".encode())
            step += 1


def one_round(path: Path, session_id: str, rest: float, lines: int) -> dict[int, str]:
    """A child that is killed ``rest`` seconds after it has acknowledged so many messages; what it acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        asyncio.run(work(path, session_id, writing))
    os.close(writing)
    told = b""
    while told.count(b"\n") < lines and (data := os.read(reading, 65_536)):
        told += data
    time.sleep(rest)
    os.kill(child, signal.SIGKILL)
    while data := os.read(reading, 65_536):
        told += data
    os.close(reading)
    os.waitpid(child, 0)
    whole = told[: told.rfind(b"\n") + 1].decode()
    return {int(seq): id for seq, id in (line.split() for line in whole.splitlines())}


async def look(path: Path, session_id: str, acknowledged: dict[int, str], protocol: Protocol) -> None:
    """The store opens, nothing acknowledged is lost, the next request is valid for the protocol."""
    store = await SqliteStore.open(path, clock=SystemClock())
    assert list(await store.check()) == []
    stored = {message.seq: message.id for message in await store.messages(session_id)}
    assert {seq: stored.get(seq) for seq in acknowledged} == acknowledged
    assert sorted(stored) == list(range(1, len(stored) + 1))
    traits = Traits(name="test-model", limit=16_000, protocol=protocol)
    async with await Engine.open(store=store, session_id=session_id, traits=traits) as engine:
        await engine.observe(user("Go on."))
        projected = await engine.project()
        assert projected.level.tokens <= projected.lines.hard
        found = problems(projected.request, protocol)
        assert found == [], found
    await store.close()


def main(path: Path, rounds: int, seconds: float, seed: int) -> None:
    chance = random.Random(seed)
    session_id = asyncio.run(begin(path))
    acknowledged: dict[int, str] = {}
    ends = time.monotonic() + seconds
    protocols: tuple[Protocol, ...] = ("anthropic", "chat")
    done = 0
    while done < rounds and time.monotonic() < ends:
        acknowledged |= one_round(path, session_id, chance.random() * 0.02, chance.randrange(0, 6))
        asyncio.run(look(path, session_id, acknowledged, protocols[done % 2]))
        done += 1
    print(done, len(acknowledged))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
