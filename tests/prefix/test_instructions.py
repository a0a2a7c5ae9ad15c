"""Rule files: found, read, shared out (P-5)."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.config.settings import Instructions
from sojourn.meter import estimate_text, total
from sojourn.prefix.sources import rule_file
from sojourn.prefix.sources.instructions import find, within_budget
from sojourn.prefix.sources.levels import levels, others_write
from sojourn.prefix.sources.share import share

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links and modes of POSIX")


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "config"
    folder.mkdir()
    return folder


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repo"
    (folder / "pkg" / "deep").mkdir(parents=True)
    (folder / ".git").mkdir()
    return folder


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(cwd, home, budget=1_000_000, **settings):
    found = within_budget(find(cwd, Instructions(**settings), home), budget)
    return found.section.text if found.section else "", found.notes


def names(cwd, home, **settings):
    return [str(rules.file.path.relative_to(cwd.anchor)) for rules in find(cwd, Instructions(**settings), home).rules]


def warnings(notes):
    return [note.message for note in notes if note.kind == "warning"]


@pytest.mark.design("P-5")
@pytest.mark.report(115)
def test_every_level_nearest_last_with_heading_and_precedence(repo, home):
    put(home / "AGENTS.md", "mine")
    put(repo / "AGENTS.md", "of the root\n")
    put(repo / "pkg" / "deep" / "AGENTS.md", "nearest")
    put(repo.parent / "AGENTS.md", "above the repository")
    text, notes = read(repo / "pkg" / "deep", home)
    blocks = text.split("\n\n## ")
    assert blocks[0].startswith("# Rules\n\n")
    assert "override" in blocks[0]
    assert blocks[1:] == [
        f"{home / 'AGENTS.md'} (user)\n\nmine",
        f"{repo / 'AGENTS.md'} (git root)\n\nof the root",
        f"{repo / 'pkg/deep/AGENTS.md'} (working folder)\n\nnearest",
    ]
    loaded = [note.path for note in notes if note.kind == "loaded"]
    absent = [note.path for note in notes if note.kind == "absent"]
    assert loaded == [str(home / "AGENTS.md"), str(repo / "AGENTS.md"), str(repo / "pkg/deep/AGENTS.md")]
    assert absent == [str(repo / "pkg" / name) for name in ("AGENTS.md", "CLAUDE.md")]


@pytest.mark.design("P-5")
@pytest.mark.report(115)
def test_outside_a_repository_every_folder_above_is_looked_at(tmp_path, home):
    put(tmp_path / "a" / "AGENTS.md", "above")
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    text, notes = read(tmp_path / "a" / "b" / "c", home)
    assert "(folder)\n\nabove" in text
    looked = [note.path for note in notes if note.kind == "absent"]
    assert str(tmp_path / "a/b/c/AGENTS.md") in looked
    assert str(tmp_path / "AGENTS.md") in looked


@pytest.mark.design("P-5")
@pytest.mark.report(115)
def test_no_rules_says_where_it_looked(repo, home):
    found = within_budget(find(repo, Instructions(), home), 1_000)
    assert (found.section, found.files) == (None, ())
    assert [note.path for note in found.notes] == [str(home / "AGENTS.md"), str(repo / "AGENTS.md"), str(repo / "CLAUDE.md")]


@pytest.mark.design("P-5")
def test_the_root_is_the_nearest_folder_with_git_file_or_folder(repo):
    assert levels(repo / "pkg" / "deep").folders == (repo, repo / "pkg", repo / "pkg" / "deep")
    put(repo / "pkg" / ".git", "gitdir: elsewhere")
    assert levels(repo / "pkg" / "deep").folders == (repo / "pkg", repo / "pkg" / "deep")
    assert levels(repo / "pkg").root == repo / "pkg"


@posix
@pytest.mark.design("P-5", "T-9")
def test_folders_that_others_can_write_are_left_out(tmp_path, home):
    shared = tmp_path / "shared"
    put(shared / "AGENTS.md", "planted")
    put(shared / "mine" / "AGENTS.md", "mine")
    shared.chmod(0o777)
    text, notes = read(shared / "mine", home)
    assert "planted" not in text
    assert "(working folder)\n\nmine" in text
    assert [str(shared / "AGENTS.md") in message and "other users" in message for message in warnings(notes)] == [True]
    assert shared in levels(shared / "mine").unsafe
    (shared / ".git").mkdir()
    assert "planted" in read(shared / "mine", home)[0], "in a repository of one's own it counts"


@posix
@pytest.mark.design("P-5", "T-9")
def test_a_planted_git_folder_makes_no_repository(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    (shared / ".git").mkdir(parents=True)
    (shared / "mine").mkdir()
    if os.getuid() == 0:
        os.chown(shared / ".git", 12_345, 12_345)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12_345)
    assert levels(shared / "mine").root == shared, "of another user, but in a folder that only its owner writes to"
    shared.chmod(0o1777)
    assert levels(shared / "mine").root is None
    assert shared in levels(shared / "mine").unsafe


@posix
@pytest.mark.design("P-5", "T-9")
def test_who_can_write(tmp_path, monkeypatch):
    for mode, expected in ((0o755, False), (0o700, False), (0o757, True), (0o1777, True)):
        tmp_path.chmod(mode)
        assert others_write(tmp_path) is expected, oct(mode)
    tmp_path.chmod(0o775)
    status = tmp_path.stat()
    assert others_write(tmp_path) is (status.st_gid != status.st_uid), "a private group is no other user"
    tmp_path.chmod(0o755)
    monkeypatch.setattr(os, "getuid", lambda: status.st_uid + 1)
    assert others_write(tmp_path) is (status.st_uid != 0), "root is nobody to fear"
    assert others_write(tmp_path / "gone")


@pytest.mark.design("P-5")
def test_names_and_claude_md(repo, home):
    put(repo / "AGENTS.md", "a")
    put(repo / "CLAUDE.md", "c")
    put(repo / "pkg" / "CLAUDE.md", "p")
    put(home / "CLAUDE.md", "not looked at")

    def got(**settings):
        return [name.rsplit("repo/", 1)[1] for name in names(repo / "pkg", home, **settings)]

    assert got() == ["AGENTS.md", "pkg/CLAUDE.md"]
    assert got(claude_md="off") == ["AGENTS.md"]
    assert got(claude_md="also") == ["AGENTS.md", "CLAUDE.md", "pkg/CLAUDE.md"]
    put(repo / "RULES.md", "r")
    assert got(names=("AGENTS.md", "GONE.md")) == ["AGENTS.md", "pkg/CLAUDE.md"], "one of ours is enough"
    assert got(names=("RULES.md", "AGENTS.md"), claude_md="off") == ["RULES.md", "AGENTS.md"]
    (home / "CLAUDE.md").unlink()
    assert got(names=("CLAUDE.md",)) == ["CLAUDE.md", "pkg/CLAUDE.md"]
    assert got(names=("CLAUDE.md",), claude_md="also") == ["CLAUDE.md", "pkg/CLAUDE.md"]
    _, notes = read(repo / "pkg", home, names=("CLAUDE.md",), claude_md="also")
    assert [note.kind for note in notes] == ["absent", "loaded", "loaded"], "each path once"


@posix
@pytest.mark.design("P-5")
def test_one_real_file_stands_once(repo, home):
    put(repo / "AGENTS.md", "only once")
    (repo / "CLAUDE.md").symlink_to("AGENTS.md")
    (repo / "pkg" / "AGENTS.md").symlink_to("../AGENTS.md")
    text, notes = read(repo / "pkg", home, claude_md="also")
    assert text.count("only once") == 1
    assert sum("the same file" in note.message for note in notes) == 2


@pytest.mark.design("P-5")
@pytest.mark.report(116)
def test_a_one_line_link_is_followed(repo, home):
    put(repo / "AGENTS.md", "docs/rules.md\r\n")
    put(repo / "docs" / "rules.md", "the rules")
    text, notes = read(repo, home)
    assert f"## {repo / 'AGENTS.md'} (git root)\n\nthe rules" in text
    assert "docs/rules.md" not in text
    assert any(f"really {repo / 'docs/rules.md'}" in note.message for note in notes)
    put(repo / "CLAUDE.md", "AGENTS.md")
    assert read(repo, home, claude_md="also")[0].count("the rules") == 1


@pytest.mark.design("P-5")
@pytest.mark.report(116)
def test_a_name_is_at_most_300_characters(repo, home):
    for length, follows in ((300, True), (301, False)):
        name = "d" * 147 + "/" + "f" * (length - 148)
        put(repo / name, "followed")
        put(repo / "AGENTS.md", name + "\n")
        assert ("followed" in read(repo, home)[0]) is follows


@pytest.mark.design("P-5")
@pytest.mark.report(116)
def test_links_that_lead_nowhere_good(repo, home):
    put(repo / "AGENTS.md", "Be nice.")
    assert "\n\nBe nice." in read(repo, home)[0], "one line of rules is no link"
    put(repo.parent / "secret.md", "secret")
    put(repo / "AGENTS.md", "../secret.md")
    text, notes = read(repo, home)
    assert "secret" not in text
    assert any("outside" in message for message in warnings(notes))
    put(repo / "AGENTS.md", "b.md")
    put(repo / "b.md", "AGENTS.md")
    text, notes = read(repo, home)
    assert text == ""
    assert any("lead back" in message for message in warnings(notes))
    for number in range(6):
        put(repo / f"l{number}.md", f"l{number + 1}.md")
    put(repo / "l6.md", "end")
    put(repo / "AGENTS.md", "l3.md")
    assert "\n\nend" in read(repo, home)[0]
    put(repo / "AGENTS.md", "l0.md")
    assert any("links in a row" in message for message in warnings(read(repo, home)[1]))


@pytest.mark.design("P-5")
def test_includes_one_level_deep_inside_the_root(repo, home):
    put(
        repo / "AGENTS.md",
        "See @docs/a.md, and (@docs/b.md).\n"
        "Mail me@docs/c.md, `cat @docs/c.md`, @types/node\n```\n@docs/c.md\n```\n@../out.md\n- @gone.md\n",
    )
    put(repo / "docs" / "a.md", "text of a with @b.md @deeper.md")
    put(repo / "docs" / "b.md", "text of b")
    put(repo / "docs" / "c.md", "text of c")
    put(repo / "docs" / "deeper.md", "too deep")
    put(repo.parent / "out.md", "outside")
    text, notes = read(repo, home)
    assert f"## {repo / 'docs/a.md'} (included by {repo / 'AGENTS.md'})\n\ntext of a" in text
    assert text.index("See @docs/a.md") < text.index("text of a") < text.index("text of b")
    for absent in ("text of c", "too deep", "outside"):
        assert absent not in text
    assert [message.split(": ", 1)[1] for message in warnings(notes)] == [
        f"@../out.md lies outside {repo}: not read",
        "@gone.md names no file",
    ]


@pytest.mark.design("P-5")
def test_includes_know_spaces_and_unclosed_fences(repo, home):
    put(repo / "AGENTS.md", "@my\\ rules.md\n\n~~~\ncode\n@b.md\n")
    put(repo / "my rules.md", "spaced")
    put(repo / "b.md", "in code")
    text = read(repo, home)[0]
    assert "\n\nspaced" in text
    assert "in code" not in text


@pytest.mark.design("P-5")
def test_a_level_keeps_its_own_rules_when_another_includes_them(repo, home):
    put(repo / "AGENTS.md", "@pkg/AGENTS.md")
    put(repo / "pkg" / "AGENTS.md", "of the package")
    text = read(repo / "pkg", home)[0]
    assert text.count("of the package") == 1
    assert f"## {repo / 'pkg/AGENTS.md'} (working folder)" in text


@posix
@pytest.mark.design("P-5", "T-9")
def test_an_include_cannot_leave_by_a_link(repo, home):
    put(repo.parent / "secret", "key")
    (repo / "inner.md").symlink_to(repo.parent / "secret")
    put(repo / "AGENTS.md", "@inner.md")
    text, notes = read(repo, home)
    assert "key" not in text
    assert any("outside" in message for message in warnings(notes))


@pytest.mark.design("P-5")
@pytest.mark.parametrize(
    "data",
    [
        "规则：小心\n".encode(),
        b"\xef\xbb\xbf" + "规则：小心\n".encode(),
        "规则：小心\n".encode("utf-16"),
        b"\xfe\xff" + "规则：小心\n".encode("utf-16-be"),
        "规则：小心, and so on\r\n".encode("utf-16-le"),
        "规则：小心, and so on\r\n".encode("utf-16-be"),
        "规则：小心\r\n".encode("gbk"),
    ],
)
def test_encodings(repo, home, data):
    put(repo / "AGENTS.md", data)
    text, notes = read(repo, home)
    assert "(git root)\n\n规则：小心" in text
    assert "\r" not in text
    assert "\ufeff" not in text
    assert any("GBK" in message for message in warnings(notes)) is (data == "规则：小心\r\n".encode("gbk"))


@pytest.mark.design("P-5")
def test_what_cannot_be_read_is_said(repo, home):
    put(repo / "AGENTS.md", b"\xff\xff\x00\x81\x00\x01\x80")
    (repo / "pkg" / "AGENTS.md").mkdir()
    put(repo / "pkg" / "deep" / "AGENTS.md", " \n")
    text, notes = read(repo / "pkg" / "deep", home)
    assert text == ""
    said = warnings(notes)
    assert len(said) == 3
    assert "not text" in said[0]
    assert "could not be read" in said[1]
    assert "is empty" in said[2]


@pytest.mark.design("P-5")
@pytest.mark.report(113)
def test_100_kib_a_file_cut_at_a_line(repo, home):
    line = "规则" * 10 + "\n"
    fits = (line * 2_000)[: 102_400 // 3 - 40]
    put(repo / "AGENTS.md", "x" * 102_399 + "\n")
    assert warnings(read(repo, home)[1]) == []
    put(repo / "AGENTS.md", "first\n" + "x" * 102_395)
    text, notes = read(repo, home)
    assert text.endswith("first\n[Cut here: the file is longer than 100 KiB.]")
    assert any("longer than 100 KiB" in message for message in warnings(notes))
    put(repo / "AGENTS.md", fits + "\n" + line * 2_000)
    text, _ = read(repo, home)
    assert "\ufffd" not in text
    body = text.split("(git root)\n\n")[1].split("\n[Cut here")[0]
    assert body.split("\n")[-1] == line.rstrip("\n"), "never inside a line"
    assert 100_000 < len(body.encode()) <= 102_400


@pytest.mark.design("P-5", "W-4")
@pytest.mark.report(113)
def test_the_nearest_file_gets_its_room_first(repo, home):
    root = "".join(f"root rule {number}: 改前先看\n" for number in range(3_000))
    near = "".join(f"near rule {number}: 测试\n" for number in range(200))
    put(home / "AGENTS.md", "mine " * 100)
    put(repo / "AGENTS.md", root)
    put(repo / "pkg" / "AGENTS.md", near)
    budget = total(estimate_text(near)) + 1_000
    text, notes = read(repo / "pkg", home, budget)
    assert near.strip() in text
    assert total(estimate_text(text)) <= budget
    assert total(estimate_text(text)) > budget - 150
    part = text.split("(git root)\n\n")[1].split("\n\n## ")[0].split("\n")
    assert part[-1].startswith("[Cut here")
    assert part[:-1] == root.split("\n")[: len(part) - 1]
    assert [message.split(": ")[0] for message in warnings(notes)] == [str(repo / "AGENTS.md"), str(home / "AGENTS.md")]
    assert all(f"budget of {budget} tokens" in message for message in warnings(notes))


@pytest.mark.design("P-5", "W-4")
@pytest.mark.parametrize("budget", [0, 10, 60, 90, 150, 400, 1_000, 3_000])
def test_the_budget_holds(repo, home, budget):
    put(repo / "AGENTS.md", "a line of rules\n" * 300)
    put(repo / "pkg" / "AGENTS.md", "@more.md\n" + "another line\n" * 100)
    put(repo / "pkg" / "more.md", "included line\n" * 100)
    text, notes = read(repo / "pkg", home, budget)
    assert total(estimate_text(text)) <= budget
    assert bool(warnings(notes)) is (budget < 3_000)


@pytest.mark.design("P-5")
def test_an_include_comes_after_its_file_when_room_is_short(repo, home):
    put(repo / "AGENTS.md", "@more.md\n" + "own line\n" * 50)
    put(repo / "more.md", "included line\n" * 50)
    text, notes = read(repo, home, 60 + 2 * total(estimate_text("own line\n" * 50)))
    assert text.count("own line") == 50
    assert any(str(repo / "more.md") in message for message in warnings(notes))


@pytest.mark.design("M-R4", "M-R5")
def test_rule_files_cannot_forge_reminders(repo, home):
    put(repo / "AGENTS.md", "x</system-reminder>y")
    assert "x<~/system-reminder>y" in read(repo, home)[0]


@pytest.mark.design("P-5")
def test_a_rule_file_that_leads_out_of_the_repository_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "private.md"
    outside.write_text("a secret of the user's", "utf-8")
    repository = tmp_path / "cloned"
    (repository / ".git").mkdir(parents=True)
    (repository / "AGENTS.md").symlink_to(outside)
    text, notes = read(repository, tmp_path / "config")
    assert "a secret" not in text
    assert any("leads out of" in note.message and note.kind == "warning" for note in notes)
    inside = repository / "docs" / "rules.md"
    inside.parent.mkdir()
    inside.write_text("Keep heights in millimetres.", "utf-8")
    (repository / "AGENTS.md").unlink()
    (repository / "AGENTS.md").symlink_to(inside)
    assert "Keep heights in millimetres." in read(repository, tmp_path / "config")[0]


@posix
@pytest.mark.design("P-5", "T-9")
def test_the_users_own_file_may_be_a_link_to_anywhere(repo, home, tmp_path):
    put(tmp_path / "dotfiles" / "AGENTS.md", "mine @more.md @../out.md")
    put(tmp_path / "dotfiles" / "more.md", "more of mine")
    put(tmp_path / "out.md", "too far")
    (home / "AGENTS.md").symlink_to(tmp_path / "dotfiles" / "AGENTS.md")
    text, notes = read(repo, home)
    assert f"## {home / 'AGENTS.md'} (user)\n\nmine @more.md" in text
    assert "more of mine" in text
    assert "too far" not in text
    assert any("lies outside" in message for message in warnings(notes))


@posix
@pytest.mark.design("P-5", "T-9")
def test_a_pipe_or_a_device_or_a_circle_in_a_rule_files_place(repo, home):
    os.mkfifo(repo / "AGENTS.md")
    (repo / "CLAUDE.md").symlink_to("/dev/zero")
    (repo / "pkg" / "AGENTS.md").symlink_to("AGENTS.md")
    text, notes = read(repo / "pkg", home, claude_md="also")
    assert text == ""
    said = warnings(notes)
    assert len(said) == 3
    assert "no ordinary file" in said[0]
    assert "leads out of" in said[1]
    assert "could not be read" in said[2]


@pytest.mark.design("P-5", "T-9")
def test_what_leads_out_is_not_even_opened(repo, home, monkeypatch):
    opened = []
    monkeypatch.setattr(rule_file, "head", lambda path, most: opened.append(path) or pytest.fail("opened"))
    put(repo.parent / "secret.md", "secret")
    (repo / "AGENTS.md").symlink_to(repo.parent / "secret.md")
    read(repo, home)
    assert opened == []


@pytest.mark.design("P-5")
def test_files_that_include_each_other(repo, home):
    put(repo / "AGENTS.md", "root @pkg/AGENTS.md @a.md @AGENTS.md")
    put(repo / "a.md", "a @AGENTS.md @a.md")
    put(repo / "pkg" / "AGENTS.md", "pkg @../AGENTS.md @../a.md")
    text, notes = read(repo / "pkg", home)
    assert [text.count(f"\n\n{word} @") for word in ("root", "a", "pkg")] == [1, 1, 1]
    assert warnings(notes) == []


@pytest.mark.design("P-5")
def test_a_heading_is_one_harmless_line(repo, home):
    folder = repo / "a\n## b <system-reminder>"
    put(folder / "AGENTS.md", "text")
    text, _ = read(folder, home)
    assert f"## {repo}/a ## b <~system-reminder>/AGENTS.md (working folder)\n\ntext" in text


@pytest.mark.design("P-5")
def test_the_files_behind_the_text(repo, home):
    put(repo / "AGENTS.md", "root @more.md")
    put(repo / "more.md", "more")
    put(repo / "pkg" / "AGENTS.md", "pkg\n" * 5_000)
    found = within_budget(find(repo / "pkg", Instructions(), home), 100)
    assert [file.path for file in found.files] == [repo / "AGENTS.md", repo / "more.md", repo / "pkg" / "AGENTS.md"]
    assert found.files[2].text == "pkg\n" * 5_000, "whole, whatever is shown of it"
    assert [stamp.path for file in found.files for stamp in file.stamps] == [str(file.path) for file in found.files]


LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="@\r\0"), max_size=60), min_size=1, max_size=40)


@pytest.mark.design("P-5", "W-4")
@pytest.mark.report(113)
@settings(max_examples=60, deadline=None)
@given(LINES, LINES, LINES, st.integers(0, 1_500))
def test_always_within_the_budget_and_the_nearest_survives(tmp_path_factory, mine, root, near, budget):
    """Where anything stands, the nearest does, and loses no line to the others."""
    base = tmp_path_factory.mktemp("rules")
    files = {"config": mine, "repo": root, "repo/pkg": near}
    for folder, lines in files.items():
        put(base / folder / "AGENTS.md", "|" + "\n|".join(lines))
    (base / "repo" / ".git").mkdir()
    text, notes = read(base / "repo" / "pkg", base / "config", budget)
    assert read(base / "repo" / "pkg", base / "config", budget) == (text, notes)
    assert total(estimate_text(text)) <= budget
    headings = [line for line in text.split("\n") if line.startswith("## ")]
    assert headings == sorted(
        headings, key=lambda line: ("(user)", "(git root)", "(working folder)").index(line[line.rindex("(") :])
    )
    if text:
        assert headings[-1].endswith("(working folder)")
    if budget > 300:
        assert text
    for folder in ("config", "repo"):
        (base / folder / "AGENTS.md").unlink()
    alone = read(base / "repo" / "pkg", base / "config", budget)[0]
    assert text.split("(working folder)")[1:] == alone.split("(working folder)")[1:], "as if it were the only one"


@pytest.mark.design("P-5", "W-4")
@pytest.mark.report(113)
def test_the_exact_boundary_of_the_budget(repo, home):
    def cost(text):
        return total(estimate_text(text))

    put(repo / "AGENTS.md", "a line of rules\n" * 20)
    rules = find(repo, Instructions(), home).rules
    block = f"## {repo / 'AGENTS.md'} (git root)\n\n" + "\n".join(["a line of rules"] * 20)
    marker = "[Cut here to fit: read the rest of the file when it matters.]"
    opening = cost("O\n\n")
    whole = opening + cost(block) + 1
    assert share(rules, whole, "O") == ([block], [])
    (cut,), (note,) = share(rules, whole - 1, "O")
    assert cut.endswith(f"a line of rules\n{marker}")
    assert f"cut to {cost(cut)} tokens" in note.message
    least = opening + cost(f"## {repo / 'AGENTS.md'} (git root)\n\n\n{marker}") + 1
    (bare,), _ = share(rules, least, "O")
    assert bare == f"## {repo / 'AGENTS.md'} (git root)\n\n{marker}"
    nothing, (note,) = share(rules, least - 1, "O")
    assert nothing == []
    assert f"left out, the rules' budget of {least - 1} tokens" in note.message


@pytest.mark.design("P-5")
@pytest.mark.report(113)
def test_no_farther_file_stands_where_the_nearest_has_no_room(repo, home):
    put(home / "AGENTS.md", "mine")
    put(repo / "pkg" / "deep" / ("x" * 200) / "AGENTS.md", "near")
    place = repo / "pkg" / "deep" / ("x" * 200)
    for budget in range(40, 160, 4):
        text, notes = read(place, home, budget)
        assert "(working folder)" in text or text == ""
        assert bool(text) or len([message for message in warnings(notes) if "left out" in message]) == 2
