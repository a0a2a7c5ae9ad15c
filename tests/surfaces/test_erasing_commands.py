"""``sojourn delete`` and ``sojourn scrub`` to the end: notes, the index, snapshots of files; what fails is told (R-16)."""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.undoable import Place
from sojourn.agent.snapshots import Snapshots
from sojourn.agent.turn_snapshots import Files
from sojourn.base import SystemClock, WorkFailed
from sojourn.record import Session
from sojourn.record.sqlite import SqliteStore
from surfaces.recorded import keep
from surfaces.recorded import said as kept
from surfaces.running import Command

pytestmark = pytest.mark.design("R-16")

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def holding(folder: Path, word: str) -> list[str]:
    """Files in whose bytes it stands. An index keeps a word without what it shares with the one before: ask for its end."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


@pytest.fixture
def noted(sojourn: Command, home: Path, tmp_path: Path) -> Command:
    """Two sessions with notes, which a search has found."""
    for number, (name, word) in enumerate((("ses_one", "kestrel"), ("ses_two", "heron"))):
        keep(home, Session(id=name, project_id=str(tmp_path / "work")), kept(f"look for the {word}", number))
        for text in (f"{word} first", f"{word} second"):
            assert sojourn("memory", "add", "--session", name, text).code == 0
        assert len(sojourn("memory", "search", word, "--session", name, "--json").row["hits"]) == 1
    return sojourn


def test_nothing_of_a_deleted_sessions_notes_is_left(noted: Command, home: Path) -> None:
    memory = home / "data" / "memory"
    assert str(memory / ".index.sqlite") in holding(memory, "estrel")
    row = noted("delete", "ses_one", "--yes", "--json").row
    assert list(row) == ["session", "sessions", "messages", "documents", "blob_bytes", "left"]
    assert (row["sessions"], row["messages"], row["documents"], row["left"]) == (1, 1, 1, [])
    assert holding(home, "estrel") == []
    assert noted("memory", "show", "notes", "--session", "ses_two").out.count("heron") == 2
    assert len(noted("memory", "search", "heron", "--session", "ses_two", "--json").row["hits"]) == 1
    assert holding(home, "estrel") == []


def test_nothing_of_a_scrubbed_text_is_left(noted: Command, home: Path) -> None:
    done = noted("scrub", "kestrel", "--yes", "--json")
    assert (done.code, done.row["places"] >= 1 + 2) == (0, True)
    assert holding(home, "estrel") == []
    assert noted("memory", "show", "notes", "--session", "ses_one").out.count("[scrubbed]") == 2
    assert noted("memory", "search", "kestrel", "--session", "ses_one", "--json").row["hits"] == []
    assert noted("memory", "show", "notes", "--session", "ses_two").out.count("heron") == 2
    assert holding(home, "estrel") == []


def test_documents_that_cannot_be_removed_are_told_beside_the_deletion(
    noted: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, **more: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    done = noted("delete", "ses_one", "--yes")
    assert (done.code, done.out.startswith("Erased ses_one:")) == (1, True)
    assert "cannot be removed: Permission denied" in done.err
    assert "The session is gone from the record" in done.err
    assert noted("show", "ses_one").code == 2


# --- snapshots of files -----------------------------------------------------------------------------------------------


def at_work(home: Path, tmp_path: Path, names: Sequence[str], *, ends: bool = True) -> list[Place]:
    """Sessions that change files, each in a folder of its own; the last goes on where they do not end."""

    async def main() -> list[Place]:
        places: list[Place] = []
        (home / "data").mkdir(parents=True, mode=0o700, exist_ok=True)
        store = await SqliteStore.open(home / "data" / "sojourn.db", clock=SystemClock())
        for name in names:
            (tmp_path / name).mkdir(exist_ok=True)
            place = Place(tmp_path / name)
            place.data = home / "data"
            await place.open(store=store, cwd=str(place.work.resolve()))
            place.files = Files(place.data, place.work.resolve())
            place.write("secret", f"{name}-kestrel")()
            await place.turn("Go.", (place.work / "secret").unlink)
            places.append(place)
        for place in places if ends else places[:-1]:
            await place.engine.close(wait=0)
        await store.close()
        return places

    return asyncio.run(main())


def has(place: Place, tree: str) -> bool:
    async def main() -> bool:
        try:
            await place.snapshots().difference(tree, tree)
        except WorkFailed:
            return False
        return True

    return asyncio.run(main())


def first_tree(home: Path, place: Place) -> str:
    async def main() -> str:
        store = await SqliteStore.open(home / "data" / "sojourn.db", clock=SystemClock())
        rows = await store.snapshots(place.engine.session_id)
        await store.close()
        return rows[0].tree

    return asyncio.run(main())


@needs_git
@pytest.mark.design("W-12")
def test_a_deletion_takes_the_sessions_snapshots_and_touches_no_other_folder(
    sojourn: Command, home: Path, tmp_path: Path
) -> None:
    one, other = at_work(home, tmp_path, ["one", "other"])
    trees = [first_tree(home, place) for place in (one, other)]
    stray = home / "data" / "snapshots" / "stray-0123"
    stray.mkdir()
    (stray / "kept").write_text("x")
    row = sojourn("delete", one.engine.session_id, "--yes", "--json").row
    assert (row["left"], row["blob_bytes"] > 0) == ([], True)
    assert [has(one, trees[0]), has(other, trees[1])] == [False, True]
    assert [path.name for path in one.snapshots().folder.iterdir()] == ["lock"]
    assert (stray / "kept").exists()


@needs_git
@pytest.mark.design("W-12")
def test_beside_a_session_at_work_in_the_folder_what_is_fresh_stays_and_is_told(
    sojourn: Command, home: Path, tmp_path: Path
) -> None:
    one, running = at_work(home, tmp_path, ["one", "one"], ends=False)
    tree = first_tree(home, one)
    done = sojourn("delete", one.engine.session_id, "--yes")
    assert (done.code, done.out.startswith(f"Erased {one.engine.session_id}:")) == (0, True)
    assert done.err.startswith(f"A session may be at work in {one.work.resolve()}: ")
    assert done.err.endswith("sojourn doctor --space\n")
    assert has(one, tree)
    assert has(running, first_tree(home, running))


@needs_git
@pytest.mark.design("W-12")
def test_snapshots_that_cannot_be_pruned_are_told_beside_the_deletion(
    sojourn: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _, other = at_work(home, tmp_path, ["one", "one", "other"])

    async def refuse(self: Snapshots, keep: object, *, at_once: bool = False) -> int:
        raise WorkFailed("the snapshots could not be pruned: git repack failed: no space")

    monkeypatch.setattr(Snapshots, "prune", refuse)
    done = sojourn("delete", one.engine.session_id, "--yes")
    assert (done.code, done.out.startswith(f"Erased {one.engine.session_id}:")) == (0, True)
    assert done.err.startswith(f"The session is erased, but not all snapshots of files in {one.work.resolve()}: the snap")
    assert "no space. Take them out later: sojourn doctor --space" in done.err
    assert sojourn("show", one.engine.session_id).code == 2
    monkeypatch.setattr(Snapshots, "hold", lambda self: _closed())
    row = sojourn("delete", other.engine.session_id, "--yes", "--json").row
    (left,) = row["left"]
    assert left.startswith(f"The session is erased, but not all snapshots of files in {other.work.resolve()}: held")


def _closed() -> object:
    raise WorkFailed("held by another")
