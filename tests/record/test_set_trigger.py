"""The trigger of a window that is drawn after it has opened (C-18)."""

import asyncio
from pathlib import Path

import pytest

from sojourn.base import ManualClock
from sojourn.record import AddTrims, AddWindow, Committed, ConsumeTiers, Fence, Fenced, Session, SetTrigger, Trim, Window
from sojourn.record.sqlite import SqliteStore


@pytest.mark.design("C-18", "R-5")
@pytest.mark.parametrize("on_disk", [False, True])
def test_it_is_set_once_and_stays_whatever_else_grows(on_disk: bool, tmp_path: Path) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "record.db" if on_disk else None, clock=ManualClock())
        await store.create(Session(id="ses_1"))
        lease = await store.acquire("ses_1", "here:1:x")
        fence = Fence(epoch=lease.epoch)  # type: ignore[union-attr]
        window = Window(id="win_1", number=0, kind="start", covered_seq=0, digest_seq=0, opened_at_seq=0, trigger=57_600)
        await store.commit("ses_1", fence, [AddWindow(window), ConsumeTiers("win_1", (100,), 7)])
        assert isinstance(await store.commit("ses_1", fence, [SetTrigger("win_1", 24_000)]), Committed)
        refused = await store.commit("ses_1", fence, [SetTrigger("win_1", 30_000)])
        assert isinstance(refused, Fenced)
        assert refused.reason == "settled"
        await store.commit("ses_1", fence, [ConsumeTiers("win_1", (200,)), AddTrims("win_1", (Trim(3, 0, 10, 5),))])
        for found in (await store.newest_window("ses_1"), await store.window("win_1"), (await store.windows("ses_1"))[0]):
            assert found is not None
            assert (found.trigger, found.tiers, found.gate, found.trims) == (24_000, (100, 200), None, (Trim(3, 0, 10, 5),))
        assert isinstance(await store.commit("ses_1", fence, [SetTrigger("win_9", 1)]), Fenced)
        await store.close()

    asyncio.run(main())
