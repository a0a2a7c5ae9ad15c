"""Entries of the notes, and taking out only what was seen (K-13, flaw 7)."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.shelf import NOTES, OWN, SESSION, START, session
from sojourn.base import UserMistake
from sojourn.memory import append_note, note_entries, path_of
from sojourn.memory.files import sha_of
from sojourn.memory.notes import without

TEXT = """# Notes

by hand, above

## [turn 1, 2026-11-30T08:00:00Z]
first

## inner heading

still first

## [turn 2, 2026-11-30T09:00:00Z]
second
"""
FIRST = "## [turn 1, 2026-11-30T08:00:00Z]\nfirst\n\n## inner heading\n\nstill first"
SECOND = "## [turn 2, 2026-11-30T09:00:00Z]\nsecond"


def texts(text: str) -> list[str]:
    return [entry for _, entry in note_entries(text)]


@pytest.mark.design("K-13")
def test_entries_go_from_heading_to_heading() -> None:
    assert texts(TEXT) == ["by hand, above", FIRST, SECOND]
    assert [sha for sha, _ in note_entries(TEXT)] == [sha_of("by hand, above"), sha_of(FIRST), sha_of(SECOND)]
    assert texts("") == texts("# Notes\n") == texts("\n\n# Notes\n\n") == []
    assert texts("only this") == ["only this"]
    assert texts("## [turn 1]\nx") == ["## [turn 1]\nx"]  # no date: one entry by hand
    assert texts("x\n## [turn 1, d]\n## [turn 2, d]") == ["x", "## [turn 1, d]", "## [turn 2, d]"]
    assert texts("x ## [turn 1, d]\ny") == ["x ## [turn 1, d]\ny"]


@pytest.mark.design("K-13")
@pytest.mark.parametrize(
    ("seen", "left"),
    [
        ([], TEXT),
        (["unknown"], TEXT),
        ([SECOND], TEXT.replace(f"{SECOND}\n", "")),
        ([FIRST], TEXT.replace(f"{FIRST}\n\n", "")),
        (["by hand, above"], TEXT.replace("\nby hand, above\n\n", "")),
        (["by hand, above", FIRST, SECOND], "# Notes\n"),
    ],
)
def test_only_what_was_seen_is_taken_out(seen: list[str], left: str) -> None:
    assert without(TEXT, {sha_of(entry) for entry in seen}) == left


@pytest.mark.design("K-13")
@given(
    st.lists(st.sampled_from(["# T\n", "x\n", "\n", "## [turn 1, a]\n", "## [turn 2, b]\n", "y", "## z\n"]), max_size=14),
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_what_was_not_seen_stays_byte_for_byte(lines: list[str], data: st.DataObject) -> None:
    text = "".join(lines)
    entries = note_entries(text)
    seen = set(data.draw(st.lists(st.sampled_from([sha for sha, _ in entries]), unique=True))) if entries else set()
    left = without(text, seen)
    assert list(note_entries(left)) == [entry for entry in entries if entry[0] not in seen]
    assert seen or left == text


@pytest.mark.design("K-13", "Y-2")
def test_a_note_written_while_the_writer_is_at_work_stays(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        await append_note(store, SESSION, "one", turn=1, now=START)
        document = await append_note(store, SESSION, "two", turn=1, now=START)
        seen = [sha for sha, _ in note_entries(document.text)]
        await append_note(store, SESSION, "three", turn=2, now=START + 61_000)
        left = await store.take_out(NOTES, seen, who="writer")
        assert left is not None
        assert texts(left.text) == ["## [turn 2, 2023-11-14T22:14:21Z]\nthree"]
        assert [version.text.count("## ") for version in await store.versions(NOTES)] == [3, 2, 1]
        assert (await store.versions(NOTES))[0].who == "writer"
        again = await store.take_out(NOTES, seen, who="writer")
        assert again == left
        assert await store.search("three", OWN)

    asyncio.run(main())


@pytest.mark.design("K-13")
def test_the_same_note_is_not_added_twice(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        first = await append_note(store, SESSION, "  the port\n", turn=1, now=START)
        assert first.text == "## [turn 1, 2023-11-14T22:13:20Z]\nthe port\n"
        assert await append_note(store, SESSION, "the port", turn=7, now=START + 1) == first
        assert len(note_entries((await append_note(store, SESSION, "the port 2", turn=7, now=START)).text)) == 2
        with pytest.raises(UserMistake, match="empty"):
            await append_note(store, SESSION, " \n", turn=1, now=START)
        with pytest.raises(UserMistake, match="takes entries out"):
            await append_note(store, SESSION, "x", turn=1, now=START, who="writer")
        path_of(tmp_path, NOTES).write_text("by hand")
        assert (await append_note(store, SESSION, "by hand", turn=1, now=START)).text == "by hand"

    asyncio.run(main())
