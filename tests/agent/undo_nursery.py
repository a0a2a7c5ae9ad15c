"""Kills an undo (or a redo) after each of its steps, and looks each time whether files and conversation agree: run by
test_undo_crash.py.

Usage: ``python undo_nursery.py FOLDER undo|redo``; prints after how many steps the act was done.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from agent.kept_files import picture
from agent.undoable import Place

Seen = tuple[dict[str, tuple[str, int, bytes]], list[int]]


def seen(place: Place) -> Seen:
    """Files and conversation."""
    return picture(place.work), place.seqs


async def begin(base: Path, act: str) -> tuple[str, Seen, Seen]:
    """A session about to act: its id, what stands before the act, what after."""
    place = await Place(base).open()
    for name in ("a", "b", "d/c"):
        place.write(name, "1")()

    def change() -> None:
        place.write("a", "2")()
        (place.work / "b").unlink()
        shutil.rmtree(place.work / "d")
        place.write("e/f", "2")()

    await place.turn("Go.", change)
    whole = seen(place)
    await place.undo()
    bare = seen(place)
    if act == "undo":
        await place.redo()
    session_id = place.engine.session_id
    await place.close()
    return (session_id, whole, bare) if act == "undo" else (session_id, bare, whole)


def dying(steps: int) -> None:
    """From now on the process dies at the step after so many that change the folder, its journal included."""
    count = 0
    for name in ("replace", "unlink", "mkdir", "rmdir", "link"):
        real = getattr(os, name)

        def step(*given: object, real: object = real, **more: object) -> object:
            nonlocal count
            if "dir_fd" not in more and any(part in os.fsdecode(given[0]) for part in ("/work/", "/pending")):  # type: ignore[arg-type]
                count += 1
                if count > steps:
                    os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **more)  # type: ignore[operator]

        setattr(os, name, step)


async def act_on(base: Path, session_id: str, act: str, steps: int) -> None:
    place = await Place(base).open(session_id)
    dying(steps)
    await getattr(place, act)()


async def settle(base: Path, session_id: str, steps: int) -> None:
    place = await Place(base).open(session_id)
    dying(steps)
    await place.files.settle(place.engine)


async def look(base: Path, session_id: str, act: str, before: Seen, after: Seen, *, settle: bool) -> None:
    """No half state: the act was made, or it was not; and it can be made (again)."""
    place = await Place(base).open(session_id)
    if settle:  # as the agent does when a session is opened
        settled = await place.files.settle(place.engine)
        assert settled is None or settled.stuck == ()
        assert seen(place) in (before, after), seen(place)
        made = seen(place) == after
    else:
        made = place.seqs == after[1]
    back = {"undo": "redo", "redo": "undo"}[act]
    if made:
        await getattr(place, back)()
        assert seen(place) == before
    await getattr(place, act)()
    assert seen(place) == after
    await getattr(place, back)()
    assert seen(place) == before
    assert not (place.snapshots().folder / "pending.json").exists()
    await place.close()


def killed(work: Coroutine[Any, Any, None]) -> bool:
    """Whether a child that did the work was killed, and did not end well."""
    child = os.fork()
    if child == 0:
        asyncio.run(work)
        os._exit(0)
    work.close()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def main(base: Path, act: str) -> None:
    session_id, before, after = asyncio.run(begin(base, act))
    for steps in range(100):
        if not killed(act_on(base, session_id, act, steps)):
            print(steps)
            return
        if steps % 3 == 2:
            killed(settle(base, session_id, steps // 3))
        asyncio.run(look(base, session_id, act, before, after, settle=steps % 2 == 0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
