"""One function a path, and its exact inverse (K-1, reports 83, 84, 85, 87)."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import UserMistake
from sojourn.engine.project import project_of
from sojourn.memory import Belonging, Locator, layout, locator_of, path_of
from sojourn.memory.layout import folder_of_project, index_of, may_hold, parts_of, tops

ROOT = Path("/data/memory")
HASH = "9f3c2ab41d"

IDS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,30}[A-Za-z0-9_]", fullmatch=True).filter(
    lambda one: not one.lower().startswith(("con", "prn", "aux", "nul", "com", "lpt"))
)
PROJECTS = st.one_of(
    st.from_regex(r"git:[0-9a-f]{40}", fullmatch=True),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=60).map(lambda text: f"/{text}"),
    st.text("abC 我é.-/\\", max_size=20).map(lambda text: f"C:\\{text}"),
    st.text("abC 我é.-/\\", min_size=1, max_size=20).map(lambda text: f"\\\\host\\{text}"),
)
LOCATORS = st.one_of(
    IDS.map(layout.notes),
    IDS.map(layout.checkpoint),
    st.builds(layout.progress, IDS, IDS),
    PROJECTS.map(layout.project_memory),
    st.builds(layout.fact, st.just("project"), PROJECTS, IDS),
    st.builds(layout.fact, st.just("global"), st.just(""), st.sampled_from(["port", "数据库端口", "a.b-c_d"])),
    st.just(layout.global_memory()),
)


@pytest.mark.design("K-1")
@pytest.mark.parametrize(
    ("locator", "path"),
    [
        (layout.checkpoint("ses_1"), "sessions/ses_1/checkpoint.md"),
        (layout.notes("ses_1"), "sessions/ses_1/notes.md"),
        (layout.progress("ses_1", "T1.2"), "sessions/ses_1/tasks/T1.2/progress.md"),
        (layout.project_memory(f"git:{HASH}"), f"projects/git-{HASH}/MEMORY.md"),
        (layout.project_memory("/home/ada/tide"), "projects/tide-d70204bb/MEMORY.md"),
        (layout.project_memory("/"), "projects/project-8a5edab2/MEMORY.md"),
        (layout.fact("project", f"git:{HASH}", "build-needs-node-20"), f"projects/git-{HASH}/facts/build-needs-node-20.md"),
        (layout.global_memory(), "global/MEMORY.md"),
        (layout.fact("global", "", "端口"), "global/facts/端口.md"),
    ],
)
def test_each_document_has_its_place(locator: Locator, path: str) -> None:
    assert path_of(ROOT, locator) == ROOT / path
    assert locator_of(ROOT, ROOT / path, [locator.scope_id]) == locator
    assert locator_of(ROOT, path, [locator.scope_id]) == locator


@pytest.mark.design("K-1")
@given(LOCATORS)
@settings(max_examples=200, deadline=None)
def test_the_inverse_is_exact(locator: Locator) -> None:
    path = path_of(ROOT, locator)
    assert ROOT in path.parents
    assert ".." not in path.parts
    assert locator_of(ROOT, path, ["/else", locator.scope_id]) is not None
    known = locator_of(ROOT, path, [locator.scope_id])
    assert known is not None
    assert (known.scope, known.key) == (locator.scope, locator.key)
    assert folder_of_project(known.scope_id) == folder_of_project(locator.scope_id) if known.scope == "project" else True
    unknown = locator_of(ROOT, path)
    assert unknown is not None
    assert path_of(ROOT, unknown) == path  # a project folder's name stands for its id
    assert locator_of(ROOT, path, [unknown.scope_id]) == unknown


@pytest.mark.design("K-1")
@pytest.mark.report(83)
@pytest.mark.parametrize(
    "root", [r"C:\Users\Ada\memory", "C:/Users/Ada/memory/", "c:/users/ada/MEMORY", "\\\\?\\C:\\Users\\Ada\\memory"]
)
@pytest.mark.parametrize(
    "path",
    [
        "C:\\Users\\Ada\\memory\\projects\\tide-1a2b3c4d\\MEMORY.md",
        "c:\\users\\ADA\\memory\\projects\\tide-1a2b3c4d\\MEMORY.md",
        "C:/Users/Ada/memory/projects/tide-1a2b3c4d/MEMORY.md",
        r"C:\Users\Ada\memory\.\projects\\tide-1a2b3c4d/MEMORY.md",
        "\\\\?\\C:\\Users\\Ada\\memory\\projects\\tide-1a2b3c4d\\MEMORY.md",
        r"projects\tide-1a2b3c4d\MEMORY.md",
    ],
)
def test_paths_of_windows_are_inside_the_layout(root: str, path: str) -> None:
    assert locator_of(root, path) == Locator("project", "tide-1a2b3c4d", "MEMORY")


@pytest.mark.design("K-1")
@pytest.mark.report(83)
def test_other_drives_and_shares() -> None:
    root = r"\\Host\share\memory"
    assert locator_of(root, r"\\host\SHARE\memory\global\MEMORY.md") == layout.global_memory()
    assert locator_of(r"C:\memory", r"D:\memory\global\MEMORY.md") is None
    assert locator_of("/memory", "/MEMORY/global/MEMORY.md") is None  # case counts where it counts on disk
    assert locator_of(r"C:\memory", "C:/memory/GLOBAL/MEMORY.md") is None


@pytest.mark.design("K-1")
@pytest.mark.parametrize(
    "path",
    [
        "/data/memory",
        "/data/memory/global/memory.md",
        "/data/memory/global/MEMORY.txt",
        "/data/memory/global/MEMORY",
        "/data/memory/global/sub/MEMORY.md",
        "/data/memory/global/facts/a/b.md",
        "/data/memory/MEMORY.md",
        "/data/memory/projects/MEMORY.md",
        "/data/memory/projects/p/notes.md",
        "/data/memory/projects/-p/MEMORY.md",
        "/data/memory/sessions/ses_1/MEMORY.md",
        "/data/memory/sessions/ses_1/tasks/progress.md",
        "/data/memory/sessions/ses_1/tasks/T1/notes.md",
        "/data/memory/sessions/ses 1/notes.md",
        "/data/memory/session/ses_1/notes.md",
        "/data/memory/../memory/global/MEMORY.md",
        "/data/memory/projects/p/../q/MEMORY.md",
        "projects/../global/MEMORY.md",
        "/data/memory2/global/MEMORY.md",
        "/data/global/MEMORY.md",
        "/global/MEMORY.md",
        "",
        ".md",
    ],
)
def test_what_is_no_documents_path(path: str) -> None:
    assert locator_of(ROOT, path) is None


@pytest.mark.design("K-1", "Y-2")
@pytest.mark.parametrize(
    "odd", ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "-x", "x.", "nul", "CON.txt", "com1", "x" * 129, "a\x00b", "a b"]
)
def test_ids_that_are_no_plain_name_are_refused(odd: str) -> None:
    for make in (
        layout.checkpoint,
        layout.notes,
        lambda one: layout.progress(one, "T1"),
        lambda one: layout.progress("ses_1", one),
    ):
        with pytest.raises(UserMistake, match=r"cannot be part of a path|no document"):
            make(odd)
    with pytest.raises(UserMistake, match=r"cannot be part of a path|no document"):
        layout.fact("global", "", odd)
    with pytest.raises(UserMistake, match=r"project id .* cannot be part of a path"):
        layout.project_memory(odd)


@pytest.mark.design("K-1")
def test_the_longest_ids_that_fit() -> None:
    assert layout.notes("x" * 128).scope_id == "x" * 128
    with pytest.raises(UserMistake, match="fact id"):
        layout.fact("global", "", "端" * 67)  # 201 bytes
    assert parts_of(layout.fact("global", "", "端" * 66)) == ("global", "facts", f"{'端' * 66}.md")
    with pytest.raises(UserMistake, match="session id"):
        layout.notes("端口")
    with pytest.raises(UserMistake, match="fact id"):
        layout.fact("global", "", "\u212bngstrom")  # a sign that file systems may write in another way
    assert layout.fact("global", "", "\u00c5ngstrom").key == "facts/\u00c5ngstrom"


@pytest.mark.design("K-1")
def test_a_repositorys_folder_gives_its_id() -> None:
    assert locator_of(ROOT, f"projects/git-{HASH}/MEMORY.md") == Locator("project", f"git:{HASH}", "MEMORY")
    assert locator_of(ROOT, "projects/git-xyz/MEMORY.md") == Locator("project", "git-xyz", "MEMORY")
    assert locator_of(ROOT, "projects/git-12345/MEMORY.md") == Locator("project", "git-12345", "MEMORY")


@pytest.mark.design("K-1", "Y-2")
@pytest.mark.parametrize(
    "key",
    [
        "",
        "/etc/passwd",
        "../MEMORY",
        "MEMORY/..",
        "facts/../MEMORY",
        "facts",
        "facts/",
        "MEMORY.md/x",
        "notes",
        "tasks/T1/progress",
    ],
)
def test_keys_that_a_project_has_not(key: str) -> None:
    with pytest.raises(UserMistake):
        path_of(ROOT, Locator("project", "p", key))


@pytest.mark.design("K-1", "Y-2")
@pytest.mark.parametrize(
    "key", ["MEMORY", "facts/x", "tasks/T1/notes", "tasks/../progress", "/notes", "notes/", "tasks/T1/progress/x"]
)
def test_keys_that_a_session_has_not(key: str) -> None:
    with pytest.raises(UserMistake):
        path_of(ROOT, Locator("session", "ses_1", key))


@pytest.mark.design("K-1")
def test_global_memory_has_no_id() -> None:
    with pytest.raises(UserMistake, match="global memory has no id"):
        path_of(ROOT, Locator("global", "x", "MEMORY"))
    assert index_of(layout.fact("project", "/a", "x")) == layout.project_memory("/a")


@pytest.mark.design("K-1")
@pytest.mark.report(83, 84)
def test_a_projects_folder_name() -> None:
    assert (
        folder_of_project("/home/ada/tide/") == folder_of_project("/home/ada//tide") == folder_of_project("/home/ada/x/../tide")
    )
    assert folder_of_project("//home/ada/tide") == folder_of_project("/home/ada/tide")
    assert folder_of_project("/home/ada/tide") != folder_of_project("/home/bob/tide")
    assert folder_of_project("/home/ada/Tide") != folder_of_project("/home/ada/tide")
    assert folder_of_project("C:\\Work\\Tide") == folder_of_project("c:/work/tide/")
    assert folder_of_project("/srv/我的 项目!").startswith("我的-项目-")
    assert folder_of_project("/srv/con.app").startswith("con-app-")
    assert folder_of_project("/srv/...").startswith("project-")
    assert folder_of_project(f"/srv/{'x' * 300}") == f"{'x' * 40}-{folder_of_project('/srv/' + 'x' * 300)[-8:]}"
    assert folder_of_project(f"git:{HASH}") == f"git-{HASH}" == folder_of_project(f"git-{HASH}")
    assert folder_of_project("/srv/caf\u00e9") == folder_of_project("/srv/cafe\u0301")
    with pytest.raises(UserMistake):
        folder_of_project("git:../../x")
    with pytest.raises(UserMistake):
        folder_of_project("C:work")


@pytest.mark.design("K-1")
@given(st.lists(PROJECTS, min_size=2, max_size=6, unique=True))
@settings(max_examples=50, deadline=None)
def test_project_folders_are_safe_names(projects: list[str]) -> None:
    for one in projects:
        name = folder_of_project(one)
        assert name[0].isalnum() or name[0] == "_"
        assert not set(name) & set('/\\:*?"<>| \x00')
        assert folder_of_project(name) == name


@pytest.mark.design("Y-1", "R-1")
@pytest.mark.report(84)
def test_a_worktree_shares_its_projects_memory(tmp_path: Path) -> None:
    main, tree = tmp_path / "main", tmp_path / "tree"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(main)]
    main.mkdir()
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"], ["worktree", "add", "-q", str(tree)]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    ids = {project_of(str(main)), project_of(str(tree))}
    assert len({path_of(ROOT, layout.project_memory(one)) for one in ids}) == 1
    assert all(one.startswith("git:") for one in ids)


@pytest.mark.design("Y-1")
@pytest.mark.report(85)
def test_the_folders_of_a_session() -> None:
    both = Belonging("ses_1", "p")
    assert tops(both) == ("sessions/ses_1", "projects/p", "global")
    assert tops(both, "session") == ("sessions/ses_1",)
    assert tops(both, "project") == ("projects/p",)
    assert tops(both, "global") == ("global",)
    assert tops(Belonging("", "p")) == ("projects/p", "global")
    assert tops(Belonging("ses_1", "")) == ("sessions/ses_1", "global")
    assert tops(Belonging("", ""), "project") == ()


@pytest.mark.design("Y-1")
def test_folders_that_may_hold_documents() -> None:
    yes = [
        "global",
        "global/facts",
        "projects",
        "projects/p",
        "projects/p/facts",
        "sessions/s",
        "sessions/s/tasks",
        "sessions/s/tasks/T1",
    ]
    no = [
        "",
        "x",
        "global/tasks",
        "projects/p/tasks",
        "sessions/s/facts",
        "sessions/s/tasks/T1/x",
        "projects/p/facts/x",
        "global/facts/x",
    ]
    assert [one for one in yes if not may_hold(one)] == []
    assert [one for one in no if may_hold(one)] == []
