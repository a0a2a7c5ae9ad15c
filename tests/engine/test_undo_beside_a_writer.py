"""An undo and what follows a writer's commit wait for each other: rows, notes and page agree (K-7, K-13, W-12)."""

import asyncio
from pathlib import Path

import pytest

from agent.minding import Both, document, fill, minded
from agent.talking import room, say
from engine.scribe import GOOD
from sojourn.engine import firing
from sojourn.memory import layout, path_of

NOTE = "## [turn 1, 2025-11-24T16:00:00Z]\n\nthe port is 8080 NOTETOKEN-1\n"


@pytest.mark.design("K-13", "K-7", "W-12")
@pytest.mark.parametrize("first", ["the undo", "what follows"])
def test_an_undo_in_the_moment_of_the_commit_keeps_notes_and_takes_the_page(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        model = Both(say("Ready."), say("Well."), writes=(GOOD,))
        agent = await minded(where, model)
        engine = agent.engine
        await agent.turn("Begin.")
        await agent.turn("Go on with it.")
        await fill(agent)
        notes = document(where, "session", engine.session_id, "notes")
        notes.write_text(NOTE)
        told: list[str] = []
        written = engine._state.ports.on_event
        assert written is not None
        take_up, take_over = firing._take_up, firing.take_over
        undone: list[asyncio.Task[object]] = []

        async def late(*given: object) -> None:
            await engine.undo()
            await take_up(*given)  # type: ignore[arg-type]

        async def slow(*given: object) -> None:
            undone.append(asyncio.create_task(engine.undo()))
            await asyncio.sleep(0.05)
            told.append("before the undo" if not undone[0].done() else "after it")
            await take_over(*given)  # type: ignore[arg-type]

        if first == "the undo":
            monkeypatch.setattr(firing, "_take_up", late)
        else:
            monkeypatch.setattr(firing, "take_over", slow)
        await engine.write_checkpoint()
        await asyncio.gather(*undone)
        assert told == (["before the undo"] if undone else []), "an undo waits until files have followed the commit"
        assert await engine.store.newest_checkpoint(engine.session_id) is None
        assert "NOTETOKEN-1" in notes.read_text()
        root = engine._state.ports.documents
        assert root is not None
        assert not path_of(root, layout.checkpoint(engine.session_id)).exists(), "no page of a checkpoint that nothing holds"
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())


@pytest.mark.design("R-4", "W-12")
def test_the_page_of_an_undo_is_the_newest_that_holds_and_a_windows_undo_leaves_it(tmp_path: Path) -> None:
    async def main() -> None:
        where = await room(tmp_path)
        agent = await minded(where, Both(say("Ready."), say("Well."), writes=(GOOD, "+ knowledge: station 6 has no gauge\n")))
        engine = agent.engine
        await agent.turn("Begin.")
        await fill(agent)
        first = await engine.write_checkpoint()
        await agent.turn("Go on.")
        await fill(agent, start=20)
        second = await engine.write_checkpoint()
        assert first is not None
        assert second is not None
        page = path_of(engine._state.ports.documents or tmp_path, layout.checkpoint(engine.session_id))
        assert "station 6" in page.read_text()
        await engine.rebuild()
        assert (await engine.undo()).what.startswith("window")
        assert "station 6" in page.read_text()
        assert (await engine.undo()).what.startswith("the turn")
        text = page.read_text()
        assert "station 6" not in text
        assert "Dunmore" in text
        await engine.redo()
        assert "station 6" in page.read_text()
        await agent.close(wait=0)
        await where.store.close()

    asyncio.run(main())
