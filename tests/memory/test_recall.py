"""Finding documents: scopes, Chinese, order, floor, lines (Y-1, reports 83, 85; flaws of machine-wide search)."""

import asyncio
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.shelf import (
    CHECKPOINT,
    GLOBAL,
    MEMORY,
    NOTES,
    OTHER,
    OTHER_PROJECT,
    OTHER_SESSION,
    OWN,
    PROGRESS,
    PROJECT,
    person,
    session,
)
from sojourn.memory import Belonging, Locator, layout, path_of, recall
from sojourn.memory.recall import words


async def put(root: Path, texts: dict[Locator, str]) -> None:
    for locator, text in texts.items():
        path = path_of(root, locator)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def keys(hits: object) -> list[str]:
    return [hit.locator.key for hit in hits]  # type: ignore[attr-defined]


@pytest.mark.design("Y-1")
@pytest.mark.report(85)
def test_a_search_stays_in_its_session_project_and_global(tmp_path: Path) -> None:
    async def main() -> None:
        mine = {NOTES: "port one", PROGRESS: "port two", CHECKPOINT: "port three", MEMORY: "port four", GLOBAL: "port five"}
        fact = layout.fact("project", PROJECT, "name")
        theirs = {
            layout.notes(OTHER_SESSION): "port six",
            layout.project_memory(OTHER_PROJECT): "port seven",
            layout.fact("project", OTHER_PROJECT, "name"): "port eight",
        }
        await put(tmp_path, {**mine, fact: "port nine", **theirs})
        await person(tmp_path).search("port", OTHER)  # their documents are in the index too
        store = session(tmp_path)
        hits = await store.search("port", OWN)
        assert {hit.locator for hit in hits} == {*mine, fact}
        assert all(Path(hit.path) == path_of(tmp_path, hit.locator) for hit in hits)
        assert {entry.locator for entry in await store.entries(OWN)} == {*mine, fact}
        for scope, expected in (
            ("session", {NOTES, PROGRESS, CHECKPOINT}),
            ("project", {MEMORY, fact}),
            ("global", {GLOBAL}),
        ):
            assert {hit.locator for hit in await store.search("port", OWN, scope=scope)} == expected  # type: ignore[arg-type]
            assert {entry.locator for entry in await store.entries(OWN, scope)} == expected  # type: ignore[arg-type]
        assert {hit.locator for hit in await person(tmp_path).search("port", OTHER)} == {*theirs, GLOBAL}
        assert {hit.locator for hit in await person(tmp_path).search("port", Belonging("", ""))} == {GLOBAL}
        assert await store.search("port", Belonging(OWN.session_id, PROJECT + "/"))  # the same folder

    asyncio.run(main())


@pytest.mark.design("Y-1")
@pytest.mark.report(85)
def test_another_project_changes_no_score(tmp_path: Path) -> None:
    async def main() -> None:
        await put(tmp_path, {MEMORY: "port alpha", NOTES: "alpha beta gamma", GLOBAL: "port"})
        alone = await session(tmp_path).search("port alpha", OWN)
        await put(tmp_path, {layout.notes(f"ses_{number + 10}"): "port port port" for number in range(30)})
        for number in range(30):
            await person(tmp_path).search("port", Belonging(f"ses_{number + 10}", ""))
        assert await session(tmp_path).search("port alpha", OWN) == alone
        assert len(alone) == 3

    asyncio.run(main())


@pytest.mark.design("Y-1")
def test_chinese_words_of_two_characters_are_found(tmp_path: Path) -> None:
    async def main() -> None:
        await put(tmp_path, {NOTES: "数据库端口是 8437\n缓存不用", MEMORY: "部署前必须备份", GLOBAL: "口味"})
        store = session(tmp_path)
        for query, expected in (
            ("端口", ["notes"]),
            ("备份", ["MEMORY"]),
            ("库端", ["notes"]),
            ("端口备份", ["MEMORY", "notes"]),
            ("数据库的端口是多少", ["notes"]),
            ("前备", []),
            ("味", ["MEMORY"]),
            ("口", ["MEMORY", "notes"]),
        ):
            assert sorted(keys(await store.search(query, OWN))) == expected, query

    asyncio.run(main())


@pytest.mark.design("Y-1")
def test_any_word_finds_and_more_words_come_first(tmp_path: Path) -> None:
    async def main() -> None:
        await put(
            tmp_path,
            {
                NOTES: "the harbour gate opens at noon",
                MEMORY: "the harbour gate is read by config.load in read_file",
                GLOBAL: "the tide " + "is high and the water is deep " * 20,
            },
        )
        store = session(tmp_path)
        assert keys(await store.search("harbour config.load", OWN)) == ["MEMORY", "notes"]
        assert keys(await store.search("HARBOUR noon", OWN)) == ["notes", "MEMORY"]
        assert keys(await store.search("config.py load", OWN)) == ["MEMORY"]
        assert keys(await store.search("file", OWN)) == ["MEMORY"]
        assert keys(await store.search("harbour", OWN, limit=1)) == ["notes"]  # the shorter one
        assert keys(await store.search("harbour tide", OWN, limit=0)) == []
        assert keys(await store.search("harbour tide", OWN, limit=-1)) == []
        for nothing in ("", "   ", "!?", '"', "nowhere", "'; DROP TABLE words", '" OR scope : "'):
            assert keys(await store.search(nothing, OWN)) == [], nothing

    asyncio.run(main())


@pytest.mark.design("Y-1")
def test_the_score_is_bm25_of_what_may_be_seen(tmp_path: Path) -> None:
    async def main() -> None:
        await put(tmp_path, {NOTES: "alpha beta", MEMORY: "alpha alpha gamma delta", layout.notes("ses_9"): "alpha beta"})
        hits = await session(tmp_path).search("alpha beta", OWN)
        common, rare = math.log(1 + 0.5 / 2.5), math.log(1 + 1.5 / 1.5)
        mean = (3 + 5) / 2  # with the document's name
        notes, memory = (1.2 * (0.25 + 0.75 * length / mean) for length in (3, 5))
        expected = [(common + rare) * 2.2 / (1 + notes), common * 2 * 2.2 / (2 + memory)]
        assert [hit.locator.key for hit in hits] == ["notes", "MEMORY"]
        assert [hit.score for hit in hits] == pytest.approx(expected)
        assert await session(tmp_path).search("alpha", Belonging(OWN.session_id, PROJECT), scope="global") == ()
        assert await person(tmp_path).search("alpha", Belonging("", ""), scope="project") == ()

    asyncio.run(main())


@pytest.mark.design("Y-1")
def test_hits_far_below_the_best_are_left_out(tmp_path: Path) -> None:
    async def main() -> None:
        rare = {layout.fact("global", "", f"f{number}"): f"common words here {number}" for number in range(9)}
        await put(tmp_path, {**rare, MEMORY: "common alpha beta gamma"})
        store = session(tmp_path)
        best, *rest = await store.search("alpha beta gamma common", OWN, limit=20)
        assert (best.locator, rest) == (MEMORY, [])
        every = await store.search("common", OWN, limit=20)
        assert len(every) == 10
        assert min(hit.score for hit in every) >= 0.15 * every[0].score > 0

    asyncio.run(main())


@pytest.mark.design("Y-1")
@pytest.mark.parametrize(("floor", "expected"), [(0.9, 1), (0.0, 3)])
def test_the_floor_is_a_share_of_the_best(tmp_path: Path, floor: float, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        await put(tmp_path, {NOTES: "alpha beta", MEMORY: "alpha", GLOBAL: "alpha and more", PROGRESS: "x", CHECKPOINT: "x"})
        assert len(await session(tmp_path).search("alpha beta", OWN)) == 3
        monkeypatch.setattr(recall, "FLOOR", floor)
        assert len(await session(tmp_path).search("alpha beta", OWN)) == expected

    asyncio.run(main())


@pytest.mark.design("Y-1")
def test_the_floor_itself_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        await put(tmp_path, {NOTES: "alpha beta", MEMORY: "alpha gone"})
        best, last = await session(tmp_path).search("alpha beta", OWN)
        monkeypatch.setattr(recall, "FLOOR", last.score / best.score)
        assert len(await session(tmp_path).search("alpha beta", OWN)) == 2
        monkeypatch.setattr(recall, "FLOOR", last.score / best.score + 1e-9)
        assert len(await session(tmp_path).search("alpha beta", OWN)) == 1

    asyncio.run(main())


@pytest.mark.design("Y-1")
def test_a_hit_shows_the_line_with_the_most_words(tmp_path: Path) -> None:
    async def main() -> None:
        text = "# Memory\n\n- the gate opens\n- the port of the gate is 8437\n- port\n\nend\n"
        long = "\n".join([*(f"line {number}" for number in range(500)), f"{'x ' * 300}needle{' y' * 300}"])
        await put(tmp_path, {MEMORY: text, NOTES: long, layout.fact("global", "", "node-version"): "\n\nuse 20\n"})
        store = session(tmp_path)
        (hit,) = await store.search("gate port", OWN)
        assert (hit.line, hit.snippet) == (4, "- the port of the gate is 8437 - port")
        (hit,) = await store.search("needle", OWN)
        assert hit.line == 501
        assert "needle" in hit.snippet
        assert len(hit.snippet) <= 242
        (hit,) = await store.search("node", OWN)  # by its name
        assert (hit.line, hit.snippet) == (3, "use 20")

    asyncio.run(main())


@pytest.mark.design("Y-1")
def test_entries_say_title_tokens_and_time_newest_first(tmp_path: Path) -> None:
    async def main() -> None:
        import os

        fact = layout.fact("project", PROJECT, "port")
        await put(
            tmp_path,
            {
                NOTES: "first line\nsecond",
                MEMORY: "text\n\n## The  tide ##\n# Later\n",
                GLOBAL: "",
                fact: "---\nname: port\ndescription: 'The port: 8437'\n---\n\n# Heading\n",
            },
        )
        for age, locator in enumerate((MEMORY, NOTES, GLOBAL, fact)):
            os.utime(path_of(tmp_path, locator), (1_700_000_000 - age, 1_700_000_000 - age))
        found = await session(tmp_path).entries(OWN)
        assert [(entry.locator, entry.title) for entry in found] == [
            (MEMORY, "The tide"),
            (NOTES, "first line"),
            (GLOBAL, ""),
            (fact, "The port: 8437"),
        ]
        assert [entry.modified for entry in found] == [1_700_000_000_000 - age * 1000 for age in range(4)]
        assert [entry.tokens for entry in found][2] == 0
        assert 3 <= found[1].tokens <= 6
        assert found[0].path == str(path_of(tmp_path, MEMORY))

    asyncio.run(main())


@pytest.mark.design("Y-1")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("端口", ("端口",)),
        ("数据库", ("数据", "据库")),
        ("口", ("口",)),
        ("端口 味", ("端口", "味")),
        ("修复bug", ("修复", "bug")),
        ("read_file", ("read_file", "file", "read")),
        ("config.load __", ("config", "load")),
        ("Port port PORT", ("Port",)),
        ("don't!", ("don", "t")),
        ("a ，。 !!", ("a",)),
        (" ".join(f"w{number}" for number in range(100)), tuple(f"w{number}" for number in range(64))),
    ],
)
def test_what_a_query_looks_for(query: str, expected: tuple[str, ...]) -> None:
    assert words(query) == expected


@pytest.mark.design("Y-1")
@given(st.text("ab Z09_.-/\"'*(){}:^\n\x00éß端口水か한，。\U00020000", max_size=30), st.text(max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_query_is_answered(text: str, query: str) -> None:
    import tempfile

    async def main(root: Path) -> None:
        path = path_of(root, NOTES)
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8", newline="")
        store = session(root)
        assert len(await store.search(query, OWN)) <= 1
        assert len(await store.search(text, OWN)) == (1 if words(text) else 0)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
