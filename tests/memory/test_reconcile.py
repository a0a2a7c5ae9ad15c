"""The index follows the disk: by folder times and stamps, hashing in doubt only; thrown away when damaged (Y-1)."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.shelf import GLOBAL, MEMORY, NOTES, OWN, PROGRESS, PROJECT, session
from sojourn.base import WorkFailed
from sojourn.memory import Locator, files, layout, path_of, reconcile

FACT = layout.fact("project", PROJECT, "port")


def write(root: Path, locator: Locator, text: str) -> Path:
    path = path_of(root, locator)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(root: Path, query: str) -> set[str]:
    hits = asyncio.run(session(root).search(query, OWN))
    return {"global" if hit.locator == GLOBAL else hit.locator.key for hit in hits}


def age(root: Path) -> None:
    """As if the index had looked at everything long after it was written: stamps are believed from now on."""
    for path in [root, *root.rglob("*")]:
        if not path.name.startswith("."):
            os.utime(path, ns=(10**18, 10**18))
    found(root, "x")
    db = apsw.Connection(str(root / ".index.sqlite"))
    later = 4 * 10**18
    db.execute("UPDATE documents SET seen = ?", (later,))
    db.execute("UPDATE folders SET seen = ?", (later,))
    db.close()


class Reads:
    """Counts what is read and listed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[str] = []
        self.listed: list[str] = []
        real_read, real_scan = files.read, os.scandir

        def read(path: Path) -> files.Content | None:
            self.read.append(path.name)
            return real_read(path)

        def scandir(path: Path) -> object:
            self.listed.append(Path(path).name)
            return real_scan(path)

        monkeypatch.setattr(reconcile, "read", read)
        monkeypatch.setattr(os, "scandir", scandir)


@pytest.mark.design("Y-1")
def test_nothing_is_read_or_listed_where_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for locator in (NOTES, PROGRESS, MEMORY, FACT, GLOBAL):
        write(tmp_path, locator, "alpha")
    assert len(found(tmp_path, "alpha")) == 5
    age(tmp_path)
    reads = Reads(monkeypatch)
    assert len(found(tmp_path, "alpha")) == 5
    assert (reads.read, reads.listed) == ([], [])
    write(tmp_path, FACT, "beta!")
    assert found(tmp_path, "beta") == {"facts/port"}
    assert reads.read == ["port.md"]
    assert reads.listed == []  # written in place: the folder's time has not moved
    write(tmp_path, layout.fact("project", PROJECT, "other"), "beta")
    reads.read.clear()
    assert found(tmp_path, "beta") == {"facts/port", "facts/other"}
    assert reads.listed == ["facts"]
    assert "MEMORY.md" not in reads.read


@pytest.mark.design("Y-1")
def test_other_sessions_are_not_even_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        write(tmp_path, layout.notes(f"ses_{number + 2}"), "alpha")
    write(tmp_path, NOTES, "alpha")
    reads = Reads(monkeypatch)
    assert found(tmp_path, "alpha") == {"notes"}
    assert reads.read == ["notes.md"]
    assert reads.listed == ["ses_1"]


@pytest.mark.design("Y-1")
def test_an_edit_of_the_same_size_in_the_same_tick_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, NOTES, "alpha")
    stamp = path.stat().st_mtime_ns
    assert found(tmp_path, "alpha") == {"notes"}
    with path.open("r+") as file:
        file.write("gamma")
    os.utime(path, ns=(stamp, stamp))
    assert found(tmp_path, "gamma") == {"notes"}
    assert found(tmp_path, "alpha") == set()


@pytest.mark.design("Y-1")
def test_a_file_added_in_the_same_tick_of_its_folder_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, FACT, "alpha")
    stamp = path.parent.stat().st_mtime_ns
    assert found(tmp_path, "alpha") == {"facts/port"}
    write(tmp_path, layout.fact("project", PROJECT, "other"), "alpha")
    os.utime(path.parent, ns=(stamp, stamp))
    assert found(tmp_path, "alpha") == {"facts/port", "facts/other"}


@pytest.mark.design("Y-1")
def test_an_old_stamp_with_other_contents_is_found_by_the_time_of_change(tmp_path: Path) -> None:
    path = write(tmp_path, NOTES, "alpha")
    age(tmp_path)
    with path.open("r+") as file:
        file.write("gamma")
    os.utime(path, ns=(10**18, 10**18))
    assert found(tmp_path, "gamma") == {"notes"}


@pytest.mark.design("Y-1")
@pytest.mark.parametrize("field", ["size", "modified", "changed", "inode"])
def test_each_part_of_the_stamp_counts(tmp_path: Path, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, NOTES, "alpha")
    age(tmp_path)
    db = apsw.Connection(str(tmp_path / ".index.sqlite"))
    db.execute(f"UPDATE documents SET {field} = {field} - 1")
    db.close()
    reads = Reads(monkeypatch)
    found(tmp_path, "alpha")
    assert reads.read == ["notes.md"]


@pytest.mark.design("Y-1")
@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("field", ["modified", "changed"])
def test_a_stamp_is_believed_when_it_is_older_than_two_seconds(field: str, late: int) -> None:
    seen = 10**18
    limit = seen - 2_000_000_000
    stamp = reconcile.Stamp(5, 0, 0, 7)._replace(**{field: limit - late})
    assert stamp.old(seen) == bool(late)


@pytest.mark.design("Y-1")
@pytest.mark.parametrize(("late", "listed"), [(0, True), (1, False)])
def test_a_folders_time_is_believed_when_it_is_older_than_two_seconds(
    tmp_path: Path, late: int, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, NOTES, "alpha")
    age(tmp_path)
    db = apsw.Connection(str(tmp_path / ".index.sqlite"))
    db.execute("UPDATE folders SET seen = modified + 2000000000 + ?", (late,))
    db.close()
    reads = Reads(monkeypatch)
    assert found(tmp_path, "alpha") == {"notes"}
    assert bool(reads.listed) == listed


def stored(root: Path) -> list[object]:
    db = apsw.Connection(str(root / ".index.sqlite"))
    rows = [*db.execute("SELECT path, seen FROM folders"), *db.execute("SELECT path, seen FROM documents")]
    db.close()
    return rows


@pytest.mark.design("Y-1")
def test_what_is_in_doubt_is_settled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, NOTES, "alpha")
    found(tmp_path, "alpha")
    first = stored(tmp_path)
    found(tmp_path, "alpha")
    assert stored(tmp_path) == first  # still in doubt: nothing to write down
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 10**10)
    found(tmp_path, "alpha")
    settled = stored(tmp_path)
    assert {path for path, _ in settled} == {"sessions/ses_1", "sessions/ses_1/notes.md"}  # type: ignore[misc]
    assert not set(settled) & set(first)
    reads = Reads(monkeypatch)
    assert found(tmp_path, "alpha") == {"notes"}
    assert (reads.read, reads.listed, stored(tmp_path)) == ([], [], settled)
    os.utime(path_of(tmp_path, NOTES).parent, ns=(10**18, 10**18))  # a time that moved: written down again
    found(tmp_path, "alpha")
    assert reads.listed == ["ses_1"]
    found(tmp_path, "alpha")
    assert (reads.read, reads.listed) == ([], ["ses_1"])


@pytest.mark.design("Y-1", "Y-2")
def test_a_folder_that_became_a_link_is_forgotten(tmp_path: Path) -> None:
    write(tmp_path, MEMORY, "alpha")
    assert found(tmp_path, "alpha") == {"MEMORY"}
    folder = path_of(tmp_path, MEMORY).parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert found(tmp_path, "alpha") == set()
    assert asyncio.run(session(tmp_path).entries(OWN)) == ()


@pytest.mark.design("Y-1")
@pytest.mark.parametrize("aged", [False, True])
def test_what_is_removed_or_renamed_is_gone(tmp_path: Path, aged: bool) -> None:
    for locator in (NOTES, PROGRESS, MEMORY, FACT):
        write(tmp_path, locator, "alpha")
    assert len(found(tmp_path, "alpha")) == 4
    if aged:
        age(tmp_path)
    path_of(tmp_path, NOTES).unlink()
    assert found(tmp_path, "alpha") == {"MEMORY", "facts/port", "tasks/T1/progress"}
    path_of(tmp_path, FACT).rename(path_of(tmp_path, layout.fact("project", PROJECT, "haven")))
    assert found(tmp_path, "alpha") == {"MEMORY", "facts/haven", "tasks/T1/progress"}
    shutil.rmtree(path_of(tmp_path, PROGRESS).parent.parent)
    assert found(tmp_path, "alpha") == {"MEMORY", "facts/haven"}
    shutil.rmtree(path_of(tmp_path, MEMORY).parent)
    assert found(tmp_path, "alpha") == set()
    db = apsw.Connection(str(tmp_path / ".index.sqlite"))
    assert db.execute("SELECT count(*) FROM documents").fetchall() == [(0,)]
    assert db.execute("SELECT count(*) FROM words").fetchall() == [(0,)]
    assert db.execute("SELECT path FROM folders").fetchall() == [("sessions/ses_1",)]
    db.close()


@pytest.mark.design("Y-1")
def test_a_project_whose_name_begins_like_ours_is_left_alone(tmp_path: Path) -> None:
    from sojourn.memory import Belonging, LocalMemory

    async def main() -> None:
        store = LocalMemory(tmp_path)
        for name in ("p", "p.a", "p0", "p-1", "pp"):
            write(tmp_path, layout.project_memory(name), f"alpha {name}")
            write(tmp_path, layout.fact("project", name, "x"), f"alpha {name}")
        for name in ("p", "p.a", "p0", "p-1", "pp"):
            hits = await store.search("alpha", Belonging("", name))
            assert {hit.locator.scope_id for hit in hits} == {name}
            assert len(hits) == len(await store.entries(Belonging("", name))) == 2
        shutil.rmtree(tmp_path / "projects" / "p")
        for name in ("p", "p.a", "p0", "p-1", "pp"):
            assert len(await store.search("alpha", Belonging("", name))) == (0 if name == "p" else 2)

    asyncio.run(main())


@pytest.mark.design("Y-1")
@pytest.mark.report(83)
def test_a_file_that_can_be_read_again_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, NOTES, "alpha")
    write(tmp_path, PROGRESS, "alpha")
    age(tmp_path)
    real, closed = files.read, {"notes.md"}

    def read(path: Path) -> files.Content | None:
        if path.name in closed:
            raise WorkFailed("no")
        return real(path)

    monkeypatch.setattr(reconcile, "read", read)
    write(tmp_path, NOTES, "alpha beta")
    assert found(tmp_path, "alpha") == {"tasks/T1/progress"}
    closed.clear()
    assert found(tmp_path, "beta") == {"notes"}


def _garbage(path: Path) -> None:
    path.write_bytes(b"no database at all, but long enough to be looked at as one " * 20)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _holes(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    path.write_bytes(data)


def _newer(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("PRAGMA user_version = 99")
    db.close()


def _without_a_table(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("DROP TABLE words")
    db.close()


@pytest.mark.design("Y-1")
@pytest.mark.parametrize("damage", [Path.unlink, _garbage, _cut, _holes, _newer, _without_a_table])
def test_a_damaged_or_missing_index_is_made_anew(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    write(tmp_path, NOTES, "alpha")
    write(tmp_path, MEMORY, "alpha " * 2000)
    assert found(tmp_path, "alpha") == {"notes", "MEMORY"}
    damage(tmp_path / ".index.sqlite")
    assert found(tmp_path, "alpha") == {"notes", "MEMORY"}
    db = apsw.Connection(str(tmp_path / ".index.sqlite"))
    assert db.pragma("user_version") == 1
    assert db.execute("SELECT count(*) FROM documents").fetchall() == [(2,)]
    db.close()


@pytest.mark.design("Y-1")
def test_without_a_place_for_the_index_the_search_still_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, NOTES, "alpha")
    (tmp_path / ".index.sqlite").mkdir()
    assert found(tmp_path, "alpha") == {"notes"}
    (tmp_path / ".index.sqlite").rmdir()
    (tmp_path / ".index.sqlite").symlink_to(tmp_path / "elsewhere")
    assert found(tmp_path, "alpha") == {"notes"}
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.design("Y-1")
def test_looking_makes_no_folder(tmp_path: Path) -> None:
    assert found(tmp_path / "memory", "alpha") == set()
    assert asyncio.run(session(tmp_path / "memory").entries(OWN)) == ()
    assert not (tmp_path / "memory").exists()


PLACES = (NOTES, PROGRESS, MEMORY, FACT, GLOBAL)
DEEDS = st.lists(
    st.tuples(
        st.sampled_from(["write", "remove", "same tick", "look", "replace"]),
        st.integers(0, 4),
        st.sampled_from(["alpha", "gamma", "delta"]),
    ),
    max_size=12,
)


@pytest.mark.design("Y-1")
@given(DEEDS)
@settings(max_examples=50, deadline=None)
def test_the_index_always_says_what_the_disk_says(deeds: list[tuple[str, int, str]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        held: dict[str, str] = {}
        for deed, number, text in deeds:
            locator = PLACES[number]
            path = path_of(root, locator)
            match deed:
                case "write":
                    write(root, locator, text)
                    held[locator.key + locator.scope] = text
                case "remove":
                    path.unlink(missing_ok=True)
                    held.pop(locator.key + locator.scope, None)
                case "same tick" if path.exists():
                    stamp, above = path.stat().st_mtime_ns, path.parent.stat().st_mtime_ns
                    path.write_text(text)
                    os.utime(path, ns=(stamp, stamp))
                    os.utime(path.parent, ns=(above, above))
                    held[locator.key + locator.scope] = text
                case "replace" if path.exists():
                    beside = path.with_name("beside")
                    beside.write_text(text)
                    beside.replace(path)
                    held[locator.key + locator.scope] = text
                case "look":
                    _agree(root, held)
        _agree(root, held)


def _agree(root: Path, held: dict[str, str]) -> None:
    for word in ("alpha", "gamma", "delta"):
        hits = asyncio.run(session(root).search(word, OWN))
        assert {hit.locator.key + hit.locator.scope for hit in hits} == {name for name, text in held.items() if text == word}
