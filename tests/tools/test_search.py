"""Finding files and lines: stable order, counts, what .gitignore leaves out, with ripgrep and without (Y-5)."""

import asyncio
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import UserMistake, WorkFailed
from sojourn.tools import grep, walk
from sojourn.tools.globs import matcher
from sojourn.tools.searched import search
from tools.desks import hands

pytestmark = pytest.mark.design("Y-5")


@pytest.fixture(params=["ripgrep", "python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "python":
        monkeypatch.setattr(grep, "ripgrep", lambda: None)
    elif grep.ripgrep() is None:
        pytest.skip("no ripgrep here")
    return str(request.param)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        ".gitignore": "*.log\n/build/\n",
        "a.py": "import os\nx = 1\ny = 2\nz = 3\nprint(x)\n",
        "b/中 文.txt": "甲 x\n乙\n",
        "b/deep/c.py": "def x():\r\n    pass\r\n",
        ".hidden/h.py": "x\n",
        ".git/config": "x\n",
        "build/out.py": "x\n",
        "err.log": "x\n",
        "bin.dat": "x\0\0\0\0x\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def test_grep_lines_stand_under_their_file_in_order(tree: Path, engine: str) -> None:
    async def main() -> None:
        async with hands(tree) as do:
            outcome = await do("grep", pattern="x")
            assert not outcome.error
            lines = outcome.text.split("\n")
            assert [line for line in lines if "bin.dat" not in line and "binary" not in line] == [
                ".hidden/h.py", "1:x", "a.py", "2:x = 1", "5:print(x)", "b/deep/c.py", "1:def x():", "b/中 文.txt", "1:甲 x",
            ]  # fmt: skip
            assert outcome.touches == ()
            assert await do.good("grep", pattern="^def x\\(\\):$") == "b/deep/c.py\n1:def x():"
            assert await do.good("grep", pattern="IMPORT", ignore_case=True) == "a.py\n1:import os"
            nothing = "No match. Files that .gitignore names or that may hold keys are left out, unless path names them."
            assert await do.good("grep", pattern="IMPORT") == nothing
            assert await do.good("grep", pattern="甲", path="b") == "b/中 文.txt\n1:甲 x"
            assert await do.good("grep", pattern="x", path="b/中 文.txt") == "b/中 文.txt\n1:甲 x"
            assert await do.good("grep", pattern="x", path="err.log") == "err.log\n1:x"
            assert await do.good("grep", pattern="x", glob="*.txt") == "b/中 文.txt\n1:甲 x"
            assert await do.good("grep", pattern="-x", path="a.py") == nothing
            assert await do.good("grep", pattern="x", path=str(tree / "b" / "deep")) == "b/deep/c.py\n1:def x():"

    asyncio.run(main())


def test_grep_modes_and_limits(tree: Path, engine: str) -> None:
    async def main() -> None:
        async with hands(tree) as do:
            where = {"glob": "*.py", "pattern": "x"}
            assert await do.good("grep", **where, mode="files") == ".hidden/h.py\na.py\nb/deep/c.py"
            assert await do.good("grep", **where, mode="count") == ".hidden/h.py:1\na.py:2\nb/deep/c.py:1"
            more = ": narrow pattern or path, or raise limit]"
            assert await do.good("grep", **where, mode="files", limit=2) == f".hidden/h.py\na.py\n[... 1 more files{more}"
            assert await do.good("grep", **where, mode="count", limit=1) == f".hidden/h.py:1\n[... 2 more files{more}"
            assert await do.good("grep", **where, limit=4) == (
                ".hidden/h.py\n1:x\na.py\n2:x = 1\n5:print(x)\nb/deep/c.py\n1:def x():"
            )
            assert await do.good("grep", **where, limit=2) == f".hidden/h.py\n1:x\na.py\n2:x = 1\n[... 2 more lines{more}"
            assert await do.good("grep", pattern="import|print", path="a.py", context=1) == (
                "a.py\n1:import os\n2-x = 1\n--\n4-z = 3\n5:print(x)"
            )
            assert await do.good("grep", pattern="import|print", path="a.py", context=1, limit=3) == (
                f"a.py\n1:import os\n2-x = 1\n[... 2 more lines{more}"
            )
            assert await do.good("grep", pattern="x", path="a.py", context=1) == (
                "a.py\n1-import os\n2:x = 1\n3-y = 2\n4-z = 3\n5:print(x)"
            )
            assert await do.good("grep", pattern="[xz]", path="a.py", context=1) == (
                "a.py\n1-import os\n2:x = 1\n3-y = 2\n4:z = 3\n5:print(x)"
            )
            assert await do.good("grep", pattern="print|def", context=1, glob="*.py") == (
                "a.py\n4-z = 3\n5:print(x)\nb/deep/c.py\n1:def x():\n2-    pass"
            )
            (tree / "many.txt").write_text("many\n" * 201)
            said = (await do.good("grep", pattern="many")).split("\n")
            assert said[:2] == ["many.txt", "1:many"]
            assert said[200:] == ["200:many", f"[... 1 more lines{more}"]

    asyncio.run(main())


def test_grep_says_what_is_wrong(tree: Path, engine: str) -> None:
    async def main() -> None:
        async with hands(tree) as do:
            assert await do.bad("grep", pattern="x", path="nope.py") == (
                "There is no nope.py.\nNothing in . has a name like it: look with glob."
            )
            said = await do.bad("grep", pattern="x(")
            assert said.split("\n")[-1].startswith("Escape ")
            assert "unclosed" in said or "unterminated" in said
            assert '"lines", "files", "count"' in await do.bad("grep", pattern="x", mode="line")

    asyncio.run(main())


def test_grep_cuts_very_long_lines(tree: Path, engine: str) -> None:
    async def main() -> None:
        (tree / "long.js").write_text("needle" + "y" * 700 + "\nneedle" + "z" * 494 + "\n")
        async with hands(tree) as do:
            lines = (await do.good("grep", pattern="needle")).split("\n")
            assert lines[1].startswith("1:needle" + "y" * 494)
            assert lines[1].endswith(" [... omitted end of long line]")
            assert len(lines[1]) < 540
            assert lines[2] == "2:needle" + "z" * 494

    asyncio.run(main())


def test_the_width_without_ripgrep(tree: Path) -> None:
    (tree / "at").write_text("x" * 500)
    (tree / "above").write_text("x" * 501)
    found = list(search(tree, "xx", None, "lines", 0, ignore_case=False))
    assert found == [f"above\0001:{'x' * 500} [... omitted end of long line]", f"at\0001:{'x' * 500}"]
    (tree / "link").symlink_to("at")
    assert list(search(tree, "xx", "!a*", "files", 0, ignore_case=False)) == []
    assert list(search(tree, "XX", "!ab*", "files", 0, ignore_case=True)) == ["at"]


def test_more_output_than_anybody_counts_is_not_waited_for(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if grep.ripgrep() is None:
        pytest.skip("no ripgrep here")
    monkeypatch.setattr(grep, "_COUNT_MOST", 1 << 20)

    async def main() -> None:
        (tree / "huge.txt").write_text("aaaa\n" * 2_000_000)
        async with hands(tree) as do:
            last = (await do.good("grep", pattern="a", path="huge.txt", limit=3)).split("\n")[-1]
            assert last.startswith("[... ")
            assert int(re.sub(r"\D", "", last)) > 10_000
        monkeypatch.setattr(grep, "SECONDS", 0.0)
        async with hands(tree) as do:
            assert await do.bad("grep", pattern="a") == (
                "The search took more than 0 seconds.\nGive a smaller path, or a glob."
            )

    asyncio.run(main())


def test_ripgrep_is_found_beside_this_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    find = grep.ripgrep.__wrapped__
    assert find() is None
    (tmp_path / "rg").write_text("#!/bin/sh\n")
    assert find() == str(tmp_path / "rg")
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "first" / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "first"))
    assert find() == str(tmp_path / "first" / "rg")


# --- glob ---------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["rignore", "plain"])
def walker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "rignore", None)
    else:
        pytest.importorskip("rignore")
    return str(request.param)


def test_glob_the_newest_first_without_what_is_ignored(tree: Path, walker: str) -> None:
    async def main() -> None:
        os.symlink("/etc", tree / "link.py")
        os.symlink("a.py", tree / "l2.py")
        for age, name in enumerate(["b/deep/c.py", "a.py", ".hidden/h.py"]):
            os.utime(tree / name, (10_000 - age, 10_000 - age))
        for link in ("link.py", "l2.py"):
            os.utime(tree / link, (1, 1), follow_symlinks=False)
        async with hands(tree) as do:
            # Links are named and not followed; of one age they stand by name.
            assert await do.good("glob", pattern="*.py") == "b/deep/c.py\na.py\n.hidden/h.py\nl2.py\nlink.py"
            assert await do.good("glob", pattern="b/**/*.py") == "b/deep/c.py"
            assert await do.good("glob", pattern="*", path="b/deep") == "b/deep/c.py"
            assert await do.good("glob", pattern="中*") == "b/中 文.txt"
            nothing = "No file matches. Files that .gitignore names are left out."
            assert await do.good("glob", pattern="*.log") == nothing
            assert await do.good("glob", pattern="build/*") == nothing
            assert await do.good("glob", pattern=".git/*") == nothing
            assert await do.bad("glob", pattern="*", path="a.py") == "a.py is a file.\nGive a folder as path."
            assert (await do.bad("glob", pattern="*", path="bb")).startswith("There is no bb.")

    asyncio.run(main())


def test_glob_at_its_limit(tmp_path: Path) -> None:
    async def main() -> None:
        for number in range(200):
            (tmp_path / f"{number:03}").write_text("")
            os.utime(tmp_path / f"{number:03}", (number, number))
        async with hands(tmp_path) as do:
            names = [f"{number:03}" for number in reversed(range(200))]
            assert (await do.good("glob", pattern="*")).split("\n") == names
            (tmp_path / "200").write_text("")
            assert (await do.good("glob", pattern="*")).split("\n") == ["200", *names[:-1], "[... 1 more, older ones]"]

    asyncio.run(main())


def test_a_walk_that_takes_too_long_ends(tree: Path) -> None:
    with pytest.raises(WorkFailed, match="holds too much"):
        list(walk.walk(tree, seconds=-1))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", "x/y/a.py", ".py"], ["a.pyc", "a.py/b"]),
        ("**/*.py", ["a.py", "x/y/a.py"], ["a.pyc"]),
        ("./src/*.py", ["src/a.py"], ["src/x/a.py", "a/src/b.py"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "xsrc/a"]),
        ("src/**/t_?.py", ["src/t_1.py", "src/a/b/t_2.py"], ["src/t_10.py", "t_1.py"]),
        ("a/*/b", ["a/x/b"], ["a/b", "a/x/y/b"]),
        ("*.{ts,tsx}", ["a.ts", "x/a.tsx"], ["a.t", "a.tsxx"]),
        ("{a,b}{1,2}", ["a1", "b2"], ["a", "ab"]),
        ("[a-c]x", ["bx"], ["dx"]),
        ("[!a-c]x", ["dx"], ["bx", "x"]),
        ("[^a]", ["b"], ["a"]),
        ("a+(b).c", ["a+(b).c"], ["aa(b)xc"]),
        ("[", ["["], ["a"]),
        ("[^]", ["[^]"], ["a"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[!]a]", ["b"], ["]", "a"]),
        ("x**y", ["xay", "xy"], ["xa/by"]),
        ("build/", ["build"], ["build/x"]),
    ],
)
def test_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    wanted = matcher(pattern).fullmatch
    assert [name for name in yes if not wanted(name)] == []
    assert [name for name in no if wanted(name)] == []


@pytest.mark.parametrize("pattern", ["/etc/*", "~/x", "../*", "a/../../b", "", "/", "{a,b}" * 9, "[b-a]"])
def test_patterns_that_are_refused(pattern: str) -> None:
    with pytest.raises(UserMistake):
        matcher(pattern)


@settings(max_examples=100, deadline=None)
@given(pattern=st.text(st.sampled_from("ab*?[]{},!^-\\/."), max_size=12), name=st.text(st.sampled_from("ab/."), max_size=8))
def test_any_pattern_is_a_pattern_or_a_mistake(pattern: str, name: str) -> None:
    try:
        matcher(pattern).fullmatch(name)
    except UserMistake:
        return


def test_same_lines_from_both(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if grep.ripgrep() is None:
        pytest.skip("no ripgrep here")
    found: list[str] = []

    async def look() -> None:
        async with hands(tree) as do:
            found.append(await do.good("grep", pattern=r"[a-z]\s*=|pass", context=1, glob="*.py"))

    asyncio.run(look())
    no: Callable[[], None] = lambda: None  # noqa: E731
    monkeypatch.setattr(grep, "ripgrep", no)
    asyncio.run(look())
    assert found[0] == found[1]
