"""Permissions: rules by tool, path and command; deny beats everything; plan changes nothing; real paths decide (Y-6)."""

from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sojourn.agent.asking import Asked
from sojourn.agent.permissions import PLAN, Mode, Rule, Rules, Verdict, grant_for, judge, parse_rule, rules_of
from sojourn.agent.places import covers, literal
from sojourn.agent.shell import Part, script
from sojourn.base import UserMistake
from sojourn.config.settings import Permissions

pytestmark = pytest.mark.design("Y-6")
MODES = get_args(Mode)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "src" / "a.py").write_text("x")
    (folder / ".env").write_text("KEY=1")
    return folder.resolve()


def bash(command: str) -> Asked:
    return Asked("bash", "execute", command, {"command": command}, "")


def read(path: str) -> Asked:
    return Asked("read", "read", path, {"path": path}, "")


def grep(path: str) -> Asked:
    return Asked("grep", "read", path, {"pattern": "x", "path": path}, "")


def edit(path: str, tool: str = "edit") -> Asked:
    return Asked(tool, "edit", path, {"path": path}, "")


def memory(path: object, do: str = "append") -> Asked:
    return Asked("memory", "edit", "", {"do": do, "path": path, "text": "x"}, "")


def rules(**kinds: tuple[str, ...]) -> Rules:
    return rules_of(Permissions(**kinds))


def say(
    call: Asked,
    root: Path,
    mode: str = "ask",
    *,
    trusted: bool = True,
    granted: tuple[Rule, ...] = (),
    given: bool = False,
    own: tuple[Path, ...] = (),
    **kinds: tuple[str, ...],
) -> str:
    return verdict(call, root, mode, trusted=trusted, granted=granted, given=given, own=own, **kinds).decision


def verdict(
    call: Asked,
    root: Path,
    mode: str = "ask",
    *,
    trusted: bool = True,
    granted: tuple[Rule, ...] = (),
    given: bool = False,
    own: tuple[Path, ...] = (),
    **kinds: tuple[str, ...],
) -> Verdict:
    held = rules_of(Permissions(**kinds), own)
    return judge(call, mode=mode, rules=held, root=root, trusted=trusted, granted=granted, given=given)


# --- rules as text ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tool", "pattern"),
    [
        ("bash", "bash", None),
        (" bash(git status *) ", "bash", "git status *"),
        ("bash(echo (a) && (b))", "bash", "echo (a) && (b)"),
        ("edit(src/**)", "edit", "src/**"),
        ("mcp__files__*", "mcp__files__*", None),
        ("bash(a\nb)", "bash", "a\nb"),
    ],
)
def test_a_rule_is_a_tool_or_a_tool_with_a_pattern(text: str, tool: str, pattern: str | None) -> None:
    rule = parse_rule(text)
    assert (rule.tool, rule.pattern) == (tool, pattern)
    assert parse_rule(str(rule)) == rule


@pytest.mark.parametrize(
    "text", ["", "bash(", "bash git", "bash()", "bash( )", "edit(!x)", "read(#x)", "read(/)", "ba sh(x)", "grep(!a)"]
)
def test_a_bad_rule_names_key_and_text(text: str) -> None:
    with pytest.raises(UserMistake) as mistake:
        parse_rule(text, "permissions.deny")
    assert str(mistake.value).startswith(f"permissions.deny: {text!r}")
    assert mistake.value.next_step
    with pytest.raises(UserMistake, match=r"permissions\.ask: 'bash\('"):
        rules(ask=("bash(",))


# --- commands --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "command", "means"),
    [
        ("git status", "git status", True),
        ("make test", "make test -s", False),
        ("git status *", "git status", True),
        ("git status *", "git status -s src", True),
        ("git status *", "git statuses", False),
        ("git status*", "git statuses", True),
        ("npm * --fix", "npm run lint --fix", True),
        ("npm * --fix", "npm run lint", False),
        ("*", "rm -rf x; date > y", True),
        ("echo \\*", "echo *", True),
        ("echo \\*", "echo x", False),
        ("make test", " make test ", True),
        ("make  test", "make test", False),
        ("make test", "make   test", True),
    ],
)
def test_command_patterns_that_allow(root: Path, pattern: str, command: str, means: bool) -> None:
    assert say(bash(command), root, allow=(f"bash({pattern})",)) == ("allow" if means else "ask")


@pytest.mark.parametrize(
    "command",
    [
        "make test && rm x",
        "make test; rm x",
        "make test | rm x",
        "make test || rm x",
        "make test & rm x",
        "make test\nrm x",
        "make $(rm x)",
        "make `rm x`",
        'make "$(rm x)"',
        'make "`rm x`"',
        "make <(rm x)",
        "make >(rm x)",
        "(make test; rm x)",
        "make test > out",
        "make test >> out",
        "make test &> out",
        "make test >| out",
        "make test <> out",
        "make 2> out",
        "make >&out",
        "make < /etc/passwd",
        "X=1 make test",
        "make <<E\nrm x\nE",
        "make # '\nrm x #'",
        "make $'\\'' ; rm x #'",
        "make $((1))",
        "make ${x:-$(rm x)}",
        "make 'x",
        "make `make \\`rm x\\``",
        "make `make \\x`",
        'make "x',
        "make \\",
        "make $(rm x",
        "make )",
        "sudo make test",
        "make $(case x in x) rm x;; (y) esac)",
        "make > $HOME/x",
        "make > ",
        "{ make test; }",
        "if make; then make; fi",
        "make $(make $(make $(rm x)))",
        "make\r\nrm x",
        "make > .git/hooks/pre-commit",
    ],
)
def test_a_command_is_allowed_only_if_every_part_is(root: Path, command: str) -> None:
    allow = ("bash(make *)", "edit(src/**)")
    assert say(bash(command), root, allow=allow) == "ask"
    assert say(bash(command), root, "accept-edits", allow=allow) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "make test && make lint",
        "make | tee x",
        "make $(make list)",
        "make `make list`",
        "make 'a && b; rm x'",
        'make "a > b"',
        "make a\\;b",
        "make\n\nmake",
        "make > src/out.txt",
        "make 2>&1",
        "make >/dev/null 2>&1",
        "make 2>&-",
        "make < src/a.py",
        "(make)",
        "make \\\n test",
        "make $X ${Y} *",
        "make test && git status",
        "make 2>/dev/null >&2",
    ],
)
def test_a_command_whose_every_part_is_allowed_runs(root: Path, command: str) -> None:
    assert say(bash(command), root, allow=("bash(make *)", "bash(tee *)", "edit(src/**)")) == "allow"
    assert say(bash(command), root, allow=("edit(src/**)",)) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x",
        "rm  -rf  x",
        "make && rm -rf x",
        "make; rm -rf x",
        "make | rm -rf x",
        "echo $(rm -rf x)",
        "echo `rm -rf x`",
        'echo "$(rm -rf x)"',
        "cat <(rm -rf x)",
        "sudo rm -rf x",
        "sudo -u root rm -rf x",
        "/bin/rm -rf x",
        "r'm' -rf x",
        'r"m" -rf x',
        "\\rm -rf x",
        "X=1 rm -rf x",
        "env X=1 rm -rf x",
        "bash -c 'rm -rf x'",
        "sh -c 'make; rm -rf x'",
        "eval rm -rf x",
        "eval 'rm -rf x'",
        "find . -exec rm -rf {} \\;",
        "ls | xargs rm -rf",
        "if true; then rm -rf x; fi",
        "! rm -rf x",
        "{ rm -rf x; }",
        "(rm -rf x)",
        "nohup rm -rf x &",
        "timeout 5 rm -rf x",
        "make\nrm -rf x",
        "rm -rf x > out",
        "rm -rf 'unclosed",
        "make # x\nrm -rf x",
        "make <<E\nE\nrm -rf x",
        "rm \\\n-rf x",
        "while true; do rm -rf x; done",
        "command rm -rf x",
        "sudo bash -c 'rm -rf x'",
        "rm -rf",
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_denied_command_is_known_in_every_dress(root: Path, command: str, mode: str) -> None:
    told = verdict(bash(command), root, mode, given=True, allow=("bash",), deny=("bash(rm -rf *)",), granted=(Rule("bash"),))
    assert told == Verdict("deny", "the rule bash(rm -rf *) denies it")


@pytest.mark.parametrize(
    "command", ["rm x", "echo 'rm -rf x'", "git commit -m 'no rm -rf x here'", "rmdir -rf x", "echo rm -rf x"]
)
def test_a_word_about_a_denied_command_is_not_one(root: Path, command: str) -> None:
    assert say(bash(command), root, "full", given=True, deny=("bash(rm -rf *)",)) == "allow"


def test_a_pattern_may_speak_of_the_whole_line(root: Path) -> None:
    assert say(bash("curl x | sh"), root, "full", deny=("bash(curl * | sh*)",)) == "deny"
    assert say(bash("curl x > y"), root, "full", deny=("bash(curl * | sh*)",)) == "allow"


def test_the_parts_of_a_command() -> None:
    found = script('a "b c" > out 2>&1 < in && d $(e f) | g')
    assert found.clear
    assert found.parts == (
        Part('a "b c"', ("a", "b c"), True, ("in",), ("out",)),
        Part("e f", ("e", "f"), True),
        Part("d $(e f)", ("d", "$(e f)"), False),
        Part("g", ("g",), True),
    )
    assert script("") == script(" \n; ") == script("")
    assert script("a 'b").clear is False
    assert [part.text for part in script("a\nb;c&d||e").parts] == ["a", "b", "c", "d", "e"]


# --- the order -------------------------------------------------------------------------------------------------------


def test_deny_beats_full_allow_and_grants(root: Path) -> None:
    for call, rule in (
        (bash("make"), "bash"),
        (edit("src/a.py"), "edit(src/**)"),
        (edit("src/a.py", "write"), "edit"),
        (read("src/a.py"), "read"),
        (Asked("mcp__x__y", "execute", "", {}, ""), "mcp__x__*"),
        (edit("src/a.py", "write"), "write(*.py)"),
    ):
        told = verdict(call, root, "full", given=True, deny=(rule,), allow=("*",), granted=(Rule("*"), grant_for(call, root)))
        assert told == Verdict("deny", f"the rule {rule} denies it")
        assert say(call, root, "full", given=True) == "allow"


def test_edit_rules_mean_write_and_write_rules_do_not_mean_edit(root: Path) -> None:
    assert say(edit("src/a.py", "write"), root, allow=("edit(src/**)",)) == "allow"
    assert say(edit("src/a.py", "edit"), root, allow=("write(src/**)",)) == "ask"
    assert say(edit("a.py", "write"), root, allow=("edit(src/**)",)) == "ask"
    assert say(grep("src"), root, deny=("read(src/**)",)) == "deny"
    assert say(grep("."), root, deny=("read(src/**)",)) == "allow"
    assert say(Asked("history", "read", "x", {}, ""), root, deny=("read(**)", "read")) == "allow"


def test_ask_rules_come_before_allow_and_full_and_after_grants(root: Path) -> None:
    push = bash("git push origin")
    assert verdict(push, root, "full", ask=("bash(git push *)",), allow=("bash",)).reason == "the rule bash(git push *) asks"
    assert say(push, root, "full", ask=("bash(git push *)",)) == "ask"
    assert say(bash("make && git push"), root, "full", ask=("bash(git push *)",)) == "ask"
    assert say(bash("git pull"), root, "full", ask=("bash(git push *)",)) == "allow"
    assert say(push, root, ask=("bash(git push *)",), granted=(Rule("bash", "git push *"),)) == "allow"


@pytest.mark.parametrize("granted", [(), (Rule("*"),)])
def test_plan_mode_only_looks(root: Path, granted: tuple[Rule, ...]) -> None:
    for call in (bash("git status"), edit("src/a.py"), edit("plan.md", "write"), Asked("actor", "execute", "", {}, "")):
        told = verdict(call, root, "plan", granted=granted, allow=("*",), given=True)
        assert told == Verdict("deny", PLAN)
    assert say(read("src/a.py"), root, "plan") == "allow"
    assert say(read("/etc/passwd"), root, "plan") == "ask"
    assert say(Asked("history", "execute", "", {}, ""), root, "plan", allow=("history",)) == "allow"


# --- modes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "ask", "accept", "full"),
    [
        (read("src/a.py"), "allow", "allow", "allow"),
        (read("."), "allow", "allow", "allow"),
        (read("../x"), "ask", "ask", "allow"),
        (read("/etc/passwd"), "ask", "ask", "allow"),
        (read("../repository/x"), "ask", "ask", "allow"),
        (read("~/.ssh/id_rsa"), "ask", "ask", "allow"),
        (read(".env"), "ask", "ask", "allow"),
        (read("src/.env.local"), "ask", "ask", "allow"),
        (read(".env.example"), "allow", "allow", "allow"),
        (read("keys/server.pem"), "ask", "ask", "allow"),
        (read("id_ed25519"), "ask", "ask", "allow"),
        (read("id_ed25519.pub"), "allow", "allow", "allow"),
        (read("a\0b"), "ask", "ask", "allow"),
        (read(""), "ask", "ask", "allow"),
        (edit("src/new.py"), "ask", "allow", "allow"),
        (edit("src/new.py", "write"), "ask", "allow", "allow"),
        (edit("../x"), "ask", "ask", "allow"),
        (edit("/etc/passwd"), "ask", "ask", "allow"),
        (edit(".git/hooks/pre-commit"), "ask", "ask", "allow"),
        (edit("sub/.GIT/config"), "ask", "ask", "allow"),
        (edit(".sojourn/config.toml"), "ask", "ask", "allow"),
        (edit(".sojourn/notes.md"), "ask", "allow", "allow"),
        (edit(".gitignore"), "ask", "allow", "allow"),
        (edit(""), "ask", "ask", "allow"),
        (bash("make"), "ask", "ask", "allow"),
        (bash(""), "ask", "ask", "allow"),
        (Asked("actor", "execute", "", {}, ""), "ask", "ask", "allow"),
        (Asked("history", "read", "words", {"query": "words"}, ""), "allow", "allow", "allow"),
        (Asked("fetch", "read", "https://x.example/", {"url": "https://x.example/"}, ""), "ask", "ask", "allow"),
        (grep("."), "allow", "allow", "allow"),
        (grep("/etc"), "ask", "ask", "allow"),
        (grep(""), "ask", "ask", "allow"),
        (Asked("bash", "read", "", {"job": "1"}, ""), "allow", "allow", "allow"),
        (Asked("memory", "read", "notes", {}, ""), "allow", "allow", "allow"),
        # A document's name is no path: memory itself refuses what is not this session's (Y-2).
        (Asked("memory", "read", "/etc/passwd", {"path": "/etc/passwd"}, ""), "allow", "allow", "allow"),
        (Asked("memory", "edit", "", {"path": "../x"}, ""), "allow", "allow", "allow"),
        (Asked("memory", "edit", "", {"do": "append", "text": "x"}, ""), "allow", "allow", "allow"),
        (memory("notes"), "allow", "allow", "allow"),
        (memory("project"), "allow", "allow", "allow"),
        (memory("project/facts/global"), "allow", "allow", "allow"),
        (memory("global"), "ask", "ask", "allow"),
        (memory("global/MEMORY.md"), "ask", "ask", "allow"),
        (memory("global/facts/tabs"), "ask", "ask", "allow"),
        (memory("/home/ada/.local/share/sojourn/memory/global/facts/tabs.md"), "ask", "ask", "allow"),
        (Asked("memory", "read", "", {"do": "read", "path": "global"}, ""), "allow", "allow", "allow"),
        (Asked("memories", "edit", "", {"path": "../x"}, ""), "ask", "ask", "allow"),
    ],
)
def test_what_each_mode_lets_through(root: Path, call: Asked, ask: str, accept: str, full: str) -> None:
    assert [say(call, root, mode) for mode in ("ask", "accept-edits", "full")] == [ask, accept, full]


@pytest.mark.design("Y-1", "Y-2")
@pytest.mark.parametrize("do", ["append", "edit", "write"])
def test_global_memory_is_the_persons_they_are_asked(root: Path, do: str) -> None:
    call = memory("global", do)
    reason = "it changes global memory, which every project reads"
    assert verdict(call, root) == verdict(call, root, "accept-edits") == Verdict("ask", reason)
    assert verdict(call, root, "plan") == Verdict("deny", PLAN)
    assert verdict(call, root, "full") == Verdict("allow", "mode full")
    assert verdict(call, root, deny=("memory",)).decision == "deny"
    assert verdict(call, root, granted=(grant_for(call, root),)) == Verdict("allow", "granted for this session")
    assert verdict(call, root, allow=("memory",)) == Verdict("allow", "allowed by the rules")
    assert verdict(memory("notes", do), root) == Verdict("allow", "it writes the agent's own notes")


@pytest.mark.design("Y-2")
def test_what_is_no_path_is_the_tools_to_refuse(root: Path) -> None:
    assert say(memory(None), root) == "allow"  # left out: the notes
    assert say(memory(7), root) == "allow"
    assert say(memory(["global"]), root) == "allow"
    assert say(memory("  GLOBAL\\MEMORY.md "), root) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git diff HEAD~1 -- src",
        "git log --oneline -5",
        "ls",
        "ls -la src",
        "cat src/a.py",
        "pwd",
        "head -n 5 src/a.py",
        "git show HEAD:src/a.py",
        "cat src/a.py | wc -l",
        "git status && git diff",
        "git log --stat 2>/dev/null",
        "cat < src/a.py",
    ],
)
def test_commands_that_only_look_need_no_question(root: Path, command: str) -> None:
    assert say(bash(command), root) == "allow"
    assert say(bash(command), root, trusted=False) == "ask"
    assert say(bash(command), root, ask=("bash",)) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/passwd",
        "cat ../x",
        "cat .env",
        "cat ~/.ssh/id_rsa",
        "cat $HOME/x",
        "cat *",
        "ls ..",
        "git push",
        "git branch -D x",
        "git diff --output=x",
        "git diff --outp=x",
        "git diff --ext-diff",
        "git diff --no-index a b",
        "git -c a.b=c status",
        "git diff /etc/passwd x",
        "git show HEAD:.env",
        "ls > x",
        "cat src/a.py > y",
        "git log --o=x",
        "git",
        "cat `x`",
        "cat $(x)",
        "tail -f x & rm y",
        "git status; rm x",
        "wc --files0-from=/etc/passwd",
        "ls src/../../x",
        "X=1 ls",
        "cat src/a.p?",
        "cat {a,b}",
        "cat < .env",
        "/tmp/ls",
        "git diff --textconv",
    ],
)
def test_commands_that_might_do_more_are_asked_for(root: Path, command: str) -> None:
    assert say(bash(command), root) == "ask"


def test_real_paths_decide(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.py").write_text("x")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "src" / "env").symlink_to(root / ".env")
    (root / "hook").symlink_to(root / ".git")
    assert say(edit("link/x.py"), root, "accept-edits") == "ask"
    assert say(read("link/x.py"), root) == "ask"
    assert say(read("src/env"), root) == "ask"
    assert say(bash("cat src/env"), root) == "ask"
    assert say(bash("cat link/x.py"), root) == "ask"
    assert say(edit("hook/config"), root, "accept-edits") == "ask"
    assert say(edit("src/../../x"), root, "accept-edits") == "ask"
    # A rule that allows means the real file, one that denies either.
    assert say(edit("link/x.py"), root, allow=("edit(link/**)",)) == "ask"
    assert say(edit("link/x.py"), root, allow=("edit(../outside/**)",)) == "allow"
    assert say(edit("link/x.py"), root, "full", deny=("edit(link/**)",)) == "deny"
    assert say(edit("link/x.py"), root, "full", deny=(f"edit({tmp_path}/outside/**)",)) == "deny"
    assert say(read("src/env"), root, "full", deny=("read(.env)",)) == "deny"
    # The folder itself may be reached through a link.
    (tmp_path / "way").symlink_to(root)
    assert say(edit(str(tmp_path / "way" / "src" / "a.py")), tmp_path / "way", "accept-edits") == "allow"
    for pattern in ("src/**", "*/a.py", "s?c/a.py", "src/[a].py", "src/a.py"):
        assert say(edit("src/a.py"), root, allow=(f"edit({tmp_path}/way/{pattern})",)) == "allow", pattern


@pytest.mark.parametrize(
    ("pattern", "path", "allows", "denies"),
    [
        ("src/**", "src/a.py", True, True),
        ("src/", "src/deep/a.py", True, True),
        ("*.py", "src/deep/a.py", True, True),
        ("*.py", "/else/a.py", False, True),
        ("src/*.py", "/else/src/a.py", False, False),
        ("src/*.py", "src/deep/a.py", False, False),
        ("./a.py", "a.py", True, True),
        ("./a.py", "src/a.py", False, False),
        ("/else/**", "/else/a/b", True, True),
        ("/else/**", "/elsewhere/b", False, False),
        ("../other/**", "../other/x", True, True),
        ("../other/**", "../others/x", False, False),
        ("**", "../x", False, True),
        ("~/notes/*", "~/notes/x", True, True),
        ("a[bc].py", "ab.py", True, True),
    ],
)
def test_path_patterns(root: Path, pattern: str, path: str, allows: bool, denies: bool) -> None:
    assert say(edit(path), root, allow=(f"edit({pattern})",)) == ("allow" if allows else "ask")
    assert say(edit(path), root, "full", deny=(f"edit({pattern})",)) == ("deny" if denies else "allow")


def test_rules_about_files_hold_for_commands_that_name_them(root: Path) -> None:
    for command in (
        "cat .env",
        "cat ./.env",
        "grep x src/../.env",
        "cat < .env",
        "cp --from=.env x",
        "git show HEAD:.env",
        "sh -c x .env",
    ):
        assert say(bash(command), root, "full", deny=("read(.env)",)) == "deny", command
    for command in ("make > src/a.py", "make 2>> ./src/a.py", "ls; make &> src/a.py"):
        assert say(bash(command), root, "full", deny=("edit(src/**)",)) == "deny", command
        assert say(bash(command), root, "full", deny=("edit",)) == "deny", command
    assert say(bash("cat src/a.py"), root, "full", deny=("edit(src/**)", "edit")) == "allow"
    assert say(bash("cat src/a.py"), root, "full", deny=("read",)) == "allow"


def test_our_own_folders_are_guarded(root: Path) -> None:
    own = (root / "state", root / "config")
    assert say(edit("state/trust.json"), root, "accept-edits", own=own) == "ask"
    assert say(edit("config/config.toml"), root, "accept-edits", own=own, allow=("edit(**)",)) == "ask"
    assert say(edit("states"), root, "accept-edits", own=own) == "allow"
    assert say(edit(".git/config"), root, allow=("edit",)) == "ask"
    assert say(edit(".git/config"), root, granted=(grant_for(edit(".git/config"), root),)) == "allow"
    assert say(bash("make > state/x"), root, own=own, allow=("bash(make *)", "edit(**)")) == "ask"
    assert say(bash("make > states"), root, own=own, allow=("bash(make *)", "edit(**)")) == "allow"


# --- trust -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [bash("make"), edit("src/a.py"), Asked("actor", "execute", "", {}, "")])
def test_an_untrusted_folder_asks_in_every_mode_but_full_from_the_command_line(root: Path, call: Asked) -> None:
    for mode in ("ask", "accept-edits", "full"):
        told = verdict(call, root, mode, trusted=False, allow=("*",))
        assert told == Verdict("ask", "this folder is not trusted")
        # What was granted elsewhere, or before the trust was taken back, is asked for again.
        assert say(call, root, mode, trusted=False, granted=(grant_for(call, root), Rule("*"))) == "ask"
        assert say(call, root, mode, granted=(grant_for(call, root),)) == "allow"
    assert say(call, root, "accept-edits", trusted=False, given=True) == "ask"
    assert say(call, root, "full", trusted=False, given=True) == "allow"
    assert say(call, root, "plan", trusted=False, given=True) == "deny"
    assert say(read("src/a.py"), root, trusted=False) == "allow"
    assert say(read(".env"), root, trusted=False, granted=(grant_for(read(".env"), root),)) == "allow"


# --- always ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("git commit -m x", "git commit *"),
        ("npm run test -- --watch", "npm run test *"),
        ("npm run", "npm run"),
        ("npm test", "npm test *"),
        ("uv run python x.py", "uv run python x.py"),
        ("git config a.b c", "git config a.b c"),
        ("git -C x status", "git -C x status"),
        ("rm -rf build", "rm -rf build"),
        ("git commit && git push", "git commit && git push"),
        ("git log > x", "git log > x"),
        ("git add *", "git add \\*"),
        ("git add $X", "git add $X"),
        ("'git' add x", "'git' add x"),
        (" make  test ", "make test *"),
        ("git", "git"),
    ],
)
def test_always_is_as_narrow_as_sensible(root: Path, command: str, pattern: str) -> None:
    rule = grant_for(bash(command), root)
    assert rule == Rule("bash", pattern)
    assert say(bash(command), root, granted=(rule,)) == "allow"
    assert say(bash("rm -rf /"), root, granted=(rule,)) == "ask"


def test_always_for_a_file_means_that_file(root: Path, tmp_path: Path) -> None:
    odd = edit("src/a [1]*?.py ")
    for call, other in (
        (edit("src/a.py"), edit("src/b.py")),
        (read("/etc/passwd"), read("/etc/shadow")),
        (odd, edit("src/a 1x.py")),
    ):
        rule = grant_for(call, root)
        assert say(call, root, granted=(rule,)) == "allow"
        assert say(other, root, granted=(rule,)) == "ask"
    (root / "link").symlink_to(tmp_path / "one")
    rule = grant_for(edit("link"), root)
    (root / "link").unlink()
    (root / "link").symlink_to(tmp_path / "two")
    assert say(edit("link"), root, granted=(rule,)) == "ask"
    assert grant_for(edit("src/a.py", "write"), root).tool == "edit"
    assert grant_for(Asked("actor", "execute", "", {}, ""), root) == Rule("actor")
    fetch = Asked("fetch", "read", "https://x.example/*", {}, "")
    assert grant_for(fetch, root) == Rule("fetch", "https://x.example/\\*")


# --- what always holds -----------------------------------------------------------------------------------------------

_COMMANDS = st.lists(
    st.sampled_from(
        [
            "make",
            "rm",
            "-rf",
            "x",
            "&&",
            "||",
            ";",
            "|",
            "&",
            "\n",
            "$(",
            ")",
            "`",
            '"',
            "'",
            "\\",
            ">",
            "<",
            "2>&1",
            "(",
            "#",
            "$'",
            "${",
            "}",
            "*",
            "~",
            "<<",
            "if",
            "then",
            "sudo",
            "bash -c",
            "eval",
            "case",
            "in",
            "esac",
            "{",
            "src/a.py",
            ".env",
            "git status",
            "\0",
            "\r",
        ]
    ),
    max_size=14,
).map(" ".join)
_TIGHT = st.text(alphabet="ab;&|$(){}`'\"\\<>#*~ \n!=[]1", max_size=24)
_CALLS = st.one_of(
    (_COMMANDS | _TIGHT | st.text(max_size=20)).map(bash),
    st.text(alphabet="ab./~*[]\\ \0é", max_size=12).map(edit),
    st.text(alphabet="ab./~*[]\\ \0é", max_size=12).map(read),
    st.text(max_size=8).map(lambda text: Asked("mcp__x__y", "execute", text, {"path": text}, "")),
)
_HYPOTHESIS: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}


@given(call=_CALLS, mode=st.sampled_from(MODES), trusted=st.booleans(), insists=st.booleans())
@settings(max_examples=100, **_HYPOTHESIS)
def test_deny_is_never_overruled(root: Path, call: Asked, mode: str, trusted: bool, insists: bool) -> None:
    everything = (Rule("*"), Rule("bash"), grant_for(call, root))
    meant = call.subject.strip() and "\0" not in call.subject
    for rule in (call.tool, "*", *([str(grant_for(call, root))] if meant else [])):
        told = say(call, root, mode, trusted=trusted, given=insists, granted=everything, allow=("*",), deny=(rule,))
        assert told == "deny"


@given(call=_CALLS, trusted=st.booleans(), insists=st.booleans())
@settings(max_examples=60, **_HYPOTHESIS)
def test_plan_never_changes_anything(root: Path, call: Asked, trusted: bool, insists: bool) -> None:
    told = say(call, root, "plan", trusted=trusted, given=insists, granted=(Rule("*"),), allow=("*",))
    assert told == ("allow" if call.effect == "read" else "deny")


@given(
    parts=st.lists(st.sampled_from(["make a", "make 'b c'", "rm x", "git push", "make $(rm y)"]), min_size=1, max_size=5),
    between=st.sampled_from([" && ", ";", " | ", "\n", " || ", "&"]),
)
@settings(max_examples=100, **_HYPOTHESIS)
def test_a_line_is_as_free_as_its_least_free_part(root: Path, parts: list[str], between: str) -> None:
    line = between.join(parts)
    alone = {say(bash(part), root, allow=("bash(make *)",)) for part in parts}
    assert say(bash(line), root, allow=("bash(make *)",)) == ("allow" if alone == {"allow"} else "ask")
    refused = any("rm" in part for part in parts)
    assert say(bash(line), root, "full", deny=("bash(rm *)",)) == ("deny" if refused else "allow")


@given(call=_CALLS)
@settings(max_examples=100, **_HYPOTHESIS)
def test_a_grant_covers_its_own_call_and_survives_being_text(root: Path, call: Asked) -> None:
    rule = grant_for(call, root)
    if call.subject.strip() and "\0" not in call.subject:
        assert say(call, root, granted=(rule,)) == "allow"
        assert parse_rule(str(rule)) == rule


@given(
    path=st.text(alphabet="ab*?[]!#\\ .é", min_size=1, max_size=8),
    other=st.text(alphabet="ab*?[]!#\\ .é", min_size=1, max_size=8),
)
@settings(max_examples=100, **_HYPOTHESIS)
def test_a_literal_pattern_means_one_path(path: str, other: str) -> None:
    assert covers(literal(f"/r/{path}"), f"/r/{path}", "/elsewhere")
    if other != path and "/." not in f"/{path}" and "/." not in f"/{other}":
        assert not covers(literal(f"/r/{path}"), f"/r/{other}", "/elsewhere")


@given(command=_COMMANDS | _TIGHT | st.text(max_size=40))
@settings(max_examples=100, **_HYPOTHESIS)
def test_any_text_is_judged(root: Path, command: str) -> None:
    assert say(bash(command), root) in ("allow", "ask")
    assert say(bash(command), root, "full", given=True) == "allow"
