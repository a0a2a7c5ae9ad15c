"""Changing files: exactly, together or not at all, never over what the model has not seen (Y-5)."""

import asyncio
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import WorkFailed, escape_reminders
from sojourn.tools.changes import change
from sojourn.tools.edit import EDIT
from sojourn.tools.matching import Match, NoMatch, find
from sojourn.tools.textfile import parse, save
from tools.desks import hands, touched

pytestmark = pytest.mark.design("Y-5")

LOOK_ALIKES = ["<system-reminder>", "</ SYSTEM-reminder", "＜system-reminder", "<~system-reminder>", "x", "\n"]
TEXT = st.text(st.sampled_from("ab \n\t中"), max_size=40)


# --- write --------------------------------------------------------------------------------------------------------


def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    async def main() -> None:
        before = os.umask(0o027)
        try:
            async with hands(tmp_path) as do:
                outcome = await do("write", path="新 文件/a b.txt", content="one\ntwo")
                assert outcome.text == "Created 新 文件/a b.txt: 2 lines"
                path = tmp_path / "新 文件" / "a b.txt"
                assert outcome.touches == touched(path, "write", 1, 2)
                assert path.read_bytes() == b"one\ntwo"
                assert stat.S_IMODE(path.stat().st_mode) == 0o640
                assert await do.good("write", path="e", content="") == "Created e: 0 lines"
                assert await do.good("write", path="n", content="\n") == "Created n: 1 line"
                assert sorted(os.listdir(tmp_path)) == ["e", "n", "新 文件"]
        finally:
            os.umask(before)

    asyncio.run(main())


def test_a_file_that_was_not_read_is_not_overwritten(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "f.py"
        path.write_text("old\n")
        (tmp_path / "empty").write_text("")
        async with hands(tmp_path) as do:
            assert await do.bad("write", path="f.py", content="new\n") == (
                "f.py exists and you have not read it: nothing was written.\nRead it first, or use edit."
            )
            assert path.read_text() == "old\n"
            assert await do.good("write", path="empty", content="x") == "Wrote empty: 1 line"
            await do.good("read", path="f.py")
            outcome = await do("write", path="f.py", content="new\nold\n")
            assert outcome.text == "Wrote f.py: 2 lines (+1 -0)"
            assert outcome.touches == touched(path, "write", 1, 2)
            # What it wrote itself it knows.
            assert await do.good("write", path="f.py", content="new\n") == "Wrote f.py: 1 line (+0 -1)"
            assert await do.bad("write", path=".", content="x") == ". is a folder.\nName a file."
            assert "not a folder" in await do.bad("write", path="f.py/x", content="x")

    asyncio.run(main())


@pytest.mark.parametrize("how", ["longer", "same size", "same size and time"])
@pytest.mark.parametrize("tool", ["write", "edit"])
def test_a_file_that_changed_since_it_was_read_is_left_alone(tmp_path: Path, how: str, tool: str) -> None:
    async def main() -> None:
        path = tmp_path / "f"
        path.write_text("one\n")
        was = path.stat()
        async with hands(tmp_path) as do:
            await do.good("read", path="f")
            path.write_text("one two\n" if how == "longer" else "two\n")
            if how == "same size and time":
                os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
            now = path.read_text()
            arguments = {"content": "x"} if tool == "write" else {"edits": [{"old": now, "new": "x"}]}
            said = await do.bad(tool, path="f", **arguments)
            assert said.startswith("f changed on disk since you read it: nothing was ")
            assert path.read_text() == now
            await do.good("read", path="f")
            await do.good(tool, path="f", **arguments)
            assert path.read_text() == "x"

    asyncio.run(main())


def test_touched_but_equal_is_not_changed(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "f"
        path.write_text("one\n")
        async with hands(tmp_path) as do:
            await do.good("read", path="f")
            os.utime(path, (1, 1))
            await do.good("write", path="f", content="two\n")
        assert path.read_text() == "two\n"

    asyncio.run(main())


def test_a_large_file_is_guarded_by_its_time_and_size(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "f"
        path.write_text("x\n" * 600_000)
        async with hands(tmp_path) as do:
            await do.good("read", path="f", limit=1)
            await do.good("edit", path="f", edits=[{"old": "x\n" * 600_000, "new": "y\n" * 600_000}])
            assert path.read_text() == "y\n" * 600_000
            await do.good("read", path="f", limit=1)
            os.utime(path, (1, 1))
            assert "changed on disk" in await do.bad("write", path="f", content="z")

    asyncio.run(main())


def test_mode_link_and_second_name_are_kept(tmp_path: Path) -> None:
    async def main() -> None:
        script = tmp_path / "run.sh"
        script.write_text("old\n")
        script.chmod(0o755)
        (tmp_path / "link").symlink_to("run.sh")
        async with hands(tmp_path) as do:
            outcome = await do("read", path="link")
            assert outcome.touches == touched(script, "read", 1, 1)
            await do.good("write", path="link", content="new\n")
            assert (tmp_path / "link").is_symlink()
            assert (script.read_text(), stat.S_IMODE(script.stat().st_mode)) == ("new\n", 0o755)
            os.link(script, tmp_path / "second")
            await do.good("edit", path="run.sh", edits=[{"old": "new", "new": "newer"}])
            assert (tmp_path / "second").read_text() == "newer\n"
            assert sorted(os.listdir(tmp_path)) == ["link", "run.sh", "second"]

    asyncio.run(main())


def test_a_file_that_somebody_changes_at_the_same_moment_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("one\n")
    before = path.stat()
    path.write_text("theirs\n")
    with pytest.raises(WorkFailed, match="changed by somebody else"):
        save(path, b"ours\n", before)
    with pytest.raises(WorkFailed, match="changed by somebody else"):
        save(path, b"ours\n", None)
    assert os.listdir(tmp_path) == ["f"]
    assert path.read_text() == "theirs\n"


def test_write_keeps_line_ends_and_encoding(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "crlf").write_bytes(b"a\r\nb\r\n")
        (tmp_path / "gbk").write_bytes("甲乙\n".encode("gbk"))
        (tmp_path / "bom").write_bytes("\ufeffa\n".encode())
        (tmp_path / "line").write_bytes(b"one")
        (tmp_path / "mac").write_bytes(b"a\rb")
        (tmp_path / "mixed").write_bytes(b"a\r\nb\n")
        async with hands(tmp_path) as do:
            for name in ("crlf", "gbk", "bom", "line", "mac", "mixed"):
                await do.good("read", path=name)
            assert await do.good("write", path="crlf", content="a\nc\n") == "Wrote crlf: 2 lines (+1 -1), CRLF kept"
            assert (tmp_path / "crlf").read_bytes() == b"a\r\nc\r\n"
            assert await do.good("write", path="gbk", content="丙\n") == "Wrote gbk: 1 line (+1 -1), gb18030 kept"
            assert (tmp_path / "gbk").read_bytes() == "丙\n".encode("gbk")
            assert await do.good("write", path="line", content="a\nb\n") == "Wrote line: 2 lines (+2 -1)"
            assert (tmp_path / "line").read_bytes() == b"a\nb\n"
            assert await do.good("write", path="mac", content="c\nd") == "Wrote mac: 2 lines (+2 -2), CR kept"
            assert (tmp_path / "mac").read_bytes() == b"c\rd"
            assert await do.good("write", path="mixed", content="c\nd\n") == "Wrote mixed: 2 lines (+2 -2)"
            assert (tmp_path / "mixed").read_bytes() == b"c\nd\n"
            await do.good("write", path="bom", content="b\n")
            assert (tmp_path / "bom").read_bytes() == "\ufeffb\n".encode()
            assert "does not fit the encoding" in await do.bad("write", path="new", content="\ud800")
            assert not (tmp_path / "new").exists()

    asyncio.run(main())


# --- edit ---------------------------------------------------------------------------------------------------------


def test_edits_apply_in_order_and_answer_with_a_short_diff(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "f.py"
        path.write_text("def f():\n    return 1\n\n\ndef g():\n    return 2\n")
        async with hands(tmp_path) as do:
            edits = [{"old": "return 1", "new": "return 3"}, {"old": "return 3\n", "new": "return 4\n\n"}]
            outcome = await do("edit", path="f.py", edits=edits)
            assert outcome.text == "Edited f.py: 2 places, +2 -1 lines\n@@ line 2 @@\n-    return 1\n+    return 4\n+"
            assert outcome.touches == touched(path, "edit", 2, 3)
            assert path.read_text() == "def f():\n    return 4\n\n\n\ndef g():\n    return 2\n"
            outcome = await do("edit", path="f.py", edits=[{"old": "4\n\n\n\n", "new": "4\n\n"}])
            assert outcome.text == "Edited f.py: 1 place, +0 -2 lines\n@@ line 4 @@\n-\n-"
            assert outcome.touches == touched(path, "edit", 4, 4)
            assert path.read_text() == "def f():\n    return 4\n\ndef g():\n    return 2\n"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("before", "after", "counts", "lines", "excerpt"),
    [
        ("a\nb", "a\nb", (0, 0), None, ""),
        ("a\nb\n", "a\n", (0, 1), (1, 1), "@@ line 2 @@\n-b"),
        ("a\nb", "a", (0, 1), (1, 1), "@@ line 2 @@\n-b"),
        ("", "a", (1, 0), (1, 1), "@@ line 1 @@\n+a"),
        ("a", "a\n", (0, 0), None, ""),
        ("a\n", "", (0, 1), (1, 1), "@@ line 1 @@\n-a"),
        ("", "\n", (1, 0), (1, 1), "@@ line 1 @@\n+"),
        ("a\nb\nc\nd", "A\nb\nc\nD", (2, 2), (1, 4), "@@ line 1 @@\n-a\n+A\n@@ line 4 @@\n-d\n+D"),
        ("k", "k\n" + "x\n" * 11 + "y", (12, 0), (2, 13), "@@ line 2 @@\n" + "+x\n" * 11 + "[... 1 more lines of the diff]"),
        ("k", "k\n" + "x\n" * 10 + "y", (11, 0), (2, 12), "@@ line 2 @@\n" + "+x\n" * 10 + "+y"),
        ("x" * 161, "y" * 160, (1, 1), (1, 1), f"@@ line 1 @@\n-{'x' * 160}\n+{'y' * 160}"),
    ],
)
def test_a_change_in_a_few_lines(
    before: str, after: str, counts: tuple[int, int], lines: tuple[int, int] | None, excerpt: str
) -> None:
    made = change(before, after)
    assert ((made.added, made.removed), made.lines, made.excerpt) == (counts, lines, excerpt)


def test_a_change_of_very_many_lines_is_counted_not_compared() -> None:
    most = [f"{number}" for number in range(2_000)]
    small = change("\n".join(["a", *most]), "\n".join(["b", *most]))
    assert (small.added, small.removed) == (1, 1)
    at = change("\n".join(["a", *most[1:-1], "a"]), "\n".join(["b", *most[1:-1], "b"]))
    assert (at.added, at.removed) == (2, 2)
    above = change("\n".join(["a", *most[1:], "a"]), "\n".join(["b", *most[1:], "b"]))
    assert (above.added, above.removed) == (2_001, 2_001)
    assert above.excerpt.endswith("\n[... 3991 more lines of the diff]")


def test_one_edit_that_fails_leaves_all_undone(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "f"
        path.write_text("a\nb\nb\n")
        async with hands(tmp_path) as do:
            edits = [{"old": "a", "new": "c"}, {"old": "b", "new": "d"}]
            assert await do.bad("edit", path="f", edits=edits) == (
                "f: edit 2 of 2: old stands in the file more than once (lines 2, 3). Nothing was edited.\n"
                "Take more lines around it, or set all to true."
            )
            assert path.read_text() == "a\nb\nb\n"
            edits[1]["all"] = True  # type: ignore[assignment]
            assert await do.good("edit", path="f", edits=edits) == (
                "Edited f: 3 places, +3 -3 lines\n@@ line 1 @@\n-a\n-b\n-b\n+c\n+d\n+d"
            )

    asyncio.run(main())


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([], "edits is empty.\nGive one edit at least."),
        ([{"old": "", "new": "x"}], "f: old is empty. Nothing was edited."),
        ([{"old": "one", "new": "one"}], "f: old and new are the same. Nothing was edited."),
        ([{"old": "a\r\nb", "new": "a\nb"}], "f: old and new are the same. Nothing was edited."),
        ([{"old": "one"}], "edit: `edits[0].new` is missing"),
        ("nothing", "edit: `edits` must be an array"),
        (
            [{"old": "two\nthree\nFIVE", "new": "x"}],
            "f: old is not in the file. Nothing was edited.\nNearest: line 4 is\nfour\nwhere old has\nFIVE",
        ),
        (
            [{"old": "four\nfive", "new": "x"}],
            "f: old is not in the file. Nothing was edited.\nNearest: line 4, but the file ends before old does. Read",
        ),
        (
            [{"old": "threee", "new": "x"}],
            "f: old is not in the file. Nothing was edited.\nNearest: line 3 is\nthree",
        ),
        (
            [{"old": "zzzzz", "new": "x", "all": True}],
            "f: old is not in the file. Nothing was edited.\nNothing in it is like old: read the file first.",
        ),
        ([{"old": "o", "new": "x"}], "f: old stands in the file more than once (lines 1, 2, 4). Nothing was edited."),
    ],
)
def test_errors_say_what_to_do(tmp_path: Path, edits: object, said: str) -> None:
    async def main() -> None:
        (tmp_path / "f").write_text("one\ntwo\nthree\nfour")
        async with hands(tmp_path) as do:
            assert (await do.bad("edit", path="f", edits=edits)).startswith(said)
            assert (tmp_path / "f").read_text() == "one\ntwo\nthree\nfour"

    asyncio.run(main())


def test_files_that_cannot_be_edited_say_why(tmp_path: Path) -> None:
    async def main() -> None:
        edits = [{"old": "a", "new": "b"}]
        (tmp_path / "some_bin").write_bytes(b"\x7fELF\0\0\0\0a")
        with (tmp_path / "big").open("wb") as file:
            file.truncate((16 << 20) + 1)
        (tmp_path / "d").mkdir()
        async with hands(tmp_path) as do:
            assert await do.bad("edit", path="some_bim", edits=edits) == (
                "There is no some_bim.\nNames near it: some_bin\nNew files are made with write."
            )
            assert await do.bad("edit", path="some_bin", edits=edits) == (
                "some_bin is not text that could be written back as it is.\nUse a program in bash."
            )
            assert await do.bad("edit", path="big", edits=edits) == (
                "big has 16,777,217 bytes: too large to edit here.\nUse a program in bash (sed)."
            )
            os.truncate(tmp_path / "big", 16 << 20)
            assert (await do.bad("edit", path="big", edits=edits)).startswith("big is not text that")
            assert await do.bad("edit", path="d", edits=edits) == "d is a folder.\nName a file."
            assert "is a device, pipe or socket" in await do.bad("edit", path="/dev/zero", edits=edits)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\nc", "\nb\n", "\n", b"a\r\nc"),
        (b"a\nb\r\nc\r\nd\n", "a\nb", "x\ny", b"x\ny\r\nc\r\nd\n"),
        (b"a\nb\r\nc\r\nd\r\n", "b\nc", "x\ny", b"a\nx\r\ny\r\nd\r\n"),
        (b"a\rb\rc", "b", "x\ny", b"a\rx\ry\rc"),
        (b"no end", "end", "END", b"no END"),
        ("甲\r\n乙\r\n".encode("gbk"), "乙", "丙\n丁", "甲\r\n丙\r\n丁\r\n".encode("gbk")),
        ("甲\n乙\n".encode("utf-16"), "乙", "丙", "甲\n丙\n".encode("utf-16")),
        (b"\xfe\xff" + "甲\n乙\n".encode("utf-16-be"), "乙", "丙", b"\xfe\xff" + "甲\n丙\n".encode("utf-16-be")),
        ("\ufeffa\n".encode(), "a\n", "b\n", "\ufeffb\n".encode()),
        ("a\n\ufeffb\n".encode(), "a", "c", "c\n\ufeffb\n".encode()),
    ],
)
def test_line_ends_and_encoding_stay(tmp_path: Path, before: bytes, old: str, new: str, after: bytes) -> None:
    async def main() -> None:
        (tmp_path / "f").write_bytes(before)
        async with hands(tmp_path) as do:
            await do.good("edit", path="f", edits=[{"old": old, "new": new}])
            assert (tmp_path / "f").read_bytes() == after

    asyncio.run(main())


@settings(max_examples=150, deadline=None)
@given(text=TEXT, old=st.text(st.sampled_from("ab \n中"), min_size=1, max_size=3), new=TEXT)
def test_everywhere_is_replace(text: str, old: str, new: str) -> None:
    found = find(text, old, new, everywhere=True)
    if old not in text:
        assert isinstance(found, NoMatch)
        return
    assert isinstance(found, Match)
    pieces, at = [], 0
    for start, end in found.spans:
        pieces += [text[at:start], found.new]
        at = end
    assert "".join([*pieces, text[at:]]) == text.replace(old, new)


@settings(max_examples=100, deadline=None)
@given(before=TEXT, after=TEXT, old=st.text(st.sampled_from("ab\n"), min_size=1, max_size=4), new=TEXT, newline=st.booleans())
def test_an_edit_is_replace_whatever_the_line_ends(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str, old: str, new: str, newline: bool
) -> None:
    text = before + "Q" + old + "Z" + after
    wanted, new = f"Q{old}Z", f"Q{new}Z"
    if wanted == new:
        return
    path = tmp_path_factory.mktemp("edit") / "f"
    path.write_bytes(text.replace("\n", "\r\n" if newline else "\n").encode())

    async def main() -> None:
        async with hands(path.parent) as do:
            await do.good("edit", path="f", edits=[{"old": wanted, "new": new}])

    asyncio.run(main())
    result = text.replace(wanted, new).encode()
    # A file of one line has no line ends that could be kept.
    assert path.read_bytes() == (result.replace(b"\n", b"\r\n") if newline and "\n" in text else result)


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=60) | TEXT.map(lambda text: text.encode("gbk")) | TEXT.map(lambda text: text.encode("utf-16")))
def test_what_is_parsed_goes_back_to_the_same_bytes(data: bytes) -> None:
    file = parse(data)
    assert file is None or file.bytes(file.raw) == data


def test_an_overlap_is_more_than_once() -> None:
    found = find("aaa", "aa", "b", everywhere=False)
    assert isinstance(found, NoMatch)
    assert found.reason == "old stands in the file more than once (lines 1)."
    many = find("x\n" * 8, "x", "y", everywhere=False)
    assert isinstance(many, NoMatch)
    assert many.reason == "old stands in the file more than once (lines 1, 2, 3, 4, 5, 6 and more)."
    six = find("x\n" * 6, "x", "y", everywhere=False)
    assert isinstance(six, NoMatch)
    assert six.reason == "old stands in the file more than once (lines 1, 2, 3, 4, 5, 6)."


# --- white space --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        # Trailing and inner white space.
        ("a = 1  \nb  =  2\n", "a = 1\nb = 2", "a = 3\nb = 4", "a = 3\nb = 4\n"),
        # The place is indented more: so is what comes.
        ("if x:\n    a\n    b\n", "a\nb", "a\nif y:\n  c\n\nb", "if x:\n    a\n    if y:\n      c\n\n    b\n"),
        # The place is indented less.
        ("  a\n  b\n", "    a\n    b\n", "    a\n      c\n", "  a\n    c\n"),
        # Tabs there, spaces here.
        ("\tif x:\n\t\ta\n", "    if x:\n        a", "    if y:\n        b\n        c", "\tif y:\n\t\tb\n\t\tc\n"),
        # The file's last line has no end.
        ("x\n  a", "a \n", "b\n", "x\n  b"),
        ("x\n  a\n", "a \n", "b\n", "x\n  b\n"),
        ("x\n  a\nyz\n", "a \n", "b\n", "x\n  b\nyz\n"),
    ],
)
def test_white_space_may_differ_where_one_place_is_meant(tmp_path: Path, text: str, old: str, new: str, after: str) -> None:
    async def main() -> None:
        (tmp_path / "f").write_text(text)
        async with hands(tmp_path) as do:
            said = await do.good("edit", path="f", edits=[{"old": old, "new": new}])
            assert (tmp_path / "f").read_text() == after
            assert "\nEdit 1 matched only up to white space: look at what was replaced.\n" in said

    asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "old", "new", "reason"),
    [
        ("  a\n\n   a\n", "a \n", "b\n", "old is not in the file; up to white space it is like several places (lines 1, 3)."),
        ("\ta\n", " a", "  b", "old is not in the file; lines 1-1 are like it, but are indented otherwise."),
        ("  a\n    b\n", "    a\n    b", "c", "old is not in the file; lines 1-2 are like it, but are indented otherwise."),
        ("  a\n", "    a", "b", "old is not in the file; lines 1-1 are like it, but are indented otherwise."),
        ("ab c\n", "b  c", "d", "old is not in the file."),
        ("a\n\n\nb\n", "\t\n\t", "d", "old is not in the file."),
    ],
)
def test_white_space_is_not_guessed(text: str, old: str, new: str, reason: str) -> None:
    found = find(text, old, new, everywhere=False)
    assert isinstance(found, NoMatch)
    assert found.reason == reason


def test_everywhere_takes_exact_text_only() -> None:
    found = find("  a\n", "a \n", "b", everywhere=True)
    assert isinstance(found, NoMatch)
    assert found.next_step == "Nearest: line 1 is\n  a\nwhere old has\na "


# --- at once ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("filler", ["", "x\n" * 600_000], ids=["small", "in a thread"])
def test_two_edits_at_once_both_hold(tmp_path: Path, filler: str) -> None:
    async def main() -> None:
        path = tmp_path / "f"
        path.write_text("one\ntwo\n" + filler)
        async with hands(tmp_path) as do:
            await do.good("read", path="f", limit=2)
            outcomes = await asyncio.gather(
                do("edit", path="f", edits=[{"old": "one", "new": "1"}]),
                do("edit", path=str(path), edits=[{"old": "two", "new": "2"}]),
            )
            assert [outcome.error for outcome in outcomes] == [False, False]
            assert path.read_text() == "1\n2\n" + filler

    asyncio.run(main())


def test_small_files_need_no_thread(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "f").write_text("a")
        async with hands(tmp_path) as do:
            await do.good("read", path="f")
            await do.good("edit", path="f", edits=[{"old": "a", "new": "b"}])
            await do.good("write", path="f", content="c")
            assert threading.active_count() == before

    before = threading.active_count()
    asyncio.run(main())


# --- reminders ----------------------------------------------------------------------------------------------------


@pytest.mark.design("M-R4")
@pytest.mark.report(97)
@settings(max_examples=60, deadline=None)
@given(body=st.lists(st.sampled_from(LOOK_ALIKES)))
def test_what_a_model_saw_escaped_is_written_as_it_was(tmp_path_factory: pytest.TempPathFactory, body: list[str]) -> None:
    text = "keep\n" + "".join(body)
    folder = tmp_path_factory.mktemp("escape")

    async def main() -> None:
        async with hands(folder) as do:
            await do.good("write", path="f", content=escape_reminders(text))
            assert (folder / "f").read_text() == text
            assert await do.good("read", path="f") == text
            edits = [{"old": escape_reminders(text), "new": escape_reminders(f"+{text}")}]
            await do.good("edit", path="f", edits=edits)
            assert (folder / "f").read_text() == f"+{text}"

    asyncio.run(main())


def test_edit_names_its_subject() -> None:
    assert (EDIT.effect, EDIT.subject) == ("edit", "path")
