"""The ``memory`` tool over a port that remembers what it was asked (Y-1)."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from sojourn.base import UserMistake, WorkFailed
from sojourn.memory import Document, Entry, Locator, MemoryHit, Scope
from sojourn.meter import estimate_text, estimate_value, total
from sojourn.models.calls import check_arguments
from sojourn.tools import MEMORY, TASK, Desk, Effect, Outcome, call_shape, memory_effect, run
from sojourn.tools.history import HISTORY
from sojourn.tools.memory import LISTED_MOST

pytestmark = pytest.mark.design("Y-1")

WHERE = Locator("project", "p", "MEMORY")


def hit(path: str, line: int, snippet: str) -> MemoryHit:
    return MemoryHit(WHERE, path, line, snippet, 1.0)


def entry(path: str, tokens: int = 7, title: str = "") -> Entry:
    return Entry(WHERE, path, title, tokens, 0)


class Shelf:
    """A memory that answers what it was given and writes down what it was asked."""

    def __init__(self, hits: Sequence[MemoryHit] = (), listed: Sequence[Entry] = (), **documents: str) -> None:
        self.hits, self.listed, self.documents = hits, listed, documents
        self.asked: list[tuple[Any, ...]] = []
        self.refuses: Exception | None = None

    def _document(self, path: str, text: str) -> Document:
        self.documents[path] = text
        return Document(WHERE, text, "5ha" * 20, 0, f"as-shown/{path}")

    async def search(self, words: str, *, scope: Scope | None = None, limit: int = 10) -> Sequence[MemoryHit]:
        self.asked.append(("search", words, scope, limit))
        return self.hits

    async def entries(self, scope: Scope | None = None) -> Sequence[Entry]:
        self.asked.append(("entries", scope))
        return self.listed

    async def read(self, path: str) -> Document | None:
        self.asked.append(("read", path))
        return self._document(path, self.documents[path]) if path in self.documents else None

    async def append(self, path: str, text: str) -> Document:
        return await self._change("append", path, text)

    async def edit(self, path: str, old: str, new: str) -> Document:
        return await self._change("edit", path, old, new)

    async def write(self, path: str, text: str) -> Document:
        return await self._change("write", path, text)

    async def _change(self, *asked: str) -> Document:
        self.asked.append(asked)
        if self.refuses:
            raise self.refuses
        return self._document(asked[1], asked[-1])


def ask(tmp_path: Path, shelf: Shelf | None, **arguments: Any) -> Outcome:
    async def main() -> Outcome:
        desk = Desk(tmp_path, memory=shelf)
        try:
            return await run(MEMORY, arguments, desk)
        finally:
            await desk.close()

    return asyncio.run(main())


def good(tmp_path: Path, shelf: Shelf, **arguments: Any) -> str:
    outcome = ask(tmp_path, shelf, **arguments)
    assert not outcome.error, outcome.text
    return outcome.text


def bad(tmp_path: Path, shelf: Shelf | None, **arguments: Any) -> str:
    outcome = ask(tmp_path, shelf, **arguments)
    assert outcome.error, outcome.text
    return outcome.text


@pytest.mark.design("P-8")
def test_it_is_lean() -> None:
    listed = MEMORY.listed()
    assert set(listed) == {"name", "description", "schema"}
    assert 60 < total(estimate_value(listed)) < 170
    assert total(estimate_text(MEMORY.description)) < 60


@pytest.mark.design("Y-6")
def test_looking_changes_nothing() -> None:
    effects = {do: memory_effect({"do": do}) for do in MEMORY.schema["properties"]["do"]["enum"]}
    reads = {do for do, effect in effects.items() if effect == "read"}
    assert reads == {"search", "read", "list"}
    assert {effects[do] for do in ("append", "edit", "write")} == {"edit"}
    assert memory_effect({}) == memory_effect({"do": "forget"}) == memory_effect({"do": ["read"]}) == "edit"
    assert MEMORY.effect == "edit", "the most that a call can do"
    assert set(effects.values()) <= set(get_args(Effect))


def test_search_shows_places_and_how_to_read_them(tmp_path: Path) -> None:
    shelf = Shelf([hit("project", 12, "  build\n needs   node 20 "), hit("global/facts/tabs", 3, "x" * 241)])
    lines = good(tmp_path, shelf, do="search", words=" node ").split("\n")
    assert lines == [
        "project:12 build needs node 20",
        f"global/facts/tabs:3 {'x' * 239}…",
        '[whole document: memory {"do": "read", "path": "project"}]',
    ]
    assert shelf.asked == [("search", "node", None, 10)]
    assert f":3 {'x' * 240}\n" in good(tmp_path, Shelf([hit("a", 3, "x" * 240)]), do="search", words="x")


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("notes", "session"),
        ("sessions/s/notes.md", "session"),
        ("project", "project"),
        ("projects/p/MEMORY.md", "project"),
        ("global", "global"),
        (" global/facts ", "global"),
        ("", None),
        ("elsewhere", None),
    ],
)
def test_a_search_or_a_list_may_look_in_one_place(tmp_path: Path, path: str, scope: str | None) -> None:
    shelf = Shelf([hit("a", 1, "x")], [entry("a")])
    good(tmp_path, shelf, do="search", words="x", path=path)
    good(tmp_path, shelf, do="list", path=path)
    assert shelf.asked == [("search", "x", scope, 10), ("entries", scope)]


@pytest.mark.parametrize("words", ['port "8080"', "端口 上限"])
def test_nothing_found_says_what_to_try(tmp_path: Path, words: str) -> None:
    first, *ways = good(tmp_path, Shelf(), do="search", words=words).split("\n")
    assert first == "Nothing found in memory. Try, in this order:"
    quoted = json.dumps(words, ensure_ascii=False)
    exact = f'- what was said or done in this session, by its exact words: history {{"search": {quoted}}}'
    assert ways == ["- fewer or rarer words", exact]
    first, *ways = good(tmp_path, Shelf(), do="search", words=words, path="global").split("\n")
    assert first == "Nothing found in the global memory. Try, in this order:"
    assert ways == ["- fewer or rarer words", f'- everywhere: memory {{"do": "search", "words": {quoted}}}', exact]


def test_read(tmp_path: Path) -> None:
    shelf = Shelf(notes="# 笔记\n\n端口是 8080\n", empty=" \n")
    assert good(tmp_path, shelf, do="read", path=" notes ") == "[as-shown/notes]\n# 笔记\n\n端口是 8080\n"
    assert good(tmp_path, shelf, do="read", path="empty") == "as-shown/empty is empty."
    missing = 'There is no document project yet.\nWhat there is: memory {"do": "list"}'
    assert bad(tmp_path, shelf, do="read", path="project") == missing
    assert "5ha" not in good(tmp_path, shelf, do="read", path="notes"), "no hashes"


def test_list(tmp_path: Path) -> None:
    shelf = Shelf(listed=[entry("notes", 1234, "Notes"), entry("project")])
    assert good(tmp_path, shelf, do="list") == "notes (1,234 tokens) Notes\nproject (7 tokens)"
    assert good(tmp_path, Shelf(), do="list") == "There is nothing in memory yet."
    assert good(tmp_path, Shelf(), do="list", path="notes") == "There is nothing in the session memory yet."
    assert LISTED_MOST == 100
    for count, more in ((LISTED_MOST, ""), (LISTED_MOST + 2, "[2 more, older: find them with search]")):
        lines = good(tmp_path, Shelf(listed=[entry(f"d{n}") for n in range(count)]), do="list").split("\n")
        assert lines[LISTED_MOST - 1] == f"d{LISTED_MOST - 1} (7 tokens)"
        assert lines[LISTED_MOST:] == ([more] if more else [])


def test_changes_reach_the_memory_as_they_were_written(tmp_path: Path) -> None:
    shelf = Shelf()
    assert good(tmp_path, shelf, do="append", text=" 端口是 8080\n") == "Added to as-shown/notes."
    assert good(tmp_path, shelf, do="append", path="project", text="- a") == "Added to as-shown/project."
    assert good(tmp_path, shelf, do="edit", path="project", old=" a", new=" b") == "Changed as-shown/project."
    assert good(tmp_path, shelf, do="edit", path="project", old="b", new="") == "Changed as-shown/project."
    assert good(tmp_path, shelf, do="write", path="global", text="a\nb\n") == "Wrote as-shown/global: 2 lines."
    assert good(tmp_path, shelf, do="write", path="global", text="a") == "Wrote as-shown/global: 1 line."
    assert shelf.asked == [
        ("append", "notes", " 端口是 8080\n"),
        ("append", "project", "- a"),
        ("edit", "project", " a", " b"),
        ("edit", "project", "b", ""),
        ("write", "global", "a\nb\n"),
        ("write", "global", "a"),
    ]


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        ({"do": "search"}, "words"),
        ({"do": "search", "words": " "}, "words"),
        ({"do": "read"}, "path"),
        ({"do": "append", "path": "notes"}, "text"),
        ({"do": "append", "text": "\n"}, "text"),
        ({"do": "edit", "old": "a", "new": "b"}, "path"),
        ({"do": "edit", "path": "project", "new": "b"}, "old"),
        ({"do": "edit", "path": "project", "old": "a"}, "new"),
        ({"do": "write", "text": "a"}, "path"),
        ({"do": "write", "path": "global"}, "text"),
        ({"do": "write", "path": "global", "text": " "}, "text"),
    ],
)
def test_what_is_missing_is_named_with_an_example(tmp_path: Path, arguments: dict[str, Any], missing: str) -> None:
    shelf = Shelf()
    first, example = bad(tmp_path, shelf, **arguments).split("\n")
    assert first == f"{arguments['do']} needs {missing}."
    shape = json.loads(example.removeprefix("For example memory "))
    assert check_arguments(shape, MEMORY.schema) == ""
    assert (shape["do"], missing in shape) == (arguments["do"], True)
    assert not ask(tmp_path, Shelf([hit("a", 1, "x")], project="x"), **shape).error, "what is shown works"
    assert shelf.asked == []


def test_refusals(tmp_path: Path) -> None:
    shelf = Shelf()
    assert bad(tmp_path, None, do="list") == "This session has no memory.\nGo on without it."
    assert "`do` is missing" in bad(tmp_path, shelf)
    assert "Did you mean" in bad(tmp_path, shelf, do="serch", words="x")
    same = bad(tmp_path, shelf, do="edit", path="project", old="a", new="a")
    assert same.startswith("old and new are the same: nothing was changed.")
    assert shelf.asked == []
    shelf.refuses = UserMistake("it belongs to another session", next_step="Take your own.")
    assert bad(tmp_path, shelf, do="append", text="x") == "it belongs to another session\nTake your own."
    shelf.refuses = WorkFailed("the disk is full")
    assert bad(tmp_path, shelf, do="write", path="global", text="x") == "the disk is full"


def test_shapes_that_are_shown_are_those_that_the_tools_take() -> None:
    assert call_shape(TASK, do="list") == 'task {"do": "list"}'
    assert call_shape(HISTORY, search="上限") == 'history {"search": "上限"}'
    for tool, arguments in (
        (MEMORY, {"do": "look"}),
        (MEMORY, {}),
        (HISTORY, {"query": "x"}),
        (TASK, {"do": "start", "id": 1}),
    ):
        with pytest.raises(ValueError, match=rf"^{tool.name}: "):
            call_shape(tool, **arguments)
