"""What a search through a folder leaves out: files with keys, files of rules; and that no pattern takes for ever (Y-5, Y-6)."""

import asyncio
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.agent.places import secret
from sojourn.base import UserMistake
from sojourn.tools import Desk, by_name, grep, subject_of
from sojourn.tools.globs import matcher
from sojourn.tools.hiding import Hidden, hidden_below
from sojourn.tools.places import real
from tools.desks import hands

pytestmark = pytest.mark.design("Y-5", "Y-6")

NOTHING = "No match. Files that .gitignore names or that may hold keys are left out, unless path names them."


@pytest.fixture(params=["ripgrep", "python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "python":
        monkeypatch.setattr(grep, "ripgrep", lambda: None)
    elif grep.ripgrep() is None:
        pytest.skip("no ripgrep here")
    return str(request.param)


def planted(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("KEY=1\n")


def test_grep_leaves_out_keys_and_what_rules_hide(tmp_path: Path, engine: str) -> None:
    keys = (".env", "a/.ENV.local", ".env.ex", ".env.examples", "a/.ssh/config", "k.PEM", "a/id_rsa", ".docker/config.json")
    shown = (".env.example", "a/.env.dist", "env", "a/x.py", "config.json")
    planted(tmp_path, *keys, *shown, "secrets/deep/s.txt", "a/b{c}/n.txt", "a/secrets/t.txt", "own.txt")
    hidden = (f"{tmp_path.resolve()}/secrets/**", "own.txt", f"{tmp_path.resolve()}/a/b{{c}}/*.txt")

    async def main() -> None:
        async with hands(tmp_path, hidden=hidden) as do:
            files = (await do.good("grep", pattern="KEY", mode="files")).split("\n")
            assert sorted(files) == sorted((*shown, "a/secrets/t.txt"))
            for glob in (".env", "*.PEM", "own.txt", "secrets/**", "id_*", ".env.local"):
                assert await do.good("grep", pattern="KEY", glob=glob) == NOTHING, glob
            assert await do.good("grep", pattern="KEY", path="a/b{c}") == NOTHING
            assert await do.good("grep", pattern="KEY", path=".docker") == NOTHING
            # What path names is judged as it is for read, before the call.
            for name in (".env", "own.txt", "secrets/deep/s.txt"):
                assert await do.good("grep", pattern="KEY", path=name) == f"{name}\n1:KEY=1"
            assert await do.good("grep", pattern="KEY", path="secrets") == "secrets/deep/s.txt\n1:KEY=1"
        async with hands(tmp_path / "a", hidden=hidden) as do:
            files = (await do.good("grep", pattern="KEY", mode="files", path="..")).split("\n")
            assert len(files) == len(shown) + 1
        async with hands(tmp_path) as do:
            assert await do.good("grep", pattern="KEY", path=".", glob="own.txt") == "own.txt\n1:KEY=1"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("pattern", "folder", "lines"),
    [
        (".env", "/r", ("/**/.env", "/.env")),
        ("/r/s/**", "/r", ("/s/**",)),
        ("/r/s/**", "/", ("/r/s/**",)),
        ("/r/s/**", "/r/s", ()),
        ("/r/s/**", "/r/s/t", ()),
        ("/r/s", "/r/s/t", ()),
        ("/r/s/*.txt", "/r/s", ("/*.txt",)),
        ("/r/s/*.txt", "/q", ()),
        ("/r/**/x/y", "/r/a/x", ("/**/x/y", "/x/y", "/y")),
        ("/r/?/y/", "/r/s", ("/y/",)),
        ("b/", "/r", ("/**/b/", "/b/")),
        ("b/", "/r/b", ()),
    ],
)
def test_patterns_below_a_folder(pattern: str, folder: str, lines: tuple[str, ...]) -> None:
    assert sorted(hidden_below([pattern], folder)) == sorted(lines)


@given(
    name=st.sampled_from((".env.", "id_rsa", "")).flatmap(lambda start: st.text("examplstdi.", max_size=9).map(start.__add__))
)
@settings(max_examples=150, deadline=None)
def test_a_search_hides_the_names_that_are_asked_for(name: str) -> None:
    if name.strip("."):
        assert Hidden((), "/r")(f"a/{name}") is secret(f"/r/a/{name}")


def test_names_that_are_asked_for() -> None:
    assert secret("/home/x/.docker/config.json")
    for name, hides in (
        (".env.example", False),
        (".env.exampl", True),
        (".env.examplex", True),
        (".env.e", True),
        (".env.sandbox", True),
    ):
        assert Hidden((), "/r")(name) is hides is secret(f"/r/{name}")


def test_no_glob_takes_long() -> None:
    names = ["a" * 200, "/".join("a" * 40), "/".join(["a" * 60] * 30)]
    started = time.process_time()
    for pattern in (
        "*a" * 12 + "b",
        "**/" + "*/**/" * 12 + "b",
        "{" + ",".join(["*a" * 9 + "b"] * 20) + "}",
        "*a" * 12 + "**/b",
    ):
        assert not any(matcher(pattern).fullmatch(name) for name in names)
    assert time.process_time() - started < 1.0
    assert matcher("*a*a*b").fullmatch("xaaxab")
    assert matcher("a*b*c").fullmatch("abbcbc")
    assert not matcher("a*b*c").fullmatch("acb")
    assert matcher("**/a/**/b/**/c").fullmatch("x/a/a/b/y/b/c")
    assert not matcher("**/a/**/b/**/c").fullmatch("b/a/c")
    assert matcher("a/**/**/b").fullmatch("a/b")
    assert matcher("**/x/**").fullmatch("a/x/b/c")
    assert matcher("a/x**").fullmatch("a/xy/z")


def test_a_pattern_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grep, "ripgrep", lambda: None)
    monkeypatch.setattr(grep, "SECONDS", 1.5)
    (tmp_path / "x").write_text("a" * 60)

    async def main() -> None:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0.05)
                beats += 1

        async with hands(tmp_path) as do:
            beating = asyncio.create_task(beat())
            assert (await do.bad("grep", pattern="(a+)+b")).startswith("The search took more than 1.5 seconds.")
            beating.cancel()
        assert beats > 10, "the loop goes on meanwhile"

    asyncio.run(main())


@pytest.mark.parametrize("given", ["\ud800", "a/\udfff/b", "a\0b", " "])
def test_a_path_that_no_system_takes_is_a_mistake(tmp_path: Path, given: str) -> None:
    with pytest.raises(UserMistake, match="is no path"):
        real(tmp_path, given)
    desk = Desk(tmp_path)
    for name in ("read", "grep", "glob", "write", "edit"):
        assert subject_of(by_name[name], {"path": given}, desk) == given

    async def main() -> None:
        async with hands(tmp_path) as do:
            assert "is no path" in await do.bad("read", path=given)
            assert "is no path" in await do.bad("glob", pattern="*", path=given)

    asyncio.run(main())


def test_a_path_of_odd_bytes_is_one(tmp_path: Path) -> None:
    assert real(tmp_path, "a\udcff") == tmp_path.resolve() / "a\udcff"
