"""Facts in files of their own, and their index lines (K-1, Y-1, report 87)."""
# ruff: noqa: ASYNC240  (one test, one loop: nothing else waits)

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.shelf import MEMORY, OTHER_PROJECT, OWN, PROJECT, person, session
from sojourn.base import UserMistake
from sojourn.memory import Fact, MemoryStore, layout, parse_fact, path_of, render_fact, write_fact
from sojourn.memory.facts import index_line
from sojourn.memory.front_matter import one_line, split, title_of

NODE = Fact("build-needs-node-20", "The build: Node 20, never 18", "project", "2026-11-30", "ses_1 m12", "# Why\n\nESM.")


@pytest.mark.design("Y-1")
def test_a_fact_as_a_file() -> None:
    assert render_fact(NODE) == (
        '---\nname: build-needs-node-20\ndescription: "The build: Node 20, never 18"\ntype: project\ncreated: "2026-11-30"\n'
        'source: "ses_1 m12"\n---\n\n# Why\n\nESM.\n'
    )
    assert render_fact(Fact("x", "on", body="")) == '---\nname: x\ndescription: "on"\n---\n'
    assert index_line(NODE) == "- [build needs node 20](facts/build-needs-node-20.md) - The build: Node 20, never 18"
    assert index_line(Fact("x", body="first\nsecond")) == "- [x](facts/x.md) - first"
    assert index_line(Fact("x")) == "- [x](facts/x.md)"


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)


@pytest.mark.design("Y-1")
@given(WORDS, WORDS, WORDS, st.text("ab# -\n:我", max_size=30))
@settings(max_examples=150, deadline=None)
def test_a_fact_is_read_as_it_was_written(description: str, kind: str, source: str, body: str) -> None:
    fact = Fact("name", one_line(description), one_line(kind), "2026-11-30", one_line(source), body.strip("\n"))
    expected = fact if fact.body.strip() else Fact("name", fact.description, fact.type, fact.created, fact.source, "")
    assert parse_fact("name", render_fact(fact)) == expected


@pytest.mark.design("Y-1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("just text\n", Fact("n", body="just text")),
        ("---\nname: other\ndescription: a\nmetadata:\n  type: feedback\n---\nbody", Fact("n", "a", "feedback", body="body")),
        ("---\ntype: user\nmetadata:\n  type: feedback\n---\n", Fact("n", type="user")),
        ("---\ndescription: Use pnpm: never npm\ntype: project\n---\nb", Fact("n", "Use pnpm: never npm", "project", body="b")),
        ("---\ndescription: one\ndescription: two: three\n---\n", Fact("n", "one")),
        ("---\ncreated: 2026-11-30\ndescription: 5\nsource: null\n---\n", Fact("n", "5", created="2026-11-30")),
        ("---\n- a\n- b\n---\nbody", Fact("n", body="body")),
        ("---\ndescription: [a, b]\n---\nbody", Fact("n", body="body")),
        ("---\nunclosed: yes\n", Fact("n", body="---\nunclosed: yes")),
        ("\ufeff---\ndescription: a\n---\nbody", Fact("n", "a", body="body")),
        ("\ufeffbody", Fact("n", body="body")),
        (f"---\ndescription: {'[' * 51}\n---\nb", Fact("n", "[" * 51, body="b")),
        ("---\ndescription: !!python/object:os.system x\n---\nb", Fact("n", "!!python/object:os.system x", body="b")),
        ("---\ndescription: |\n  two\n  lines\n---\nb", Fact("n", "two lines", body="b")),
        ("text\n---\ndescription: a\n---\n", Fact("n", body="text\n---\ndescription: a\n---")),
    ],
)
def test_what_people_write_is_read(text: str, expected: Fact) -> None:
    assert parse_fact("n", text) == expected


@pytest.mark.design("Y-1")
@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ndescription: a  fact\n---\n# Heading\n", "a fact"),
        ("---\nname: x\n---\n\n# Heading #\n", "Heading"),
        ("some\n\n### Third  level ##\n# First\n", "Third level"),
        ("\n\n  some text \n more", "some text"),
        ("", ""),
        ("\n\n", ""),
        ("#no heading\n", "#no heading"),
        (f"# {'x' * 130}", "x" * 120),
    ],
)
def test_the_title_of_a_document(text: str, title: str) -> None:
    assert title_of(text) == title


@pytest.mark.design("K-1", "Y-1")
@pytest.mark.report(87)
def test_a_fact_is_written_found_and_listed(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        written = await write_fact(store, "project", PROJECT, NODE, who="agent")
        assert written.text == render_fact(NODE)
        assert path_of(tmp_path, MEMORY).read_text() == f"## Facts\n\n{index_line(NODE)}\n"
        later = person(tmp_path).gate(OWN)
        document = await later.read(layout.fact("project", PROJECT, NODE.name))
        assert document is not None
        assert parse_fact(NODE.name, document.text) == NODE
        hits = await later.search("node version", OWN)
        assert {hit.locator.key for hit in hits} == {f"facts/{NODE.name}", "MEMORY"}
        titles = {entry.locator.key: entry.title for entry in await later.entries(OWN)}
        assert titles[f"facts/{NODE.name}"] == NODE.description

    asyncio.run(main())


@pytest.mark.design("K-1", "K-12")
@pytest.mark.parametrize("who", ["agent", "writer", "user"])
def test_a_fact_of_the_same_name_replaces_through_a_version(tmp_path: Path, who: str) -> None:
    async def main() -> None:
        store: MemoryStore = session(tmp_path)
        path = path_of(tmp_path, MEMORY)
        path.parent.mkdir(parents=True)
        path.write_text("# Tide\n\n## Facts\n\n- [a](facts/a.md) - a\n\n## Rules\n\n- a rule\n")
        await write_fact(store, "project", PROJECT, NODE, who=who)  # type: ignore[arg-type]
        new = Fact(NODE.name, "Node 22", body="Since May.")
        await write_fact(store, "project", PROJECT, new, who=who)  # type: ignore[arg-type]
        assert path.read_text() == (f"# Tide\n\n## Facts\n\n- [a](facts/a.md) - a\n{index_line(new)}\n\n## Rules\n\n- a rule\n")
        versions = await store.versions(layout.fact("project", PROJECT, NODE.name))
        assert [version.text for version in versions] == [render_fact(NODE)]
        before = path.stat().st_mtime_ns
        await write_fact(store, "project", PROJECT, new, who=who)  # type: ignore[arg-type]
        assert path.stat().st_mtime_ns == before
        assert len(await store.versions(layout.fact("project", PROJECT, NODE.name))) == 1

    asyncio.run(main())


@pytest.mark.design("K-1", "Y-2")
def test_facts_that_are_refused(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        with pytest.raises(UserMistake, match="says nothing"):
            await write_fact(store, "project", PROJECT, Fact("x", " ", body="\n"), who="agent")
        with pytest.raises(UserMistake, match="fact id"):
            await write_fact(store, "project", PROJECT, Fact("..", "a"), who="agent")
        with pytest.raises(UserMistake, match="another project"):
            await write_fact(store, "project", OTHER_PROJECT, Fact("x", "a"), who="agent")
        with pytest.raises(UserMistake, match="global"):
            await write_fact(store, "global", "", Fact("x", "a"), who="writer")
        assert list(tmp_path.iterdir()) == []
        assert await write_fact(store, "global", "", Fact("端口", "8437"), who="agent")
        assert (await write_fact(store, "global", "", Fact("b", body="x"), who="agent")).text == "---\nname: b\n---\n\nx\n"
        assert split(path_of(tmp_path, layout.fact("global", "", "端口")).read_text())[0]["description"] == "8437"

    asyncio.run(main())
