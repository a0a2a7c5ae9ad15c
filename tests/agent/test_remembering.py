"""The session's memory as its tool has it, over the local store (Y-1, Y-2)."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.agent.remembering import Remembering, may_be_global, recall, shown
from sojourn.base import ManualClock, UserMistake
from sojourn.memory import Belonging, Locator
from sojourn.memory.documents import LocalMemory
from sojourn.memory.facts import Fact, parse_fact
from sojourn.memory.layout import path_of
from sojourn.meter import estimate_text, total
from sojourn.tools import MEMORY, Desk, Outcome, run

pytestmark = pytest.mark.design("Y-1", "Y-2")

NOW = 1_764_000_000_000  # 2025-11-24T16:00:00Z
SESSION, PROJECT = "ses_1", "/work/编译器"
OWN = Belonging(SESSION, PROJECT)


class Place:
    """A folder of memory with one session's tool."""

    def __init__(self, root: Path, belonging: Belonging = OWN, **more: Any) -> None:
        self.root = root
        self.turn = 412
        self.store = LocalMemory(root, clock=ManualClock(NOW), belonging=belonging)
        options: dict[str, Any] = {"clock": ManualClock(NOW), "turn": lambda: self.turn, "root": root} | more
        self.memory = Remembering(self.store, belonging, **options)

    def file(self, scope: Any, key: str, scope_id: str | None = None) -> Path:
        own = {"session": SESSION, "project": PROJECT, "global": ""}[scope]
        return path_of(self.root, Locator(scope, own if scope_id is None else scope_id, key))

    async def call(self, **arguments: Any) -> Outcome:
        desk = Desk(self.root.parent, memory=self.memory)
        try:
            return await run(MEMORY, arguments, desk)
        finally:
            await desk.close()

    async def good(self, **arguments: Any) -> str:
        outcome = await self.call(**arguments)
        assert not outcome.error, outcome.text
        return outcome.text

    async def bad(self, **arguments: Any) -> str:
        outcome = await self.call(**arguments)
        assert outcome.error, outcome.text
        return outcome.text


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "memory")


# --- names --------------------------------------------------------------------------------------------------------

NAMES = {
    Locator("session", SESSION, "notes"): ("notes", "notes.md", " notes ", f"sessions/{SESSION}/notes.md"),
    Locator("session", SESSION, "checkpoint"): ("checkpoint", f"sessions/{SESSION}/checkpoint.md"),
    Locator("session", SESSION, "tasks/T1/progress"): ("tasks/T1/progress", "tasks/T1/progress.md"),
    Locator("project", PROJECT, "MEMORY"): ("project", "project/MEMORY", "project/MEMORY.md", "MEMORY.md", "MEMORY"),
    Locator("project", PROJECT, "facts/构建"): ("project/facts/构建", "facts/构建.md", "project/facts/构建.md"),
    Locator("global", "", "MEMORY"): ("global", "global/MEMORY", "global/MEMORY.md"),
    Locator("global", "", "facts/tabs"): ("global/facts/tabs", "global/facts/tabs.md"),
}


@pytest.mark.parametrize("locator", NAMES)
def test_what_may_be_global(place: Place, locator: Locator) -> None:
    whole = str(path_of(place.root, locator))
    for name in (*NAMES[locator], whole, whole.replace("/", "\\")):
        assert may_be_global(name) == (locator.scope == "global"), name


_ROOTS = ["", "/m", "/home/global/memory", "C:/m", "/a/projects"]
_PARTS = [
    "global",
    "Global",
    "MEMORY",
    "MEMORY.md",
    "facts",
    "x",
    "x.md",
    "project",
    "projects",
    "sessions",
    ".",
    "",
    "?",
    "notes",
]


@given(
    root=st.sampled_from(_ROOTS),
    whole=st.booleans(),
    start=st.sampled_from(["", "/", "//?/", " ", "./", "\\\\?\\"]),
    parts=st.lists(st.sampled_from(_PARTS), min_size=1, max_size=4),
    separator=st.sampled_from(["/", "\\", "//"]),
)
@settings(max_examples=300, deadline=None)
def test_no_path_of_a_global_document_is_missed(root: str, whole: bool, start: str, parts: list[str], separator: str) -> None:
    memory = Remembering(LocalMemory(Path("/nowhere")), OWN, clock=ManualClock(NOW), turn=lambda: 1, root=root)
    path = start + separator.join([root, *parts] if whole else parts)
    try:
        locator = memory.locator(path)
    except UserMistake:
        return
    assert locator.scope != "global" or may_be_global(path), path


@pytest.mark.parametrize("locator", NAMES)
def test_a_document_has_one_name_and_is_found_by_many(place: Place, locator: Locator) -> None:
    assert shown(locator) == NAMES[locator][0]
    whole = str(path_of(place.root, locator))
    for name in (*NAMES[locator], whole, whole.removesuffix(".md"), str(Path(whole).relative_to(place.root))):
        assert place.memory.locator(name) == locator, name


@pytest.mark.report(85)
@pytest.mark.parametrize("path", ["sessions/ses_2/notes.md", "projects/other/MEMORY.md", "projects/git-abcdef1/MEMORY.md"])
def test_what_is_another_ones_is_refused(place: Place, path: str) -> None:
    async def main() -> None:
        for arguments in (
            {"do": "read"},
            {"do": "append", "text": "x"},
            {"do": "write", "text": "x"},
            {"do": "edit", "old": "a", "new": "b"},
        ):
            said = await place.bad(path=path, **arguments)
            assert said.startswith(f"{path}: it belongs to another ")
            assert said.endswith("\nTake notes, project or global.")
        assert not place.root.exists()

    asyncio.run(main())


@pytest.mark.parametrize("path", ["", "readme", "../x", "project/facts/../../x", "/etc/passwd", "project/facts/a/b", "notes/x"])
def test_what_is_no_document_is_told_which_there_are(place: Place, path: str) -> None:
    with pytest.raises(UserMistake, match=r"^memory has no document ") as refused:
        place.memory.locator(path)
    assert refused.value.next_step == "There are notes, project, global, project/facts/<name> and global/facts/<name>."


# --- reading and writing ------------------------------------------------------------------------------------------


def test_a_note_is_an_entry_with_turn_and_time(place: Place) -> None:
    async def main() -> None:
        assert await place.good(do="append", text="端口是 8080\n") == "Added to notes."
        place.turn = 500
        assert await place.good(do="append", path="notes", text="second") == "Added to notes."
        assert await place.good(do="append", path="notes", text="second") == "Added to notes."
        written = "## [turn 412, 2025-11-24T16:00:00Z]\n端口是 8080\n\n## [turn 500, 2025-11-24T16:00:00Z]\nsecond\n"
        assert place.file("session", "notes").read_text("utf-8") == written, "the same is not noted twice"
        assert await place.good(do="read", path="notes") == f"[notes]\n{written}"

    asyncio.run(main())


def test_project_and_global_memory_grow_by_lines(place: Place) -> None:
    async def main() -> None:
        assert await place.good(do="append", path="project", text="## Rules\n- 用 tabs") == "Added to project."
        assert await place.good(do="append", path="global", text="- short answers") == "Added to global."
        assert await place.good(do="edit", path="project", old="用 tabs", new="用 4 spaces") == "Changed project."
        assert place.file("project", "MEMORY").read_text("utf-8") == "## Rules\n- 用 4 spaces\n"
        assert place.file("global", "MEMORY").read_text("utf-8") == "- short answers\n"
        missing = await place.bad(do="edit", path="project", old="用 tabs", new="x")
        assert "MEMORY.md: the text to replace " in missing
        assert "sha" not in missing

    asyncio.run(main())


@pytest.mark.report(79)
def test_a_whole_document_is_written_only_over_what_was_read(place: Place) -> None:
    async def main() -> None:
        assert await place.good(do="write", path="project", text="one\n") == "Wrote project: 1 line."
        assert await place.good(do="write", path="project", text="two\n") == "Wrote project: 1 line.", "its own text it knows"
        file = place.file("project", "MEMORY")
        file.write_text("the person's\n")
        assert "it has changed since it was read" in await place.bad(do="write", path="project", text="three\n")
        assert file.read_text() == "the person's\n"
        assert await place.good(do="read", path="project") == "[project]\nthe person's\n"
        assert await place.good(do="write", path="projects/" + file.parent.name + "/MEMORY.md", text="three\n")
        assert file.read_text() == "three\n"
        again = Place(place.root)
        assert "there is a document already" in await again.bad(do="write", path="project", text="four\n")
        assert file.read_text() == "three\n"
        file.unlink()
        assert (
            await place.bad(do="read", path="project")
            == 'There is no document project yet.\nWhat there is: memory {"do": "list"}'
        )
        assert await place.good(do="write", path="project", text="five\n") == "Wrote project: 1 line."

    asyncio.run(main())


def test_a_fact_is_a_file_with_its_line_in_the_index(place: Place) -> None:
    async def main() -> None:
        text = "---\ndescription: Use node 20.\ntype: project\n---\n\nThe build breaks with 22."
        assert (await place.good(do="write", path="project/facts/build-needs-node-20", text=text)).startswith(
            "Wrote project/facts/"
        )
        written = place.file("project", "facts/build-needs-node-20").read_text()
        assert parse_fact("build-needs-node-20", written) == Fact(
            "build-needs-node-20", "Use node 20.", "project", "2025-11-24", "ses_1 m412", "The build breaks with 22."
        )
        index = place.file("project", "MEMORY").read_text()
        assert "- [build needs node 20](facts/build-needs-node-20.md) - Use node 20." in index
        plain = await place.good(do="write", path="global/facts/tabs", text="总是用 tabs。")
        assert plain.startswith("Wrote global/facts/tabs: ")
        assert "- [tabs](facts/tabs.md) - 总是用 tabs。" in place.file("global", "MEMORY").read_text("utf-8")

    asyncio.run(main())


def test_a_fact_is_replaced_only_when_it_was_read(place: Place) -> None:
    async def main() -> None:
        path = "project/facts/port"
        await place.good(do="write", path=path, text="8080")
        given = "---\nname: another\ncreated: 2025-01-02\nsource: ses_0 m3\n---\n\n8081"
        assert await place.good(do="write", path=path, text=given), "its own text it knows"
        file = place.file("project", "facts/port")
        said = Fact("port", created="2025-01-02", source="ses_0 m3", body="8081")
        assert parse_fact("port", file.read_text()) == said, "what it says itself stays, but for its name"
        file.write_text("the person's\n")
        for one in (place, Place(place.root)):
            refused = await one.bad(do="write", path=path, text="8082")
            assert refused.startswith(f"{path} exists and you have not read it as it stands: nothing was written\n")
            assert file.read_text() == "the person's\n"
            await one.good(do="read", path=path)
        await place.good(do="write", path=path, text="8082")
        assert file.read_text().endswith("\n8082\n")
        assert "8082" in place.file("project", "MEMORY").read_text()

    asyncio.run(main())


def test_search_and_list_name_documents_as_they_are_read(place: Place) -> None:
    async def main() -> None:
        await place.good(do="append", path="project", text="# 约定\n\n超时上限是 30 秒")
        await place.good(do="append", path="global", text="Answers are short.")
        await place.good(do="append", text="超时 is set in config.py")
        listed = (await place.good(do="list")).split("\n")
        assert sorted(line.split(" ")[0] for line in listed) == ["global", "notes", "project"]
        assert [line for line in listed if "约定" in line] == [line for line in listed if line.startswith("project (")]
        found = (await place.good(do="search", words="上限")).split("\n")
        assert found[0].startswith("project:3 ")
        assert "超时上限是 30 秒" in found[0]
        assert found[-1] == '[whole document: memory {"do": "read", "path": "project"}]'
        assert {line.split(":")[0] for line in (await place.good(do="search", words="超时")).split("\n")[:-1]} == {
            "project",
            "notes",
        }
        assert (await place.good(do="search", words="超时", path="notes")).startswith("notes:2 ")
        assert await place.good(do="list", path="global") == listed[[line[:6] for line in listed].index("global")]
        assert (await place.good(do="search", words="kubernetes")).startswith("Nothing found in memory.")

    asyncio.run(main())


@pytest.mark.report(85)
def test_nothing_of_another_project_or_session_is_found(tmp_path: Path) -> None:
    async def main() -> None:
        here, there = Place(tmp_path / "m"), Place(tmp_path / "m", Belonging("ses_2", "/elsewhere"))
        await there.good(do="append", path="project", text="端口 sentinel")
        await there.good(do="append", text="sentinel of a note")
        await there.good(do="append", path="global", text="sentinel for all")
        found = await here.good(do="search", words="sentinel")
        assert [line.split(":")[0] for line in found.split("\n")[:-1]] == ["global"]
        assert [line.split(" ")[0] for line in (await here.good(do="list")).split("\n")] == ["global"]
        assert "There is no document" in await here.bad(do="read", path="project")

    asyncio.run(main())


@pytest.mark.parametrize("path", ["checkpoint", "tasks/T1/progress"])
def test_what_others_write_is_read_only(place: Place, path: str) -> None:
    async def main() -> None:
        file = place.file("session", path)
        file.parent.mkdir(parents=True)
        file.write_text("theirs\n")
        assert await place.good(do="read", path=path) == f"[{path}]\ntheirs\n"
        for arguments in (
            {"do": "append", "text": "x"},
            {"do": "write", "text": "x"},
            {"do": "edit", "old": "theirs", "new": "x"},
        ):
            assert await place.bad(path=path, **arguments)
        assert file.read_text() == "theirs\n"

    asyncio.run(main())


@pytest.mark.report(88)
def test_with_writing_switched_off_reading_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        await Place(tmp_path / "m").good(do="append", path="project", text="sentinel")
        place = Place(tmp_path / "m", closed="memory.disable_write")
        off = (
            "nothing was written: writing memory is switched off by memory.disable_write\n"
            "Go on without it; searching and reading work."
        )
        for arguments in (
            {"do": "append", "text": "x"},
            {"do": "write", "path": "global", "text": "x"},
            {"do": "write", "path": "project/facts/x", "text": "x"},
            {"do": "edit", "path": "project", "old": "sentinel", "new": "x"},
        ):
            assert await place.bad(**arguments) == off
        assert (await place.good(do="search", words="sentinel")).startswith("project:1 sentinel")
        assert await place.good(do="read", path="project") == "[project]\nsentinel\n"
        assert (await place.good(do="list")).startswith("project (")
        names = {path.name for path in (tmp_path / "m").rglob("*.md") if not any(part.startswith(".") for part in path.parts)}
        assert names == {"MEMORY.md"}

    asyncio.run(main())


PROGRAM = """
import asyncio, sys
from pathlib import Path
from sojourn.agent.remembering import Remembering
from sojourn.base import SystemClock
from sojourn.memory import Belonging
from sojourn.memory.documents import LocalMemory

async def main(root, name):
    own = Belonging("ses_1", "/work/p")
    memory = Remembering(LocalMemory(root, belonging=own), own, clock=SystemClock(), turn=lambda: 1, root=root)
    for number in range(20):
        await memory.append("notes", f"{name} note {number}")
        await memory.append("project", f"- {name} line {number}")
        await memory.write(f"project/facts/{name}-{number}", f"{name} fact {number}")

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


def test_two_processes_lose_nothing_of_one_another(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, str(root), name]) for name in ("one", "two")]
    assert [process.wait(120) for process in running] == [0, 0]
    own = Belonging("ses_1", "/work/p")
    notes = path_of(root, Locator("session", "ses_1", "notes")).read_text()
    project = path_of(root, Locator("project", own.project_id, "MEMORY")).read_text()
    for name in ("one", "two"):
        for number in range(20):
            assert f"\n{name} note {number}\n" in notes
            assert f"\n- {name} line {number}\n" in f"\n{project}"
            assert project.count(f"(facts/{name}-{number}.md)") == 1
    assert notes.count("## [turn 1, ") == 40


# --- recall -------------------------------------------------------------------------------------------------------


@pytest.mark.design("M-R7", "P-8")
def test_recall_says_what_there_is_and_stays_the_same(place: Place) -> None:
    async def main() -> None:
        folder = "/home/somebody/.local/share/sojourn/memory"
        assert await recall(None) == await recall(place.memory, folder) == ""
        tasks = 'The session keeps a task list: task {"do": "list"}.'
        assert await recall(None, folder, tasks=True) == await recall(place.memory, folder, tasks=True) == tasks
        file = place.file("session", "checkpoint")
        file.parent.mkdir(parents=True)
        file.write_text("# Checkpoint\n")
        assert await recall(place.memory, folder) == "", "the program's own rendering is no memory"
        await place.good(do="append", path="project", text="a")
        told = await recall(place.memory, folder)
        assert told == (
            f"Memory of this work stands in {folder}. Before you guess, ask or do work again:"
            ' memory {"do": "search", "words": "words"}; what there is: memory {"do": "list"}.'
        )
        await place.good(do="append", text="another")
        assert await recall(place.memory, folder) == told
        both = await recall(place.memory, folder, tasks=True)
        assert both == f"{told}\n{tasks}"
        assert 40 < total(estimate_text(both)) <= 120
        assert (await recall(place.memory)).startswith("Memory of this work stands in memory.")

    asyncio.run(main())
