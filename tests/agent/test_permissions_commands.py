"""Commands against rules about files: every named word, wildcards, where the shell stands, what only looks (Y-6)."""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.agent.asking import Asked
from sojourn.agent.permissions import Rules, hidden_patterns, judge, rules_of
from sojourn.agent.wildcards import may_meet, words_of_braces
from sojourn.config.settings import Permissions
from sojourn.tools import Effect

pytestmark = pytest.mark.design("Y-6")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    for name in ("src", "db", "secrets"):
        (folder / name).mkdir(parents=True)
    (folder / "src" / "a.py").write_text("x")
    (folder / ".env").write_text("KEY=1")
    return folder.resolve()


def say(command: str, root: Path, mode: str = "full", *, base: Path | None = None, **kinds: tuple[str, ...]) -> str:
    call = Asked("bash", "execute", command, {"command": command}, "")
    rules = rules_of(Permissions(**kinds))
    return judge(call, mode=mode, rules=rules, root=root, trusted=True, base=base).decision


@pytest.mark.parametrize(
    "command",
    [
        "rm db/x",
        "sed -i s/a/b/ db/x",
        "make | tee db/x",
        "cp a db/x",
        "mv db/x y",
        "mv a db",
        "sudo rm -rf ./db",
        "dd if=a of=db/x",
        "rm d*/x",
        "rm d?/x",
        "rm [d]b/x",
        "rm {db,src}/x",
        "rm -rf d*",
        "rm */x",
        "sh -c 'rm db/x'",
        "bash -lc 'true; rm d*/x'",
        "git checkout db/x",
        "cd db && rm x",
        "cd src; cd ../db; rm x",
        "ls db/x | xargs rm",
        "rm $(ls db/x)",
        "rm `ls db/x`",
        "ls db/x | while read f; do rm db/$f; done",
        "git diff --output=db/x",
        "cat > db/x <<E\nE",
        "rm db/x # why",
        "for f in db/*; do rm $f; done",
    ],
)
def test_an_edit_rule_means_every_file_that_a_command_names(root: Path, command: str) -> None:
    assert say(command, root, deny=("edit(db/**)",)) == "deny"
    assert say(command, root, deny=("write(db/**)",)) == "deny"
    assert say(command, root, ask=("edit(db/**)",)) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cat db/x",
        "grep x db/*",
        "ls db; echo $?",
        "git diff -- db/x",
        "cat db/x > src/y",
        "rm src/x",
        "rm src/*",
        "rm *.py",
        "cd src && rm x",
        "make db",
        "# look\nls src",
    ],
)
def test_an_edit_rule_leaves_what_only_looks_and_other_files(root: Path, command: str) -> None:
    named = "edit(db/**)" if command != "make db" else "edit(dbs/**)"
    assert say(command, root, deny=(named,)) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "cat .e*",
        "cat .*",
        "cat .en?",
        "cat ./.[e]nv",
        "cat .{x,env}",
        "find . -name '*env' -exec cat {} +",
        "shopt -s dotglob; cat *",
        "sh -c 'cat .env'",
        "bash -c 'cat .e*'",
        "cat s*/../.e*",
        "cat < .e*",
        "cd src; cat ../.env",
    ],
)
def test_a_wildcard_that_could_mean_a_denied_file_means_it(root: Path, command: str) -> None:
    assert say(command, root, deny=("read(.env)",)) == "deny"


@pytest.mark.parametrize("command", ["cat *", "wc -l src/*", "cat *.py", "find . -name '*.py'", "grep 'a.*b' src/a.py"])
def test_a_wildcard_that_cannot_mean_it_does_not(root: Path, command: str) -> None:
    assert say(command, root, deny=("read(.env)",)) == "allow"


@pytest.mark.parametrize(
    ("word", "pattern", "meets"),
    [
        ("/r/d*", "/r/db/**", True),
        ("/r/d*/x/y", "/r/db", True),
        ("/r/d*", "/r/db/x", False),
        ("/r/*", "/q/*", False),
        ("/r/a*c", "/r/*b*", True),
        ("/r/a*c", "/r/*b", False),
        ("/r/a?", "/r/abc", False),
        ("/r/*", "/r/**/x", True),
        ("/r/*/y", "/r/**/x", True),
        ("/r/z/y*", "/r/**/x", False),
        ("/r/*/*", "/r/**/x/y", True),
        ("/a/b*", "b", True),
        ("/a/b*", "c", False),
        ("/a/[bc]d", "/a/\\*d", True),
        ("/a/*", "/**", True),
    ],
)
def test_words_and_patterns_that_meet(word: str, pattern: str, meets: bool) -> None:
    assert may_meet(word, pattern) is meets


@given(
    word=st.text("ab*?", min_size=1, max_size=6),
    pattern=st.text("ab*?", min_size=1, max_size=6),
    name=st.text("ab", max_size=6),
)
@settings(max_examples=200, deadline=None)
def test_a_name_that_fits_both_is_a_meeting(word: str, pattern: str, name: str) -> None:
    if name and fnmatchcase(name, word) and fnmatchcase(name, pattern):
        assert may_meet(f"/{word}", f"/{pattern}")


def test_braces_are_written_out() -> None:
    assert sorted(words_of_braces("a{b,c{d,e}}")) == ["ab", "acd", "ace"]
    assert words_of_braces("{a}") == ["{a}"]
    assert words_of_braces("{a,b}" * 8) == ["*" * 8]


def test_relative_words_start_where_the_shell_stands(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / "secrets" / "k").write_text("k")
    looks, deny = "cat k", ("read(secrets/**)",)
    assert say(looks, root, "ask") == "allow"
    assert say(looks, root, "ask", base=root / "src") == "allow"
    assert say(looks, root, "ask", base=tmp_path / "outside") == "ask"
    assert say("ls", root, "ask", base=tmp_path / "outside") == "ask"
    assert say("cat ../../repo2/a.py", root, "ask", base=root / "src") == "ask"
    assert say("cat ../src/a.py", root, "ask", base=root / "src") == "allow"
    assert say(looks, root, base=root / "secrets", deny=deny) == "deny"
    assert say("cat k*", root, base=root / "secrets", deny=deny) == "deny"
    assert say("cat secrets/k", root, base=root / "src", deny=deny) == "allow"
    allow = ("bash(make *)", "edit(src/**)")
    assert say("make > x", root, "ask", base=root / "src", allow=allow) == "allow"
    assert say("make > src/x", root, "ask", base=tmp_path / "outside", allow=allow) == "ask"
    assert say("make < /etc/passwd", root, "ask", base=root / "src", allow=allow) == "ask"
    # A shell whose folder is gone starts in the root again.
    assert say("cat secrets/k", root, base=root / "gone", deny=deny) == "deny"


def test_a_command_that_goes_elsewhere_is_not_a_simple_look(root: Path) -> None:
    allow = ("bash(cd *)", "bash(make *)", "edit(src/**)")
    assert say("cd / && make", root, "ask", allow=allow) == "allow"
    assert say("cd / && cat x", root, "ask", allow=allow) == "ask"
    assert say("cd / && make > src/x", root, "ask", allow=allow) == "ask"
    assert say("make && cat src/a.py", root, "ask", allow=allow) == "allow"


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("git log -L1,5:.env", "ask"),
        ("git log -L1,5:src/a.py", "ask"),
        ("git ls-files -X/etc/passwd", "ask"),
        ("git ls-files -X.env", "ask"),
        ("git ls-files --exclude-from=/etc/passwd", "ask"),
        ("git log -L 1,5:.env", "ask"),
        ("git log -5 -U3 --stat", "allow"),
        ("git log --format=%H", "allow"),
        ("git diff -- src", "allow"),
        ("head -n5 src/a.py", "allow"),
        ("tail -n+5 src/a.py", "allow"),
        ("ls -la", "allow"),
    ],
)
def test_an_option_with_a_path_in_it_is_no_simple_look(root: Path, command: str, decision: str) -> None:
    assert say(command, root, "ask") == decision


def test_what_a_search_leaves_out(root: Path) -> None:
    def hidden(**kinds: tuple[str, ...]) -> tuple[str, ...]:
        return hidden_patterns(rules_of(Permissions(**kinds)), root)

    assert hidden_patterns(Rules(), root) == ()
    assert hidden(deny=("read", "edit(x)", "bash(cat *)"), allow=("read(y)",)) == ()
    assert hidden(deny=("read(.env)", "read(secrets/**)"), ask=("read(./a)", "grep(b/)", "read(.env)")) == (
        ".env", f"{root}/secrets/**", f"{root}/a", "b/",
    )  # fmt: skip
    assert hidden(deny=("read(../x/*)", "read(/y/z)")) == (f"{root.parent}/x/*", "/y/z")
    assert hidden_patterns(rules_of(Permissions(deny=("read(a/b)",))), Path("/")) == ("/a/b",)


def test_a_job_is_not_ended_in_plan_mode(root: Path) -> None:
    def ending(mode: str, effect: Effect) -> str:
        call = Asked("bash", effect, "", {"id": 1, "stop": True}, "")
        return judge(call, mode=mode, rules=Rules(), root=root, trusted=True).decision

    assert [ending(mode, "execute") for mode in ("plan", "ask", "accept-edits", "full")] == ["deny", "ask", "ask", "allow"]
    assert ending("plan", "read") == "allow"
