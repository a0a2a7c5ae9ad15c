"""One runner for each session (R-11)."""
# ruff: noqa: ASYNC220  (one test, one loop: nothing else waits)

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from record.rows import OWNER, Desk, at_desk, sit, user
from sojourn.base import SystemClock, UserMistake
from sojourn.record import Fence, Fenced, Held, Lease, Session
from sojourn.record.sqlite import SqliteStore

Where = Path | None
HOST = socket.gethostname()


@pytest.mark.design("R-11")
@pytest.mark.report(106)
def test_the_second_runner_is_told_who_since_when_and_until_when(where: Where) -> None:
    async def story(desk: Desk) -> None:
        start = desk.clock.now()
        assert desk.lease == Lease(desk.sid, OWNER, 1, start + 20_000)
        desk.clock.advance(4_000)
        held = Held(desk.sid, OWNER, start, start + 20_000)
        assert await desk.store.acquire(desk.sid, "elsewhere:1:b") == held
        assert await desk.store.holder(desk.sid) == held
        assert (await desk.store.session(desk.sid)).epoch == 1  # type: ignore[union-attr]
        assert await desk.store.renew(desk.lease) == Lease(desk.sid, OWNER, 1, start + 24_000)
        assert await desk.store.holder(desk.sid) == Held(desk.sid, OWNER, start, start + 24_000)
        with pytest.raises(UserMistake, match="ses_9"):
            await desk.store.acquire("ses_9", "x:1:y")
        assert await desk.store.holder("ses_9") is None

    at_desk(where, story)


@pytest.mark.design("R-11")
def test_an_expired_lease_is_taken_over_and_its_holder_fenced(where: Where) -> None:
    async def story(desk: Desk) -> None:
        desk.clock.advance(19_999)
        assert isinstance(await desk.store.acquire(desk.sid, "elsewhere:1:b"), Held)
        desk.clock.advance(1)
        assert await desk.store.holder(desk.sid) is None
        renewed = await desk.store.renew(desk.lease, 5)  # nobody took it: it goes on
        assert renewed == Lease(desk.sid, OWNER, 1, desk.clock.now() + 5)
        desk.clock.advance(5)
        taken = await desk.store.acquire(desk.sid, "elsewhere:1:b", 7)
        assert taken == Lease(desk.sid, "elsewhere:1:b", 2, desk.clock.now() + 7)
        late = await desk.store.renew(desk.lease)
        assert isinstance(late, Fenced)
        assert late.reason == "epoch"
        await desk.store.release(desk.lease)  # a stale release frees nothing
        assert (await desk.store.holder(desk.sid)).owner == "elsewhere:1:b"  # type: ignore[union-attr]
        assert await desk.refused(user("m1")) == "epoch"

    at_desk(where, story)


def test_a_released_lease_is_free_and_cannot_be_renewed(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.store.release(desk.lease)
        assert await desk.store.holder(desk.sid) is None
        late = await desk.store.renew(desk.lease)
        assert isinstance(late, Fenced)
        assert late.reason == "no_lease"
        taken = await desk.store.acquire(desk.sid, "elsewhere:1:b")
        assert isinstance(taken, Lease)
        assert taken.epoch == 2
        gone = await desk.store.renew(Lease("ses_9", OWNER, 1, 0))
        assert isinstance(gone, Fenced)
        assert gone.reason == "missing"

    at_desk(where, story)


def test_the_same_owner_asking_again_gets_a_new_epoch(where: Where) -> None:
    async def story(desk: Desk) -> None:
        again = await desk.store.acquire(desk.sid, OWNER)
        assert isinstance(again, Lease)
        assert again.epoch == 2
        assert await desk.refused(user("m1")) == "epoch"

    at_desk(where, story)


@pytest.mark.design("R-11")
def test_a_dead_owner_on_this_host_frees_it_at_once(where: Where) -> None:
    async def story(desk: Desk) -> None:
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
            await desk.store.release(desk.lease)
            first = await desk.store.acquire(desk.sid, f"{HOST}:{child.pid}:x")
            assert isinstance(first, Lease)
            assert isinstance(await desk.store.acquire(desk.sid, "elsewhere:1:b"), Held)
            child.kill()
            child.wait()
            assert await desk.store.holder(desk.sid) is None
            assert isinstance(await desk.store.acquire(desk.sid, f"elsewhere:{child.pid}:c"), Lease)
            assert isinstance(await desk.store.acquire(desk.sid, "elsewhere:1:d"), Held)  # dead here says nothing about there

    at_desk(where, story)


_UNKNOWN = ("ME:x", "0:x", "-1:x", "word:x", f"{2**40}:x", "\u00b2:x", "", "x")


@pytest.mark.parametrize("owner", [*(f"{HOST}:{rest}" for rest in _UNKNOWN), HOST, "", "::"])
def test_an_owner_not_known_to_be_dead_is_waited_for(where: Where, owner: str) -> None:
    async def story(desk: Desk) -> None:
        await desk.store.release(desk.lease)
        await desk.store.acquire(desk.sid, owner.replace("ME", str(os.getpid())))
        assert isinstance(await desk.store.acquire(desk.sid, "elsewhere:1:b"), Held)

    at_desk(where, story)


_RIVAL = """
import asyncio, sys
from pathlib import Path
from sojourn.base import SystemClock
from sojourn.record import *
from sojourn.record.sqlite import SqliteStore

async def main(path, sid, name, count):
    store = await SqliteStore.open(Path(path), clock=SystemClock())
    await store.create(Session(id=sid))
    lease = await store.acquire(sid, "elsewhere:1:" + name)
    print(type(lease).__name__, flush=True)
    if isinstance(lease, Lease):
        for at in range(int(count)):
            message = Message(f"{name}_{at}", "user", "user", (Text("x" * 200),))
            answer = await store.commit(sid, Fence(lease.epoch), [AddMessage(message)])
            assert isinstance(answer, Committed), answer
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


def rivals(path: Path, *names: tuple[str, str]) -> list[str]:
    """Starts the processes at once; what each was answered."""
    command = [sys.executable, "-c", _RIVAL, str(path)]
    running = [subprocess.Popen([*command, sid, name, "60"], stdout=subprocess.PIPE, text=True) for sid, name in names]
    answers = []
    for child in running:
        with child:
            answers.append(child.communicate(timeout=60)[0].strip())
            assert child.returncode == 0
    return answers


@pytest.mark.design("R-9", "R-11")
def test_two_processes_write_their_own_sessions_at_once_from_a_store_neither_has_seen(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "d" / "sojourn.db"
        assert rivals(path, ("ses_a", "a"), ("ses_b", "b"), ("ses_c", "c")) == ["Lease"] * 3
        store = await SqliteStore.open(path, clock=SystemClock())
        for name in "abc":
            messages = await store.messages(f"ses_{name}")
            assert [message.id for message in messages] == [f"{name}_{at}" for at in range(60)]
            assert [message.seq for message in messages] == list(range(1, 61))
        assert list(await store.check()) == []
        await store.close()

    asyncio.run(main())


@pytest.mark.design("R-11")
@pytest.mark.report(106, 107)
def test_two_processes_on_one_session_cannot_both_write(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "d" / "sojourn.db"
        store = await SqliteStore.open(path, clock=SystemClock())
        await store.create(Session(id="ses_a"))
        mine = await store.acquire("ses_a", "elsewhere:1:me", ttl=60_000)
        assert isinstance(mine, Lease)
        assert rivals(path, ("ses_a", "b"), ("ses_a", "c")) == ["Held", "Held"]
        await store.release(mine)
        answers = rivals(path, ("ses_a", "d"))
        assert answers == ["Lease"]
        stale = await store.commit("ses_a", Fence(mine.epoch, head=0), [user("late")])
        assert isinstance(stale, Fenced)
        assert stale.reason == "epoch"
        assert [message.seq for message in await store.messages("ses_a")] == list(range(1, 61))
        await store.close()

    asyncio.run(main())


def test_a_lease_outlives_the_store_that_took_it(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "d" / "sojourn.db"
        desk = await sit(path)
        await desk.store.close()
        store = await SqliteStore.open(path, clock=desk.clock)
        assert isinstance(await store.acquire(desk.sid, "elsewhere:1:b"), Held)
        await store.close()

    asyncio.run(main())
