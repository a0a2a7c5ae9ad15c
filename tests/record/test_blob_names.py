"""A payload is found by the beginning of its address, in its own session only."""

import asyncio
from hashlib import sha256

import pytest

from sojourn.base import ManualClock
from sojourn.record import AddMessage, Fence, File, ForkOf, Message, Session
from sojourn.record.sqlite import SqliteStore


@pytest.mark.design("R-8", "R-13")
def test_a_payload_is_found_by_the_beginning_of_its_address_in_its_own_session_only() -> None:
    async def main() -> None:
        store = await SqliteStore.open(None, clock=ManualClock())
        for name in ("one", "two"):
            await store.create(Session(id=name))
        data = b"the whole result"
        sha = await store.put_blob(data)
        assert sha == sha256(data).hexdigest()
        lease = await store.acquire("one", "me")
        message = Message(id="m1", role="user", origin="user", parts=(File(sha, "text/plain", len(data)),))
        await store.commit("one", Fence(epoch=lease.epoch, head=0), [AddMessage(message)])
        assert await store.find_blob("one", sha[:8]) == data
        assert await store.find_blob("one", sha) == data
        assert await store.find_blob("one", sha[:7]) is None, "too short to name one"
        assert await store.find_blob("one", sha[:8].upper() + "zz") is None
        assert await store.find_blob("two", sha) is None, "another session's payload is not to be had by its address"
        await store.create(Session(id="three", fork_of=ForkOf("one", None, 1)))
        assert await store.find_blob("three", sha[:12]) == data, "a fork sees what its parent held"
        await store.create(Session(id="four", fork_of=ForkOf("one", None, 0)))
        assert await store.find_blob("four", sha[:12]) is None, "forked before it was there"
        await store.close()

    asyncio.run(main())
