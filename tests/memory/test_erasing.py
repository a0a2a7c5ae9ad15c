"""Erasure in the folder of memory: a text, or a session, out of every byte of it (R-16)."""

import asyncio
import os
import shutil
import stat
import threading
import time
from pathlib import Path

import apsw
import pytest

from memory.shelf import CHECKPOINT, GLOBAL, MEMORY, NOTES, OTHER, OTHER_SESSION, OWN, PROGRESS, SESSION, person, session
from sojourn.base import UserMistake, WorkFailed
from sojourn.memory import LocalMemory, Locator, erase_sessions, layout, locks, path_of, scrub_documents, versions
from sojourn.memory import index as index_module
from sojourn.memory.index import Index
from sojourn.record.schema import immediate

pytestmark = pytest.mark.design("R-16", "Y-1", "Y-2")

SECRET, MARKER = "hunter2-hunter2", "[scrubbed]"
FACT = layout.fact("project", OWN.project_id, "gate")


def put(root: Path, locator: Locator, data: bytes) -> Path:
    path = path_of(root, locator)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def holding(root: Path, *words: str) -> list[str]:
    """The files below the root in whose bytes, or names, one of the words stands."""
    wanted = [word.encode() for word in words]
    files = [path for path in root.rglob("*") if path.is_file()]
    return [str(path) for path in files if any(word in path.read_bytes() or word.decode() in path.name for word in wanted)]


def search(root: Path, words: str = "hunter2") -> set[str]:
    return {hit.locator.key for hit in asyncio.run(session(root).search(words, OWN))}


def index(root: Path) -> Path:
    return root / ".index.sqlite"


# --- a text -----------------------------------------------------------------------------------------------------------


def test_a_text_leaves_every_document_its_earlier_texts_and_the_index(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        for locator in (NOTES, MEMORY, FACT, GLOBAL):
            await store.append(locator, f"the word is {SECRET} here", who="agent")
            await store.append(locator, f"and {SECRET}{SECRET} again", who="agent")
        await store.append(MEMORY, "nothing secret", who="agent")

    asyncio.run(main())
    assert search(tmp_path) == {"notes", "MEMORY", "facts/gate"}
    assert str(index(tmp_path)) in holding(tmp_path, "hunter2")
    assert scrub_documents(tmp_path, SECRET, MARKER) == 4 + 5
    assert holding(tmp_path, "hunter2") == []
    assert not index(tmp_path).exists()
    path = path_of(tmp_path, NOTES)
    assert path.read_text() == "the word is [scrubbed] here\n\nand [scrubbed][scrubbed] again\n"
    kept = asyncio.run(session(tmp_path).versions(MEMORY))
    assert [one.text.count(MARKER) for one in kept] == [3, 1]
    assert search(tmp_path) == set()
    assert search(tmp_path, "scrubbed") == {"notes", "MEMORY", "facts/gate"}
    assert holding(tmp_path, "hunter2") == []
    assert scrub_documents(tmp_path, SECRET, MARKER) == 0


def test_what_the_index_only_remembers_leaves_it_too(tmp_path: Path) -> None:
    """A page of a text that was edited out stays in the file until it is used again."""
    put(tmp_path, NOTES, f"{SECRET} alpha".encode())
    assert search(tmp_path) == {"notes"}
    put(tmp_path, NOTES, b"alpha")
    index(tmp_path).with_name(".index.sqlite-journal").write_bytes(b"left by a crash: hunter2")
    index(tmp_path).with_name(".index.sqlite-wal").write_bytes(b"hunter2")
    index(tmp_path).with_name(".index.sqlite-shm").write_bytes(b"hunter2")
    assert scrub_documents(tmp_path, SECRET, MARKER) == 0
    assert holding(tmp_path, "hunter2") == []


def test_a_file_that_is_not_utf8_is_not_damaged(tmp_path: Path) -> None:
    latin = "gr\xfc\xdfe ".encode("latin-1")
    path = put(tmp_path, NOTES, latin + SECRET.encode() + b"\r\n\xff\xfe\x00 end")
    other = put(tmp_path, MEMORY, latin + b"nothing here\r\n")
    before = other.stat()
    assert scrub_documents(tmp_path, SECRET, MARKER) == 1
    assert path.read_bytes() == latin + MARKER.encode() + b"\r\n\xff\xfe\x00 end"
    assert other.read_bytes() == latin + b"nothing here\r\n"
    assert (other.stat().st_ino, other.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_text_of_several_lines_is_found_with_the_line_ends_of_either_kind(tmp_path: Path) -> None:
    text = "one hunter2\ntwo"
    path = put(tmp_path, NOTES, b"a one hunter2\r\ntwo b\r\n one hunter2\ntwo\n")
    assert scrub_documents(tmp_path, text, MARKER) == 1
    assert path.read_bytes() == b"a [scrubbed] b\r\n [scrubbed]\n"
    path.write_bytes(b"one hunter2\ntwo")
    assert scrub_documents(tmp_path, text.replace("\n", "\r\n"), MARKER) == 1
    assert path.read_bytes() == b"[scrubbed]"


def test_words_of_any_language_and_bytes_of_a_shell(tmp_path: Path) -> None:
    path = put(tmp_path, NOTES, "口令是 水位密钥 吗 ".encode() + b"key-\xff-1")
    assert scrub_documents(tmp_path, "水位密钥", MARKER) == 1
    assert scrub_documents(tmp_path, os.fsdecode(b"key-\xff-1"), MARKER) == 1
    assert path.read_bytes() == f"口令是 {MARKER} 吗 {MARKER}".encode()


def test_a_text_that_the_marker_holds_is_replaced_once(tmp_path: Path) -> None:
    path = put(tmp_path, NOTES, b"it was scrubbed")
    assert scrub_documents(tmp_path, "scrubbed", MARKER) == 1
    assert path.read_bytes() == b"it was [scrubbed]"
    assert scrub_documents(tmp_path, MARKER, MARKER) == 0


def test_rights_stay(tmp_path: Path) -> None:
    modes = {CHECKPOINT: 0o400, NOTES: 0o600, MEMORY: 0o644}
    for locator, mode in modes.items():
        put(tmp_path, locator, SECRET.encode()).chmod(mode)
    assert scrub_documents(tmp_path, SECRET, MARKER) == 3
    for locator, mode in modes.items():
        path = path_of(tmp_path, locator)
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (MARKER.encode(), mode)


def test_what_killed_writers_left_goes_and_what_is_no_document_is_scrubbed(tmp_path: Path) -> None:
    folder = put(tmp_path, NOTES, b"alpha").parent
    left = [folder / ".0123456789ab.x1y2", folder / ".checkpoint.md.abc.tmp"]
    for path in left:
        path.write_text(f"half a {SECRET}")
    clean = folder / ".0123456789ab.other"
    clean.write_text("half a text")
    strange = [folder / ".notes.md.swp", folder / "readme.txt", tmp_path / "stray.md", tmp_path / ".hidden"]
    for path in strange:
        path.write_text(f"a {SECRET}")
    assert scrub_documents(tmp_path, SECRET, MARKER) == 6
    assert holding(tmp_path, "hunter2") == []
    assert not any(path.exists() for path in left)
    assert clean.read_text() == "half a text"
    assert [path.read_text() for path in strange] == [f"a {MARKER}"] * 4


def test_earlier_texts_of_a_document_that_is_gone_are_scrubbed(tmp_path: Path) -> None:
    async def main() -> None:
        await session(tmp_path).append(PROGRESS, "x", who="user")
        await session(tmp_path).append(NOTES, SECRET, who="agent")
        await session(tmp_path).append(NOTES, "more", who="agent")

    asyncio.run(main())
    path_of(tmp_path, NOTES).unlink()
    assert scrub_documents(tmp_path, SECRET, MARKER) == 1
    (kept,) = versions.folder_of(tmp_path, layout.parts_of(NOTES)).iterdir()
    assert kept.read_text() == f"{MARKER}\n"


def test_links_are_not_followed_and_what_a_person_keeps_beside_is_left(tmp_path: Path) -> None:
    root, beside = tmp_path / "memory", tmp_path / "beside.md"
    beside.write_text(SECRET)
    notes = put(root, NOTES, b"x")
    notes.unlink()
    notes.symlink_to(beside)
    (root / "linked").symlink_to(tmp_path)
    repository = root / ".git" / "index"
    repository.parent.mkdir()
    repository.write_text(SECRET)
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe.md")
    assert scrub_documents(root, SECRET, MARKER) == 0
    assert beside.read_text() == repository.read_text() == SECRET
    assert notes.is_symlink()


def test_without_a_folder_there_is_nothing_and_none_is_made(tmp_path: Path) -> None:
    assert scrub_documents(tmp_path / "memory", SECRET, MARKER) == 0
    assert erase_sessions(tmp_path / "memory", [SESSION]) == 0
    assert not (tmp_path / "memory").exists()


# --- beside others ----------------------------------------------------------------------------------------------------


class Writer(threading.Thread):
    """Holds a document's lock as its writers do, and changes the document while it has it."""

    def __init__(self, root: Path, locator: Locator, data: bytes) -> None:
        super().__init__(daemon=True)
        self.has = threading.Event()
        self.may_end = threading.Event()
        self._root, self._locator, self._data = root, locator, data

    def run(self) -> None:
        with locks.held(self._root, "/".join(layout.parts_of(self._locator))):
            self.has.set()
            self.may_end.wait(30)
            path_of(self._root, self._locator).write_bytes(self._data)
            kept = versions.folder_of(self._root, layout.parts_of(self._locator))
            kept.mkdir(parents=True, exist_ok=True)
            (kept / "000001-5-agent.md").write_bytes(self._data)


def test_a_writer_is_waited_for_and_what_he_wrote_is_read_again(tmp_path: Path) -> None:
    path = put(tmp_path, NOTES, f"old {SECRET}".encode())
    writer = Writer(tmp_path, NOTES, f"old {SECRET}\nnew {SECRET} and my line".encode())
    writer.start()
    assert writer.has.wait(10)
    found: list[int] = []
    scrubbing = threading.Thread(target=lambda: found.append(scrub_documents(tmp_path, SECRET, MARKER)))
    scrubbing.start()
    time.sleep(0.1)
    assert path.read_text() == f"old {SECRET}"  # nothing is written under another's lock
    writer.may_end.set()
    scrubbing.join(30)
    writer.join(30)
    assert (found, path.read_text()) == ([2], f"old {MARKER}\nnew {MARKER} and my line")
    assert holding(tmp_path, "hunter2") == []


def test_a_file_that_changes_in_the_very_moment_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn.memory import erasing

    path = put(tmp_path, NOTES, SECRET.encode())
    real = erasing.put

    def write_first(target: Path, data: bytes, **more: object) -> bool:
        monkeypatch.setattr(erasing, "put", real)
        path.write_text(f"an editor's line, {SECRET}")
        return real(target, data, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(erasing, "put", write_first)
    assert scrub_documents(tmp_path, SECRET, MARKER) == 1
    assert path.read_text() == f"an editor's line, {MARKER}"


def test_appends_beside_a_scrub_all_hold(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)

        async def append(number: int) -> None:
            await store.append(NOTES, f"entry {number} {SECRET}", who="agent")
            await store.search("entry", OWN)

        scrubs = [asyncio.to_thread(scrub_documents, tmp_path, SECRET, MARKER) for _ in range(4)]
        await asyncio.gather(*(append(number) for number in range(30)), *scrubs)
        await asyncio.to_thread(scrub_documents, tmp_path, SECRET, MARKER)

    asyncio.run(main())
    blocks = path_of(tmp_path, NOTES).read_text().rstrip("\n").split("\n\n")
    assert sorted(blocks) == sorted(f"entry {number} {MARKER}" for number in range(30))
    assert holding(tmp_path, "hunter2") == []


def test_one_that_cannot_be_scrubbed_is_named_and_all_others_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "SECONDS", 0.1)
    held, free = put(tmp_path, NOTES, SECRET.encode()), put(tmp_path, MEMORY, SECRET.encode())
    search(tmp_path)
    with locks.held(tmp_path, "/".join(layout.parts_of(NOTES))), pytest.raises(WorkFailed) as failed:
        scrub_documents(tmp_path, SECRET, MARKER)
    assert "1 of its files: sessions/ses_1/notes.md is being written by another process" in str(failed.value)
    assert "run the same command again" in failed.value.next_step
    assert (held.read_text(), free.read_text(), index(tmp_path).exists()) == (SECRET, MARKER, False)


# --- the index --------------------------------------------------------------------------------------------------------


def test_who_has_read_a_document_before_an_erasure_writes_nothing_of_it_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question that is under way has the index for itself; an erasure waits for it and removes what it wrote."""
    put(tmp_path, NOTES, SECRET.encode())
    has_read, may_go_on = threading.Event(), threading.Event()
    real = index_module.reconcile

    def slow(db: apsw.Connection, root: Path, tops: object) -> None:
        with immediate(db):
            has_read.set()
            may_go_on.wait(30)
        real(db, root, tops)  # type: ignore[arg-type]

    monkeypatch.setattr(index_module, "reconcile", slow)
    asking = threading.Thread(target=lambda: Index(tmp_path).entries(layout.tops(OWN)))
    asking.start()
    assert has_read.wait(10)
    forgetting = threading.Thread(target=Index(tmp_path).forget)
    forgetting.start()
    time.sleep(0.1)
    assert forgetting.is_alive()
    may_go_on.set()
    asking.join(30)
    forgetting.join(30)
    assert not index(tmp_path).exists()


def test_a_folder_that_cannot_be_looked_into_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, NOTES, b"x")
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith(SESSION):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(WorkFailed, match=rf"1 of its files: .*Permission denied.*{SESSION}"):
        scrub_documents(tmp_path, SECRET, MARKER)


def test_who_cannot_have_the_index_builds_one_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, NOTES, b"alpha")
    monkeypatch.setattr(index_module, "_BUSY_MS", 50)
    with locks.held(tmp_path, ".index.sqlite"):
        assert search(tmp_path, "alpha") == {"notes"}
        assert not index(tmp_path).exists()
    assert search(tmp_path, "alpha") == {"notes"}
    assert index(tmp_path).exists()


def test_a_folder_in_place_of_the_index_is_left(tmp_path: Path) -> None:
    index(tmp_path).mkdir()
    Index(tmp_path).forget()
    assert index(tmp_path).is_dir()


def test_an_index_that_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, NOTES, SECRET.encode())
    search(tmp_path)

    def refuse(path: Path, **_: bool) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(WorkFailed, match=r"\.index\.sqlite cannot be removed: Permission denied"):
        scrub_documents(tmp_path, "alpha", MARKER)


# --- a session --------------------------------------------------------------------------------------------------------


async def two_sessions(root: Path) -> None:
    mine, other = session(root), person(root).gate(OTHER)
    await mine.append(NOTES, "kestrel one", who="agent")
    await mine.append(NOTES, "kestrel two", who="agent")
    await mine.append(PROGRESS, "kestrel three", who="user")
    await mine.append(PROGRESS, "kestrel four", who="user")
    await other.append(layout.notes(OTHER_SESSION), "heron one", who="agent")
    await other.append(layout.notes(OTHER_SESSION), "heron two", who="agent")
    await mine.search("kestrel", OWN)
    await other.search("heron", OTHER)


def test_an_erased_session_leaves_nothing_and_the_others_all_of_theirs(tmp_path: Path) -> None:
    asyncio.run(two_sessions(tmp_path))
    put(tmp_path, CHECKPOINT, b"kestrel").chmod(0o400)
    path_of(tmp_path, NOTES).with_name(".0123456789ab.half").write_bytes(b"kestrel")
    assert str(index(tmp_path)) in holding(tmp_path, "kestrel")
    assert erase_sessions(tmp_path, [SESSION, "ses_of_nobody"]) == 1
    assert holding(tmp_path, "kestrel") == []
    for folder in (tmp_path / "sessions", tmp_path / ".versions" / "sessions"):
        assert [path.name for path in folder.iterdir()] == [OTHER_SESSION]
    other = person(tmp_path).gate(OTHER)
    assert [hit.snippet for hit in asyncio.run(other.search("heron", OTHER))] == ["heron one heron two"]
    assert [one.text for one in asyncio.run(other.versions(layout.notes(OTHER_SESSION)))] == ["heron one\n"]
    assert holding(tmp_path, "kestrel") == []


def test_the_index_goes_where_the_documents_were_removed_by_hand(tmp_path: Path) -> None:
    asyncio.run(two_sessions(tmp_path))
    shutil.rmtree(tmp_path / "sessions" / SESSION)
    shutil.rmtree(tmp_path / ".versions" / "sessions" / SESSION)
    assert erase_sessions(tmp_path, [SESSION]) == 0
    assert holding(tmp_path, "kestrel") == []


def test_a_writer_of_an_erased_session_is_waited_for(tmp_path: Path) -> None:
    put(tmp_path, NOTES, b"kestrel")
    writer = Writer(tmp_path, NOTES, b"kestrel again")
    writer.start()
    assert writer.has.wait(10)
    erasing = threading.Thread(target=erase_sessions, args=(tmp_path, [SESSION]))
    erasing.start()
    time.sleep(0.1)
    assert path_of(tmp_path, NOTES).exists()
    writer.may_end.set()
    erasing.join(30)
    writer.join(30)
    assert holding(tmp_path, "kestrel") == []


def test_one_session_that_cannot_be_erased_hinders_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "SECONDS", 0.1)
    asyncio.run(two_sessions(tmp_path))
    with locks.held(tmp_path, "/".join(layout.parts_of(NOTES))), pytest.raises(WorkFailed, match=r"ses_1/notes\.md is being"):
        erase_sessions(tmp_path, [SESSION, OTHER_SESSION])
    assert holding(tmp_path, "heron") == []
    assert not index(tmp_path).exists()
    assert path_of(tmp_path, NOTES).exists()


def test_a_session_folder_that_is_a_link_leads_to_nothing_erased(tmp_path: Path) -> None:
    root, beside = tmp_path / "memory", tmp_path / "beside"
    beside.mkdir()
    (beside / "notes.md").write_text("a person's")
    (root / "sessions").mkdir(parents=True)
    (root / "sessions" / SESSION).symlink_to(beside)
    with pytest.raises(UserMistake, match="through a link"):
        erase_sessions(root, [SESSION])
    assert (beside / "notes.md").read_text() == "a person's"


def test_a_document_that_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(two_sessions(tmp_path))

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(PermissionError):
        erase_sessions(tmp_path, [SESSION])
    assert not index(tmp_path).exists()


def test_a_store_that_was_open_before_goes_on_after(tmp_path: Path) -> None:
    async def main() -> None:
        store = LocalMemory(tmp_path)
        await store.append(NOTES, f"alpha {SECRET}", who="user")
        assert len(await store.search("alpha", OWN)) == 1
        scrub_documents(tmp_path, SECRET, MARKER)
        (hit,) = await store.search("alpha", OWN)
        assert hit.snippet == f"alpha {MARKER}"
        assert await store.search("hunter2", OWN) == ()
        erase_sessions(tmp_path, [SESSION])
        assert await store.search("alpha", OWN) == ()
        assert await store.entries(OWN) == ()

    asyncio.run(main())
